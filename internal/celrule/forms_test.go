package celrule

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// judgedSpec has fields of every kind that the evaluation of a rule tells apart.
const judgedSpec = `{"type": "object", "required": ["r", "s"], "properties": {
	"o": {"type": "string"}, "r": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean", "default": false},
	"a": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "object", "required": ["z"], "properties": {"z": {"type": "integer"}}}}},
	"s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
	"m": {"type": "object", "additionalProperties": {"type": "string"}},
	"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object",
		"required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}}}}`

// judgedValues are values of its fields, null for an absent field. A scenario follows one key of a list or map.
var judgedValues = map[string]string{
	"o": `[null, "", "a", "b"]`,
	"r": `["", "a", "b"]`,
	"n": `[null, 0, 1, 2]`,
	"b": `[false, true]`,
	"a": `[null, {}, {"x": "1"}, {"x": "2"}, {"y": {"z": 1}}, {"x": "1", "y": {"z": 2}}]`,
	"s": `[[], ["i"]]`,
	"m": `[null, {}, {"k": "1"}, {"k": "2"}]`,
	"l": `[null, [], [{"name": "i"}], [{"name": "i", "v": 1}], [{"name": "i", "v": 2}]]`,
}

// TestJudge: the verdict of a rule on two objects that are known is the verdict of the API server, on all values of the
// fields that it reads. Where the evaluation gives up, it says why.
func TestJudge(t *testing.T) {
	for _, c := range []struct{ rule, why, reason string }{
		{"true && oldSelf.b", "", "a literal, and a boolean field"},
		{"oldSelf.b && false", "", "a literal that decides"},
		{"self.o == oldSelf.o", "", "an absent operand is an error"},
		{"self.r != oldSelf.r", "", ""},
		{"self.r == self.r && oldSelf.b", "", "a field is equal to itself"},
		{"self.o == self.o || oldSelf.b", "", "unless it is absent"},
		{"oldSelf.o == self.r", "it compares different fields", ""},
		{"'a' == self.o || oldSelf.o == 'b'", "", "an operand of || that is true hides an error"},
		{"'a' != self.o && oldSelf.o != 'b'", "", "an operand of && that is false hides an error"},
		{"'a' == 'b' || oldSelf.r == 'a'", "", "literals"},
		{"'a' == 'a' && oldSelf.r == 'a'", "", "literals that are equal"},
		{"has(self.o) == has(oldSelf.o)", "", ""},
		{"has(self.o) != has(oldSelf.o)", "", ""},
		{"!has(oldSelf.o) || has(self.o) && self.o == oldSelf.o", "", "set once"},
		{"has(oldSelf.o) ? self.o == oldSelf.o : self.o == 'a'", "", "both branches can be errors"},
		{"(oldSelf.o == 'a') ? true : self.b", "", "the condition can be an error"},
		{"self.r in ['a', 'b'] || oldSelf.r in ['']", "", ""},
		{"self.o in ['a', 'b'] || oldSelf.b", "", "an absent operand is an error"},
		{"!(self.o in []) && oldSelf.b", "", "CEL makes it false without looking at the operand"},
		{"(has(self.o) || [self.o in []].exists(x, x)) && oldSelf.b", "no keys", "so that it is no error"},
		{"self.r in ['a', oldSelf.r]", "it uses in", "not all elements are literals"},
		{"self.r in oldSelf.s", "it uses in", "not a list of literals"},
		{"self.b && !oldSelf.b", "", ""},
		{"!oldSelf.b || self.b", "", "a latch"},
		{"self.b == oldSelf.b", "", ""},
		{"self.b == true && oldSelf.b != false", "", ""},
		{"self.b == (oldSelf.r == 'a')", "", "a comparison as an operand"},
		{"(has(self.o) && self.o == 'a') == (has(oldSelf.o) || oldSelf.b)", "", "conditions as operands"},
		{"(!has(self.o)) == oldSelf.b", "", ""},
		{"(self.r in ['a']) == (oldSelf.n < 1)", "", "an error in an operand of =="},
		{"self.n < oldSelf.n", "", ""},
		{"self.n <= oldSelf.n", "", ""},
		{"self.n > oldSelf.n", "", ""},
		{"self.n >= oldSelf.n", "", ""},
		{"1 < self.n || oldSelf.n >= 1", "", "a literal on either side"},
		{"self.n < oldSelf.n + 1", "it orders values", "a sum"},
		{"self.r < oldSelf.r", "it orders values", "only numbers are ordered"},
		{"self.n == oldSelf.n + 1", "it compares with an expression", ""},
		{"size(self.r) == 0 || oldSelf.r.size() > 0", "", "both spellings of size"},
		{"0 < size(self.o) && oldSelf.b", "", "the literal first"},
		{"size(self.m) == size(oldSelf.m)", "it compares sizes", "with one another"},
		{"size(oldSelf.m) > size(self.m)", "it compares sizes", ""},
		{"size(self.m) >= 1 && size(oldSelf.m) < 1", "", "compared with one"},
		{"size(self.m) > -1 && size(oldSelf.m) != -1", "", "less than nothing"},
		{"size(self.m) == 1 || oldSelf.b", "it compares a size with a number", "more than one key is possible"},
		{"size(self.m) > 1 || oldSelf.b", "it compares a size with a number", ""},
		{"self.?o == oldSelf.?o", "", ""},
		{"self.?a.x == oldSelf.?a.x", "", "optional from the parent on"},
		{"self.?a.?x == oldSelf.?a.?x", "", ""},
		{"self.a.?x == oldSelf.a.?x", "", "the parent has to exist"},
		{"self.?a.y.z == oldSelf.?a.y.z", "", "an optional parent far above"},
		{"self.?o.hasValue() == oldSelf.?o.hasValue()", "", ""},
		{"self.a.?x.hasValue() || oldSelf.b", "", "an error without the parent"},
		{"self.?a.y.hasValue() || oldSelf.b", "", "none where the parent is optional too"},
		{"self.?o.orValue('a') == oldSelf.?o.orValue('a')", "", ""},
		{"self.?o.orValue('a') != oldSelf.r", "it compares different fields", ""},
		{"self.?o.orValue('a') == 'b' && oldSelf.b", "", "with a literal"},
		{"self.?o.value() == oldSelf.?o.value()", "", "an error where it is absent"},
		{"self.?o == optional.of(oldSelf.r)", "it reads an optional field as a value", ""},
		{"(has(self.o) ? self.o : 'a') == (has(oldSelf.o) ? oldSelf.o : 'a')", "", "a conditional as an operand"},
		{"has(self.a.x) == has(oldSelf.a.x)", "", "has is an error without the parent"},
		{"has(self.a) && has(self.a.y) ? self.a.y.z == oldSelf.a.y.z : true", "", ""},
		{"self.a == oldSelf.a", "", "an object is compared by its fields"},
		{"self.s == oldSelf.s", "", "a set"},
		{"self.m == oldSelf.m", "", "a map"},
		{"oldSelf.m.all(k, k in self.m)", "", "no key goes"},
		{"self.m.all(k, k in oldSelf.m)", "", "no key comes"},
		{"has(self.m) && self.m.all(k, k in oldSelf.m)", "", ""},
		{"self.m.all(k, k in oldSelf.s)", "it uses in on the keys", "the items of something else"},
		{"self.s.all(k, k in oldSelf.m)", "it uses in on the keys", "the keys of something else"},
		{"self.m.all(k, !(k in oldSelf.m) || self.m[k] == oldSelf.m[k])", "it uses == on the keys", "values stay"},
		{"self.m.all(k, k in oldSelf.m && oldSelf.m[k] == self.m[k])", "it uses == on the keys", "keys and values stay"},
		{"self.m.all(k, self.m[k] != oldSelf.m[k])", "it uses != on the keys", ""},
		{"self.m.all(k, k in oldSelf.m ? oldSelf.b : self.b)", "in a way that depends on the values", "a condition, and other fields"},
		{"self.m.all(k, k in oldSelf.m ? self.m[k] == oldSelf.m[k] : self.b)", "it uses == on the keys", "a condition on another field"},
		{"self.m.all(k, self.m[k] == 'a' || k in oldSelf.m)", "it uses ==", "compared with a literal"},
		{"self.m.all(k, k.startsWith('a') || k in oldSelf.m)", "it uses startsWith()", ""},
		{"self.m.all(k, self.m[k] == self.m[k]) || oldSelf.b", "it uses ==", "of one object"},
		{"self.s.all(k, k in oldSelf.s)", "", ""},
		{"self.m.all(k, 'k' in oldSelf.m)", "it uses in", "a constant key"},
		{"self.s.all(k, k in ['i', 'j']) || oldSelf.b", "it uses in", "a list of constants"},
		{"oldSelf.s.all(k, self.s.exists(i, i == k))", "it uses exists() on the keys", "only keyed lists have partners"},
		{"oldSelf.s.all(k, !self.s.all(i, i != k))", "it uses all() on the keys", "said by all"},
		{"self.l.all(k, oldSelf.l.exists(i, i.name == k.name))", "", ""},
		{"self.l.all(k, oldSelf.l.exists_one(i, k.name == i.name))", "", ""},
		{"self.l.all(k, oldSelf.l.exists(i, i.name == k.name && i == k))", "it compares parts of keys or items", "items stay as they are"},
		{"self.l.all(k, oldSelf.l.all(i, i.name != k.name || i == k))", "it uses all() on the keys", ""},
		{"self.l.all(k, oldSelf.l.exists(i, i.name == k.name && i.name != k.name))", "it compares parts of keys or items", "a key that differs in exists()"},
		{"self.l.all(k, k in oldSelf.l)", "it uses in on the keys", "whole items"},
		{"self.l.all(k, oldSelf.l.exists(i, i.v == k.v))", "it compares parts of keys or items", "no key"},
		{"self.l.all(k, oldSelf.l.exists(i, i.name == i.name))", "it compares parts of keys or items", "with itself"},
		{"self.l.all(k, oldSelf.l.exists(i, k.name == k.name))", "it compares parts of keys or items", "with itself"},
		{"self.l.all(k, oldSelf.l.exists(k, k.name == k.name))", "it compares parts of keys or items", "one name for two variables"},
		{"self.l.all(k, k.name == 'a') || oldSelf.b", "it uses ==", ""},
		{"self.l.exists(k, oldSelf.l.exists(i, i.name == k.name))", "in a way that depends on the values", "some key stays, perhaps"},
		{"self.m.exists(k, k in oldSelf.m)", "in a way that depends on the values", ""},
		{"self.m.exists_one(k, k in oldSelf.m)", "in a way that depends on the values", "how many there are is not known"},
		{"[self.r].all(x, x == oldSelf.r)", "on something that has no keys", ""},
		{"self.o.matches('a') || oldSelf.b", "it uses matches()", ""},
		{"(has(self.o) || self.o.matches('a')) && oldSelf.b", "", "an absent operand is an error, whatever a function makes of it"},
		{"(has(self.o) || 'a'.matches(self.o)) && oldSelf.b", "", "as an argument"},
		{"(has(self.o) || 'a'.matches(string(self.o))) && oldSelf.b", "", "deeper"},
		{"(has(self.o) || [self.o == 'a' ? 1 : 2].exists(x, x == 1)) && oldSelf.b", "", "in the condition of a list's item"},
		{"(has(self.o) || [oldSelf.b ? self.o : 'a'].exists(x, x == 'a')) && oldSelf.b", "no keys", "not for certain in a branch"},
		{"(has(self.o) || [self.?o.orValue('a')].exists(x, x == 'a')) && oldSelf.b", "no keys", "no error as an optional"},
		{"(has(self.o) || [has(self.o)].exists(x, !x)) && oldSelf.b", "no keys", "nor in has"},
		{"dyn(self.o) == null || oldSelf.b", "it compares with an expression", "null beside an expression"},
		{"[self.o, 'c'] == [oldSelf.r]", "it compares with an expression", "a list"},
		{"{'k': self.o} == {'k': oldSelf.r}", "it compares with an expression", "a map"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			v := version(t, c.rule, []byte(judgedSpec))
			s := Apply(v.schema, []Change{{SchemaPath: "/properties/spec", AddRules: []map[string]any{{"rule": c.rule}}}})
			tr, server := readTree(s), judgeOf(t, s, nil)
			at := tr.Find("/properties/spec")
			r := tr.rules[at][0]
			objects := judgedObjects(t, r)
			whys := map[string]bool{}
			for _, newObj := range objects {
				for _, oldObj := range objects {
					m := newScenario([]*readRule{newReadRule(r)})
					learn(m, 0, at, oldObj["spec"])
					learn(m, 1, at, newObj["spec"])
					o, why := judge(r, r.expr, step{scenario: m, newObj: 1, oldObj: 0})
					if !o.known() {
						whys[why] = true
						continue
					}
					accepted, _ := server.accepts(t, newObj, oldObj)
					if accepted == o.refuses() {
						t.Fatalf("the API server accepts: %v, but the verdict is %d\nold %s\nnew %s", accepted, o, asJSON(oldObj), asJSON(newObj))
					}
				}
			}
			if c.why == "" && len(whys) > 0 || c.why != "" && !slices.ContainsFunc(keysIn(whys), func(why string) bool { return strings.Contains(why, c.why) }) {
				t.Errorf("not judged because %q, want %q (%s)", keysIn(whys), c.why, c.reason)
			}
		})
	}
}

