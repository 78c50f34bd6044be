package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// TestEmptied: which objects a server-side apply cannot empty, and a client-side one can.
func TestEmptied(t *testing.T) {
	const schema = `{"type": "object", "properties": {
		"params": {"type": "object", "additionalProperties": {"type": "string"}},
		"config": {"type": "object", "properties": {"x": {"type": "string"}, "w": {"type": "object", "properties": {"z": {"type": "string"}}}}},
		"defaulted": {"type": "object", "properties": {"x": {"type": "string"}, "w": {"type": "string", "default": "d"}}},
		"nullable": {"type": "object", "nullable": true, "additionalProperties": {"type": "string"}},
		"default": {"type": "object", "default": {}, "additionalProperties": {"type": "string"}},
		"atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
		"list": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}},
		"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"locked": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
		"groups": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string"}, "params": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}`
	crd := rulesCRD(schema)
	for _, row := range []struct {
		name, reason, old, new string
		want                   []string
	}{
		{"a map", "it becomes null", "{params: {a: '1'}}", "{params: {}}", []string{"unknown a/x spec.params"}},
		{"an object", "it becomes null", "{config: {x: a}}", "{config: {}}", []string{"unknown a/x spec.config"}},
		{"an object in an object", "the inner one becomes null", "{config: {x: a, w: {z: a}}}", "{config: {x: a, w: {}}}", []string{"unknown a/x spec.config.w"}},
		{"an object of objects", "all that it has is taken away", "{config: {w: {z: a}}}", "{config: {}}", []string{"unknown a/x spec.config"}},
		{"the whole spec", "a field of it has a default, which stays", "{params: {a: '1'}}", "{}", nil},
		{"an object of any fields", "it is of type object, too", "{free: {a: 1}}", "{free: {}}", []string{"unknown a/x spec.free"}},
		{"an item of a keyed list", "items are merged by their keys", "{groups: [{name: a}, {name: b, params: {a: '1'}}]}", "{groups: [{name: b, params: {}}]}", []string{"unknown a/x spec.groups[0].params"}},
		{"some keys stay", "the map keeps them", "{params: {a: '1', b: '1'}}", "{params: {b: '1'}}", nil},
		{"the field is removed", "nothing is left to be null", "{params: {a: '1'}}", "{config: {}}", nil},
		{"it was empty", "nothing is taken away", "{params: {}, config: {x: a}}", "{params: {}, config: {x: b}}", nil},
		{"it was not there", "nothing is taken away", "{config: {x: a}}", "{params: {}, config: {x: a}}", nil},
		{"a default stays", "nobody has applied it", "{defaulted: {x: a}}", "{defaulted: {}}", nil},
		{"a nullable map", "null is a value of it", "{nullable: {a: '1'}}", "{nullable: {}}", nil},
		{"a map with a default", "it is in the place of null", "{default: {a: '1'}}", "{default: {}}", nil},
		{"an atomic map", "it is replaced as a whole", "{atomic: {a: '1'}}", "{atomic: {}}", nil},
		{"an item of an atomic list", "the list is replaced as a whole", "{list: [{a: '1'}]}", "{list: [{}]}", nil},
		{"a list", "an empty list stays one", "{list: [{a: '1'}]}", "{list: []}", nil},
		{"a locked map", "both applies are refused", "{locked: {a: '1'}}", "{locked: {}}", []string{"a/x spec.locked NoModify [self == oldSelf]"}},
		{"a field that the schema does not know", "it was never stored", "{config: {other: a}}", "{config: {}}", nil},
	} {
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", row.new)}, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", row.old)}, Options{})
		if got := found(r); !slices.Equal(got, row.want) || len(r.Errors) > 0 {
			t.Errorf("%s: got %q, %v, want %q: %s", row.name, got, r.Errors, row.want, row.reason)
		}
		for _, u := range r.Unknown {
			if !strings.Contains(u.Message, "server-side") || !strings.Contains(u.Message, "client-side") {
				t.Errorf("%s: the message does not name both: %s", row.name, u.Message)
			}
		}
	}
}

