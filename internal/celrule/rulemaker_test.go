package celrule

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// ruleMaker makes random schemas and rules. The rules are about its fields, one or two, because rules that tie more of
// them to each other are not recognized.
type ruleMaker struct {
	*rand.Rand
	fields []string
	// optional is set while it writes a rule with optionalOldSelf, and plain while it writes one without oldSelf.
	optional, plain bool
}

// randomField is a field of spec.
type randomField struct {
	schema   string
	values   string   // a JSON array
	defaults []string // JSON
	nonempty string   // a keyword that excludes the empty value, "" for none
	below    []string // paths of fields below it that rules may name, with their kind
	atoms    []string // conditions on $x and $y, its values in the one object and the other
}

// fieldNames are the fields of spec.
var fieldNames = slices.Sorted(maps.Keys(randomFields))

var (
	stringAtoms = []string{"$x == ''", "$x == 'a'", "$x != 'a'", "$x != ''", "$x in ['', 'a']", "$x in ['a', 'b']", "$x in ['', $y]", "$x in []", "size($x) == 0", "$x.size() > 0",
		"size($x) >= 1", "size($x) == size($y)", "$x.startsWith('a')", "$x < $y", "'a' == $x", "$x + '' == $y", "$ox.orValue('') == $oy.orValue('')", "$ox.orValue('') == ''",
		"$ox.orValue('a') == $oy.orValue('a')", "$ox.orValue('') == $y", "(has($x) ? $x : '') == (has($y) ? $y : '')", "$ox == optional.of('a')", "$ox.optMap(v, v).orValue('') == ''"}
	integerAtoms = []string{"$x == 0", "$x != 0", "$x == 1", "$x in [0]", "$x in [0, 1]", "$x >= $y", "$x < $y", "$x > 0", "0 <= $x", "$x == $y + 0", "$ox.orValue(0) == $oy.orValue(0)",
		"$ox.orValue(0) == 0", "$ox.orValue(1) == $oy.orValue(1)", "(has($x) ? $x : 0) == (has($y) ? $y : 0)"}
	booleanAtoms = []string{"$x", "!$x", "$x == true", "$x == false", "$x != true", "$x in [false]", "$x == $y", "($x || $y)", "($x == true) == ($y == true)", "$ox.orValue(false)",
		"$ox.orValue(false) == $oy.orValue(false)", "$ox.orValue(true) == $oy.orValue(true)"}
	listAtoms = []string{"$x == []", "$x != []", "size($x) == 0", "$x.size() >= 1", "size($x) == size($y)", "size($x) >= size($y)", "$x.size() < $y.size()", "$x.size() == 1",
		"$ox.orValue([]) == $oy.orValue([])", "$ox.orValue([]) == []"}
	itemAtoms = []string{"$x.all(k, k in $y)", "$x.exists(k, k in $y)", "!$x.exists(k, !(k in $y))", "$x.all(k, $y.exists(i, i == k))", "$x.all(k, $y.exists_one(i, i == k))",
		"'i' in $x", "$x.exists(k, k == '')", "$x.all(k, $y.all(i, i != k))", "$x.exists_one(k, k in $y)", "$x.all(k, k in $y || size($y) == 0)", "$x.all(k, !(k in $y))"}
)

