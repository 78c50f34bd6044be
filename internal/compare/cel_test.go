package compare

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// The transition rules of a CRD in check: which field a violation is at, what it says, and what happens between two
// versions.
func TestRules(t *testing.T) {
	rules := func(entries string) string {
		return "class: {type: string, x-kubernetes-validations: [" + entries + "]}\nzone: {type: string}"
	}
	ordered := rules("{rule: self >= oldSelf, message: class only grows}")
	free := rules("")
	for _, test := range []struct {
		name, reason     string
		conversion       string
		v1, v2           string // the properties of spec in each version
		oldSpec, newSpec string
		newVersion       string
		want             []string // path, rule and message
		unknown          bool
	}{
		{
			name: "message", reason: "the rule's own", v1: ordered, oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] class only grows"},
		},
		{
			name: "holds", reason: "no violation", v1: ordered, oldSpec: "{class: a}", newSpec: "{class: b}",
		},
		{
			name: "unset", reason: "a transition rule does not run without a new value", v1: ordered, oldSpec: "{class: b}", newSpec: "{zone: a}",
		},
		{
			name: "set", reason: "nor without an old one", v1: ordered, oldSpec: "{zone: a}", newSpec: "{class: a}",
		},
		{
			name: "optionalOldSelf", reason: "it runs without an old value too",
			v1: rules("{rule: 'oldSelf.hasValue()', optionalOldSelf: true, message: class is set at creation}"), oldSpec: "{zone: a}", newSpec: "{class: a}",
			want: []string{"spec.class [oldSelf.hasValue()] class is set at creation"},
		},
		{
			name: "messageExpression", reason: "its result is the message",
			v1:      rules(`{rule: self >= oldSelf, message: fixed, messageExpression: "'not from ' + oldSelf + ' to ' + self"}`),
			oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] not from b to a"},
		},
		{
			name: "reason", reason: "the reason does not change what is refused",
			v1: rules("{rule: self >= oldSelf, message: class only grows, reason: FieldValueForbidden}"), oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] class only grows"},
		},
		{
			name: "two rules", reason: "each that is false is reported, in their order",
			v1:      rules("{rule: self >= oldSelf, message: first}, {rule: 'true', message: never}, {rule: self.size() >= oldSelf.size(), message: third}"),
			oldSpec: "{class: bb}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] first", "spec.class [self.size() >= oldSelf.size()] third"},
		},
		{
			name: "ratcheting does not help", reason: "a transition rule runs on values that did not change too",
			v1: rules("{rule: self != oldSelf, message: class changes each time}"), oldSpec: "{class: a, zone: a}", newSpec: "{class: a, zone: b}",
			want: []string{"spec.class [self != oldSelf] class changes each time"},
		},
		{
			name: "both versions", reason: "without a conversion the old object is validated as the new version has it; one rule is reported once",
			v1: ordered, v2: ordered, newVersion: "v2", oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] class only grows"},
		},
		{
			name: "the new version only", reason: "it is the version of the request",
			v1: free, v2: ordered, newVersion: "v2", oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] class only grows"},
		},
		{
			name: "the old version only", reason: "the rule of one version counts for an update through the other",
			v1: ordered, v2: free, newVersion: "v2", oldSpec: "{class: b}", newSpec: "{class: a}",
			want: []string{"spec.class [self >= oldSelf] class only grows"},
		},
		{
			name: "a default of the new version", reason: "the server defaults what it reads in the version that is stored, not what it converts",
			v1: "o: {type: object, properties: {c: {type: string}, d: {type: string}}}", newVersion: "v2", oldSpec: "{o: {d: a}}", newSpec: "{o: {d: a}}",
			v2:   "o: {type: object, properties: {c: {type: string, default: x}, d: {type: string}}, x-kubernetes-validations: [{rule: has(self.c) == has(oldSelf.c) && (!has(self.d) || self.d != 'z')}]}",
			want: []string{"spec.o [has(self.c) == has(oldSelf.c) && (!has(self.d) || self.d != 'z')] failed rule: has(self.c) == has(oldSelf.c) && (!has(self.d) || self.d != 'z')"},
		},
		{
			name: "conversion by webhook", reason: "nobody but the webhook knows what becomes of the value",
			conversion: "Webhook", v1: ordered, v2: ordered, newVersion: "v2", oldSpec: "{class: b}", newSpec: "{class: a}",
			unknown: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			conversion, version := "None", "v1"
			if test.conversion != "" {
				conversion = test.conversion
			}
			if test.newVersion != "" {
				version = test.newVersion
			}
			crd := widgets(conversion, test.v1, test.v2)
			r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget(version, "a", "x", test.newSpec)},
				map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", test.oldSpec)}, Options{})
			var got []string
			for _, v := range r.Violations {
				if v.Lock != lockRule {
					t.Errorf("the lock is %q, want %q", v.Lock, lockRule)
				}
				got = append(got, v.Path+" ["+v.Rule+"] "+v.Message)
			}
			if !slices.Equal(got, test.want) || len(r.Unknown) > 0 != test.unknown || len(r.Errors) > 0 {
				t.Errorf("%s: got %q, unknown %v, errors %v; want %q", test.reason, got, r.Unknown, r.Errors, test.want)
			}
		})
	}
}