// TestApplied: what applies make of null and of empty lists, as rules see it. A real API server gave these answers.
func TestApplied(t *testing.T) {
	const schema = `{"type": "object", "required": ["must", "needed"], "x-kubernetes-validations": [
		{"rule": "!has(self.note) || self.note != 'p' || has(self.plain)"}, {"rule": "has(self.audit) == has(oldSelf.audit)"}, {"rule": "has(self.tags) == has(oldSelf.tags)"}, {"rule": "has(self.note) == has(oldSelf.note)"}, {"rule": "has(self.dual) == has(oldSelf.dual)"}, {"rule": "has(self.whole.w) == has(oldSelf.whole.w)"},
		{"rule": "self.?audit.?rules.hasValue() == oldSelf.?audit.?rules.hasValue()"}, {"rule": "!has(self.items) || self.items.all(i, oldSelf.items.all(j, has(i.tags) == has(j.tags)))"}], "properties": {
		"must": {"type": "string", "nullable": true},
		"needed": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"note": {"type": "string", "nullable": true},
		"plain": {"type": "object", "properties": {"x": {"type": "string"}, "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}},
		"any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		"net": {"type": "object", "nullable": true, "required": ["mtu"], "properties": {"mtu": {"type": "object", "nullable": true}}},
		"dual": {"type": "object", "properties": {"x": {"type": "string"}, "d": {"type": "string", "default": "d"}}},
		"whole": {"type": "object", "default": {"w": "d"}, "properties": {"x": {"type": "string"}, "w": {"type": "string"}}},
		"filled": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}, "y": {"type": "string", "default": "d"}}},
		"rows": {"type": "array", "items": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string", "nullable": true}}}},
		"tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
			"name": {"type": "string"}, "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}},
		"parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {
			"name": {"type": "string", "default": "n"}, "x": {"type": "string"}}}},
		"audit": {"type": "object", "properties": {
			"x": {"type": "string"},
			"list": {"type": "array", "items": {"type": "string"}},
			"map": {"type": "object", "additionalProperties": {"type": "string"}},
			"rules": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
			"empty": {"type": "object", "properties": {"inner": {"type": "object", "properties": {"tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}},
			"deep": {"type": "object", "properties": {"x": {"type": "string"}, "filled": {"type": "string", "default": "f"}}}}}}}`
	const dual, whole = "has(self.dual) == has(oldSelf.dual)", "has(self.whole.w) == has(oldSelf.whole.w)"
	const audit, tags, note, rules, inItems = "has(self.audit) == has(oldSelf.audit)", "has(self.tags) == has(oldSelf.tags)", "has(self.note) == has(oldSelf.note)",
		"self.?audit.?rules.hasValue() == oldSelf.?audit.?rules.hasValue()", "self.items.all"
	for _, row := range []struct {
		name, reason, old, new        string
		serverSide, clientSide, plain string // a rule that refuses the change, or the path of another refusal; "" if it is accepted
	}{
		{"an emptied list with keys, alone", "nothing in audit is applied", "audit: {rules: [{name: a}]}", "audit: {rules: []}", audit, "", ""},
		{"an emptied list with keys beside another field", "the list is not applied", "audit: {x: a, rules: [{name: a}]}", "audit: {x: a, rules: []}", rules, "", ""},
		{"a field that a plain rule wants", "it is removed", "note: p, plain: {x: a}", "note: p, plain: {tags: []}", "spec.plain", "", ""},
		{"an emptied set", "it is not applied", "tags: [a]", "tags: []", tags, "", ""},
		{"an emptied list with an index", "it is a value like others", "audit: {list: [a]}", "audit: {list: []}", "", "", ""},
		{"an empty list in the place of a field", "nothing in audit is applied", "audit: {x: a}", "audit: {rules: []}", audit, rules, rules},
		{"an empty list that is new", "nothing was applied there", "audit: {x: a}", "audit: {x: a, rules: []}", rules, rules, rules},
		{"an empty list that stays", "nothing was applied there", "audit: {rules: []}", "audit: {rules: []}, note: a", note, note, note},
		{"an empty list that goes", "the server keeps what nobody has applied", "tags: []", "", "", tags, tags},
		{"an object with an empty list that goes", "the server keeps it", "audit: {rules: []}", "", "", audit, audit},
		{"an emptied object with an empty list", "what stays is not applied", "audit: {x: a, rules: []}", "audit: {}", audit, rules, rules},
		{"an emptied object with an empty list, deeper", "what stays is not applied", "audit: {x: a, empty: {inner: {tags: []}}}", "audit: {empty: {inner: {}}}", audit, "", ""},
		{"an emptied object above an object with an empty list", "what stays is not applied", "audit: {x: a, empty: {inner: {tags: []}}}", "audit: {empty: {}}", audit, "", ""},
		{"an emptied object without one, deeper", "the empty object is applied", "audit: {x: a, empty: {inner: {}}}", "audit: {empty: {inner: {}}}", "", "", ""},
		{"an object of an empty list that is emptied", "the list stays", "audit: {rules: []}", "audit: {}", "", rules, rules},
		{"an emptied object with a default below", "the whole field is removed", "audit: {deep: {x: a}}", "audit: {}", "spec.audit", "", ""},
		{"an emptied set of an item", "items are merged by their keys", "items: [{name: a, tags: [b]}]", "items: [{name: a, tags: []}]", inItems, "", ""},
		{"an empty list in the place of an empty object", "the merge has nothing that counts", "audit: {empty: {inner: {}}}", "audit: {empty: {inner: {tags: []}}}", "", "", ""},
		{"a required list that is emptied", "it is removed", "needed: [a]", "needed: []", "spec.needed", "", ""},
		{"null for a value", "for rules, null is absent", "note: a", "note: null", note, note, note},
		{"null that stays", "nothing is sent", "note: null", "note: null, tags: [a]", tags, tags, tags},
		{"a new null", "for rules, null is absent", "", "note: null", "", "", ""},
		{"null for a required field", "a patch removes the field", "must: a", "must: null", "", "spec.must", ""},
		{"null for an object with a default and a required field", "the default stays", "filled: {x: a}", "filled: null", "spec.filled", "", ""},
		{"null for an object with a default", "the default stays", "dual: {}", "dual: null", "", dual, dual},
		{"null for an object beside a default", "the default stays", "dual: {x: a}", "dual: null, note: a", note, dual, dual},
		{"a field within a default", "the rest of the default stays, but for a PUT", "", "whole: {x: a}", "", "", whole},
		{"an object with a default that is left out again", "the default is set again", "whole: {x: a}", "", whole, whole, whole},
		{"an object with a default and a required field that goes", "the default goes, too", "filled: {x: a}", "", "", "", ""},
		{"null for an object whose default was applied", "nothing stays", "filled: {x: a, 'y': b}", "filled: null", "spec.filled", "", ""},
		{"null for a required field of a new object", "a patch does not send it", "note: a", "note: a, net: {mtu: null}", "", "spec.net.mtu", ""},
		{"null for a required field of an object that was null", "a patch does not send it", "net: null", "net: {mtu: null}", "", "spec.net.mtu", ""},
		{"null for a required field of an item", "a patch has the whole list, and null nowhere", "rows: [{x: a}]", "rows: [{x: null}]", "", "spec.rows[0].x", ""},
		{"null that stays in an item of a list that changes", "the list is sent again", "rows: [{x: null}]", "rows: [{x: null}, {x: a}]", "", "spec.rows[0].x", ""},
		{"null for a key with a default", "the item of the last apply goes", "parts: [{name: 'n'}]", "parts: [{name: null, x: a}]", "", "", ""},
		{"null that stays for a key with a default", "the server knows the item by its default, and adds a second one", "parts: [{name: null}]", "parts: [{name: null, x: a}]", "spec.parts[0].name", "", ""},
		{"null for the key of a new item", "the item is alone", "parts: [{name: a}]", "parts: [{name: a}, {name: null, x: a}]", "", "", ""},
		{"null below unknown fields", "a patch removes it, too", "any: {a: {b: 1}}", "any: {a: {b: null}}", "", "", ""},
	} {
		object := func(fields string) string {
			for _, field := range []string{"must: a", "needed: [m]"} {
				if name, _, _ := strings.Cut(field, ":"); !strings.Contains(fields, name+":") {
					fields += ", " + field
				}
			}
			return rulesCRD(schema) + "\n---\n" + widget("v1", "a", "x", "{"+strings.TrimPrefix(fields, ", ")+"}")
		}
		for by, want := range map[tool.Method]string{tool.ServerSide: row.serverSide, tool.ClientSide: row.clientSide, tool.ThreeWay: row.clientSide, tool.Replace: row.plain} {
			r := check(t, map[string]string{"x.yaml": object(row.new)}, map[string]string{"x.yaml": object(row.old)}, Options{Applier: by})
			named := slices.ContainsFunc(r.Violations, func(v result.Violation) bool {
				return v.Path == want && v.Lock == lockServer || want != "" && strings.Contains(v.Rule, want)
			})
			if len(r.Errors) > 0 || named != (want != "") || !named && len(r.Violations) > 0 {
				t.Errorf("%s, %s: got %q, %v, want %q: %s", row.name, by, found(r), r.Errors, want, row.reason)
			}
		}
	}
}