var randomFields = map[string]randomField{
	"o": {schema: `{"type": "string"}`, values: `["", "a", "b", "c"]`, defaults: []string{`""`, `"a"`, `"z"`}, nonempty: "minLength", atoms: stringAtoms},
	"e": {schema: `{"type": "string", "enum": ["", "a", "b"]}`, values: `["", "a", "b"]`, defaults: []string{`""`, `"a"`}, atoms: stringAtoms},
	"n": {schema: `{"type": "integer"}`, values: `[0, 1, 2, -1]`, defaults: []string{`0`, `1`}, nonempty: "minimum", atoms: integerAtoms},
	"b": {schema: `{"type": "boolean"}`, values: `[false, true]`, defaults: []string{`false`, `true`}, atoms: booleanAtoms},
	"a": {
		schema: `{"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "object", "properties": {"z": {"type": "integer"}}}}}`,
		values: `[{}, {"x": ""}, {"x": "a"}, {"x": "b"}, {"x": null}, {"y": {}}, {"y": {"z": 0}}, {"y": {"z": 1}}, {"x": "a", "y": {"z": 1}}, {"x": "", "y": {"z": null}}]`, defaults: []string{`{}`, `{"x": "a"}`, `{"y": {}}`},
		below: []string{"x", "y", "y.z"}, nonempty: "minProperties", atoms: []string{"$x == $y", "$x != $y"},
	},
	"s": {
		schema: `{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}`,
		values: `[[], ["i"], ["j"], ["i", "j"], ["j", "i"], [""]]`, defaults: []string{`[]`, `["i"]`}, nonempty: "minItems", atoms: slices.Concat(listAtoms, itemAtoms, itemAtoms),
	},
	"t": {
		schema: `{"type": "array", "items": {"type": "string"}}`,
		values: `[[], ["i"], ["j"], ["i", "j"], ["j", "i"], ["i", "i"], [""]]`, defaults: []string{`[]`}, nonempty: "minItems", atoms: slices.Concat(listAtoms, itemAtoms, []string{"$x[0] == $y[0]"}),
	},
	"m": {
		schema: `{"type": "object", "additionalProperties": {"type": "string"}}`,
		values: `[{}, {"k": ""}, {"k": "a"}, {"k": "b"}, {"j": "a"}, {"k": "a", "j": "a"}, {"k": null}, {"j": "b", "k": "a"}]`, defaults: []string{`{}`, `{"k": "a"}`}, nonempty: "minProperties",
		atoms: []string{"$x == {}", "size($x) == 0", "size($x) > 0", "size($x) == size($y)", "$x.size() <= $y.size()", "'k' in $x", "$x['k'] == $y['k']", "$x[?'k'] == $y[?'k']", "$x.?k == $y.?k",
			"$x.all(k, k in $y)", "$x.all(k, !(k in $y) || $x[k] == $y[k])", "$x.exists(k, k in $y)", "$x.all(k, k in $y && $x[k] == $y[k])", "$x.all(k, k in $y ? $x[k] == $y[k] : false)",
			"$x.all(k, $x[k] == $y[k])", "$x.exists(k, $x[k] == '')", "!$x.exists(k, !(k in $y))", "$x.all(k, k in $y || $x[k] == '')", "$x.exists_one(k, k in $y)", "$x.all(k, $y[k] != $x[k])",
			"$ox.orValue({}) == $oy.orValue({})", "$ox.orValue({}).all(k, k in $oy.orValue({}))"},
	},
	"l": {
		schema: `{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}}`,
		values: `[[], [{"name": "i"}], [{"name": "i", "v": 0}], [{"name": "i", "v": 1}], [{"name": "j"}], [{"name": "i"}, {"name": "j"}], [{"name": "j"}, {"name": "i"}], [{"name": "i", "v": 1}, {"name": "j"}], [{"name": ""}]]`, defaults: []string{`[]`, `[{"name": "i"}]`}, nonempty: "minItems",
		atoms: slices.Concat(listAtoms, []string{"$x.all(k, $y.exists(i, i.name == k.name))", "$x.all(k, k in $y)", "$x.all(k, $y.all(i, i.name != k.name || i == k))",
			"$x.all(k, $y.exists_one(i, k.name == i.name && k == i))", "$x.all(k, $y.all(i, i.name != k.name || i != k))", "$x.all(k, $y.exists(i, i.name == k.name && i.v == k.v))",
			"$x.exists(k, $y.exists(i, i.name == k.name))", "$x.all(k, $y.exists_one(i, i == k))", "!$x.exists(k, $y.exists(i, i.name == k.name && i != k))",
			"$x.map(i, i.name) == $y.map(i, i.name)", "$x.filter(i, i.name == 'i').size() == 1", "$x.all(i, has(i.v))", "$x.exists(i, i.name == '')", "$x.all(k, !(k in $y))",
			"$x.all(k, !$y.exists(i, i.name == k.name) || k in $y)", "$x.all(k, size($y) == 0 || $y.exists(i, i.name == k.name))"}),
	},
}

