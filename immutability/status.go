package immutability

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StatusCode is the HTTP status with which an update is refused.
type StatusCode int

// Invalid is what deployment tools look for and the default everywhere; BadRequest is the wording of the proposal.
const (
	Invalid    StatusCode = http.StatusUnprocessableEntity
	BadRequest StatusCode = http.StatusBadRequest
)

// String returns the number with its name: "422 Unprocessable Entity".
func (c StatusCode) String() string { return fmt.Sprintf("%d %s", int(c), http.StatusText(int(c))) }

// maxInMessage is how many violations the message of a status names. Its causes name all of them.
const maxInMessage = 100

// Status returns the refusal of an update of the object name of kind gk: one cause per violation, under Invalid (422)
// or BadRequest (400). Any other code is Invalid. It returns nil if the update is allowed, and 500 for the zero Report.
func (r Report) Status(gk schema.GroupKind, name string, code StatusCode) *metav1.Status {
	if r.Allowed() {
		return nil
	}
	errs := r.ErrorList()
	if !r.broken() {
		status := apierrors.NewInternalError(errs.ToAggregate()).Status()
		return &status
	}
	rest := errs[min(len(errs), maxInMessage):]
	status := apierrors.NewInvalid(gk, name, errs[:len(errs)-len(rest)]).Status()
	for _, e := range rest {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: metav1.CauseType(e.Type), Message: e.ErrorBody(), Field: e.Field,
		})
	}
	if len(rest) > 0 {
		status.Message += ", " + andMore(len(rest)+max(r.More-1, 0), "violation")
	}
	if code == BadRequest {
		status.Code, status.Reason = int32(code), metav1.StatusReasonBadRequest
	}
	return &status
}
