package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/golden"
	"github.com/fieldlock/fieldlock/internal/witness"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// testdata is absolute, as tests change the working directory: paths in reports depend on the repository that it is in.
var testdata = func() string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	return dir
}()

// compareGolden compares text with a file of testdata.
func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	want := golden.Want(t, *update, filepath.Join(testdata, name), text)
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func subject(kind, object string, line int) result.Subject {
	return result.Subject{Object: object, Kind: kind, APIVersion: "example.com/v1", File: "deploy/x.yaml", Line: line, Column: 3, ObjectLine: line / 10 * 10}
}

// raw returns the value of a JSON text.
func raw(text string) (v result.Value) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// checkReport has a violation, remark and replacement of every sort that formats print differently.
func checkReport() *compare.Report {
	long := `"` + strings.Repeat("x", 90) + `"`
	script := `"set -o errexit\nset -o nounset\nset -o pipefail\nexport PATH=/opt/bin:$PATH\nexec server --port=8080 --log-level=%s --data=/var/lib/server"`
	var many []result.Difference
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		many = append(many, result.Difference{Path: "spec.region." + name, Old: raw("1"), New: raw("2")})
	}
	values := []result.Difference{{Path: "spec.values.new", New: raw(`"n"`)}, {Path: "spec.values.old", Old: raw(`"o"`)}, {Path: "spec.values", Old: raw("1"), New: raw("2")}, {Path: "spec.values[0]", Old: raw("1"), New: raw("2")}}
	return &compare.Report{
		Version: "v1",
		Checked: 6, Updated: 4, Created: 1, Deleted: 1, Skipped: 5, Others: 2, SkippedKinds: []result.KindCount{{Kind: "Secret", Objects: 2}, {Kind: "Pod", Objects: 1}}, MoreViolations: 3,
		UncheckedKinds: []result.KindCount{{APIVersion: "example.com/v1", Kind: "Foo", Objects: 1, Changed: 1}}, Excluded: []string{"vendor/a.yaml"},
		Violations: []result.Violation{
			{Subject: subject("Widget", "ns/a", 12), Path: "spec.class", Lock: "immutable", Old: raw(`"p"`), New: raw(`"q"`), Message: "field is immutable", LockFile: "crd.yaml", LockLine: 7, Owners: "last applied by helm", OldFile: "base/x.yaml", OldLine: 5, Moved: true},
			{Subject: subject("Widget", "ns/a", 13), Path: "spec.labels", Lock: "immutable-keys", Key: raw(`"k"`), Old: raw("{}"), New: raw("{}"), Message: `field is immutable: "k" may not be removed`, LockFile: "crd.yaml"},
			{Subject: subject("Widget", "ns/a", 14), Path: "spec.nodes[0].zone", Lock: "NoModify", Rule: "self == oldSelf", Says: "the zone stays", Old: raw(long), New: raw(`"<b>|*"`), Message: "field is immutable", LockFile: "crd.yaml", Item: "node-1", Version: "v1", OnlyOld: true},
			{Subject: subject("Widget", "ns/a", 14), Path: "spec.script", Lock: "immutable", Old: raw(fmt.Sprintf(script, "info")), New: raw(fmt.Sprintf(script, "debug")), Message: "field is immutable", LockFile: "crd.yaml"},
			{Subject: subject("Widget", "ns/a", 14), Path: "spec.size", Lock: "rule", Rule: "self.spec.size >= oldSelf.spec.size", Old: raw("2"), New: raw("1"), Message: "may not shrink", EnforcedBy: "Widget Operator", Source: "Validate (webhook.go) in example.com/widgets 1.0; verified by running its code"},
			{Subject: subject("Widget", "ns/a", 15), Path: "spec.list", Lock: "incomparable", Reason: "two items have the key a", Key: raw(`"a"`), Message: "field is immutable: two items have the key a", LockFile: "crd.yaml"},
			{Subject: subject("Widget", "ns/b", 22), Path: "spec.region", Lock: "immutable", Differences: many, MoreDifferences: 5, Old: raw("{}"), New: raw("{}"), Message: "field is immutable: …", LockFile: "crd.yaml", Accepted: true, AcceptedReason: "agreed in #5", OldFile: "deploy/x.yaml", OldLine: 23},
			{Subject: subject("Widget", "ns/b", 23), Path: "spec.values", Lock: "immutable", Differences: values, Message: "field is immutable: …", LockFile: "crd.yaml", Accepted: true, AcceptedNew: true, AcceptedReason: "trust me"},
			{Subject: subject("Secret", "ns/c", 32), Path: "data", Lock: "immutable", Redacted: true, Message: "field is immutable when `immutable` is set"},
			{Subject: subject("Widget", "ns/d", 42), Path: "", Lock: "rule", Rule: "self.a < self.b", Message: "a is::\n::error::less", LockFile: "crd.yaml", LockLine: 9, Replaced: true},
			{Subject: result.Subject{Object: "values", File: manifest.Stdin}, Path: "name", Lock: "immutable", Old: raw("1"), Message: "field is immutable", LockFile: "values.schema.json"},
		},
		Unknown: []result.Remark{{Subject: subject("Widget", "ns/e", 52), Path: "apiVersion", Message: "no CRD has both versions"}, {Subject: subject("Widget", "ns/f", 61), Message: "only the cluster knows"}},
		Notes:   []result.Remark{{Subject: subject("Widget", "ns/g", 71), Path: "spec.x", Message: "it has no effect"}},
		Deletions: []result.Deletion{
			{Subject: result.Subject{Object: "shop/kept", Kind: "Namespace", APIVersion: "v1", File: "old.yaml", Line: 4, ObjectLine: 4}, Cost: result.CostCascade, Kept: true, Message: "it is kept", How: []string{}},
			{Subject: result.Subject{Object: "shop/web", Kind: "Deployment", APIVersion: "apps/v1", File: "old.yaml", Line: 1, ObjectLine: 1}, Cost: result.CostDowntime, Message: "what it runs ends", How: []string{}},
			{Subject: result.Subject{Object: "shop/data\x1b[2J", Kind: "PersistentVolumeClaim", APIVersion: "v1", File: "old.yaml", Line: 3, ObjectLine: 3}, Cost: result.CostData, Message: "its *data* goes", How: []string{"restore *it*", "kubectl patch pv x   # to keep the volume"}},
			{Subject: result.Subject{Object: "shop/settings", Kind: "ConfigMap", APIVersion: "v1", File: "old.yaml", Line: 2, ObjectLine: 2}, Cost: result.CostNone, Message: "nothing is lost with it", How: []string{}},
		},
		Units: []result.Unit{{Unit: "overlays/prod", Kind: "kustomization", Objects: 3, Changed: true}, {Unit: "charts/shop", Kind: "chart"}},
		NotCovered: []result.NotCovered{
			{Unit: "apps/db", Kind: "HelmRelease", File: "apps/db.yaml", Line: 3, Reason: "its chart is in the OCIRepository db", Changed: true},
			{Unit: "apps/web", Kind: "HelmRelease", File: "apps/web.yaml", Line: 3, Reason: "its chart is in the OCIRepository web", Changed: true},
			{Unit: "remote", Kind: "kustomization", File: "remote/kustomization.yaml", Reason: "https://example.com/base is not in this repository"},
		},
		Replacements: []result.Replacement{
			{Subject: subject("Widget", "ns/a", 10), Cost: result.CostData, Message: "deleting the object can lose data", Requested: true, Must: true, How: []string{"keep the old values", "kubectl delete widget a", "kubectl replace a   # in one step"}},
			{Subject: subject("Widget", "ns/b", 20), Cost: result.CostNone, Message: "nothing is lost", How: []string{}},
			{Subject: subject("Secret", "ns/c", 30), Cost: result.CostDowntime, Message: "it is missing for a moment", How: []string{"wait"}},
		},
		Warnings: []string{"the entry matches nothing; remove it"},
		Errors:   []compare.Error{{File: "bad.yaml", Line: 3, Message: "malformed", Text: "bad.yaml:3: malformed"}, {Message: "no file", Text: "no file"}},
	}
}

func TestCheckFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	empty := &compare.Report{Version: "v1", Allowed: true, Complete: true, SkippedKinds: []result.KindCount{}, Violations: []result.Violation{}, Unknown: []result.Remark{}, Notes: []result.Remark{}, Replacements: []result.Replacement{}, Deletions: []result.Deletion{}, Units: []result.Unit{}, NotCovered: []result.NotCovered{}, UncheckedKinds: []result.KindCount{}, Excluded: []string{}, Warnings: []string{}}
	for _, f := range Formats() {
		for name, r := range map[string]*compare.Report{"check": checkReport(), "check-empty": empty} {
			var b strings.Builder
			if err := f.Check(&b, r); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+"."+f.Name, b.String())
		}
	}
}

// TestHeadline: the first and last line of a check, and the headline of its Markdown.
func TestHeadline(t *testing.T) {
	broken := func(n int, change func(*result.Violation)) *compare.Report {
		r := &compare.Report{Checked: n, Updated: n}
		for i := range n {
			v := result.Violation{Subject: result.Subject{Object: string(rune('a' + i)), Kind: "Widget"}}
			change(&v)
			r.Violations = append(r.Violations, v, v)
		}
		return r
	}
	for _, c := range []struct {
		name, line, headline string
		r                    *compare.Report
	}{
		{"nothing", "✓ no refused change: 0 objects checked", "no refused change", &compare.Report{}},
		{"updates", "✓ no refused change: 2 objects checked (2 updates)", "no refused change", &compare.Report{Checked: 2, Updated: 2}},
		{"an update, a create and two deletes", "✓ no refused change: 4 objects checked (1 update, 1 create, 2 deletes)", "no refused change", &compare.Report{Checked: 4, Updated: 1, Created: 1, Deleted: 2}},
		{"a create cannot be refused", "✓ no refused change: 1 object checked (1 create)", "no refused change", &compare.Report{Checked: 1, Created: 1}},
		{"an error", "✗ 1 error: 1 object checked (1 update)", "some input could not be read", &compare.Report{Checked: 1, Updated: 1, Errors: []compare.Error{{}}}},
		{"one unknown", "? not checked: 1 unknown verdict (Widget a): 1 object checked (1 update)", "not checked: 1 unknown verdict (Widget a)", &compare.Report{Checked: 1, Updated: 1, Unknown: []result.Remark{{Subject: result.Subject{Kind: "Widget", Object: "a"}}}}},
		{"not covered", "? not checked: 2 files (a.yaml, b.yaml), 4 HelmReleases (a, b, c and 1 more), 1 Foo without a schema, 2 Bars whose rules are not known: 1 object checked (1 update)", "",
			&compare.Report{Checked: 1, Updated: 1, NotCovered: []result.NotCovered{
				{Kind: "file", Unit: "a.yaml", Changed: true}, {Kind: "HelmRelease", Unit: "a", Changed: true}, {Kind: "file", Unit: "b.yaml", Changed: true},
				{Kind: "HelmRelease", Unit: "b", Changed: true}, {Kind: "HelmRelease", Unit: "c", Changed: true}, {Kind: "HelmRelease", Unit: "d", Changed: true},
			}, SkippedKinds: []result.KindCount{{Kind: "Foo", Objects: 1, Changed: 1}}, UncheckedKinds: []result.KindCount{{Kind: "Bar", Objects: 2, Changed: 2}}}},
		{"not covered on both sides alike, and accepted", "✓ no refused change: 1 object checked (1 update); accepted: 1 not checked", "no refused change",
			&compare.Report{Checked: 1, Updated: 1, NotCovered: []result.NotCovered{{Kind: "file", Unit: "a"}, {Kind: "file", Unit: "b", Changed: true, Accepted: true}}}},
		{"data lost", "! deleted: 2 PersistentVolumeClaims (data), 1 Namespace (cascade): 4 objects checked (4 deletes)", "deleted: 2 PersistentVolumeClaims (data), 1 Namespace (cascade)",
			&compare.Report{Checked: 4, Deleted: 4, Deletions: []result.Deletion{
				{Subject: result.Subject{Kind: "PersistentVolumeClaim"}, Cost: "data"}, {Subject: result.Subject{Kind: "Namespace"}, Cost: "cascade"},
				{Subject: result.Subject{Kind: "PersistentVolumeClaim"}, Cost: "data"}, {Subject: result.Subject{Kind: "PersistentVolumeClaim"}, Cost: "data", Kept: true},
			}}},
		{"data lost and an unknown", "? not checked: 1 unknown verdict (Widget a); deleted: 1 Namespace (cascade): 2 objects checked (1 update, 1 delete)", "not checked: 1 unknown verdict (Widget a); deleted: 1 Namespace (cascade)",
			&compare.Report{Checked: 2, Updated: 1, Deleted: 1, Unknown: []result.Remark{{Subject: result.Subject{Kind: "Widget", Object: "a"}}}, Deletions: []result.Deletion{{Subject: result.Subject{Kind: "Namespace"}, Cost: "cascade"}}}},
		{"excluded", "✓ no refused change: 1 object checked (1 update); excluded: 1 changed file (a.yaml)", "no refused change", &compare.Report{Checked: 1, Updated: 1, Excluded: []string{"a.yaml"}}},
		{"nothing changed", "✓ nothing changed", "no refused change", &compare.Report{Unchanged: 2}},
		{"only excluded files changed", "✓ nothing changed; excluded: 1 changed file (a.yaml)", "no refused change", &compare.Report{Unchanged: 2, Excluded: []string{"a.yaml"}}},
		{"a document", "✓ no refused change: 0 objects checked; skipped: 1 document that is not an object", "no refused change", &compare.Report{Others: 1}},
		{"kinds", "✓ no refused change: 0 objects checked; skipped: 2 Pods", "no refused change", &compare.Report{SkippedKinds: []result.KindCount{{Kind: "Pod", Objects: 2}}}},
		{"kinds and documents", "✓ no refused change: 0 objects checked; skipped: 2 Pods, 2 documents that are not objects", "no refused change", &compare.Report{Others: 2, SkippedKinds: []result.KindCount{{Kind: "Pod", Objects: 2}}}},
		{"kinds of one name", "✓ no refused change: 0 objects checked; skipped: 3 Jobs, 1 Job.example.com, 2 Pods", "no refused change", &compare.Report{SkippedKinds: []result.KindCount{{APIVersion: "v1", Kind: "Job", Objects: 1}, {APIVersion: "example.com/v1", Kind: "Job", Objects: 1}, {APIVersion: "v2", Kind: "Job", Objects: 2}, {APIVersion: "apps/v1", Kind: "Pod", Objects: 2}}}},
		{"requested", "✓ no refused change: 2 objects checked (2 updates); 2 requested replacements", "every refused change is a requested replacement", broken(2, func(v *result.Violation) { v.Replaced = true })},
		{"accepted and requested", "✓ no refused change: 2 objects checked (2 updates); 2 accepted violations; 1 requested replacement", "every refused change is accepted, or a requested replacement", broken(2, func(v *result.Violation) { v.Accepted, v.Replaced = v.Object == "b", true })},
		{"refused", "✗ 2 objects refused, 4 violations: 2 objects checked (2 updates)", "a cluster will refuse 2 objects (4 violations)", broken(2, func(*result.Violation) {})},
		{"accepted", "✓ no refused change: 1 object checked (1 update); 2 accepted violations", "every refused change is accepted", broken(1, func(v *result.Violation) { v.Accepted = true })},
		{"one of two accepted", "✗ 1 object refused, 2 violations: 2 objects checked (2 updates); 2 accepted violations", "a cluster will refuse 1 object (2 violations)", broken(2, func(v *result.Violation) { v.Accepted = v.Object == "b" })},
	} {
		if got := headline(c.r, false); got != c.line {
			t.Errorf("%s: %q, want %q", c.name, got, c.line)
		}
		if got := verdictLine(c.r); got != c.headline && c.headline != "" {
			t.Errorf("%s: headline %q, want %q", c.name, got, c.headline)
		}
	}
}