// A rule on the whole spec names its fieldPath; below a map and a list the path has the key and the index.
func TestRulePaths(t *testing.T) {
	const properties = `
class: {type: string}
pools: {type: object, additionalProperties: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf}]}}}}
zones: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, class: {type: string}}, x-kubernetes-validations: [{rule: self.class >= oldSelf.class, fieldPath: .class}]}}
`
	crd := widgets("None", properties, "")
	old := widget("v1", "a", "x", "{pools: {a: {size: 3}}, zones: [{name: z, class: b}, {name: y, class: b}]}")
	is := widget("v1", "a", "x", "{pools: {a: {size: 2}}, zones: [{name: y, class: a}, {name: z, class: b}]}")
	r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": is}, map[string]string{"crd.yaml": crd, "x.yaml": old}, Options{})
	want := []string{"a/x spec.pools[a].size rule [self >= oldSelf]", "a/x spec.zones[0].class rule [self.class >= oldSelf.class]"}
	if got := found(r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFieldPathInMap: a rule that names a field below a map's value is reported once, with the lock that it equals.
func TestFieldPathInMap(t *testing.T) {
	crd := widgets("None", "m: {type: object, additionalProperties: {type: object, required: [p], properties: {p: {type: string}}, "+
		"x-kubernetes-validations: [{rule: self.p == oldSelf.p, fieldPath: .p}]}}", "")
	object := func(text string) map[string]string {
		return map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{m: {a.b/c: {p: "+text+"}, d: {p: "+text+"}}}")}
	}
	r := check(t, object("two"), object("one"), Options{})
	if want := []string{"a/x spec.m[a.b/c].p immutable [self.p == oldSelf.p]", "a/x spec.m[d].p immutable [self.p == oldSelf.p]"}; !slices.Equal(found(r), want) {
		t.Errorf("got %q, want %q", found(r), want)
	}
}

// TestMessageExpressions: what CEL says counts for a rule that equals a lock, too. It may quote a password, which is
// not shown.
func TestMessageExpressions(t *testing.T) {
	for _, test := range []struct{ name, class, rule, want string }{
		{"a lock", "type: string", "rule: self == oldSelf, message: fixed", "was b"},
		{"a lock of a password", "type: string, format: password", "rule: self == oldSelf, message: fixed", "fixed"},
		{"a rule on a password", "type: string, format: password", "rule: self >= oldSelf", "failed rule: self >= oldSelf"},
		{"an error that quotes a password", "type: string, format: password", "rule: int(self) > int(oldSelf)", "failed rule: int(self) > int(oldSelf)"},
	} {
		crd := widgets("None", "class: {"+test.class+", x-kubernetes-validations: [{"+test.rule+", messageExpression: \"'was ' + oldSelf\"}]}", "")
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{class: a}")},
			map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", "{class: b}")}, Options{})
		if len(r.Violations) != 1 || len(r.Errors) > 0 {
			t.Fatalf("%s: %q, %v", test.name, found(r), r.Errors)
		}
		if v := r.Violations[0]; cmp.Or(v.Says, v.Message) != test.want || v.Says != "" && !strings.HasSuffix(v.Message, "; the rule says: "+test.want) {
			t.Errorf("%s: %q, and the rule says %q; want %q", test.name, v.Message, v.Says, test.want)
		}
	}
}