// kindOf are the fields whose atoms a field below another one has.
var kindOf = map[string]string{"x": "o", "y": "a", "y.z": "n"}

func (m *ruleMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m *ruleMaker) one(in int) bool { return m.IntN(in) == 0 }

func (m *ruleMaker) chooseFields() {
	m.fields = []string{m.pick(fieldNames...)}
	if m.one(2) {
		m.fields = append(m.fields, m.pick(fieldNames...))
	}
}

// schema makes a schema whose fields are required, optional, nullable or defaulted, and seldom have locks already.
func (m *ruleMaker) schema(t *testing.T) *spec.Schema {
	t.Helper()
	properties, required := map[string]any{}, []any{}
	for _, name := range fieldNames {
		f := randomFields[name]
		node := decoded(t, f.schema).(map[string]any)
		empty := false
		switch {
		case m.one(3):
			required = append(required, name)
		case m.one(3):
			text := m.pick(f.defaults...)
			node["default"] = decoded(t, text)
			empty = slices.Contains([]string{`""`, `0`, `{}`, `[]`}, text)
		}
		m.details(node, name, f, empty)
		properties[name] = node
	}
	version := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties, "required": required}}}
	if !m.one(5) {
		version["required"] = []any{"spec"}
	}
	return decodeSchema(t, []byte(asJSON(version)))
}