// lintReport has a finding of every sort that formats print differently.
func lintReport() *audit.Report {
	finding := func(name, version, path string, severity immutability.Severity, rule string, line int) audit.Finding {
		return audit.Finding{Finding: crd.Finding{
			CRD: name, Version: version, Position: token.Position{Filename: name + ".yaml", Line: line, Column: 5},
			Finding: immutability.Finding{
				Path: path, SchemaPath: "/properties/spec", Severity: severity, Rule: rule, Message: "what it is about " + path,
			},
		}}
	}
	shown := finding("widgets", "v1", "spec.a", "warning", "unset-then-set", 9)
	shown.Fix = &crd.Fix{Text: "# spec\nx-kubernetes-immutable: true\n"}
	shown.Witness = &witness.Witness{
		Objects: []map[string]any{{"spec": map[string]any{"a": "p"}}, {"spec": map[string]any{}}, {"spec": map[string]any{"a": "q"}}},
		Refused: []witness.Refusal{{Path: "spec.a", Message: "field is\nimmutable"}, {Message: "failed rule", Rule: "self == oldSelf"}},
	}
	accepted, accepted2 := finding("widgets", "v1", "spec.c", "warning", "renamable-key", 11), finding("widgets", "v1", "spec.d", "error", "update-word", 12)
	accepted.Accepted = true
	accepted2.Accepted, accepted2.AcceptedNew = true, true
	return &audit.Report{CRDs: 2, Locked: true, Findings: []audit.Finding{
		finding("widgets", "v1", "", "error", "unknown-key", 7), shown, finding("widgets", "v2", "spec.b", "warning", "optional-parent", 10), finding("widgets", "v3", "spec.b", "warning", "optional-parent", 20),
		accepted, accepted2, finding("gadgets", "", "spec.a", "note", "cel-unset-then-set", 3),
	}}
}