// TestNewFieldInNewVersion: a server-side apply in a new version cannot use a field that the version of the last apply
// lacks.
func TestNewFieldInNewVersion(t *testing.T) {
	const v1, v2 = "class: {type: string}", "class: {type: string}\nextra: {type: string}\nparts: {type: array, items: {type: object, properties: {a: {type: string}}}}"
	const tags = "\ntags: {type: array, x-kubernetes-list-type: set, items: {type: string}}"
	for _, row := range []struct {
		name, reason, conversion, v1, v2, old, new string
		want                                       []string
	}{
		{"a new field", "the old version cannot read it", "None", v1, v2, "{class: a}", "{class: a, extra: b}", []string{"unknown a/x spec.extra"}},
		{"no new field", "both versions can read it", "None", v1, v2, "{class: a}", "{class: b}", nil},
		{"a field that neither knows", "it is pruned before", "None", v1, v1, "{class: a}", "{class: a, other: b}", nil},
		{"a field that goes", "the new object does not have it", "None", v2, v1, "{class: a, extra: b}", "{class: a}", nil},
		{"a part of a list", "it is as deep", "None", v1 + "\nparts: {type: array, items: {type: object, properties: {b: {type: string}}}}", v2, "{parts: [{b: a}]}", "{parts: [{a: a}]}", []string{"unknown a/x spec.parts[0].a"}},
		{"unknown fields are kept", "the old version reads any field", "None", v1 + "\nextra: {type: object, x-kubernetes-preserve-unknown-fields: true}",
			v1 + "\nextra: {type: object, properties: {a: {type: string}}}", "{class: a}", "{class: a, extra: {a: b}}", nil},
		{"a field of another type", "the server cannot read the old object", "None", v1, "class: {type: array, items: {type: string}}", "{class: a}", "{class: [a]}", []string{"unknown a/x spec.class"}},
		{"items of another type", "the server cannot read the old object", "None", v1 + "\nparts: {type: array, items: {type: string}}", v2, "{parts: [a]}", "{class: a}", []string{"unknown a/x spec.parts[0]"}},
		{"numbers", "they are one type", "None", v1 + "\nn: {type: integer}", v1 + "\nn: {type: number}", "{n: 1}", "{n: 1.5}", nil},
		{"an apply that set nothing", "the server forgets it", "None", v1 + tags, v2 + tags, "{tags: []}", "{tags: [], extra: b}", nil},
		{"an apply that set a label and no more", "the server keeps its version", "None", v1 + tags, v2 + tags, "{tags: []} # labels", "{tags: [], extra: b}", []string{"unknown a/x spec.extra"}},
		{"a conversion webhook", "it converts fields", "Webhook", v1, v2, "{class: a}", "{class: a, extra: b}", []string{"unknown a/x apiVersion"}},
	} {
		crd := widgets(row.conversion, row.v1, row.v2)
		old := widget("v1", "a", "x", row.old)
		if strings.HasSuffix(row.old, "# labels") {
			old = strings.Replace(old, "name: x", "name: x, labels: {b: c}", 1)
		}
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v2", "a", "x", row.new)}, map[string]string{"crd.yaml": crd, "x.yaml": old}, Options{})
		if got := found(r); !slices.Equal(got, row.want) || len(r.Errors) > 0 {
			t.Errorf("%s: got %q, %v, want %q: %s", row.name, got, r.Errors, row.want, row.reason)
		}
	}
}