// details adds what a field can have besides presence. empty is set if its default is empty.
func (m *ruleMaker) details(node map[string]any, name string, f randomField, empty bool) {
	if m.one(4) {
		node["nullable"] = true
	}
	if f.nonempty != "" && !empty && m.one(5) {
		node[f.nonempty] = 1
	}
	if slices.Contains(m.fields, name) && m.one(10) {
		node[schema.KeyNormalize] = m.pick(schema.NormalizeZero, schema.NormalizeUndefined)
	}
	if slices.Contains(m.fields, name) && m.one(8) {
		node[schema.KeyUpdate] = []any{m.pick(schema.Words()...)}
	}
	switch name {
	case "a":
		below := node["properties"].(map[string]any)
		if x := below["x"].(map[string]any); m.one(3) {
			node["required"] = []any{"x"}
		} else if m.one(3) {
			x["default"] = m.pick("", "a")
		} else if m.one(3) {
			x["nullable"] = true
		} else if m.one(8) {
			x[schema.KeyNormalize] = schema.NormalizeZero
		}
		y := below["y"].(map[string]any)
		if m.one(3) {
			y["required"] = []any{"z"}
		}
		if m.one(4) {
			y["nullable"] = true
		}
		if m.one(4) {
			y["default"] = map[string]any{"z": int64(1)}
		}
	case "m":
		if m.one(4) {
			node["additionalProperties"].(map[string]any)["nullable"] = true
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return wholeNumbers(v)
}

// noField stands for a field that an object lacks.
type noField struct{}

// values lists the values of a field that fit the schema: all if rules are about it, otherwise one.
func (m *ruleMaker) values(t *testing.T, judge *judgement, name string) []any {
	t.Helper()
	var values []any
	for _, v := range append([]any{noField{}, nil}, decoded(t, randomFields[name].values).([]any)...) {
		obj := map[string]any{name: v}
		if _, lacks := v.(noField); lacks {
			delete(obj, name)
		}
		wrong := func(path string) bool {
			return path == "spec."+name || strings.HasPrefix(path, "spec."+name+".") || strings.HasPrefix(path, "spec."+name+"[")
		}
		if slices.ContainsFunc(judge.misfits(stored(judge, obj)), wrong) {
			continue
		}
		if values = append(values, v); !slices.Contains(m.fields, name) {
			break
		}
	}
	return values
}

// rules makes the rules of one case, by schema path.
func (m *ruleMaker) rules() map[string][]map[string]any {
	rules := map[string][]map[string]any{}
	for range 1 + m.IntN(2) {
		m.rule(rules, false)
	}
	for m.one(3) {
		m.rule(rules, true)
	}
	return rules
}

// rule adds a rule at spec, or at one of the fields.
func (m *ruleMaker) rule(rules map[string][]map[string]any, plain bool) {
	const top = "/properties/spec"
	m.plain, m.optional = plain, !plain && m.one(6)
	defer func() { m.plain, m.optional = false, false }()
	at, text := top, ""
	switch field := m.pick(m.fields...); {
	case m.one(4):
		at += "/properties/" + field
		text = m.condition(func() string { return m.atomBelow("", field) }, 2)
	case field == "m" && m.one(6):
		at += "/properties/m/additionalProperties"
		text = m.condition(func() string { return m.atom("", "o") }, 1)
	case field == "l" && m.one(6):
		at += "/properties/l/items"
		text = m.condition(func() string { return m.atom("v", "n") }, 1)
	case m.one(8):
		text = m.condition(func() string { return m.onField(m.pick(m.fields...)) }, 3)
	default:
		text = m.condition(func() string { return m.onField(field) }, 3)
	}
	entry := map[string]any{"rule": text}
	if mentions := strings.Contains(text, "oldSelf"); mentions && m.optional {
		entry["optionalOldSelf"] = true
	}
	rules[at] = append(rules[at], entry)
}

func (m *ruleMaker) onField(field string) string { return m.atomBelow(field, field) }

// atomBelow writes an atom about the field at path or one below it.
func (m *ruleMaker) atomBelow(path, field string) string {
	if below := randomFields[field].below; len(below) > 0 && !m.one(3) {
		name := m.pick(below...)
		return m.atom(strings.TrimPrefix(path+"."+name, "."), kindOf[name])
	}
	return m.atom(path, field)
}

// condition joins atoms by at most depth operators above each other.
func (m *ruleMaker) condition(atom func() string, depth int) string {
	if depth == 0 || m.one(5) {
		return atom()
	}
	a, b := m.condition(atom, depth-1), m.condition(atom, depth-1)
	switch m.IntN(9) {
	case 0, 1, 2:
		return "(" + a + " || " + b + ")"
	case 3, 4, 5:
		return "(" + a + " && " + b + ")"
	case 6:
		return "!(" + a + ")"
	case 7:
		return "(" + a + ") == (" + b + ")"
	}
	return "(" + a + " ? " + b + " : " + m.condition(atom, depth-1) + ")"
}

// atom writes a condition on the field at path, which is of the kind of a field of spec. An empty path is self.
func (m *ruleMaker) atom(path, kind string) string {
	one, other := "self", "oldSelf"
	if m.one(2) {
		one, other = other, one
	}
	if m.plain {
		one, other = "self", "self"
	}
	var form string
	switch m.IntN(14) {
	case 10, 11, 12, 13:
		form = "(" + strings.NewReplacer("A", "has($x)", "B", "has($y)", "E", m.pick("$x == $y", "$y == $x", "!($x != $y)")).Replace(forms[m.IntN(len(forms))].text) + ")"
	case 0, 1:
		form = "has($x)"
	case 2:
		form = m.pick("has($x) == has($y)", "has($x) != has($y)", "$ox.hasValue()", "!has($x) || has($y)", "!has($x)", "(!has($x) || !has($y) || $x == $y)", "true", "false")
	case 3:
		form = m.pick("$ox == $oy", "$ox == $oy", "$ox != $oy")
	case 4, 5, 6:
		form = m.pick("$x == $y", "$x == $y", "$x != $y")
	default:
		form = m.pick(randomFields[kind].atoms...)
	}
	if path == "" && (strings.Contains(form, "has(") || strings.Contains(form, "$o")) {
		form = "$x == $y"
	}
	x, ox := m.spell(one, path)
	y, oy := m.spell(other, path)
	return strings.NewReplacer("$x", x, "$y", y, "$ox", ox, "$oy", oy).Replace(form)
}

// spell writes a field of self or oldSelf as a value and as an optional.
func (m *ruleMaker) spell(root, path string) (value, optional string) {
	value = root
	if root == "oldSelf" && m.optional {
		value = "oldSelf.value()"
	}
	if path == "" {
		return value, ""
	}
	if value != root && m.one(3) {
		root = value
	}
	return value + "." + path, root + "." + strings.ReplaceAll("?"+path, ".", m.pick(".", ".?"))
}

// wholeNumbers turns the whole numbers of a value that was decoded from JSON into integers.
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
