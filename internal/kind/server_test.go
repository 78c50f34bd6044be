package kind

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// TestJudgesAsTheServer holds definitions against the API server's validator on random updates, by the transition rules
// of real CRDs and by random ones: it loses no refusal and makes none up. The seed is new each time and is logged; the
// environment variable FIELDLOCK_SEED repeats a run.
func TestJudgesAsTheServer(t *testing.T) {
	r := randomUpdates(t)
	t.Run("real rules", func(t *testing.T) {
		for _, file := range realcrds.Files(t) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			crds, err := crd.Read(filepath.Base(file), data)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range crds {
				for _, v := range c.Versions {
					r.compare(t, c.File+" "+v.Name, v.Schema, 30)
				}
			}
		}
	})
	t.Run("random rules", func(t *testing.T) {
		n := 150
		if testing.Short() {
			n = 20
		}
		for range n {
			s := &spec.Schema{}
			if err := json.Unmarshal([]byte(r.ruledSchema()), s); err != nil {
				t.Fatal(err)
			}
			r.compare(t, "random rules", s, 25)
		}
	})
	t.Logf("%d updates, %d refused, %d rules that did not compile", r.updates, r.refused, r.faulty)
	if !testing.Short() && r.refused*20 < r.updates {
		t.Error("too few updates are refused to prove much")
	}
}

// updater makes random updates.
type updater struct {
	*rand.Rand
	names                    map[string]bool // of the properties that it makes values for
	updates, refused, faulty int
}

func randomUpdates(t *testing.T) *updater {
	return &updater{Rand: rand.New(rand.NewPCG(setting.Seed(t), 1))}
}

// word finds the names in a rule.
var word = regexp.MustCompile(`\w+`)

// compare judges n updates by the rules of s, as a definition and as the server does.
func (r *updater) compare(t *testing.T, name string, s *spec.Schema, n int) {
	t.Helper()
	keep := func(rule celrun.Rule) bool { return celrun.Transition(rule) && !ReadsStatus(rule) }
	server := celrun.New(s, keep)
	if server == nil {
		return
	}
	r.names = map[string]bool{}
	for _, rule := range server.Rules() {
		for _, name := range word.FindAllString(rule.Text+" "+rule.SchemaPath, -1) {
			r.names[name] = true
		}
	}
	locks, err := immutability.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	d := FromSchema(s, locks, nil)
	for range n {
		oldObj, _ := r.value(s, 0).(map[string]any)
		newObj, _ := r.change(s, oldObj, 0).(map[string]any)
		want, err := server.ValidateUpdate(newObj, oldObj)
		if err != nil {
			r.faulty++
			return
		}
		found, _, err := d.Find(Update{New: newObj, Old: oldObj})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.updates++
		if len(want) > 0 {
			r.refused++
		}
		if message := disagreement(found, want); message != "" {
			t.Errorf("%s: %s\nrules %q\nold %s\nnew %s", name, message, textsOf(server.Rules()), encoded(oldObj), encoded(newObj))
			return
		}
	}
}

// disagreement says what a definition and the server judge differently, "" for nothing.
func disagreement(found []Objection, want []celrun.RuleError) string {
	covers := func(f Objection, w celrun.RuleError) bool {
		whole := slices.Contains(coversAll, immutability.Lock(f.Lock)) && fieldpath.Within(w.Path, f.Path)
		return whole || slices.ContainsFunc(f.rules, func(r celrun.Rule) bool { return r.Text == w.Rule.Text })
	}
	for _, w := range want {
		if !slices.ContainsFunc(found, func(f Objection) bool { return covers(f, w) }) {
			return fmt.Sprintf("the definition loses %q at %q: %s", w.Rule.Text, w.Path, w.Message)
		}
	}
	for _, f := range found {
		if f.Lock != string(immutability.LockIncomparable) && !slices.ContainsFunc(want, func(w celrun.RuleError) bool { return covers(f, w) }) {
			return fmt.Sprintf("the definition makes up %s %s %q", f.Path, f.Lock, f.Rule)
		}
	}
	return ""
}

