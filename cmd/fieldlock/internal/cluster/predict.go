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
// refuses and so says no more, the manifest is merged here as the server would. The error may come with a prediction: that
// the server has given no verdict does not keep the locks from giving theirs.
func (c *Cluster) predict(ctx context.Context, client dynamic.ResourceInterface, r *resource, live, manifest *unstructured.Unstructured) (Live, error) {
	l := Live{Old: live.Object}
	by := applierOf(live, manifest)
	var apply request
	var err error
	if by.original != nil {
		apply, err = c.clientSide(r, live, manifest, by.original)
	} else {
		apply, err = c.serverSide(r, live, manifest, by)
	}
	if err != nil {
		return l, err
	}
	apply.options.DryRun = []string{metav1.DryRunAll}
	stored, err := client.Patch(ctx, live.GetName(), apply.kind, apply.body, apply.options)
	if err == nil && apply.exact {
		l.New, l.Accepted = stored.Object, true
		return l, nil
	}
	var unanswered error
	switch {
	case err == nil:
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
		return l, errors.Join(unanswered, fmt.Errorf("what an apply would make of it cannot be told: %w", err))
	}
	return l, unanswered
}

// notAsked reports whether the server has not run the dry run: the user may not ask, or a webhook cannot answer without
// writing.
func notAsked(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	message := answer.Status().Message
	return apierrors.IsForbidden(err) && strings.Contains(message, "cannot patch resource") || // the answer of RBAC
		apierrors.IsBadRequest(err) && strings.Contains(message, "does not support dry run")
}

// refusals reads the answer to a dry run. Whatever the server says is an answer, also that it cannot merge or convert the
// object, which it calls an internal error. It returns nil where an apply may have another answer a little later: the server
// is not there, does not know the user, or has too much to do.
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
