package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestReportParts: what a report says of a violation beside its path and lock.
func TestReportParts(t *testing.T) {
	crd := widgets("None", "region: {type: object, x-kubernetes-immutable: true, properties: {a: {type: string}, b: {type: string}}}\nclass: {type: string, x-kubernetes-immutable: true}", "class: {type: string}")
	old := widget("v1", "a", "x", "{class: p, region: {a: '1', b: '1'}}") + widget("v1", "a", "-y z", "{class: p}") + widget("v1", "", "w", "{class: p}")
	news := widget("v1", "a", "x", "{class: q, region: {a: '2', b: '3'}}") + widget("v1", "a", "-y z", "{class: q}") + widget("v1", "", "w", "{class: p}")
	run := func(list *accept.List) *Report {
		r, err := Check(Input{New: files(map[string]string{"crd.yaml": crd, "x.yaml": news}), Old: files(map[string]string{"crd.yaml": crd, "x.yaml": old}), Accepted: list}, Options{Now: testDay})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := run(nil)
	if got := paths(r); !slices.Equal(got, []string{"spec.class", "spec.region", "spec.class"}) {
		t.Fatalf("violations at %q: they are sorted by path", got)
	}
	region := &r.Violations[1]
	if len(region.Differences) != 2 || region.Differences[0].Path != "spec.region.a" || region.Differences[1].New.String() != `"3"` {
		t.Errorf("the differences are %+v", region.Differences)
	}
	if class := &r.Violations[0]; class.Old.String() != `"p"` || class.New.String() != `"q"` || class.Change == "" || class.Change == region.Change {
		t.Errorf("the violation is %+v", class)
	}
	if len(r.Replacements) != 2 || r.Replacements[0].Accepted || r.Replacements[0].Cost != result.CostUnknown {
		t.Fatalf("the replacements are %+v", r.Replacements)
	}
	for i, want := range []string{"kubectl delete widgets.example.com x --namespace a && kubectl apply -f x.yaml", "kubectl delete widgets.example.com '-y z' --namespace a && kubectl apply -f x.yaml"} {
		if !slices.Contains(r.Replacements[i].How, want) {
			t.Errorf("%q lacks %q", r.Replacements[i].How, want)
		}
	}
	for _, test := range []struct {
		accept             string
		allowed            bool
		accepted, replaced int // accepted violations and replacements
	}{
		{"[]", false, 0, 0},
		{"[{path: spec.class, reason: a}]", false, 2, 1},
		{"[{object: a/x, reason: a}]", false, 2, 1},
		{"[{kind: Widget, reason: a}]", true, 3, 2},
		{"[{kind: Widget, reason: a, until: '2026-11-20'}]", false, 0, 0},
	} {
		list, err := accept.Parse("f", []byte("accept: "+test.accept))
		if err != nil {
			t.Fatal(err)
		}
		r := run(list)
		accepted, replaced := 0, 0
		for i := range r.Violations {
			if r.Violations[i].Accepted {
				accepted++
			}
		}
		for i := range r.Replacements {
			if r.Replacements[i].Accepted {
				replaced++
			}
		}
		if r.Allowed != test.allowed || accepted != test.accepted || replaced != test.replaced {
			t.Errorf("%s: allowed %t, %d violations and %d replacements accepted", test.accept, r.Allowed, accepted, replaced)
		}
		entries := r.Acceptances("b")
		if len(entries) != 3-accepted || len(entries) > 0 && entries[0].Reason != "b" {
			t.Errorf("%s: %+v would be written, want %d entries", test.accept, entries, 3-accepted)
		}
	}
}

// TestReplacementRequested: an object that asks its tool to replace it passes where nothing worse than downtime comes
// of it, by what the CRDs of both sides say.
func TestReplacementRequested(t *testing.T) {
	costs := func(cost string) string {
		if cost == "" {
			return classLocked
		}
		return strings.Replace(classLocked, "{name: widgets.example.com}", "{name: widgets.example.com, annotations: {fieldlock.dev/replacement-cost: "+cost+"}}", 1)
	}
	asks := strings.Replace(widget("v1", "a", "x", "{class: q}"), "{name: x", "{annotations: {kapp.k14s.io/update-strategy: always-replace}, name: x", 1)
	for _, test := range []struct {
		newCost, oldCost string
		new              string
		cost             result.Cost
		allowed          bool
	}{
		{"none", "none", asks, result.CostNone, true},
		{"downtime", "restart", asks, result.CostDowntime, true},
		{"none", "", asks, result.CostUnknown, false},
		{"", "none", asks, result.CostUnknown, false},
		{"restart", "data", asks, result.CostData, false},
		{"cascade", "none", asks, result.CostCascade, false},
		{"nothing", "none", asks, result.CostUnknown, false},
		{"none", "none", widget("v1", "a", "x", "{class: q}"), result.CostNone, false},
	} {
		r := check(t, map[string]string{"crd.yaml": costs(test.newCost), "x.yaml": test.new}, map[string]string{"crd.yaml": costs(test.oldCost), "x.yaml": widget("v1", "a", "x", "{class: p}")}, Options{})
		if len(r.Violations) != 1 || len(r.Replacements) != 1 {
			t.Fatalf("%+v", r)
		}
		if got := r.Replacements[0]; got.Cost != test.cost || got.Requested != (test.new == asks) || r.Allowed != test.allowed || r.Violations[0].Replaced != test.allowed {
			t.Errorf("%q in NEW and %q in OLD: allowed %t, %+v", test.newCost, test.oldCost, r.Allowed, got)
		}
	}
}

// TestOpenAPIReplacement: what to do about a violation of a lock in an OpenAPI document; nothing where none is broken.
func TestOpenAPIReplacement(t *testing.T) {
	document, err := schemadoc.Read("api.json", []byte(`{"openapi": "3.0.0", "components": {"schemas": {"Widget": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
		"properties": {"spec": {"type": "object", "properties": {"class": {"type": "string", "x-kubernetes-immutable": true}}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"p", "q"} {
		r, err := Check(Input{
			New:        files(map[string]string{"x.yaml": widget("v1", "a", "x", "{class: "+class+", free: x}")}),
			Old:        files(map[string]string{"x.yaml": widget("v1", "a", "x", "{class: p}")}),
			NewSchemas: manifest.Schemas{Documents: []*schemadoc.Document{document}},
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if broken := class == "q"; len(r.Replacements) > 0 != broken || r.Allowed == broken {
			t.Errorf("class %s: %+v", class, r)
		}
	}
}

var testDay = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func paths(r *Report) (list []string) {
	for i := range r.Violations {
		list = append(list, r.Violations[i].Path)
	}
	return list
}

// TestDigest: a digest tells changes apart, absent and null values too.
func TestDigest(t *testing.T) {
	values := []value{{}}
	for _, v := range []any{nil, "", "a", map[string]any{}, []any{"a"}, int64(1), "1"} {
		values = append(values, value{Data: v, OK: true})
	}
	seen := map[string]bool{}
	for _, is := range values {
		for _, was := range values {
			d := kind.Digest(was, is)
			if len(d) != 16 || seen[d] {
				t.Errorf("%v from %v has the digest %q", is, was, d)
			}
			seen[d] = true
		}
	}
	a := map[string]any{"metadata": map[string]any{"name": "x"}, "status": "s", "spec": "a"}
	b := map[string]any{"metadata": map[string]any{"name": "y"}, "status": "t", "spec": "b"}
	if kind.DigestObjects(a, b) == kind.DigestObjects(b, a) || kind.DigestObjects(a, b) == kind.DigestObjects(map[string]any{"spec": "a"}, b) ||
		kind.DigestObjects(map[string]any{"status": "s", "spec": "a"}, map[string]any{"status": "s"}) != kind.DigestObjects(map[string]any{"spec": "a"}, map[string]any{}) || !strings.Contains(a["status"].(string), "s") {
		t.Error("a digest of objects is of what people write, and of its direction")
	}
}

// TestNextChange: who accepts one change does not accept the next one, whatever the refusal is about.
func TestNextChange(t *testing.T) {
	known, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	rules := func(rules string) string {
		return strings.ReplaceAll(widgets("None", "class: {type: string}\nm: {type: object, additionalProperties: {type: string}}", ""),
			"            spec:\n", "            spec:\n              x-kubernetes-validations: ["+rules+"]\n")
	}
	labelled := func(tier string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: d, labels: {app: a, tier: " + tier + "}}, data: {a: b}}\n"
	}
	service := func(creator string) string {
		return "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: c, namespace: d, annotations: {serving.knative.dev/creator: " + creator + "}}}\n"
	}
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, schema   string
		old, new, next string // two changes of old
	}{
		{"policy of a label", policyFor("p", "", "configmaps", "object.metadata.labels.tier == oldObject.metadata.labels.tier") + bindingOf("p", "Deny"),
			labelled("gold"), labelled("iron"), labelled("tin")},
		{"rule that names one of its fields", rules("{rule: 'self.class == oldSelf.class && self.free == oldSelf.free', fieldPath: .class}"),
			widget("v1", "d", "w", "{class: a, free: a}"), widget("v1", "d", "w", "{class: b, free: a}"), widget("v1", "d", "w", "{class: b, free: b}")},
		{"emptied by a server-side apply", rules(""),
			widget("v1", "d", "w", "{m: {a: a}}"), widget("v1", "d", "w", "{m: {}}"), ""},
		{"operator's rule about an annotation", "", service("a"), service("b"), service("c")},
	} {
		change := func(newText, oldText string) string {
			r := check(t, map[string]string{"x.yaml": row.schema + "---\n" + newText}, map[string]string{"x.yaml": row.schema + "---\n" + oldText},
				Options{Builtin: known, Operators: catalogue, Applier: tool.ServerSide})
			if len(r.Violations) != 1 {
				t.Fatalf("%s: %+v", row.name, found(r))
			}
			return r.Violations[0].Change
		}
		first, again, next := change(row.new, row.old), change(row.new, row.old), ""
		if row.next == "" {
			next = change(row.new, strings.Replace(row.old, "a: a", "b: b", 1))
		} else {
			next = change(row.next, row.old)
		}
		if first != again || first == next {
			t.Errorf("%s: the digests are %q and %q, of another change %q", row.name, first, again, next)
		}
	}
	seen := map[string]bool{}
	for _, free := range []string{"a", "b"} {
		news, old := files(map[string]string{"crd.yaml": classLocked, "x.yaml": widget("v1", "d", "w", "{free: "+free+"}")}), manifest.File{Name: manifest.Cluster}
		old.Parse([]byte(widget("v1", "d", "w", "{free: c}")))
		live := Live{Old: old.Documents[0], New: news[1].Documents[0].Object, Refusals: []ServerRefusal{{"", "a webhook says no"}}}
		r, err := Check(Input{New: news, Live: map[*yamldoc.Document]Live{news[1].Documents[0]: live}}, Options{})
		if err != nil || len(r.Violations) != 1 || seen[r.Violations[0].Change] {
			t.Fatalf("what a cluster refuses: %v, %v", err, found(r))
		}
		seen[r.Violations[0].Change] = true
	}
}