// TestNewType: a CRD gives a field another type than the value in the cluster has. A real API server gave these
// answers.
func TestNewType(t *testing.T) {
	const free, text = "class: {x-kubernetes-preserve-unknown-fields: true}", "class: {type: string}"
	const ruled = "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"
	const parent = "class: {type: object, properties: {b: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
	const keyed = "class: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, required: [b], properties: {b: {type: string}, " +
		"c: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}}"
	parentWithRule := strings.TrimSuffix(parent, "}") + ", x-kubernetes-validations: [{rule: 'self.b == oldSelf.b'}]}"
	for _, row := range []struct {
		name, reason, before, after, old, new string
		serverSide, clientSide                []string
	}{
		{"a value of the new type", "a server-side apply cannot read the old object", free, text, "{class: 1}", "{class: a}", []string{"a/x spec.class server"}, nil},
		{"the field goes", "a server-side apply cannot read the old object", free, text, "{class: 1, free: a}", "{free: a}", []string{"a/x spec.class server"}, nil},
		{"a number where a text has a format", "to a server-side apply, it is any scalar", free, "class: {type: string, format: hostname}", "{class: 1}", "{class: a}", nil, nil},
		{"it had the type", "nothing is wrong with the old object", free, text, "{class: b}", "{class: a}", nil, nil},
		{"the CRD stays", "the cluster cannot have the old object", text, text, "{class: 1}", "{class: a}", nil, nil},
		{"a parent of the new type", "nothing was below the old one", free, parent, "{class: text}", "{class: {b: x}}", []string{"a/x spec.class server"}, nil},
		{"items of the new type", "nothing was below the old ones", free, keyed, "{class: [text]}", "{class: [{b: x, c: x}]}", []string{"a/x spec.class[0] server"}, nil},
		{"a rule on a parent of the new type", "it cannot read the old one", free, parentWithRule, "{class: text}", "{class: {b: x}}",
			[]string{"a/x spec.class rule [self.b == oldSelf.b]"}, []string{"a/x spec.class rule [self.b == oldSelf.b]"}},
		{"a rule on a value that stays", "the type is forgiven, not that the rule cannot read the value", free, ruled, "{class: 1}", "{class: 1, free: a}",
			[]string{"a/x spec.class rule [self == oldSelf]"}, []string{"a/x spec.class rule [self == oldSelf]"}},
	} {
		for by, want := range map[tool.Method][]string{tool.ServerSide: row.serverSide, tool.ClientSide: row.clientSide, tool.Replace: row.clientSide} {
			r := check(t, map[string]string{"crd.yaml": widgets("None", row.after, row.after), "x.yaml": widget("v1", "a", "x", row.new)},
				map[string]string{"crd.yaml": widgets("None", row.before, row.before), "x.yaml": widget("v1", "a", "x", row.old)}, Options{Applier: by})
			if got := found(r); !slices.Equal(got, want) || len(r.Errors) > 0 {
				t.Errorf("%s, %s: got %q, %v, want %q: %s", row.name, by, got, r.Errors, want, row.reason)
			}
		}
	}
}

