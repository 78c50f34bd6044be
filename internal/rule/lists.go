package rule

const (
	KeysOnSet       = "keys-on-set"
	KeysWithoutKeys = "keys-without-keys"
	MapKeysMissing  = "map-keys-missing"
	MapKeyMissing   = "map-key-missing"
	MapKeyNotScalar = "map-key-not-scalar"
	UnlockedMapKey  = "unlocked-map-key"
	OptionalMapKey  = "optional-map-key"
)

// listRules are about the keys of lists and maps.
var listRules = []Rule{{
	ID: KeysOnSet, Severity: Error,
	Text: "x-kubernetes-immutable-keys is on a set.",
	Why:  "The items of a set are its keys, so a lock on all keys locks the whole set.",
	Example: `
zones:
  type: array
  x-kubernetes-list-type: set
  items: {type: string}
  x-kubernetes-immutable-keys: true`,
	Fix: "Use `x-kubernetes-immutable`.",
}, {
	ID: KeysWithoutKeys, Severity: Error,
	Text: "A lock on keys is on a field without keys.",
	Why: "Keys are the keys of additionalProperties and of a list-type map (for the `-only` locks, also the items of a set). " +
		"Plain properties, atomic lists and atomic maps have none.",
	Example: `
args:
  type: array
  items: {type: string}
  x-kubernetes-addition-only: true`,
	Fix: "Use `x-kubernetes-immutable`, or give the list the type `map` or `set`.",
}, {
	ID: MapKeysMissing, Severity: Error,
	Text: "A list-type map does not name its keys.",
	Why:  "Without x-kubernetes-list-map-keys, items cannot be told apart.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  items: {type: object, properties: {name: {type: string}}}`,
	Fix: "Add `x-kubernetes-list-map-keys: [name]`.",
}, {
	ID: MapKeyMissing, Severity: Error,
	Text: "The items of a list-type map lack a property that is named as a key.",
	Why:  "An item without the key has no identity.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, properties: {port: {type: integer}}}`,
	Fix: "Declare the property in the items, or correct the name of the key.",
}, {
	ID: MapKeyNotScalar, Severity: Error,
	Text: "A key of a list-type map is an object or a list.",
	Why:  "Items are found by the value of their keys, which has to be a string, integer, number or boolean.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, required: [name], properties: {name: {type: array}}}`,
	Fix: "Use a scalar property as the key.",
}, {
	ID: UnlockedMapKey, Severity: Error,
	Text: "The keys of a list-type map are locked, but the key property is not marked immutable.",
	Why:  "A reader of the items' schema should see that the key property cannot change. The proposal requires the mark.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  x-kubernetes-immutable-keys: true
  items: {type: object, required: [name], properties: {name: {type: string}}}`,
	Fix: "Add `x-kubernetes-immutable: true` to the key property.",
}, {
	ID: OptionalMapKey, Severity: Warning,
	Text: "A key of a list-type map is neither required nor has a default.",
	Why:  "Items without the key cannot be told apart. An API server refuses a v1 CRD like that.",
	Example: `
ports:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items: {type: object, properties: {name: {type: string}}}`,
	Fix: "Add the key to `required` of the items, or give it a default.",
}}

const (
	UnresolvableRef = "unresolvable-ref"
	NotStructural   = "not-structural"
)

// schemaRules are about schemas that cannot be used.
var schemaRules = []Rule{{
	ID: UnresolvableRef, Severity: Error,
	Text: "A $ref cannot be resolved.",
	Why:  "The schema behind the reference is unknown, and so are its locks.",
	Example: `
address: {$ref: "#/definitions/adress"}`,
	Fix: "Correct the reference, or pass a resolver that knows it. A `$ref` must not lead back to itself.",
}, {
	ID: NotStructural, Severity: Warning,
	Text: "The schema is not structural.",
	Why:  "An API server refuses a v1 CRD whose schema is not structural, and it can neither prune nor default its objects.",
	Example: `
spec:
  type: object
  patternProperties: {"^x-": {type: string}}`,
	Fix: "Remove the keywords that structural schemas do not allow. The message names the first one.",
}}
