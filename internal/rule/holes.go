package rule

const (
	OptionalParent = "optional-parent"
	UnsetThenSet   = "unset-then-set"
	RenamableKey   = "renamable-key"
	AtomicItems    = "atomic-items"
	RedundantLock  = "redundant-lock"
)

// holeRules are ways around locks, and locks without effect.
var holeRules = []Rule{{
	ID: OptionalParent, Severity: Warning, Hole: true,
	Text: "A locked field can be replaced together with its optional parent.",
	Why: "A lock compares a field whose parent exists before and after the update. One update removes the parent, the next " +
		"one adds it with another value, and neither breaks the lock.",
	Example: `
storage:                # optional, not locked
  type: object
  properties:
    class: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Give the parent `x-fieldlock-update: [NoUnset]`. Before the API is released, the parent can become required instead.",
}, {
	ID: UnsetThenSet, Severity: Warning, Hole: true,
	Text: "A field with NoModify can be removed and set again.",
	Why:  "`NoModify` compares two values. It allows an update that removes the field, and another one that sets it to a new value.",
	Example: `
class:
  type: string
  x-fieldlock-update: [NoModify]`,
	Fix: "Add `NoUnset`. Before the API is released, the field can become required instead.",
}, {
	ID: RenamableKey, Severity: Warning, Hole: true,
	Text: "A locked value can be replaced together with its key.",
	Why: "Values of a map and items of a list-type map are compared under the same key. If a key can be removed, it can come " +
		"back with another value.",
	Example: `
disks:
  type: array
  x-kubernetes-list-type: map
  x-kubernetes-list-map-keys: [name]
  items:
    type: object
    required: [name]
    properties:
      name: {type: string}
      class: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Lock the keys of the list or map with `x-kubernetes-immutable-keys: true` or `x-kubernetes-addition-only: true`.",
}, {
	ID: AtomicItems, Severity: Warning, Hole: true,
	Text: "Locked items of a list without keys can be moved or replaced.",
	Why: "Items of such a list are compared by index. One update can remove the last items, and the next one can append others " +
		"in their place, without breaking a lock.",
	Example: `
args:
  type: array
  items: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Lock the whole list, or make it an `x-kubernetes-list-type: map` with locked keys.",
}, {
	ID: RedundantLock, Severity: Warning,
	Text: "A lock adds nothing to the lock of an ancestor.",
	Why:  "While the ancestor's lock holds, nothing below it can change. Readers may think that the inner lock is needed.",
	Example: `
storage:
  type: object
  x-kubernetes-immutable: true
  properties:
    class: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Remove the inner lock.",
}}

const (
	VersionUnlocked = "version-unlocked"
	VersionDefault  = "version-default"
)

// versionRules are about CRDs with several served versions.
var versionRules = []Rule{{
	ID: VersionUnlocked, Severity: Warning, Hole: true,
	Text: "A served version does not lock a field that another served version locks.",
	Why:  "Clients choose the version that they write through. Only the locks of that version apply to an update.",
	Example: `
versions:
- name: v1
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}
- name: v2
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string}}}}`,
	Fix: "Put the same locks in every served version, or stop serving the version without them.",
}, {
	ID: VersionDefault, Severity: Warning, Hole: true,
	Text: "The served versions have different defaults for a locked field.",
	Why: "An object that leaves the field out has one value through one version and another value, or none, through the next. " +
		"Writing through both changes the locked field.",
	Example: `
versions:
- name: v1
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string, default: gold, x-kubernetes-immutable: true}}}}
- name: v2
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}`,
	Fix: "Give every served version the same default.",
}}

const (
	V1beta1Lock = "v1beta1-lock"
	LockDropped = "lock-dropped"
	OtherCRD    = "other-crd"
	StatusLock  = "status-lock"
)

// updateRules are about updates of a CRD, and about the first update of its objects.
var updateRules = []Rule{{
	ID: V1beta1Lock, Severity: Error,
	Text: "A CRD of apiextensions.k8s.io/v1beta1 gains locks.",
	Why: "Schemas of v1beta1 need not be structural. The proposal therefore allows locks in v1 only; a CRD of v1beta1 that " +
		"already has locks may keep them.",
	Example: `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
spec:
  validation: {openAPIV3Schema: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}`,
	Fix: "Move the CRD to apiextensions.k8s.io/v1.",
}, {
	ID: LockDropped, Severity: Error,
	Text: "An update of a CRD drops or weakens a lock or transition rule.",
	Why: "Clients and controllers rely on locked values not to change. A change that drops a lock can also break it at the same " +
		"time. A lock is also dropped if its version is renamed or is no longer served, and no served version has the lock.",
	Example: `
# before: class: {type: string, x-kubernetes-immutable: true}
class: {type: string}`,
	Fix: "Keep the lock. If dropping it is intended, accept the finding.",
}, {
	ID: OtherCRD, Severity: Error,
	Text: "The old and the new CRD define different groups or kinds.",
	Why:  "An update cannot change the group or the kind of a CRD, so the two cannot be compared.",
	Example: `
# before: names: {kind: Gadget}
names: {kind: Widget}`,
	Fix: "Compare a CRD with its own old version.",
}, {
	ID: StatusLock, Severity: Error,
	Text: "A lock or transition rule makes the first write of the status impossible.",
	Why: "If the CRD has the status subresource, an API server drops the status of a new object. The controller then sets the " +
		"status with an update, which a lock on the whole status refuses. A lock below the status does not refuse this update, " +
		"unless a default fills in the parent of the locked field.",
	Example: `
versions:
- name: v1
  subresources: {status: {}}
  schema:
    openAPIV3Schema:
      type: object
      properties:
        status: {type: object, x-kubernetes-immutable: true, properties: {phase: {type: string}}}`,
	Fix: "Lock fields below the status, or lock it with `x-fieldlock-update: [NoUnset, NoModify]`, so that it can be set once. " +
		"Begin a CEL rule with `!has(oldSelf.status) ||`.",
}}