// TestReplacedCRD: the cluster has the old object as the CRD of OLD has stored it: with its defaults, without the
// fields that it lacks. The CRD of NEW reads it, and forgives what an update leaves as it was. A real API server gave
// these answers.
func TestReplacedCRD(t *testing.T) {
	const before = "gone: {type: string, default: x}\nother: {type: string, default: x}\nlater: {type: string}\nlist: {type: array, items: {type: string, nullable: true}}\nclass: {type: object, properties: {b: {type: string}, d: {type: string, default: d}}}"
	const after = "gone: {type: string}\nother: {type: string, default: z}\nlater: {type: string, default: z}\nfresh: {type: string}\nlist: {type: array, items: {type: string}}\nclass: {type: object, required: [b], properties: {b: {type: string}, d: {type: string, default: d}}}"
	rules := func(texts ...string) (list string) {
		for _, text := range texts {
			list += "{rule: '" + text + "'}, "
		}
		return "\n          properties:\n            spec:\n              x-kubernetes-validations: [" + list + "]\n"
	}
	const gone, other, later, fresh = "has(self.gone) == has(oldSelf.gone) && (!has(self.gone) || self.gone == oldSelf.gone)", "self.other == oldSelf.other", "self.later == oldSelf.later",
		"has(self.fresh) == has(oldSelf.fresh)"
	ruled := strings.ReplaceAll(widgets("None", after, after), "\n          properties:\n            spec:\n", rules(gone, other, later, fresh))
	for _, row := range []struct {
		name, reason, old, new string
		apply, put             string // the rule that refuses it
	}{
		{"a field without a default now", "its default is stored", "{other: x}", "{other: x, gone: z}", gone, gone},
		{"the old default", "it is stored", "{other: x}", "{other: x, gone: x}", "", ""},
		{"another field", "only a PUT removes the stored default", "{other: x}", "{other: x, free: a}", "", gone},
		{"null for a stored default", "a patch removes it", "{other: x}", "{other: x, gone: null}", gone, gone},
		{"a field with another default", "the old one is stored", "{gone: x}", "{gone: x, other: z}", other, other},
		{"a field with another default, left out", "the new one is set", "{gone: x, other: x}", "{gone: x}", other, other},
		{"a field with a default now", "it is read with the default", "{gone: x, other: x}", "{gone: x, other: x, later: z}", "", ""},
		{"another value than the default", "it is read with the default", "{gone: x, other: x}", "{gone: x, other: x, later: x}", later, later},
		{"an object that a new rule does not take", "null leaves its default, so it stays as it was", "{gone: x, other: x, class: {}}", "{gone: x, other: x, class: null, free: a}", "", ""},
		{"null that stays in a list", "an update leaves it as it was", "{gone: x, other: x, list: [null]}", "{gone: x, other: x, list: [null], free: a}", "", ""},
		{"a field that the old CRD lacks", "it was not stored", "{gone: x, other: x, fresh: a}", "{gone: x, other: x, fresh: a, later: z}", fresh, fresh},
	} {
		for by, want := range map[tool.Method]string{tool.ServerSide: row.apply, tool.ClientSide: row.apply, tool.Replace: row.put} {
			r := check(t, map[string]string{"crd.yaml": ruled, "x.yaml": widget("v1", "a", "x", row.new)},
				map[string]string{"crd.yaml": widgets("None", before, before), "x.yaml": widget("v1", "a", "x", row.old)}, Options{Applier: by})
			refused := slices.ContainsFunc(r.Violations, func(v result.Violation) bool {
				return want == "" || v.Lock == lockServer || strings.Contains(v.Rule, want)
			})
			if len(r.Errors) > 0 || refused != (want != "") || !refused && len(r.Violations) > 0 {
				t.Errorf("%s, %s: got %q, %v, want %q: %s", row.name, by, found(r), r.Errors, want, row.reason)
			}
		}
	}
	stored := strings.ReplaceAll(widgets("None", "gone: {type: string}", "gone: {type: string}"), "\n          properties:\n            spec:\n", rules("has(self.gone) == has(oldSelf.gone)"))
	r := check(t, map[string]string{"crd.yaml": stored, "x.yaml": widget("v2", "a", "x", "{gone: z}")},
		map[string]string{"crd.yaml": widgets("None", "gone: {type: string, default: x}", "gone: {type: string}"), "x.yaml": widget("v2", "a", "x", "{}")}, Options{Applier: tool.ServerSide})
	if len(r.Violations) == 0 {
		t.Error("a default that only the version had which was stored is not stored: the field is set")
	}
}

