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

// Status returns the refusal of an update of the object name of kind gk: one cause per violation, under Invalid (422)
// or BadRequest (400). Any other code is Invalid. Nil when the update is allowed.
func (r Report) Status(gk schema.GroupKind, name string, code StatusCode) *metav1.Status {
	if r.Allowed() {
		return nil
	}
	status := apierrors.NewInvalid(gk, name, r.ErrorList()).Status()
	if code == BadRequest {
		status.Code, status.Reason = int32(code), metav1.StatusReasonBadRequest
	}
	return &status
}