func keysIn(set map[string]bool) (list []string) {
	for key := range set {
		list = append(list, key)
	}
	return list
}

// judgedObjects lists the objects with all values of the fields that r reads.
func judgedObjects(t *testing.T, r *Rule) []map[string]any {
	t.Helper()
	specs := []map[string]any{{"r": "", "s": []any{}, "b": false}}
	done := map[string]bool{}
	for _, term := range termsIn(r, r.expr) {
		field := way(term.at)[1].Name
		if done[field] {
			continue
		}
		done[field] = true
		var values []any
		if err := json.Unmarshal([]byte(judgedValues[field]), &values); err != nil {
			t.Fatal(err)
		}
		var next []map[string]any
		for _, spec := range specs {
			for _, v := range values {
				with := map[string]any{field: wholeNumbers(v)}
				if v == nil {
					delete(with, field)
				}
				for name, other := range spec {
					if name != field {
						with[name] = other
					}
				}
				next = append(next, with)
			}
		}
		specs = next
	}
	var objects []map[string]any
	for _, spec := range specs {
		objects = append(objects, map[string]any{"spec": spec})
	}
	return objects
}

func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	}
	return integral(v)
}

// learn tells m what the value at l is in an object.
func learn(m *scenario, object int, l *schema.Location, v any) {
	has := v != nil
	m.set(object, askPresence, l, has)
	m.set(object, askOtherKeys, l, false)
	switch v := v.(type) {
	case map[string]any:
		for _, p := range l.Properties {
			learn(m, object, p, v[p.Name])
		}
		if l.Values != nil {
			learn(m, object, l.Values, v["k"])
		}
		m.set(object, askValue, l, whole(v, len(v)))
	case []any:
		var item any
		if len(v) > 0 {
			item = v[0]
		}
		learn(m, object, l.Items, item)
		m.set(object, askValue, l, whole(v, len(v)))
	case nil:
	default:
		m.set(object, askValue, l, v)
	}
}

// whole is the value of a list, map or object that a rule compares as a whole.
func whole(v any, size int) any {
	if size == 0 {
		return emptyValue{}
	}
	return asJSON(v)
}
