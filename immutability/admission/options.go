package admission

import (
	"fmt"
	"slices"
	"time"

	"github.com/fieldlock/fieldlock/immutability"
)

// Mode is what happens to an update that breaks a lock.
type Mode int

// The modes. Enforce refuses the update. Warn allows it with a warning to the client for each violation, Audit allows it
// with a note in the audit log; both are for the time before a lock is enforced.
const (
	Enforce Mode = iota
	Warn
	Audit
)

func (m Mode) String() string {
	if m < Enforce || m > Audit {
		return fmt.Sprintf("Mode(%d)", int(m))
	}
	return [...]string{"Enforce", "Warn", "Audit"}[m]
}

// FailurePolicy is what happens to an update that cannot be checked. It is about requests that reach the handler; what
// happens when the webhook does not answer is for the failurePolicy of its configuration.
type FailurePolicy int

// The policies. Fail refuses the update. Ignore allows it, with a warning and a note in the audit log. In the modes
// Warn and Audit nothing is refused: there Fail is as Ignore.
const (
	Fail FailurePolicy = iota
	Ignore
)

func (p FailurePolicy) String() string {
	if p < Fail || p > Ignore {
		return fmt.Sprintf("FailurePolicy(%d)", int(p))
	}
	return [...]string{"Fail", "Ignore"}[p]
}

// Option changes how a Handler answers.
type Option interface{ apply(*Handler) error }

type option func(*Handler) error

func (o option) apply(h *Handler) error { return o(h) }

// WithMode sets what happens to an update that breaks a lock: Enforce unless set.
func WithMode(m Mode) Option {
	return option(func(h *Handler) error {
		if m < Enforce || m > Audit {
			return fmt.Errorf("%v is no mode: it is Enforce, Warn or Audit", m)
		}
		h.mode = m
		return nil
	})
}

// WithFailurePolicy sets what happens to an update that cannot be checked: Fail unless set.
func WithFailurePolicy(p FailurePolicy) Option {
	return option(func(h *Handler) error {
		if p < Fail || p > Ignore {
			return fmt.Errorf("%v is no failure policy: it is Fail or Ignore", p)
		}
		h.policy = p
		return nil
	})
}

// WithStatusCode sets the status of a refusal: immutability.Invalid (422), which deployment tools look for, unless set;
// immutability.BadRequest (400) is the proposal's.
func WithStatusCode(code immutability.StatusCode) Option {
	return option(func(h *Handler) error {
		if code != immutability.Invalid && code != immutability.BadRequest {
			return fmt.Errorf("%v is no status of a refusal: it is %v or %v", code, immutability.Invalid, immutability.BadRequest)
		}
		h.code = code
		return nil
	})
}

// WithObserver sets who is told of each request. Nil is nobody.
func WithObserver(o Observer) Option {
	return option(func(h *Handler) error {
		h.observer = o
		return nil
	})
}

// WithMaxBytes sets how long a body may be: 32 MiB unless set. That is enough for all that an API server sends: an
// object of its 3 MiB and the one in its store, with every "<" of them written in six bytes.
func WithMaxBytes(n int64) Option {
	return option(func(h *Handler) error {
		if n <= 0 {
			return fmt.Errorf("a body of at most %d bytes holds no review: give a positive number", n)
		}
		h.maxBytes = n
		return nil
	})
}

// WithReadTimeout sets how long a client may take to send a body: 10 seconds unless set, which is what an API server
// waits for the whole answer unless told otherwise. It needs a server whose connections take deadlines, as that of
// net/http does.
func WithReadTimeout(d time.Duration) Option {
	return option(func(h *Handler) error {
		if d <= 0 {
			return fmt.Errorf("a body cannot be read in %v: give a positive duration", d)
		}
		h.readTimeout = d
		return nil
	})
}

// ExemptDeleting lets updates pass of objects that are being deleted: those whose stored form has a deletionTimestamp.
// It is for controllers that tear down what the locks protect before they remove their finalizer. Mind that a finalizer
// can keep an object, with all its locks off, for as long as its owner likes.
func ExemptDeleting() Option {
	return option(func(h *Handler) error {
		h.exempt.deleting = true
		return nil
	})
}

// ExemptDryRun lets dry-run updates pass of objects that carry this annotation, with any value, such as
// "topology.cluster.x-k8s.io/dry-run" of Cluster API. Only requests that are dry-run themselves pass: anybody can put
// an annotation on an object, but what is dry-run is not stored.
func ExemptDryRun(annotation string) Option {
	return option(func(h *Handler) error {
		if annotation == "" {
			return fmt.Errorf("the annotation of exempt dry-run updates has no name: give one")
		}
		h.exempt.annotations = append(h.exempt.annotations, annotation)
		return nil
	})
}

// ExemptUsers lets updates by these users pass, by their exact names, such as "system:serviceaccount:ns:name".
func ExemptUsers(names ...string) Option {
	return option(func(h *Handler) error {
		if slices.Contains(names, "") {
			return fmt.Errorf("an exempt user has no name: give one")
		}
		h.exempt.users = append(h.exempt.users, names...)
		return nil
	})
}

// ExemptGroups lets updates by members of these groups pass, by their exact names. Groups that everybody is in are
// refused: without locks the webhook is better not deployed.
func ExemptGroups(names ...string) Option {
	return option(func(h *Handler) error {
		for _, name := range names {
			switch name {
			case "":
				return fmt.Errorf("an exempt group has no name: give one")
			case "system:authenticated", "system:unauthenticated", "system:serviceaccounts":
				return fmt.Errorf("the group %q cannot be exempt: too many are in it; name users, or a group of your own", name)
			}
		}
		h.exempt.groups = append(h.exempt.groups, names...)
		return nil
	})
}