func TestLintFormats(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, f := range Formats() {
		if f.Lint == nil {
			continue
		}
		for name, r := range map[string]*audit.Report{"lint": lintReport(), "lint-clean": {Findings: []audit.Finding{}, CRDs: 1}} {
			var b strings.Builder
			if err := f.Lint(&b, r); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+"."+f.Name, b.String())
		}
	}
	finding := func(severity immutability.Severity, accepted bool) audit.Finding {
		return audit.Finding{Finding: crd.Finding{Finding: immutability.Finding{Severity: severity}}, Accepted: accepted}
	}
	for _, c := range []struct {
		name string
		r    audit.Report
		want bool
	}{
		{"an error", audit.Report{Findings: []audit.Finding{finding("error", false)}}, true},
		{"an accepted error", audit.Report{Findings: []audit.Finding{finding("error", true)}}, false},
		{"a warning", audit.Report{Findings: []audit.Finding{finding("warning", false)}}, false},
		{"a warning, strictly", audit.Report{Strict: true, Findings: []audit.Finding{finding("note", false), finding("warning", false)}}, true},
		{"a note, strictly", audit.Report{Strict: true, Findings: []audit.Finding{finding("note", false)}}, false},
	} {
		if c.r.Refused() != c.want {
			t.Errorf("%s is refused: %v", c.name, !c.want)
		}
	}
}

