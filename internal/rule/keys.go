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
	Why:  "JSON keys are case sensitive. A key in another case is not read, so that the lock it means does not exist.",
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
	Fix: "Remove the key. Where only some fields are to be locked, lock these instead of their parent.",
}, {
	ID: UpdateWord, Severity: Error,
	Text: "x-fieldlock-update has a word that fieldlock does not know, or no word.",
	Why:  "A word that is misspelled forbids nothing. An empty list forbids nothing either.",
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
	Text: "A key looks like one of fieldlock's or Kubernetes' and is neither.",
	Why: "A misspelled lock locks nothing, and nobody notices. An unknown `x-fieldlock-` key, and an `x-kubernetes-` key within " +
		"two edits of a lock, is an error; any other unknown `x-kubernetes-` key is a warning.",
	Example: `
class:
  type: string
  x-kubernetes-immutible: true`,
	Fix: "Correct the spelling, or remove the key.",
}}
