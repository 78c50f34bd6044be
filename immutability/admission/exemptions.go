package admission

import (
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
)

// Exemptions says which updates are not checked. The zero value exempts none.
type Exemptions struct {
	// Users and Groups exempt updates by these users, such as "system:serviceaccount:ns:name", and by members of these
	// groups, by their exact names. Groups that everybody is in are refused: without locks the webhook is better not
	// deployed.
	Users, Groups []string
	// Deleting exempts updates of objects that are being deleted: those whose stored form has a deletionTimestamp.
	// Controllers need it that tear down what the locks protect before they remove their finalizer. But a finalizer can
	// keep an object, with all its locks off, for as long as its owner likes.
	Deleting bool
	// DryRunAnnotations exempts dry-run updates of objects that carry one of these annotations, with any value, such as
	// "topology.cluster.x-k8s.io/dry-run" of Cluster API. Only requests that are dry-run themselves pass: anybody can
	// put an annotation on an object, but what is dry-run is not stored.
	DryRunAnnotations []string
}

// WithExemptions sets which updates pass unchecked: none unless set. It replaces what an earlier WithExemptions set.
func WithExemptions(e Exemptions) Option {
	return option(func(s *settings) error {
		s.exempt = Exemptions{slices.Clone(e.Users), slices.Clone(e.Groups), e.Deleting,
			slices.Clone(e.DryRunAnnotations)}
		return e.check()
	})
}

func (e *Exemptions) check() error {
	switch {
	case slices.Contains(e.Users, ""):
		return errors.New("an exempt user has no name: give one")
	case slices.Contains(e.Groups, ""):
		return errors.New("an exempt group has no name: give one")
	case slices.Contains(e.DryRunAnnotations, ""):
		return errors.New("the annotation of exempt dry-run updates has no name: give one")
	}
	for _, name := range e.Groups {
		switch name {
		case "system:authenticated", "system:unauthenticated", "system:serviceaccounts":
			return fmt.Errorf("the group %q cannot be exempt: too many are in it; name users, or a group of your own",
				name)
		}
	}
	return nil
}

// of returns why the request is exempt, or "" when it is not.
func (e *Exemptions) of(r *admissionv1.AdmissionRequest, o objects) (string, error) {
	if r.UserInfo.Username != "" && slices.Contains(e.Users, r.UserInfo.Username) {
		return "the user is exempt", nil
	}
	for _, group := range r.UserInfo.Groups {
		if slices.Contains(e.Groups, group) {
			return "a group of the user is exempt", nil
		}
	}
	if e.Deleting {
		deleting, err := o.deleting()
		if err != nil {
			return "", err
		}
		if deleting {
			return "the object is being deleted", nil
		}
	}
	if len(e.DryRunAnnotations) > 0 && isDryRun(r) {
		annotations, err := o.annotations()
		if err != nil {
			return "", err
		}
		for _, name := range e.DryRunAnnotations {
			if _, ok := annotations[name]; ok {
				return "the dry-run update is marked by the annotation " + name, nil
			}
		}
	}
	return "", nil
}