func TestLocksFormats(t *testing.T) {
	field := func(path string, locks ...string) audit.Field {
		return audit.Field{File: "crd.yaml", CRD: "widgets.example.com", Kind: "Widget", Path: path, Locks: locks, Holes: []audit.Hole{}}
	}
	open := field("spec.pools[*].size", "NoSet", "NoModify")
	open.Holes = []audit.Hole{{Rule: "renamable-key", Message: "long", Short: "rename a key of spec.pools"}, {Short: "move the items: delete, then insert"}}
	builtin := func(path, lock string, change func(*audit.Field)) audit.Field {
		f := audit.Field{APIVersion: "v1", Kind: "Service", Path: path, Locks: []string{lock}, Holes: []audit.Hole{}}
		change(&f)
		return f
	}
	locks := &audit.Locks{Fields: []audit.Field{open}, Groups: []audit.Group{
		{Kind: "Widget", Name: "widgets.example.com", File: "crd.yaml", Versions: []string{"v1", "v2"}, Fields: []audit.Field{field("spec.a.b", "immutable"), field("spec.a.long", "immutable"), open, field("spec.pools[*].zone", "immutable-keys"), field("status.x.y", "NoUnset")}},
		{Kind: "Widget", Name: "widgets.example.com", File: "crd.yaml", Versions: []string{"v3"}},
		{Kind: "Free", Name: "frees.example.com", File: "free.yaml", Versions: []string{"v1"}},
		{Kind: "Service", Name: "v1", Versions: []string{"v1"}, Fields: []audit.Field{
			builtin("spec.ip", "rule", func(f *audit.Field) { f.Rule, f.When = "self == oldSelf", "self.type == 'A'" }),
			builtin("spec.ip", "immutable", func(f *audit.Field) { f.Except = []string{"x", "y"} }),
			builtin("spec.note", "immutable", func(f *audit.Field) { f.Note = "the old value stays" }),
			builtin("spec.unknown", "rule", func(f *audit.Field) { f.Rule, f.Unknown = "true", "it depends on the node" }),
		}},
	}}
	closed := &audit.Locks{Groups: []audit.Group{{Kind: "Widget", File: "crd.yaml", Versions: []string{"v1"}, Fields: []audit.Field{field("spec", "immutable")}}}}
	free := &audit.Locks{Groups: []audit.Group{{Kind: "Free", Name: "frees.example.com", File: "free.yaml", Versions: []string{"v1"}}, {Kind: "Other", Name: "others.example.com", File: "free.yaml", Versions: []string{"v1"}}}}
	for _, f := range Formats() {
		if f.Locks == nil || f.Name == "json" {
			continue
		}
		for name, l := range map[string]*audit.Locks{"locks": locks, "locks-closed": closed, "locks-none": free} {
			var b strings.Builder
			if err := f.Locks(&b, l); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+"."+f.Name, b.String())
		}
	}
}

