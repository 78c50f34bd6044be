package rule

// The IDs of the rules, in the order of the catalogue's lists. Nothing else in the project spells them.
const (
	// Keys and their values.
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

	// Keys of lists and maps.
	KeysOnSet       = "keys-on-set"
	KeysWithoutKeys = "keys-without-keys"
	MapKeysMissing  = "map-keys-missing"
	MapKeyMissing   = "map-key-missing"
	MapKeyNotScalar = "map-key-not-scalar"
	UnlockedMapKey  = "unlocked-map-key"
	OptionalMapKey  = "optional-map-key"

	// Schemas.
	UnresolvableRef = "unresolvable-ref"
	NotStructural   = "not-structural"

	// Ways around locks, and locks without effect.
	OptionalParent = "optional-parent"
	UnsetThenSet   = "unset-then-set"
	RenamableKey   = "renamable-key"
	AtomicItems    = "atomic-items"
	RedundantLock  = "redundant-lock"

	// The versions of a CRD.
	VersionUnlocked = "version-unlocked"
	VersionDefault  = "version-default"

	// Updates of a CRD.
	V1beta1Lock = "v1beta1-lock"
	LockDropped = "lock-dropped"
	OtherCRD    = "other-crd"

	// CEL transition rules.
	CELUnsetThenSet       = "cel-unset-then-set"
	CELOptionalParent     = "cel-optional-parent"
	CELRenamableKey       = "cel-renamable-key"
	CELUnknownKeys        = "cel-unknown-keys"
	CELVersionWithoutRule = "cel-version-without-rule"
	DeadRule              = "dead-rule"
)