func encoded(v any) string {
	text, err := jsonvalue.Encode(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func textsOf(rules []celrun.Rule) []string {
	var list []string
	for _, r := range rules {
		list = append(list, r.SchemaPath+": "+r.Text)
	}
	return list
}

// value makes a value of a schema, with the properties whose names the rules have.
func (r *updater) value(s *spec.Schema, depth int) any {
	if len(s.Enum) > 0 {
		return s.Enum[r.IntN(len(s.Enum))]
	}
	if intOrString, _ := s.Extensions["x-kubernetes-int-or-string"].(bool); intOrString {
		return []any{int64(1), "1", "a"}[r.IntN(3)]
	}
	switch {
	case s.Type.Contains("string"):
		return r.text(s.Format)
	case s.Type.Contains("integer"):
		return int64(r.IntN(4))
	case s.Type.Contains("number"):
		return []any{int64(1), 1.5, float64(2)}[r.IntN(3)]
	case s.Type.Contains("boolean"):
		return r.IntN(2) == 0
	case s.Type.Contains("array"):
		return r.list(s, depth)
	case s.Type.Contains("object"):
		return r.object(s, depth)
	}
	return map[string]any{"any": int64(r.IntN(3))}
}

// text makes a text of a format: CEL reads some of them as values of their own, and fails where they are malformed.
func (r *updater) text(format string) string {
	texts, ok := map[string][]string{
		"date":      {"2020-01-01", "2021-05-05"},
		"date-time": {"2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z", "2021-05-05T05:05:05Z"},
		"duration":  {"60s", "1m", "2h"},
		"byte":      {"YQ==", "Yg=="},
	}[format]
	if !ok {
		texts = []string{"", "a", "b", "c"}
	}
	return texts[r.IntN(len(texts))]
}

func (r *updater) list(s *spec.Schema, depth int) []any {
	list := []any{}
	if s.Items == nil || s.Items.Schema == nil {
		return list
	}
	for range r.IntN(4) {
		list = append(list, r.value(s.Items.Schema, depth+1))
	}
	marks, _ := schema.ReadMarks(s.Extensions)
	if marks.ListType == schema.ListMap && r.IntN(50) > 0 { // a valid one, mostly
		known := map[string]bool{}
		list = slices.DeleteFunc(list, func(item any) bool {
			fields, _ := item.(map[string]any)
			var key []any
			for _, name := range marks.ListMapKeys {
				key = append(key, fields[name])
			}
			text := encoded(key)
			repeated := known[text]
			known[text] = true
			return repeated
		})
	}
	return list
}

func (r *updater) object(s *spec.Schema, depth int) map[string]any {
	fields := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		required := slices.Contains(s.Required, name)
		if (r.names[name] || required) && depth < 12 && (r.IntN(3) > 0 || required && r.IntN(20) > 0) {
			fields[name] = r.value(&property, depth+1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for range r.IntN(3) {
			fields[[]string{"a", "b", "c.d"}[r.IntN(3)]] = r.value(s.AdditionalProperties.Schema, depth+1)
		}
	}
	return fields
}

// change returns a value like v, with some parts made anew, set or removed. It does not change v.
func (r *updater) change(s *spec.Schema, v any, depth int) any {
	if r.IntN(12) == 0 && depth > 0 {
		return r.value(s, depth)
	}
	switch v := v.(type) {
	case map[string]any:
		fields := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := v[name]
			property, ok := s.Properties[name]
			if !ok && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				property, ok = *s.AdditionalProperties.Schema, true
			}
			switch {
			case !ok:
				fields[name] = member
			case depth == 0 || r.IntN(15) > 0:
				fields[name] = r.change(&property, member, depth+1)
			}
		}
		made := r.object(s, depth)
		for _, name := range slices.Sorted(maps.Keys(made)) {
			if _, ok := fields[name]; !ok && r.IntN(10) == 0 {
				fields[name] = made[name]
			}
		}
		return fields
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return v
		}
		list := []any{}
		for _, item := range v {
			if r.IntN(10) > 0 {
				list = append(list, r.change(s.Items.Schema, item, depth+1))
			}
		}
		if r.IntN(4) == 0 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		return list
	}
	return v
}