const (
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

// celRules are about CEL transition rules: rules that read oldSelf.
var celRules = []Rule{{
	ID: CELUnsetThenSet, Severity: Warning, Hole: true,
	Text: "A field with a CEL transition rule can be removed and set again.",
	Why: "An API server runs a transition rule only if both the old and the new object have the field. One update removes the " +
		"field, the next one sets another value, and the rule runs for neither.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf`,
	Fix: "Add a rule to the parent, `!has(oldSelf.class) || has(self.class)`. Before the API is released, the field can become " +
		"required instead.",
}, {
	ID: CELOptionalParent, Severity: Warning, Hole: true,
	Text: "A field with a CEL transition rule can be replaced together with its optional parent.",
	Why: "The rule runs only if both the old and the new object have the field, and therefore its parent. One update removes " +
		"the parent, the next one adds it with another value.",
	Example: `
storage:                # optional
  type: object
  required: [class]
  properties:
    class:
      type: string
      x-kubernetes-validations:
      - rule: self == oldSelf`,
	Fix: "Add a rule above the parent, `!has(oldSelf.storage) || has(self.storage)`. Before the API is released, the parent can " +
		"become required instead.",
}, {
	ID: CELRenamableKey, Severity: Warning, Hole: true,
	Text: "A value with a CEL transition rule can be replaced together with its key.",
	Why:  "The rule runs only for keys that the old and the new object both have. A key that is removed can come back with another value.",
	Example: `
labels:
  type: object
  additionalProperties:
    type: string
    x-kubernetes-validations:
    - rule: self == oldSelf`,
	Fix: "If keys must not be removed, add the rule `oldSelf.all(key, key in self)` to the map.",
}, {
	ID: CELUnknownKeys, Severity: Warning, Hole: true,
	Text: "A CEL transition rule compares an object with unknown fields, which CEL does not see.",
	Why: "Under x-kubernetes-preserve-unknown-fields CEL compares an unknown field only if both sides have it, so `{a: 1}` " +
		"equals `{b: 1}`.",
	Example: `
config:
  type: object
  x-kubernetes-preserve-unknown-fields: true
  x-kubernetes-validations:
  - rule: self == oldSelf`,
	Fix: "Declare the fields, or lock the object with `x-kubernetes-immutable` and check it by webhook or policy.",
}, {
	ID: CELVersionWithoutRule, Severity: Warning, Hole: true,
	Text: "A served version lacks a CEL transition rule that another served version has.",
	Why:  "Clients choose the version that they write through. Only the rules of that version apply to an update.",
	Example: `
versions:
- name: v1
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}
- name: v2
  served: true
  schema: {openAPIV3Schema: {type: object, properties: {class: {type: string}}}}`,
	Fix: "Copy the rule to every served version, or stop serving the version without it.",
}, {
	ID: CELTwoSteps, Severity: Warning, Hole: true,
	Text: "Two updates make a change that a CEL transition rule refuses in one update.",
	Why: "A rule judges one update at a time. If it accepts a change to some value, and a change from that value to another, " +
		"two updates can make a change that the rule refuses. This may be intended, as for a value that resets a counter or " +
		"for states in an order. So the finding is a note, and a warning only if the message of the rule says that the field " +
		"may not change.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf || self == 'none' || oldSelf == 'none'
    message: class is immutable`,
	Fix: "Accept changes from such a value or changes to it, not both. If the detour is intended, say so in the message, or " +
		"accept the finding.",
}, {
	ID: DeadRule, Severity: Warning,
	Text: "A CEL transition rule can never refuse an update.",
	Why:  "The rule looks as if it guarded the field, but every update that the schema and the other rules accept satisfies it.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf || self != oldSelf`,
	Fix: "Remove the rule, or correct it.",
}, {
	ID: RefusedRule, Severity: Error,
	Text: "An API server refuses a CEL rule of the CRD.",
	Why: "The CRD cannot be created or updated: the rule does not compile, could cost too much, or reads oldSelf where the API " +
		"server does not pair old and new values, such as below an atomic list. Lint asks the API server's own validation.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: slef == oldSelf`,
	Fix: "Correct the rule as the message says. If it costs too much, set maxLength, maxItems or maxProperties on the fields that it reads.",
}, {
	ID: NotLookedAt, Severity: Note,
	Text: "Lint reached its limit before it had looked at everything.",
	Why: "The work for one CRD is limited to a number of steps, which a CRD with very many or very long rules can reach. The " +
		"locks and rules that the finding names may have ways around them that lint did not look for. Holes for which lint did " +
		"not look for objects are reported without objects.",
	Example: `
spec:
  type: object
  x-kubernetes-validations:
  - rule: self.a == oldSelf.a && self.b == oldSelf.b # and 400 more`,
	Fix: "Put each rule on the field that it guards, and split rules at `&&`.",
}}
