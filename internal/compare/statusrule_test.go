package compare

import (
	"strconv"
	"strings"
	"testing"
)

// TestStatusRules: a rule that reads the status is unknown only where what else it reads leaves the verdict open.
func TestStatusRules(t *testing.T) {
	const programmed = "!has(oldSelf.status) || oldSelf.status.on != true || self.spec.class == oldSelf.spec.class"
	for _, c := range []struct {
		name, reason, rule string
		newSpec            string // the old one is {class: a, zone: a}
		unknown            bool
	}{
		{"the field changes", "the status decides", programmed, "{class: b, zone: a}", true},
		{"another field changes", "the rule holds whatever the status is", programmed, "{class: a, zone: b}", false},
		{"the field is gone", "it cannot be read", programmed, "{zone: b}", true},
		{"a choice by the status", "both ways hold", "has(self.status) && self.status.on == true ? self.spec.class == oldSelf.spec.class : true", "{class: a, zone: b}", false},
		{"a choice by the status that is open", "one way does not", "has(self.status) && self.status.on == true ? self.spec.class == oldSelf.spec.class : true", "{class: b, zone: a}", true},
		{"a guard on the change", "it excludes the status", "self.spec.class == oldSelf.spec.class || !has(self.status)", "{class: a, zone: b}", false},
		{"only the status", "nothing else tells", "!has(oldSelf.status) || oldSelf.status.on != true", "{class: a, zone: b}", true},
		{"a literal that names the status", "it reads no status", `"self.status" != "" && self.spec.class == oldSelf.spec.class`, "{class: a, zone: b}", false},
		{"an optional old object", "value() is the object itself", "!oldSelf.hasValue() || !has(oldSelf.value().status) || oldSelf.value().status.on != true || self.spec.class == oldSelf.value().spec.class", "{class: b, zone: a}", true},
		{"an optional old object that keeps the field", "the rule holds whatever the status is", "!oldSelf.hasValue() || !has(oldSelf.value().status) || oldSelf.value().status.on != true || self.spec.class == oldSelf.value().spec.class", "{class: a, zone: b}", false},
		{"the whole object", "the status is a part of it", "has(self.status) && self.status.on == true || self == oldSelf", "{class: a, zone: b}", true},
	} {
		crd := strings.ReplaceAll(widgets("None", "class: {type: string}\nzone: {type: string}", ""), "          properties:\n            spec:\n",
			"          x-kubernetes-validations: [{rule: '"+c.rule+"', optionalOldSelf: "+strconv.FormatBool(strings.Contains(c.rule, "oldSelf.value()"))+"}]\n          properties:\n            status: {type: object, properties: {on: {type: boolean}}}\n            spec:\n")
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", c.newSpec)},
			map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{class: a, zone: a}")}, Options{})
		if len(r.Unknown) > 0 != c.unknown || len(r.Violations) > 0 || len(r.Errors) > 0 {
			t.Errorf("%s: unknown %v, violations %v, errors %v; want unknown %v: %s", c.name, r.Unknown, r.Violations, r.Errors, c.unknown, c.reason)
		}
	}
}

// TestStatusSubresource: no apply writes the status of a kind that has the subresource. A real API server gave these
// answers.
func TestStatusSubresource(t *testing.T) {
	const declared = "      storage: true\n      subresources: {status: {}}\n"
	crd := strings.Replace(widgets("None", "", ""), "          properties:\n            spec:\n", "          x-kubernetes-validations: [{rule: '!has(oldSelf.status) || has(self.status)'}]\n"+
		"          properties:\n            status: {type: object, properties: {on: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}\n            spec:\n", 1)
	for _, row := range []struct{ name, status string }{{"another value", "status: {on: b}\n"}, {"no status", ""}} {
		for crd, refused := range map[string]bool{crd: true, strings.Replace(crd, "      storage: true\n", declared, 1): false} {
			r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{free: b}") + row.status},
				map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{free: a}") + "status: {on: a}\n"}, Options{})
			if len(r.Violations) > 0 != refused || len(r.Unknown) > 0 || len(r.Errors) > 0 {
				t.Errorf("%s: violations %v, unknown %v, errors %v; want refused %v", row.name, r.Violations, r.Unknown, r.Errors, refused)
			}
		}
	}
}

// TestIncompleteStatus: an old object whose manifest has a status that lacks a required field is one all the same, as
// the status is not stored.
func TestIncompleteStatus(t *testing.T) {
	crd := strings.Replace(widgets("None", "class: {type: string, x-kubernetes-immutable: true}", ""), "          properties:\n            spec:\n",
		"          properties:\n            status: {type: object, required: [phase], properties: {phase: {type: string}}}\n            spec:\n", 1)
	for crd, refused := range map[string]bool{strings.Replace(crd, "      storage: true\n", "      storage: true\n      subresources: {status: {}}\n", 1): true, crd: false} {
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{class: b}")},
			map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{class: a}") + "status: {}\n"}, Options{})
		if len(r.Violations) > 0 != refused || len(r.Errors) > 0 {
			t.Errorf("violations %v, unknown %v, errors %v; want refused %v", r.Violations, r.Unknown, r.Errors, refused)
		}
	}
}
