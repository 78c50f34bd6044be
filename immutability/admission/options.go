package admission

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
)

// Mode is what happens to an update that breaks a lock.
type Mode string

// The modes. Use the last two to try locks out before they are enforced.
const (
	ModeEnforce Mode = "enforce" // refuses the update
	ModeWarn    Mode = "warn"    // allows it with a warning to the client for each violation
	ModeAudit   Mode = "audit"   // allows it with a note in the audit log
)

func (m Mode) check() error {
	if m != ModeEnforce && m != ModeWarn && m != ModeAudit {
		return fmt.Errorf("%q is not a mode: it is %q, %q or %q", m, ModeEnforce, ModeWarn, ModeAudit)
	}
	return nil
}

// settings are what the options set.
type settings struct {
	mode        Mode
	policy      admissionregistrationv1.FailurePolicyType
	gaps        Mode
	code        int
	exempt      Exemptions
	observe     func(context.Context, Observation)
	logger      *slog.Logger
	maxBytes    int64
	readTimeout time.Duration
}

// Option changes how a handler, a reviewer or the plugin of package apiserver answers. A nil Option changes nothing.
type Option interface{ apply(*settings) error }

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// WithMode sets what happens to an update that breaks a lock: ModeEnforce unless set.
func WithMode(m Mode) Option {
	return option(func(s *settings) error {
		s.mode = m
		return m.check()
	})
}

// WithVersionGaps sets what happens to an update through a version of a kind that leaves free what another served
// version locks (Version.Gaps), and so is a way around the locks: ModeWarn unless set. ModeEnforce treats the update as
// one that cannot be checked. ModeWarn and ModeAudit check it with the locks that the version has.
func WithVersionGaps(m Mode) Option {
	return option(func(s *settings) error {
		s.gaps = m
		return m.check()
	})
}

// WithFailurePolicy sets what happens to an update that cannot be checked: admissionregistrationv1.Fail, which refuses
// it, unless set. admissionregistrationv1.Ignore allows it, with a warning and a note in the audit log. In the modes
// ModeWarn and ModeAudit nothing is refused, and Fail behaves like Ignore.
//
// The policy is about requests that reach the handler; what happens when the webhook does not answer is for the
// failurePolicy of its configuration.
func WithFailurePolicy(p admissionregistrationv1.FailurePolicyType) Option {
	return option(func(s *settings) error {
		if p != admissionregistrationv1.Fail && p != admissionregistrationv1.Ignore {
			return fmt.Errorf("%q is not a failure policy: it is %q or %q",
				p, admissionregistrationv1.Fail, admissionregistrationv1.Ignore)
		}
		s.policy = p
		return nil
	})
}

// WithStatusCode sets the status of a refusal: http.StatusUnprocessableEntity (422), which deployment tools look for,
// unless set; http.StatusBadRequest (400) is the proposal's.
func WithStatusCode(code int) Option {
	return option(func(s *settings) error {
		if code != http.StatusUnprocessableEntity && code != http.StatusBadRequest {
			return fmt.Errorf("%d is not the status of a refusal: it is %d or %d",
				code, http.StatusUnprocessableEntity, http.StatusBadRequest)
		}
		s.code = code
		return nil
	})
}

// WithLogger writes one line for each refused request: its kind, object, user, and the paths and locks that it breaks,
// or why it could not be checked. A line never holds values of the object. With nil, the default, nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return option(func(s *settings) error {
		s.logger = l
		return nil
	})
}

// WithObserver sets a function that is called after each answer, with the context of the HTTP request. Many goroutines
// call it at once, so it should be quick. An adapter to Prometheus takes a dozen lines; examples/webhook has one. With
// nil, the default, nothing is called.
func WithObserver(observe func(context.Context, Observation)) Option {
	return option(func(s *settings) error {
		s.observe = observe
		return nil
	})
}

// Observation says what one request was and how it was answered. It holds no paths, names or users, and its values come
// from small sets whatever a client sends, so that they can be labels of a metric.
type Observation struct {
	// Kind is zero unless the registry has locks for it.
	Kind schema.GroupVersionKind
	// Operation is "CREATE", "UPDATE", "DELETE" or "CONNECT", else "".
	Operation string
	Decision  Decision
	DryRun    bool
	// Violations is the number of violations, and Locks the same number by lock, nil without any. Violations beyond the
	// limit of a report have no lock in Locks.
	Violations int
	Locks      map[immutability.Lock]int
	// Bytes is the length of the request's body, as far as it was read.
	Bytes int
	// Duration is the time from the first byte of the body to the answer.
	Duration time.Duration
}

// Decision is how a request was answered. The values can be labels of a metric.
type Decision string

// The decisions.
const (
	// DecisionAllowed: the update breaks no lock, or nothing is locked there, or the operation is not an update.
	DecisionAllowed Decision = "allowed"
	// DecisionRefused: the update breaks a lock.
	DecisionRefused Decision = "refused"
	// DecisionWarned and DecisionAudited: the update breaks a lock and is allowed, because the mode is ModeWarn or
	// ModeAudit.
	DecisionWarned  Decision = "warned"
	DecisionAudited Decision = "audited"
	// DecisionExempt: the update was not checked, because of WithExemptions.
	DecisionExempt Decision = "exempt"
	// DecisionFailed and DecisionIgnored: the update could not be checked, and was refused or allowed by the failure
	// policy.
	DecisionFailed  Decision = "failed"
	DecisionIgnored Decision = "ignored"
	// DecisionUnread: the request could not be read.
	DecisionUnread Decision = "unread"
)