func TestConversions(t *testing.T) {
	var b strings.Builder
	print := func(name string, write func()) {
		b.WriteString("== " + name + "\n")
		write()
	}
	var export convert.Export
	var imported convert.Import
	if err := json.Unmarshal([]byte(`{
		"exported": [{"crd": "widgets", "version": "v1", "path": "spec.a", "lock": "immutable", "rule": "self == oldSelf"}, {"crd": "widgets", "version": "v1", "path": "spec.b", "lock": "NoSet", "rule": "has(self.b)"}],
		"notExported": [{"crd": "widgets", "version": "v1", "path": "spec.b", "lock": "NoModify", "reason": "it costs too much", "remedy": "maxItems: 4"}, {"crd": "widgets", "version": "v2", "path": "spec.b", "lock": "NoModify", "reason": "no rule says it"}]}`), &export); err != nil {
		t.Fatal(err)
	}
	print("export", func() { Export(&b, &export) })
	export.ByPolicy = 1
	print("export, one of two by policy", func() { Export(&b, &export) })
	export.ByPolicy = 2
	print("export, all by policy", func() { Export(&b, &export) })
	export.Remaining = []string{"deploy the webhook"}
	print("export, with something left to do", func() { Export(&b, &export) })
	export = convert.Export{Rest: export.Rest[:1], ByPolicy: 1}
	print("export, the only one by policy", func() { Export(&b, &export) })
	print("export of nothing", func() { Export(&b, &convert.Export{}) })
	imported.Recognized = []convert.ImportedRule{
		{CRD: "widgets", Version: "v1", Path: "spec.a", Rule: "self == oldSelf", Message: "a stays", Reason: "other locks already cover it"},
		{CRD: "widgets", Version: "v1", Rule: strings.Repeat("self == oldSelf && ", 10) + "true", Reason: "it refuses no update of a valid object, so no lock is needed"},
		{CRD: "widgets", Version: "v1", Path: "spec.b", Rule: `self == "b"`, Message: "b stays"},
	}
	imported.Recognized[2].Locks = []convert.ImportedLock{{Path: "spec.b", Lock: "immutable"}, {Path: "spec.b[*]", Lock: "NoSet"}}
	imported.Left = []convert.ImportedRule{{CRD: "widgets", Version: "v1", Path: "spec.c", Rule: "self > oldSelf", Reason: "it has none of the forms that locks have"}}
	print("import", func() { Import(&b, &imported) })
	imported.Recognized = imported.Recognized[:1]
	imported.Left = nil
	print("import of one rule", func() { Import(&b, &imported) })
	print("import of nothing", func() { Import(&b, &convert.Import{}) })
	compareGolden(t, "conversions.text", b.String())
}
