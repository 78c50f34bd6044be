package rule

const (
	KeyCase           = "key-case"
	LockValue         = "lock-value"
	UpdateWord        = "update-word"
	NormalizeValue    = "normalize-value"
	MapListOrderValue = "map-list-order-value"
	ListTypeValue     = "list-type-value"
	ListMapKeysValue  = "list-map-keys-value"
	MapTypeValue      = "map-type-value"
	UnknownKey        = "unknown-key"
)

// keyRules are about the spelling and the values of keys.
var keyRules = []Rule{{
	ID: KeyCase, Severity: Error,
	Text: "An extension key is in the wrong letter case.",
	Why:  "JSON keys are case sensitive. A key in another case is ignored, so the field is not locked.",
	Example: `
class:
  type: string
  X-Kubernetes-Immutable: true`,
	Fix: "Write the key in lower case: `x-kubernetes-immutable`.",
}, {
	ID: LockValue, Severity: Error,
	Text: "A lock has a value other than true.",
	Why: "A lock has one value, `true` (the string `\"true\"`, which openapi-gen writes, counts too). `false` is an error " +
		"because it suggests that a field can lift the lock of its parent, which it cannot.",
	Example: `
spec:
  type: object
  x-kubernetes-immutable: true
  properties:
    replicas: {type: integer, x-kubernetes-immutable: false}`,
	Fix: "Remove the key. To lock only some fields, lock these instead of their parent.",
}, {
	ID: UpdateWord, Severity: Error,
	Text: "x-fieldlock-update has a word that fieldlock does not know, or no word.",
	Why:  "A misspelled word forbids nothing, and neither does an empty list.",
	Example: `
class:
  type: string
  x-fieldlock-update: [NoModfy]`,
	Fix: "Use one or more of `NoSet`, `NoUnset`, `NoModify`, `NoAddItem` and `NoRemoveItem`. Set-once is `[NoUnset, NoModify]`.",
}, {
	ID: NormalizeValue, Severity: Error,
	Text: "x-kubernetes-normalize has an unknown value.",
	Why:  "Normalization says what counts as absent: null, `{}` and `[]` with `undefined`, the zero value of the type too with `zero`.",
	Example: `
labels:
  type: object
  x-kubernetes-normalize: "null"`,
	Fix: "Use `undefined` or `zero`.",
}, {
	ID: MapListOrderValue, Severity: Error,
	Text: "x-fieldlock-map-list-order has an unknown value.",
	Why:  "The key says that a lock compares lists of list-type map by key, without regard to order, as CEL does. It has one value.",
	Example: `
ports:
  type: array
  x-kubernetes-immutable: true
  x-fieldlock-map-list-order: any`,
	Fix: "Use `ignored`, or remove the key where the order counts.",
}, {
	ID: ListTypeValue, Severity: Error,
	Text: "x-kubernetes-list-type has an unknown value.",
	Why:  "The list type decides which items are compared with each other.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: bag`,
	Fix: "Use `atomic`, `set` or `map`.",
}, {
	ID: ListMapKeysValue, Severity: Error,
	Text: "x-kubernetes-list-map-keys is not a list of property names.",
	Why:  "Items of a list-type map are told apart by these properties.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: {name: true}`,
	Fix: "List the names: `x-kubernetes-list-map-keys: [name]`.",
}, {
	ID: MapTypeValue, Severity: Error,
	Text: "x-kubernetes-map-type has an unknown value.",
	Why:  "The map type decides whether an object has keys that can be locked.",
	Example: `
selector:
  type: object
  x-kubernetes-map-type: whole`,
	Fix: "Use `granular` or `atomic`.",
}, {
	ID: UnknownKey, Severity: Error,
	Text: "An extension key is neither fieldlock's nor Kubernetes'.",
	Why: "A misspelled lock has no effect, and this is easy to miss. An unknown `x-fieldlock-` key, and an `x-kubernetes-` key within " +
		"two edits of a lock, is an error; any other unknown `x-kubernetes-` key is a warning.",
	Example: `
class:
  type: string
  x-kubernetes-immutible: true`,
	Fix: "Correct the spelling, or remove the key.",
}}

const (
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
)

