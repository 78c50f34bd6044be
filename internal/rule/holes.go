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
	Fix: "Make the parent required, or give it `x-fieldlock-update: [NoUnset]`.",
}, {
	ID: UnsetThenSet, Severity: Warning, Hole: true,
	Text: "A field with NoModify can be removed and set again.",
	Why:  "`NoModify` compares two values. It allows an update that removes the field, and another one that sets it to a new value.",
	Example: `
class:
  type: string
  x-fieldlock-update: [NoModify]`,
	Fix: "Add `NoUnset`, or make the field required.",
}, {
	ID: RenamableKey, Severity: Warning, Hole: true,
	Text: "A locked value can be replaced together with its key.",
	Why:  "Values of a map and items of a list-type map are compared under the same key. Where a key may be removed, it may come back with another value.",
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
	Why:  "Items of such a list are compared by index. An update that removes the last ones and another one that appends new ones change them without breaking a lock.",
	Example: `
args:
  type: array
  items: {type: string, x-kubernetes-immutable: true}`,
	Fix: "Lock the whole list, or make it an `x-kubernetes-list-type: map` with locked keys.",
}, {
	ID: RedundantLock, Severity: Warning,
	Text: "A lock adds nothing to the lock of an ancestor.",
	Why:  "While the ancestor's lock holds, nothing below it can change. A reader of the inner lock will think that it is needed.",
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
	Text: "A served version leaves free what another served version locks.",
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
	Why:  "An object that leaves the field out has one value through one version and another value, or none, through the next. Writing through both changes the locked field.",
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
	Why:  "Schemas of v1beta1 need not be structural. The proposal therefore allows locks in v1 only; a CRD of v1beta1 that already has locks may keep them.",
	Example: `
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
spec:
  validation: {openAPIV3Schema: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}}}}`,
	Fix: "Move the CRD to apiextensions.k8s.io/v1.",
}, {
	ID: LockDropped, Severity: Error,
	Text: "An update of a CRD drops or weakens a lock or transition rule.",
	Why:  "Clients and controllers rely on locked values to stay. A change that drops a lock can also break it at once. A lock also goes when its version has a new name or is no longer served, and no served version has the lock.",
	Example: `
# before: class: {type: string, x-kubernetes-immutable: true}
class: {type: string}`,
	Fix: "Keep the lock. Where dropping it is intended, accept the finding.",
}, {
	ID: OtherCRD, Severity: Error,
	Text: "The old and the new CRD define different groups or kinds.",
	Why:  "An update changes neither the group nor the kind of a CRD, so that the two cannot be compared.",
	Example: `
# before: names: {kind: Gadget}
names: {kind: Widget}`,
	Fix: "Compare a CRD with its own old version.",
}, {
	ID: StatusLock, Severity: Error,
	Text: "A lock or transition rule makes the first write of the status impossible.",
	Why: "With the status subresource, an API server drops the status of an object that is created. The controller sets it with an " +
		"update, from absent to a value, and a lock on the status as a whole refuses that. A lock below the status does not, unless " +
		"a default fills in what is above it.",
	Example: `
versions:
- name: v1
  subresources: {status: {}}
  schema:
    openAPIV3Schema:
      type: object
      properties:
        status: {type: object, x-kubernetes-immutable: true, properties: {phase: {type: string}}}`,
	Fix: "Lock fields below the status, or lock it with `x-fieldlock-update: [NoUnset, NoModify]`, which lets it be set once. Let a CEL rule begin with `!has(oldSelf.status) ||`.",
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
	Why: "An API server runs a transition rule only where the old and the new object both have the field. One update removes " +
		"the field, the next one sets another value, and the rule runs on neither.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf`,
	Fix: "Add a rule to the parent, `!has(oldSelf.class) || has(self.class)`, or make the field required.",
}, {
	ID: CELOptionalParent, Severity: Warning, Hole: true,
	Text: "A field with a CEL transition rule can be replaced together with its optional parent.",
	Why:  "The rule runs only where the old and the new object both have the field, and so its parent. One update removes the parent, the next one adds it with another value.",
	Example: `
storage:                # optional
  type: object
  required: [class]
  properties:
    class:
      type: string
      x-kubernetes-validations:
      - rule: self == oldSelf`,
	Fix: "Add a rule above the parent, `!has(oldSelf.storage) || has(self.storage)`, or make the parent required.",
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
	Fix: "If keys are to stay, add to the map the rule `oldSelf.all(key, key in self)`.",
}, {
	ID: CELUnknownKeys, Severity: Warning, Hole: true,
	Text: "A CEL transition rule compares an object with unknown fields, which CEL does not see.",
	Why:  "Under x-kubernetes-preserve-unknown-fields CEL compares an unknown field only where both sides have it, so that `{a: 1}` equals `{b: 1}`.",
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
	Text: "Two updates get around a CEL transition rule that refuses them at once.",
	Why: "A rule judges one update. If it accepts a change to some value and a change from it, whoever may do the one and then the " +
		"other can do both. That may be meant, as for a value that resets a counter or for states in an order: it is a note then, " +
		"and a warning only if the message of the rule says that the field may not change.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf || self == 'none' || oldSelf == 'none'
    message: class is immutable`,
	Fix: "Accept a change from such a value or to it, not both. Where the detour is meant, say so in the message, or accept the finding.",
}, {
	ID: DeadRule, Severity: Warning,
	Text: "A CEL transition rule can never refuse an update.",
	Why:  "The rule looks like a guard and guards nothing: every update that the schema and the other rules admit satisfies it.",
	Example: `
class:
  type: string
  x-kubernetes-validations:
  - rule: self == oldSelf || self != oldSelf`,
	Fix: "Remove the rule, or correct it so that it says what was meant.",
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
	Fix: "Correct the rule as the message says; for its cost, set maxLength, maxItems or maxProperties on what it reads.",
}, {
	ID: NotLookedAt, Severity: Note,
	Text: "Lint ended before it had looked at everything.",
	Why: "The work for one CRD has a ceiling, counted in steps. A CRD with very many or very long rules reaches it. What the finding " +
		"names may have ways around it that lint did not look for; a hole that no objects were looked for is reported without them.",
	Example: `
spec:
  type: object
  x-kubernetes-validations:
  - rule: self.a == oldSelf.a && self.b == oldSelf.b # and 400 more`,
	Fix: "Put each rule on the field that it guards, and split rules at `&&`.",
}}