// TestStoredDefaults: an object that was applied in another version than the stored one has the defaults of the stored
// one. A real API server gave these answers for a Receiver of Flux and a RayCluster, which are stored in v1.
func TestStoredDefaults(t *testing.T) {
	const plain, filled = "class: {type: string}", "class: {type: string}\nextra: {type: string, default: b}"
	for _, row := range []struct {
		reason, conversion, v1, v2, from, to string
		want                                 []string
	}{
		{"the version of the last apply does not have the field", "None", filled, plain, "v2", "v1", []string{"unknown a/x spec.extra"}},
		{"both versions have it", "None", filled, plain + "\nextra: {type: string}", "v2", "v1", nil},
		{"no version of the object but v2 has it, which nothing is stored in", "None", plain, filled, "v1", "v2", nil},
		{"one version all the time", "None", filled, plain, "v2", "v2", nil},
		{"a webhook converts", "Webhook", filled, plain, "v2", "v1", []string{"unknown a/x apiVersion"}},
	} {
		crd := widgets(row.conversion, row.v1, row.v2)
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget(row.to, "a", "x", "{class: b}")}, map[string]string{"crd.yaml": crd, "x.yaml": widget(row.from, "a", "x", "{class: a}")}, Options{})
		if got := found(r); !slices.Equal(got, row.want) || len(r.Errors) > 0 {
			t.Errorf("%s: got %q, %v, want %q", row.reason, got, r.Errors, row.want)
		}
	}
}

