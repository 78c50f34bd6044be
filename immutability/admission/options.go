package admission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

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

// FailurePolicy is what happens to an update that cannot be checked. It is about requests that reach the handler; what
// happens when the webhook does not answer is for the failurePolicy of its configuration.
type FailurePolicy string

// The policies. In the modes ModeWarn and ModeAudit nothing is refused, and FailurePolicyFail behaves like
// FailurePolicyIgnore.
const (
	FailurePolicyFail   FailurePolicy = "Fail"   // refuses the update
	FailurePolicyIgnore FailurePolicy = "Ignore" // allows it, with a warning and a note in the audit log
)

// VersionGaps is what happens to an update through a version of a kind that leaves free what another served version
// locks: Version.Gaps. Such a version is a way around the locks.
type VersionGaps string

// What to do about gaps.
const (
	VersionGapsWarn   VersionGaps = "warn"   // checks the update with the locks that the version has, and adds a warning
	VersionGapsRefuse VersionGaps = "refuse" // treats it as an update that cannot be checked
	VersionGapsAllow  VersionGaps = "allow"  // says nothing
)

// settings are what the options of a Handler set.
type settings struct {
	mode        Mode
	policy      FailurePolicy
	gaps        VersionGaps
	code        immutability.StatusCode
	exempt      exemptions
	observe     func(context.Context, Observation)
	logger      *slog.Logger
	maxBytes    int64
	readTimeout time.Duration
}

// Option changes how a Handler answers.
type Option interface{ apply(*settings) error }

type option func(*settings) error

func (o option) apply(s *settings) error { return o(s) }

// WithMode sets what happens to an update that breaks a lock: ModeEnforce unless set.
func WithMode(m Mode) Option {
	return option(func(s *settings) error {
		if m != ModeEnforce && m != ModeWarn && m != ModeAudit {
			return fmt.Errorf("%q is not a mode: it is %q, %q or %q", m, ModeEnforce, ModeWarn, ModeAudit)
		}
		s.mode = m
		return nil
	})
}

// WithFailurePolicy sets what happens to an update that cannot be checked: FailurePolicyFail unless set.
func WithFailurePolicy(p FailurePolicy) Option {
	return option(func(s *settings) error {
		if p != FailurePolicyFail && p != FailurePolicyIgnore {
			return fmt.Errorf("%q is not a failure policy: it is %q or %q", p, FailurePolicyFail, FailurePolicyIgnore)
		}
		s.policy = p
		return nil
	})
}

// WithStatusCode sets the status of a refusal: immutability.StatusCodeInvalid (422), which deployment tools look for, unless set;
// immutability.StatusCodeBadRequest (400) is the proposal's.
func WithStatusCode(code immutability.StatusCode) Option {
	return option(func(s *settings) error {
		if code != immutability.StatusCodeInvalid && code != immutability.StatusCodeBadRequest {
			return fmt.Errorf("%v is not the status of a refusal: it is %v or %v", code, immutability.StatusCodeInvalid, immutability.StatusCodeBadRequest)
		}
		s.code = code
		return nil
	})
}

// WithVersionGaps sets what happens to an update through a version with gaps: VersionGapsWarn unless set.
func WithVersionGaps(g VersionGaps) Option {
	return option(func(s *settings) error {
		if g != VersionGapsWarn && g != VersionGapsRefuse && g != VersionGapsAllow {
			return fmt.Errorf("%q is not a way to treat gaps: it is %q, %q or %q", g, VersionGapsWarn, VersionGapsRefuse, VersionGapsAllow)
		}
		s.gaps = g
		return nil
	})
}

// WithLogger writes one line for each refused request: its kind, object, user, and the paths and locks that it breaks,
// or why it could not be checked. A line never holds values of the object. Nil, as unless set, logs nothing.
func WithLogger(l *slog.Logger) Option {
	return option(func(s *settings) error {
		s.logger = l
		return nil
	})
}

// WithObserver sets a function that is called after each answer, with the context of the HTTP request. Many goroutines call
// it at once, so it should be quick. An adapter to Prometheus takes a dozen lines; examples/webhook has one. Nil, as unless
// set, is nobody.
func WithObserver(observe func(context.Context, Observation)) Option {
	return option(func(s *settings) error {
		s.observe = observe
		return nil
	})
}

// ExemptDeleting lets updates of objects pass that are being deleted: those whose stored form has a deletionTimestamp.
// Controllers need it that tear down what the locks protect before they remove their finalizer. But a finalizer can keep
// an object, with all its locks off, for as long as its owner likes.
func ExemptDeleting() Option {
	return option(func(s *settings) error {
		s.exempt.deleting = true
		return nil
	})
}

// ExemptDryRun lets dry-run updates pass of objects that carry this annotation, with any value, such as
// "topology.cluster.x-k8s.io/dry-run" of Cluster API. Only requests that are dry-run themselves pass: anybody can put
// an annotation on an object, but what is dry-run is not stored.
func ExemptDryRun(annotation string) Option {
	return option(func(s *settings) error {
		if annotation == "" {
			return fmt.Errorf("the annotation of exempt dry-run updates has no name: give one")
		}
		s.exempt.annotations = append(s.exempt.annotations, annotation)
		return nil
	})
}

// ExemptUsers lets updates by these users pass, by their exact names, such as "system:serviceaccount:ns:name".
func ExemptUsers(names ...string) Option {
	return option(func(s *settings) error {
		if slices.Contains(names, "") {
			return fmt.Errorf("an exempt user has no name: give one")
		}
		s.exempt.users = append(s.exempt.users, names...)
		return nil
	})
}

// ExemptGroups lets updates by members of these groups pass, by their exact names. Groups that everybody is in are
// refused: without locks the webhook is better not deployed.
func ExemptGroups(names ...string) Option {
	return option(func(s *settings) error {
		for _, name := range names {
			switch name {
			case "":
				return fmt.Errorf("an exempt group has no name: give one")
			case "system:authenticated", "system:unauthenticated", "system:serviceaccounts":
				return fmt.Errorf("the group %q cannot be exempt: too many are in it; name users, or a group of your own", name)
			}
		}
		s.exempt.groups = append(s.exempt.groups, names...)
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

// Decision is how a request was answered.
type Decision string

const (
	// DecisionAllowed: the update breaks no lock, or nothing is locked there, or the operation is not an update.
	DecisionAllowed Decision = "allowed"
	// DecisionRefused: the update breaks a lock.
	DecisionRefused Decision = "refused"
	// DecisionWarned and DecisionAudited: the update breaks a lock and is allowed, because the mode is ModeWarn or ModeAudit.
	DecisionWarned  Decision = "warned"
	DecisionAudited Decision = "audited"
	// DecisionExempt: the update was not checked, because of an Exempt option.
	DecisionExempt Decision = "exempt"
	// DecisionFailed and DecisionIgnored: the update could not be checked, and was refused or allowed by the failure policy.
	DecisionFailed  Decision = "failed"
	DecisionIgnored Decision = "ignored"
	// DecisionUnread: the request could not be read.
	DecisionUnread Decision = "unread"
)
