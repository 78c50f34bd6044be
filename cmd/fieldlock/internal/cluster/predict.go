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
// refuses and so says no more, the manifest is merged here as the server would.
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
	if err != nil {
		if l.Refusals = refusals(err); l.Refusals == nil {
			l.NotAsked = err.Error()
		}
	}
	if l.New, err = apply.merge(); err != nil {
		return l, fmt.Errorf("what an apply would make of it cannot be told: %w", err)
	}
	return l, nil
}

// refusals reads the answer to a dry run. It returns nil if the server has not judged the object: the user may not ask, or
// a webhook cannot answer without writing.
func refusals(err error) []Refusal {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return nil
	}
	status := answer.Status()
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(status.Message, "cannot patch resource"), // the answer of RBAC
		apierrors.IsBadRequest(err) && strings.Contains(status.Message, "does not support dry run"):
		return nil
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
	case strings.HasPrefix(status.Message, "failed to create typed patch object"): // an internal error for the server
	default:
		return nil
	}
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
