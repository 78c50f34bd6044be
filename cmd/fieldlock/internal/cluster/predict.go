package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// predict asks the API server by a dry run what an apply of the manifest would store. Where it may not be asked, or
// refuses and so says no more, the manifest is merged here as the server would. The error may come with a prediction:
// that the server has given no verdict does not keep the locks from giving theirs.
func (c *Cluster) predict(ctx context.Context, client dynamic.ResourceInterface, r *resource, live,
	manifest *unstructured.Unstructured) (Live, error) {
	l := Live{Old: live.Object}
	apply, err := c.request(ctx, r, live, manifest)
	if err != nil {
		return l, err
	}
	stored, err := apply.dryRun(ctx, client, live.GetName())
	if err == nil {
		l.New, l.Accepted = stored.Object, true
		return l, nil
	}
	var unanswered error
	switch {
	case notAsked(err):
		l.NotAsked = err.Error()
	default:
		if l.Refusals = refusals(err); l.Refusals == nil {
			unanswered = fmt.Errorf("the dry run of an apply failed: %w", err)
		}
	}
	if l.New, err = apply.merge(); err != nil && l.Refusals != nil {
		l.New, err = live.Object, nil // the server says what is wrong
	}
	if err != nil {
		return l, errors.Join(unanswered, fmt.Errorf("the result of an apply cannot be predicted: %w", err))
	}
	return l, unanswered
}

// dryRun asks the server what it would store.
func (r *request) dryRun(ctx context.Context, client dynamic.ResourceInterface,
	name string) (*unstructured.Unstructured, error) {
	dry := []string{metav1.DryRunAll}
	if r.put != nil {
		return client.Update(ctx, r.put, metav1.UpdateOptions{DryRun: dry, FieldManager: "kubectl-replace"})
	}
	r.options.DryRun = dry
	return client.Patch(ctx, name, r.kind, r.body, r.options)
}

// notAsked reports whether the server has not run the dry run: the user may not ask, or a webhook cannot answer without
// writing.
func notAsked(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	message := answer.Status().Message
	mayNot := strings.Contains(message, "cannot patch resource") || strings.Contains(message, "cannot update resource")
	return apierrors.IsForbidden(err) && mayNot || // the answer of RBAC
		apierrors.IsBadRequest(err) && strings.Contains(message, "does not support dry run")
}

// refusals reads the answer to a dry run. Whatever the server says is an answer, also that it cannot merge or convert
// the object, which it calls an internal error. It returns nil where an apply may have another answer a little later:
// the server is not there, does not know the user, or has too much to do.
func refusals(err error) []Refusal {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return nil
	}
	if apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return nil
	}
	status := answer.Status()
	var list []Refusal
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			list = append(list, Refusal{cause.Field, cause.Message})
		}
	}
	if list == nil {
		list = []Refusal{{"", status.Message}}
	}
	return list
}
