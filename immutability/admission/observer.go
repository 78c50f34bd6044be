package admission

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
)

// Observer hears of each request after it was answered. It is called by many goroutines at once and should be quick. An
// adapter to Prometheus takes a dozen lines; examples/webhook has one.
type Observer interface {
	Observe(Observation)
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
	// Allowed: the update breaks no lock, or nothing is locked there, or the operation is not an update.
	Allowed Decision = "allowed"
	// Refused: the update breaks a lock.
	Refused Decision = "refused"
	// Warned and Audited: the update breaks a lock and is allowed, because the mode is Warn or Audit.
	Warned  Decision = "warned"
	Audited Decision = "audited"
	// Exempt: the update was not checked, because of an Exempt option.
	Exempt Decision = "exempt"
	// Failed and Ignored: the update could not be checked, and was refused or allowed by the failure policy.
	Failed  Decision = "failed"
	Ignored Decision = "ignored"
	// Unread: the request could not be read.
	Unread Decision = "unread"
)