// ruled is a schema with random rules of the forms that people use, on fields of all sorts.
func (r *updater) ruledSchema() string {
	rules := func(forms ...string) string {
		var list []string
		for range r.IntN(3) {
			text, err := json.Marshal(r.combined(forms, 2))
			if err != nil {
				panic(err)
			}
			list = append(list, `{"rule": `+string(text)+`}`)
		}
		return `"x-kubernetes-validations": [` + strings.Join(list, ", ") + `]`
	}
	required := []string{`["r"]`, `["r", "l"]`, `["r", "o", "s"]`, `[]`}[r.IntN(4)]
	itself := []string{"self == oldSelf", "oldSelf == self", "self != oldSelf", "size(self) >= size(oldSelf)"}
	return `{"type": "object", "properties": {"spec": {"type": "object", "required": ` + required + `, ` + rules(r.onFields()...) + `, "properties": {
		"o": {"type": "string", ` + rules(append(itself, "self == ''", "oldSelf == 'a'", "self in ['', 'a']")...) + `},
		"r": {"type": "string", ` + rules(append(itself, "self == ''", "oldSelf == ''")...) + `},
		"n": {"type": "integer", ` + rules("self == oldSelf", "self >= oldSelf", "self == 0", "self > oldSelf") + `},
		"s": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 3}, ` + rules(append(itself, "self.all(k, k in oldSelf)")...) + `},
		"m": {"type": "object", "maxProperties": 4, ` + rules(append(itself, "self.all(k, k in oldSelf)")...) + `, "additionalProperties": {"type": "string", "maxLength": 3, ` + rules(itself...) + `}},
		"a": {"type": "object", ` + rules("self == oldSelf", "has(self.x) == has(oldSelf.x)", "self.x == oldSelf.x", "self.?x == oldSelf.?x", "has(self.x)", "has(oldSelf.x)") + `, "properties": {"x": {"type": "string", ` + rules(itself...) + `}, "y": {"type": "string"}}},
		"l": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], ` + rules("self == oldSelf", "size(self) == 0", "oldSelf.all(o, self.exists(k, k.name == o.name))", "oldSelf.all(o, self.exists_one(k, k == o))") + `,
			"items": {"type": "object", "required": ["name"], ` + rules("self == oldSelf", "self.?v == oldSelf.?v", "self.v == oldSelf.v") + `, "properties": {"name": {"type": "string", "maxLength": 3}, "v": {"type": "integer", ` + rules("self == oldSelf", "self >= oldSelf") + `}}}}}}}}`
}

// onFields are conditions about the fields of an object.
func (r *updater) onFields() []string {
	var list []string
	for _, f := range []string{"o", "r", "s", "m", "l", "a"} {
		list = append(list, "has(self."+f+")", "has(oldSelf."+f+")", "self."+f+" == oldSelf."+f, "self."+f+" == oldSelf."+f, "self.?"+f+" == oldSelf.?"+f)
	}
	return append(list, "self.o == ''", "oldSelf.r == ''", "self.r in ['', 'a']", "self.s == []", "self.l == []", "oldSelf.m == {}", "self.a.x == oldSelf.a.x",
		"oldSelf.l.all(k, self.l.exists_one(i, k.name == i.name && k == i))", "self.?o.orValue('') == oldSelf.?o.orValue('')")
}

// combined joins conditions by operators, of which at most depth are above each other.
func (r *updater) combined(forms []string, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		return forms[r.IntN(len(forms))]
	}
	a, b := r.combined(forms, depth-1), r.combined(forms, depth-1)
	switch r.IntN(8) {
	case 0, 1, 2:
		return "(" + a + " || " + b + ")"
	case 3, 4, 5:
		return "(" + a + " && " + b + ")"
	case 6:
		return "!(" + a + ")"
	}
	return "(" + a + " ? " + b + " : " + r.combined(forms, depth-1) + ")"
}