// TestServerSideWays: an edit gets a change through that a server-side apply refuses, and no tool replaces the object
// for it. Flux does not for an internal error, and creating an object with null is refused, too. hack/appliers makes
// the edits.
func TestServerSideWays(t *testing.T) {
	const cheap = "metadata: {name: widgets.example.com, annotations: {fieldlock.dev/replacement-cost: none}}"
	crd := strings.Replace(widgets("None", "class: {type: string}\nmap: {type: object, additionalProperties: {type: string}}",
		"class: {type: string}\nmap: {type: object, additionalProperties: {type: string}}\nextra: {type: string}"), "metadata: {name: widgets.example.com}", cheap, 1)
	const locked = "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}\nmap: {type: object, additionalProperties: {type: string}}"
	for _, row := range []struct {
		name, crd, from, old, to, new string
		how                           []string // the beginnings
		requested                     bool
	}{
		{"null", crd, "v1", "{class: a}", "v1", "{class: null, free: b}", []string{"remove spec.class from the manifest"}, false},
		{"an emptied map", crd, "v1", "{map: {a: b}}", "v1", "{map: {}}", []string{"remove spec.map from the manifest"}, false},
		{"a new field in a new version", crd, "v1", "{class: a}", "v2", "{class: a, extra: b}", []string{"change the apiVersion to example.com/v2 and add a label in a change of its own"}, false},
		{"a locked field and an emptied map", strings.Replace(widgets("None", locked, locked), "metadata: {name: widgets.example.com}", cheap, 1),
			"v1", "{class: a, map: {a: b}}", "v1", "{class: b, map: {}}", []string{"remove spec.map", "to avoid the replacement, keep the old values", "kubectl delete"}, false},
		{"a locked field", strings.Replace(widgets("None", locked, locked), "metadata: {name: widgets.example.com}", cheap, 1),
			"v1", "{class: a}", "v1", "{class: b}", []string{"to avoid the replacement, keep the old values"}, true},
	} {
		force := func(version, spec string) string {
			return strings.Replace(row.crd+widget(version, "a", "x", spec), "namespace: a}", "namespace: a, annotations: {kustomize.toolkit.fluxcd.io/force: enabled}}", 1)
		}
		r := checkBy(t, tool.Applier{Tool: tool.Flux}, force(row.to, row.new), force(row.from, row.old), Options{})
		if r.Allowed != row.requested || len(r.Replacements) != 1 {
			t.Errorf("%s: %s, %v, %+v", row.name, found(r), r.Errors, r.Replacements)
			continue
		}
		matches := func(how, beginning string) bool { return strings.HasPrefix(how, beginning) }
		if re := r.Replacements[0]; re.Cost != result.CostNone || re.Requested != row.requested || !slices.EqualFunc(re.How, row.how, matches) {
			t.Errorf("%s: %+v", row.name, re)
		}
	}
}

