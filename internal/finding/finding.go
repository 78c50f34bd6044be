// Package finding has the IDs and the severities of what lint finds. A new finding is a constant here, an entry in
// catalogue/findings.yaml with its words, and the code that finds it. Nothing else in the project spells the IDs.
package finding

import (
	"fmt"
	"strings"
)

// The IDs of the findings: users filter and accept findings by them.
const (
	// The spelling and the values of keys.
	KeyCase           = "key-case"
	LockValue         = "lock-value"
	UpdateWord        = "update-word"
	NormalizeValue    = "normalize-value"
	MapListOrderValue = "map-list-order-value"
	ListTypeValue     = "list-type-value"
	ListMapKeysValue  = "list-map-keys-value"
	MapTypeValue      = "map-type-value"
	UnknownKey        = "unknown-key"

	// Where locks and normalizations are allowed.
	LockAtRoot             = "lock-at-root"
	LockInMetadata         = "lock-in-metadata"
	LockBelowSet           = "lock-below-set"
	LockInCombinator       = "lock-in-combinator"
	LockInUncheckedKeyword = "lock-in-unchecked-keyword"
	ConflictingLocks       = "conflicting-locks"
	NormalizePosition      = "normalize-position"
	NormalizeType          = "normalize-type"
	RedactedPath           = "redacted-path"
	AliasValue             = "alias-value"
	ExternalLock           = "external-lock"

	// The keys of lists and maps.
	KeysOnSet       = "keys-on-set"
	KeysWithoutKeys = "keys-without-keys"
	MapKeysMissing  = "map-keys-missing"
	MapKeyMissing   = "map-key-missing"
	MapKeyNotScalar = "map-key-not-scalar"
	UnlockedMapKey  = "unlocked-map-key"
	OptionalMapKey  = "optional-map-key"

	// Schemas that cannot be used.
	UnresolvableRef = "unresolvable-ref"
	NotStructural   = "not-structural"

	// Ways around locks, and locks without effect.
	OptionalParent = "optional-parent"
	UnsetThenSet   = "unset-then-set"
	RenamableKey   = "renamable-key"
	AtomicItems    = "atomic-items"
	RedundantLock  = "redundant-lock"

	// CRDs with several served versions.
	VersionUnlocked = "version-unlocked"
	VersionDefault  = "version-default"

	// Updates of a CRD, and the first update of its objects.
	V1beta1Lock = "v1beta1-lock"
	LockDropped = "lock-dropped"
	OtherCRD    = "other-crd"
	StatusLock  = "status-lock"

	// CEL transition rules: rules that read oldSelf.
	CELUnsetThenSet       = "cel-unset-then-set"
	CELOptionalParent     = "cel-optional-parent"
	CELRenamableKey       = "cel-renamable-key"
	CELUnknownKeys        = "cel-unknown-keys"
	CELVersionWithoutRule = "cel-version-without-rule"
	CELTwoSteps           = "cel-two-steps"
	DeadRule              = "dead-rule"
	RefusedRule           = "refused-rule"
	NotLookedAt           = "not-looked-at"
)

// Severity says what a finding means for whoever uses the schema.
type Severity string

const (
	// Error makes a schema unusable: Compile refuses it, and lint fails.
	Error Severity = "error"
	// Warning names a way around a lock, or a lock without effect.
	Warning Severity = "warning"
	// Note is a hole that is possible but could not be shown with objects, or what lint did not look at. It never
	// fails.
	Note Severity = "note"
)

// Enumerate lists fields for a message: the first five, and how many more there are.
func Enumerate(fields []string) string {
	const shown = 5
	more := len(fields) - shown
	switch {
	case more <= 0:
		return strings.Join(fields, ", ")
	case more == 1:
		return strings.Join(fields[:shown], ", ") + ", and 1 more field"
	}
	return fmt.Sprintf("%s, and %d more fields", strings.Join(fields[:shown], ", "), more)
}
