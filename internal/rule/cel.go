package rule

const (
	CELUnsetThenSet       = "cel-unset-then-set"
	CELOptionalParent     = "cel-optional-parent"
	CELRenamableKey       = "cel-renamable-key"
	CELUnknownKeys        = "cel-unknown-keys"
	CELVersionWithoutRule = "cel-version-without-rule"
	DeadRule              = "dead-rule"
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