// placeRules are about where locks and normalizations are allowed.
var placeRules = []Rule{{
	ID: LockAtRoot, Severity: Error,
	Text: "The whole object is locked.",
	Why:  "Every update changes parts of `metadata`, such as `resourceVersion`, so a lock on the root would refuse all of them.",
	Example: `
openAPIV3Schema:
  type: object
  x-kubernetes-immutable: true`,
	Fix: "Lock `spec`, or fields below it.",
}, {
	ID: LockInMetadata, Severity: Error,
	Text: "A lock is in metadata.",
	Why: "API machinery owns `metadata`: it changes it on every update and already keeps names and UIDs. This holds for the " +
		"metadata of embedded resources too.",
	Example: `
metadata:
  type: object
  properties:
    labels: {type: object, x-kubernetes-immutable: true}`,
	Fix: "Remove the lock. Labels can be guarded by a ValidatingAdmissionPolicy.",
}, {
	ID: LockBelowSet, Severity: Error,
	Text: "A lock is on or below the items of a set.",
	Why: "Items of a set have no identity: an item is in the set or not. No item of the old set is ever compared with one of " +
		"the new set, so the lock can have no effect.",
	Example: `
zones:
  type: array
  x-kubernetes-list-type: set
  items: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Lock the set: `x-kubernetes-immutable`, `x-kubernetes-addition-only` or `x-kubernetes-deletion-only` next to the list type.",
}, {
	ID: LockInCombinator, Severity: Error,
	Text: "A lock is inside allOf, anyOf, oneOf or not.",
	Why: "These keywords validate one object; which branch a value belongs to may change with an update. Updates are compared " +
		"along properties, additionalProperties and items only.",
	Example: `
spec:
  type: object
  anyOf:
  - properties: {class: {x-kubernetes-immutable: true}}`,
	Fix: "Put the lock on the property itself.",
}, {
	ID: LockInUncheckedKeyword, Severity: Error,
	Text: "A lock is below a keyword that updates are not compared along.",
	Why: "Updates are compared along properties, additionalProperties and items. A lock below patternProperties, or next to a " +
		"`$ref` that hides it, is never checked.",
	Example: `
spec:
  type: object
  patternProperties:
    "^x-": {x-kubernetes-immutable: true}`,
	Fix: "Put the lock on the property itself, or on the map.",
}, {
	ID: ConflictingLocks, Severity: Error,
	Text: "A field has two locks that exclude each other.",
	Why: "The four `x-kubernetes-` locks exclude each other, and `x-kubernetes-immutable` leaves nothing for x-fieldlock-update " +
		"to forbid. Two of them on one field are a mistake.",
	Example: `
labels:
  type: object
  additionalProperties: {type: string}
  x-kubernetes-addition-only: true
  x-kubernetes-deletion-only: true`,
	Fix: "Keep one. Addition-only and deletion-only together are `x-kubernetes-immutable-keys`.",
}, {
	ID: NormalizePosition, Severity: Error,
	Text: "x-kubernetes-normalize is on something that is not a property.",
	Why: "Normalization treats a value as absent. Only a property can be absent: an item of a list, a value of a map and the " +
		"whole object cannot.",
	Example: `
volumes:
  type: array
  items: {type: object, x-kubernetes-normalize: undefined}`,
	Fix: "Move the key to the property, here `volumes`, or to properties of the items.",
}, {
	ID: NormalizeType, Severity: Error,
	Text: "x-kubernetes-normalize: zero is on a field whose type has no zero value.",
	Why:  "`zero` treats the zero value of the field's type as absent. Without a single type the value is unknown.",
	Example: `
size:
  x-kubernetes-preserve-unknown-fields: true
  x-kubernetes-normalize: zero`,
	Fix: "Give the field one type, or use `undefined`.",
}, {
	ID: RedactedPath, Severity: Error,
	Text: "A path to redact does not exist in the schema.",
	Why:  "Values at redacted paths are left out of messages. A path that does not exist hides nothing, so a secret could be printed.",
	Example: `
# WithRedacted("/properties/spec/properties/tokn") on
spec:
  type: object
  properties: {token: {type: string, x-kubernetes-immutable: true}}`,
	Fix: "Give the JSON pointer of the field in the schema, such as `/properties/spec/properties/token`.",
}, {
	ID: AliasValue, Severity: Error,
	Text: "A key that is an alias of locks has a value that cannot be read.",
	Why:  "fieldlock cannot tell whether the field is locked, and to ignore the key would let changes through.",
	Example: `
# WithKeyAlias("x-acme-immutable", LockImmutable) on
zone:
  type: string
  x-acme-immutable: sometimes`,
	Fix: "Use `true` or `false`, a list of `create`, `read` and `update`, or a list of the field behaviors of AIP-203.",
}, {
	ID: ExternalLock, Severity: Error,
	Text: "An external lock is for a field that the schema does not have.",
	Why:  "The path does not exist in the schema, so the entry locks nothing.",
	Example: `
# WithLocks(ExternalLock{Path: "spec.zoen", …}) on
spec:
  type: object
  properties: {zone: {type: string}}`,
	Fix: "Correct the path. The message names the nearest one.",
}}