// TestForcedAnswers: which requests to replace an object count for the answer of a webhook or a policy. Flux replaces
// for the words "is immutable", Argo CD with Force=true,Replace=true always; a policy may refuse the new object, too.
func TestForcedAnswers(t *testing.T) {
	flux, argo := tool.Applier{Tool: tool.Flux}, tool.Applier{Tool: tool.ArgoCD}
	const force, replace = "kustomize.toolkit.fluxcd.io/force: enabled", "argocd.argoproj.io/sync-options: 'Force=true,Replace=true'"
	job := func(mark, image, more string) string {
		return plain("batch/v1", "Job", "annotations: {"+mark+"}", "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "+image+"}]}}}") + more
	}
	run := func(mark, pipeline string) string {
		return plain("tekton.dev/v1", "TaskRun", "annotations: {"+mark+"}", "spec: {taskRef: {name: "+pipeline+"}}")
	}
	policy := policyFor("p", "batch", "jobs", "object.spec.template == oldObject.spec.template") + bindingOf("p", "Deny")
	catalogue := load(t)
	for _, row := range []struct {
		name     string
		by       tool.Applier
		new, old string
		allowed  bool
	}{
		{"Flux and the server", flux, job(force, "b", ""), job(force, "a", ""), true},
		{"Flux and a policy", flux, job(force, "b", policy), job(force, "a", policy), false},
		{"Argo CD and a policy", argo, job(replace, "b", policy), job(replace, "a", policy), false},
		{"Flux and a webhook", flux, run(force, "b"), run(force, "a"), false},
		{"Argo CD and a webhook", argo, run(replace, "b"), run(replace, "a"), true},
		{"nobody's, for Argo CD", tool.Applier{}, run(replace, "b"), run(replace, "a"), true},
		{"nobody's, for Flux", tool.Applier{}, run(force, "b"), run(force, "a"), false},
	} {
		r := checkBy(t, row.by, row.new, row.old, Options{Operators: catalogue})
		if r.Allowed != row.allowed || len(r.Violations) == 0 {
			t.Errorf("%s: %s, %v, %+v", row.name, found(r), r.Errors, r.Replacements)
		}
	}
}

// TestNeverStored: without a conversion webhook, what the storage version lacks is not stored.
func TestNeverStored(t *testing.T) {
	const (
		none   = "zone: {type: string}"
		rule   = "class: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}"
		lock   = "class: {type: string, x-kubernetes-immutable: true}"
		at     = "class: {type: string, x-kubernetes-validations: [{rule: oldSelf.hasValue(), optionalOldSelf: true}]}"
		always = "class: {type: string}"
	)
	for _, row := range []struct {
		name, reason, conversion, v1, v2, version string
		want                                      []string
	}{
		{"a rule", "v1 is stored and does not have the field", "None", none, rule, "v2", nil},
		{"a lock", "there is no old value", "None", none, lock, "v2", nil},
		{"the storage version has the field", "it is stored", "None", always, rule, "v2", []string{"a/x spec.class NoModify [self == oldSelf]"}},
		{"the storage version has the field, and a lock", "it is stored", "None", always, lock, "v2", []string{"a/x spec.class immutable"}},
		{"an emptied object that v1 does not have", "there is nothing to take away", "None", none, "map: {type: object, additionalProperties: {type: string}}", "v2", nil},
		{"an object of the storage version", "it is stored as it is", "None", rule, none, "v1", []string{"a/x spec.class NoModify [self == oldSelf]"}},
		{"a conversion webhook", "it may keep the field elsewhere", "Webhook", none, rule, "v2", []string{"a/x spec.class NoModify [self == oldSelf]"}},
		{"a rule that wants an old value", "there is none", "None", none, at, "v2", []string{"a/x spec.class rule [oldSelf.hasValue()]"}},
	} {
		crd := widgets(row.conversion, row.v1, row.v2)
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget(row.version, "a", "x", "{class: b, map: {}}")}, map[string]string{"crd.yaml": crd, "x.yaml": widget(row.version, "a", "x", "{class: a, map: {a: b}}")}, Options{})
		if got := found(r); !slices.Equal(got, row.want) || len(r.Errors) > 0 {
			t.Errorf("%s: got %q, %v, want %q: %s", row.name, got, r.Errors, row.want, row.reason)
		}
	}
}
