package immutability

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/internal/check"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// The limits of a report. Beyond them violations are counted and not listed, so that the report of hostile input fits
// in memory.
const (
	maxViolations      = 10_000
	maxSteps           = 1_000_000 // of the paths of all violations together
	maxDifferenceSteps = 300_000   // of the paths of all differences together
	maxValues          = 1 << 20   // bytes of the values of all errors together
)

// Report is what an update breaks. The zero Report means that the update was not checked; it does not allow the update.
type Report struct {
	// Violations is every violation, sorted by path with indices as numbers, up to a limit of 10,000.
	Violations []Violation
	// More is how many violations there are beyond the limit.
	More int

	checked bool
}

// Allowed reports whether the update was checked and breaks no lock.
func (r Report) Allowed() bool { return r.checked && !r.broken() }

func (r Report) broken() bool { return len(r.Violations) > 0 || r.More > 0 }

// ErrorList returns the violations as API machinery reports them: for each a field.Invalid with the new value, nil
// where it is absent, a detail that begins with "field is immutable", and the lock as origin. The words of
// x-fieldlock-update have the errors that Kubernetes' declarative validation has for +k8s:update: the origin "update",
// its texts, and a field.Forbidden for an item. Nil when the update is allowed. A thousand removed keys of one
// container would repeat its value a thousand times: once all values have a megabyte together, they are replaced with
// field.OmitValueType. The zero Report has one internal error.
func (r Report) ErrorList() field.ErrorList { return r.errors((*Violation).fieldError) }

// errors returns an error for each violation, as one makes it of the value that it may show.
func (r Report) errors(one func(v *Violation, value any) *field.Error) field.ErrorList {
	if r.Allowed() {
		return nil
	}
	if !r.broken() {
		return field.ErrorList{field.InternalError(nil, errors.New("this update was not checked for immutable fields"))}
	}
	errs := make(field.ErrorList, 0, len(r.Violations)+1)
	room := maxValues
	for i := range r.Violations {
		v := &r.Violations[i]
		value := v.New
		if check.IsContainer(value) {
			if size := sizeOf(value, room); size <= room {
				room -= size
			} else {
				room, value = 0, field.OmitValueType{}
			}
		}
		errs = append(errs, one(v, value))
	}
	if r.More > 0 {
		errs = append(errs, field.Forbidden(field.NewPath(""), andMore(r.More, "violation")))
	}
	return errs
}

// fieldError returns the error of a violation, with the value that it may show.
func (v *Violation) fieldError(value any) *field.Error {
	word := lockschema.Lock(v.Lock)
	switch text := word.UpstreamText(); {
	case text == "":
		return v.refusal(value)
	case word.OnKeys():
		return field.Forbidden(v.Path, text).WithOrigin(originUpdate)
	default:
		return field.Invalid(v.Path, value, text).WithOrigin(originUpdate)
	}
}

// refusal is fieldError in the same words for every lock.
func (v *Violation) refusal(value any) *field.Error {
	return field.Invalid(v.Path, value, v.detail()).WithOrigin(string(v.Lock))
}

// originUpdate is the origin of the errors that +k8s:update has in Kubernetes' declarative validation.
const originUpdate = "update"

// reporter makes a report of what was found.
type reporter struct {
	report                 Report
	detail                 detail
	steps, differenceSteps int
	memo                   *check.Memo
	redactor               check.Redactor
}

// detail is how much a report tells. Looking for differences costs more than the check itself, and error lists have
// none.
type detail int

const (
	withDifferences detail = iota
	forErrorList
)

func report(refused *check.Refused, d detail) Report {
	if refused == nil {
		return Report{checked: true}
	}
	r := reporter{memo: refused.Memo, report: Report{checked: true}, detail: d}
	r.visit(nil, 0, refused.Found)
	return r.report
}

func (r *reporter) visit(path *field.Path, depth int, f *check.Found) {
	for _, refusal := range f.Here {
		if len(r.report.Violations) == maxViolations || r.steps > maxSteps {
			r.report.More++
			continue
		}
		r.steps += depth
		v := violation(path, refusal, r.redactor.Hide)
		if r.detail == withDifferences {
			if below := r.memo.Differences(refusal); below != nil {
				r.differences(&v, path, depth, below)
			}
		}
		r.report.Violations = append(r.report.Violations, v)
	}
	for _, g := range f.Sorted() {
		r.visit(g.Step.Path(path), depth+1, g.Found)
	}
}

// differences adds to v what f holds, found below it.
func (r *reporter) differences(v *Violation, path *field.Path, depth int, f *check.Found) {
	if r.differenceSteps > maxDifferenceSteps {
		v.MoreDifferences += f.Count()
		return
	}
	for _, d := range f.Here {
		r.differenceSteps += depth
		v.Differences = append(v.Differences, Difference{
			Path: path,
			Old:  r.redactor.Hide(d.Field.Redaction, d.Old.Data), New: r.redactor.Hide(d.Field.Redaction, d.New.Data),
			HasOld: d.Old.OK, HasNew: d.New.OK,
		})
	}
	for _, g := range f.Sorted() {
		r.differences(v, g.Step.Path(path), depth+1, g.Found)
	}
}

// maxInMessage is how many violations the message of a status names. Its causes name all of them.
const maxInMessage = 100

// Status returns the refusal of an update of the object name of kind gk, with one cause per violation. Its text is
// "field is immutable" for every lock, which deployment tools look for. The code is http.StatusUnprocessableEntity
// (422), which deployment tools look for, or http.StatusBadRequest (400), the wording of the proposal; any other code
// means 422. Status returns nil if the update is allowed, and a status with code 500 for the zero Report.
func (r Report) Status(gk schema.GroupKind, name string, code int) *metav1.Status {
	if r.Allowed() {
		return nil
	}
	errs := r.errors((*Violation).refusal)
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
	if code == http.StatusBadRequest {
		status.Code, status.Reason = int32(code), metav1.StatusReasonBadRequest
	}
	return &status
}
