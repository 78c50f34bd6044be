package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/testing/realcrds"
)

// TestRuleDecides runs the cases of testdata/rules.yaml: the server's validator decides, and locks give names.
func TestRuleDecides(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason   string
		Spec, Old, New json.RawMessage
		Want           []string // each "path lock [rules]"
		Refused        bool     // by the rule or a lock that equals it, whichever; Want is left out
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			crd := rulesCRD(string(c.Spec))
			r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", string(c.New))},
				map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", string(c.Old))}, Options{})
			var got []string
			for _, line := range found(r) {
				got = append(got, strings.TrimPrefix(line, "a/x "))
			}
			if len(r.Errors) > 0 || c.Refused != (len(got) > 0) && c.Want == nil || c.Want != nil && !slices.Equal(got, c.Want) {
				t.Errorf("%s: got %q and the errors %v, want %q, refused %v", c.Reason, got, r.Errors, c.Want, c.Refused)
			}
		})
	}
}

// rulesCRD is a CRD of Widgets with one version, whose spec has a schema as JSON.
func rulesCRD(spec string) string {
	return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"}, "spec": {
		"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}, "versions": [{"name": "v1", "served": true, "storage": true,
		"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ` + spec + `}}}}]}}`
}

// TestRealRules: updates of real custom resources that the rules refuse although they were once read as weaker locks.
func TestRealRules(t *testing.T) {
	realcrds.Files(t) // skips the test if there are none
	for _, c := range []struct{ name, file, apiVersion, kind, old, new, want string }{
		{"a token is removed", "kong-operator/konnectapiauthconfigurations.konnect.konghq.com.yaml", "konnect.konghq.com/v1alpha1", "KonnectAPIAuthConfiguration",
			"{type: token, token: kpat_1, serverURL: eu.api.konghq.com}", "{type: token, serverURL: eu.api.konghq.com}", ""},
		{"a reference loses its namespace", "external-snapshotter/volumegroupsnapshotcontents.groupsnapshot.storage.k8s.io.yaml", "groupsnapshot.storage.k8s.io/v1beta2", "VolumeGroupSnapshotContent",
			"{deletionPolicy: Delete, driver: d, source: {volumeHandles: [a]}, volumeGroupSnapshotRef: {name: a, namespace: b}}",
			"{deletionPolicy: Delete, driver: d, source: {volumeHandles: [a]}, volumeGroupSnapshotRef: {name: a}}", "spec.volumeGroupSnapshotRef"},
	} {
		data, err := os.ReadFile(filepath.Join("../../../shared/crds", c.file))
		if err != nil {
			t.Fatal(err)
		}
		object := func(spec string) string {
			return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: x, namespace: a}, spec: %s}", c.apiVersion, c.kind, spec)
		}
		r := check(t, map[string]string{"crd.yaml": string(data), "x.yaml": object(c.new)}, map[string]string{"crd.yaml": string(data), "x.yaml": object(c.old)}, Options{})
		if r.Allowed || !slices.ContainsFunc(r.Violations, func(v Violation) bool { return strings.HasPrefix(v.Path, c.want) && v.Rule != "" }) {
			t.Errorf("%s: got %q, %v", c.name, found(r), r.Errors)
		}
	}
}

// TestManyRefusals: a report of rules is bounded as that of locks is.
func TestManyRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes reports of 10,000 violations")
	}
	crd := rulesCRD(`{"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}},
		"n": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}}`)
	var olds, news []string
	for i := range maxViolations + 10 {
		olds, news = append(olds, fmt.Sprintf(`"k%d": 2`, i)), append(news, fmt.Sprintf(`"k%d": 1`, i))
	}
	for _, field := range []string{"m", "n"} {
		r := check(t, map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", `{"`+field+`": {`+strings.Join(news, ", ")+`}}`)},
			map[string]string{"crd.yaml": crd, "x.yaml": widget("v1", "a", "x", `{"`+field+`": {`+strings.Join(olds, ", ")+`}}`)}, Options{})
		if len(r.Violations) != maxViolations || r.MoreViolations != 10 {
			t.Errorf("%s: %d violations and %d more, %v", field, len(r.Violations), r.MoreViolations, r.Errors)
		}
	}
}

// TestChecksAsTheServer holds check against the API server's validator on random updates, by the transition rules of real
// CRDs and by random ones: it loses no refusal and makes none up. The seed is new each time and is logged; the environment
// variable FIELDLOCK_SEED repeats a run.
func TestChecksAsTheServer(t *testing.T) {
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
			if err := json.Unmarshal([]byte(r.ruled()), s); err != nil {
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
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FIELDLOCK_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FIELDLOCK_SEED=%d", seed)
	return &updater{Rand: rand.New(rand.NewPCG(seed, 1))}
}

// word finds the names in a rule.
var word = regexp.MustCompile(`\w+`)

// compare judges n updates by the rules of s, as check and as the server does.
func (r *updater) compare(t *testing.T, name string, s *spec.Schema, n int) {
	t.Helper()
	keep := func(rule celrun.Rule) bool { return celrun.Transition(rule) && !readsStatus(rule) }
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
	l := newLaws(s, locks)
	for range n {
		oldObj, _ := r.value(s, 0).(map[string]any)
		newObj, _ := r.change(s, oldObj, 0).(map[string]any)
		want, err := server.ValidateUpdate(newObj, oldObj)
		if err != nil {
			r.faulty++
			return
		}
		var v verdict
		if err := l.check(&v, newObj, oldObj, newObj, func(*Violation) {}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r.updates++
		if len(want) > 0 {
			r.refused++
		}
		if message := disagreement(&v, want); message != "" {
			t.Errorf("%s: %s\nrules %q\nold %s\nnew %s", name, message, textsOf(server.Rules()), raw(value{oldObj, true}), raw(value{newObj, true}))
			return
		}
	}
}

// disagreement says what check and the server judge differently, "" for nothing.
func disagreement(v *verdict, want []celrun.Violation) string {
	covers := func(b Violation, w celrun.Violation) bool {
		whole := (b.Lock == "immutable" || b.Lock == "NoModify" || b.Lock == "incomparable") && fieldpath.Within(w.Path, b.Path)
		return whole || slices.Contains(strings.Split(b.Rule, "; "), w.Rule.Text)
	}
	for _, w := range want {
		if !slices.ContainsFunc(v.violations, func(b Violation) bool { return covers(b, w) }) {
			return fmt.Sprintf("check loses %q at %q: %s", w.Rule.Text, w.Path, w.Message)
		}
	}
	for _, b := range v.violations {
		if b.Lock != "incomparable" && !slices.ContainsFunc(want, func(w celrun.Violation) bool { return covers(b, w) }) {
			return fmt.Sprintf("check makes up %s %s %q", b.Path, b.Lock, b.Rule)
		}
	}
	return ""
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
			text := string(raw(value{key, true}))
			repeated := known[text]
			known[text] = true
			return repeated
		})
	}
	return list
}

func (r *updater) object(s *spec.Schema, depth int) map[string]any {
	fields := map[string]any{}
	for name, property := range s.Properties {
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
		for name, member := range v {
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
		for name, member := range r.object(s, depth) {
			if _, ok := fields[name]; !ok && r.IntN(10) == 0 {
				fields[name] = member
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
func (r *updater) ruled() string {
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
