package operators

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/result"
)

// example is an operator of two versions with a row of each sort.
const example = `
operator: Example
module: example.com/operator
versions: [1.0.0, 1.1.0]
kinds:
- kind: Widget
  group: example.com
  versions: [v1]
  source: ValidateUpdate (widget.go)
  rows:
  - {field: spec.new, lock: immutable, since: 1.1.0, says: new}
  - {field: spec.old, lock: immutable, until: 1.0.0, says: old}
  - {field: spec.open, lock: immutable, unknown: the status decides}
  - {field: spec.ignored, lock: immutable, effect: ignored, says: ignored}
  - {field: spec.both, lock: immutable, says: one reason}
  - {field: spec.both, rule: "self.spec.?both == oldSelf.spec.?both", says: another reason}
  - {field: spec.count, rule: "self.spec.?count.orValue(0) >= oldSelf.spec.?count.orValue(0)", says: count}
- kind: Late
  group: example.com
  versions: [v1]
  since: 1.1.0
  source: ValidateUpdate (late.go)
  rows:
  - {field: spec.new, lock: immutable, since: 1.1.0, says: new}
- kind: Gate
  group: example.com
  versions: [v1]
  source: ValidateUpdate (gate.go)
  when: oldSelf.spec.closed || oldSelf.spec.locked
  rows:
  - {field: spec.size, lock: immutable, when: oldSelf.spec.strict || oldSelf.spec.hard, says: size}
- kind: Free
  group: example.com
  versions: [v1]
  source: its webhook has no ValidateUpdate
  nothing: its webhook judges creations only
`

// TestCheck: what the rows of an operator with several versions make of an update. A field that some versions lock is
// refused only if other rows refuse the same update in all others, and neither what is open nor what is accepted counts
// for that.
func TestCheck(t *testing.T) {
	entries, err := read([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*Kind{}
	for _, e := range entries {
		kinds[e.Kind] = e.Of
	}
	for _, row := range []struct{ reason, kind, old, new, want string }{
		{"nothing changes", "Widget", "{new: a}", "{new: a}", "checked"},
		{"the newest version alone", "Widget", "{new: a}", "{new: b}", "unknown spec.new: refused if the cluster has version 1.1.0 or later of Example: new"},
		{"older versions alone", "Widget", "{old: a}", "{old: b}", "unknown spec.old: refused if the cluster has version 1.0.0 or earlier of Example: old"},
		{"every version, in the words of the newest", "Widget", "{new: a, old: a}", "{new: b, old: b}", "refused spec.new: new"},
		{"what is open refuses in no version", "Widget", "{new: a, open: a}", "{new: b, open: b}",
			"unknown spec.new: refused if the cluster has version 1.1.0 or later of Example: new; unknown spec.open: the status decides"},
		{"what is accepted refuses in no version", "Widget", "{new: a, ignored: a}", "{new: b, ignored: b}",
			"unknown spec.new: refused if the cluster has version 1.1.0 or later of Example: new; note spec.ignored: ignored"},
		{"two reasons at one field", "Widget", "{both: a}", "{both: b}", "refused spec.both: one reason; refused spec.both: another reason"},
		{"a rule", "Widget", "{both: a, count: 2}", "{both: a, count: 1}", "refused spec.count: count"},
		{"a rule without a value", "Widget", "{both: a, count: 2}", "{both: a, count: x}", "unknown spec.count: refused if a condition holds that could not be evaluated: no such overload"},
		{"a kind that older versions lack", "Late", "{new: a}", "{new: b}", "refused spec.new: new"},
		{"both conditions hold", "Gate", "{closed: false, locked: true, strict: true, hard: false, size: 1}", "{size: 2}", "refused spec.size: size"},
		{"only that of the kind", "Gate", "{closed: true, locked: false, strict: false, hard: false, size: 1}", "{size: 2}", ""},
		{"only that of the row", "Gate", "{closed: false, locked: false, strict: false, hard: true, size: 1}", "{size: 2}", ""},
		{"a kind without rows, whose CRD may have rules", "Free", "{a: 1}", "{a: 2}", ""},
		{"the same, unchanged", "Free", "{a: 1}", "{a: 1}", "checked"},
	} {
		object := func(spec string) map[string]any {
			var obj map[string]any
			if err := yaml.Unmarshal([]byte("{apiVersion: example.com/v1, kind: "+row.kind+", metadata: {name: a}, spec: "+spec+"}"), &obj); err != nil {
				t.Fatal(err)
			}
			return obj
		}
		if got := said(kinds[row.kind].Check(object(row.new), object(row.old))); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.reason, got, row.want)
		}
	}
}

// TestClusterImages: the major version of a CloudNativePG image is that of its tag, as the operator reads it: not of a
// digest or a port beside it.
func TestClusterImages(t *testing.T) {
	catalogue, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := catalogue.Find("postgresql.cnpg.io/v1", "Cluster")
	const digest, other = "@sha256:17760b4508", "@sha256:dabf20b4a1"
	for _, row := range []struct {
		old, new string
		unknown  bool
	}{
		{"p/postgresql:18.4" + digest, "p/postgresql:18.4" + other, false},
		{"p/postgresql:18.4", "p/postgresql:18.5-standard-trixie" + digest, false},
		{"host:5000/p/postgresql:18.4" + digest, "host:5001/p/postgresql:18beta1" + digest, false},
		{"p/postgresql:17.4" + digest, "p/postgresql:18.4" + digest, true},
		{"host:5000/p/postgresql:17", "host:5000/p/postgresql:18", true},
		{"p/postgresql" + digest, "p/postgresql" + other, false}, // not a matter of the old image
	} {
		object := func(image string) map[string]any {
			return map[string]any{"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "metadata": map[string]any{"name": "c"},
				"spec": map[string]any{"imageName": image}}
		}
		if v := kind.Check(object(row.new), object(row.old)); !v.Allowed() || len(v.Unknown) > 0 != row.unknown {
			t.Errorf("%s to %s: %s", row.old, row.new, said(v))
		}
	}
}

// said is a verdict in one line.
func said(v result.Verdict) string {
	var list []string
	if v.Checked {
		list = append(list, "checked")
	}
	for _, found := range v.Violations {
		list = append(list, "refused "+found.Path+": "+found.Message)
	}
	for _, r := range v.Unknown {
		list = append(list, "unknown "+r.Path+": "+r.Message)
	}
	for _, r := range v.Notes {
		list = append(list, "note "+r.Path+": "+r.Message)
	}
	return strings.Join(list, "; ")
}

// TestMistakes: a file that cannot be what it should is an error.
func TestMistakes(t *testing.T) {
	for name, change := range map[string][2]string{
		"no versions":                    {"[1.0.0, 1.1.0]", "[]"},
		"versions, newest first":         {"[1.0.0, 1.1.0]", "[1.1.0, 1.0.0]"},
		"a key that nobody reads":        {"module:", "modul:"},
		"a kind without API versions":    {"versions: [v1]", "versions: []"},
		"an effect that nobody knows":    {"effect: ignored", "effect: lost"},
		"an effect that says nothing":    {"effect: ignored, says: ignored", "effect: ignored"},
		"neither rows nor a reason":      {"nothing: its webhook judges creations only", ""},
		"a kind without a source of its": {"source: ValidateUpdate (late.go)", ""},
	} {
		text := strings.Replace(example, change[0], change[1], 1)
		if text == example {
			t.Fatalf("%s: the example has no %q", name, change[0])
		}
		if _, err := read([]byte(text)); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
