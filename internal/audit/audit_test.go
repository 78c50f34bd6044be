package audit

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// crds reads CRDs of kind Widget, Gadget and so on from the schemas of their spec, one for each version.
func crds(t *testing.T, file, kind, conversion string, specs ...string) []*crd.CRD {
	t.Helper()
	text := fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %ss.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: %s, plural: %ss}\n  conversion: {strategy: %s}\n  versions:\n",
		strings.ToLower(kind), kind, strings.ToLower(kind), conversion)
	for i, spec := range specs {
		served := !strings.HasPrefix(spec, "unserved ")
		text += fmt.Sprintf("  - name: v%d\n    served: %v\n    storage: %v\n    schema:\n      openAPIV3Schema:\n        type: object\n        required: [spec]\n        properties:\n          spec: %s\n", i+1, served, i == 0, strings.TrimPrefix(spec, "unserved "))
	}
	list, err := crd.Read(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	optional  = "{type: object, properties: {f: {type: string, x-kubernetes-immutable: true}}}"
	once      = "{type: object, properties: {f: {type: string, x-fieldlock-update: [NoModify]}}}"
	free      = "{type: object, properties: {f: {type: string}}}"
	ruled     = "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
	dead      = "{type: object, required: [f], properties: {f: {type: string, enum: [a], x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
	mistaken  = "{type: object, properties: {f: {type: string, x-fieldlock-update: [NoAddItem]}}}"
	plainRule = "{type: object, properties: {f: {type: string, x-kubernetes-validations: [{rule: self != 'a'}]}}}"
	kept      = "{type: object, x-kubernetes-validations: [{rule: '!has(oldSelf.p) || has(self.p)'}], " +
		"properties: {p: {type: object, properties: {f: {type: string, x-kubernetes-immutable: true}}}}}"
	strange = `{type: object, properties: {f: {type: string, x-fieldlock-update: [NoModify], pattern: '^[0-9]{5}-[0-9a-f]{8}$',
 maxLength: 14, x-kubernetes-validations: [{rule: "int(self.split('-')[0]) * 3 == 79191"}]}}}`
	repeated = "{type: object, required: [f], properties: {f: {type: string, x-kubernetes-immutable: true, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
)

// findings lists the findings of a report, one line each.
func findings(r *Report) []string {
	var lines []string
	for i := range r.Findings {
		f := &r.Findings[i]
		severity := string(f.Severity)
		if strings.HasPrefix(f.Message, "possible: ") {
			severity = "possible " + severity
		}
		line := fmt.Sprintf("%s:%d %s %s %s %s", f.Position.Filename, f.Position.Line, f.Version, severity, f.Rule, f.Path)
		if f.Fix != nil {
			line += " with a fix"
		}
		if f.Witness != nil {
			line += fmt.Sprintf(" with %d objects", len(f.Witness.Objects))
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCRDs(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		conversion   string
		specs        []string
		old          []string
		explain      bool
		want         []string
		locked       bool
	}{
		{"no lock", "nothing is said", "None", []string{free}, nil, false, nil, false},
		{"a rule about one object", "it is no transition rule", "None", []string{plainRule}, nil, false, nil, false},
		{"a lock without a hole", "", "None", []string{optional}, nil, false, nil, true},
		{"a lock with a hole", "the field can be unset and set", "None", []string{once}, nil, false, []string{"c.yaml:18 v1 warning unset-then-set spec.f with a fix"}, true},
		{"a lock with a hole, shown", "two updates get around it", "None", []string{once}, nil, true, []string{"c.yaml:18 v1 warning unset-then-set spec.f with a fix with 3 objects"}, true},
		{"a lock with a hole that a rule closes", "no objects show it, so it is a note", "None", []string{kept}, nil, true,
			[]string{"c.yaml:18 v1 possible note optional-parent spec.p with a fix"}, true},
		{"a lock with a hole, and values that are hard to find", "it may be there, and no objects show it", "None", []string{strange}, nil, true,
			[]string{"c.yaml:18 v1 possible note unset-then-set spec.f with a fix"}, true},
		{"a rule with a hole", "there is a rule that closes it", "None", []string{ruled}, nil, false, []string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix"}, true},
		{"a rule with a hole, shown", "", "None", []string{ruled}, nil, true, []string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix with 3 objects"}, true},
		{"a rule that refuses nothing", "it looks like a lock", "None", []string{dead}, nil, false, []string{"c.yaml:18 v1 warning dead-rule spec.f"}, true},
		{"a version that is not served", "nobody writes through it", "None", []string{free, "unserved " + ruled}, nil, false, nil, true},
		{"two served versions", "one lacks the rule", "None", []string{ruled, free}, nil, false,
			[]string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix", "c.yaml:27 v2 warning cel-version-without-rule spec.f with a fix"}, true},
		{"a version without the field", "a write through it drops the value", "None", []string{ruled, "{type: object}"}, nil, false,
			[]string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix", "c.yaml:27 v2 warning cel-version-without-rule spec"}, true},
		{"a version without the field, with a webhook", "the webhook may keep the value", "Webhook", []string{ruled, "{type: object}"}, nil, false,
			[]string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix", "c.yaml:27 v2 possible note cel-version-without-rule spec"}, true},
		{"a field that is never stored", "the storage version lacks it, so that the rule has no old value", "None", []string{"{type: object}", ruled}, nil, false,
			nil, true},
		{"a field that is stored with all others", "the storage version keeps what it does not know", "None",
			[]string{"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {f: {type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}}}"}, nil, false,
			[]string{"c.yaml:18 v1 warning cel-version-without-rule spec", "c.yaml:27 v2 warning cel-unset-then-set spec.f with a fix"}, true},
		{"a mistake", "an error comes first, and may be a lock", "None", []string{once, mistaken}, nil, false,
			[]string{"c.yaml:27 v2 error keys-without-keys spec.f", "c.yaml:18 v1 warning unset-then-set spec.f with a fix", "c.yaml:27 v2 warning version-unlocked spec.f"}, true},
		{"a lock that the old CRD did not have", "nothing is lost", "None", []string{optional}, []string{free}, false, nil, true},
		{"a rule that was dropped", "an update of the CRD takes it away", "None", []string{free}, []string{ruled}, false, []string{"c.yaml:18 v1 error lock-dropped spec.f"}, false},
		{"a rule of a version that is no longer served", "an update goes through another version", "None", []string{"unserved " + free, free}, []string{ruled}, false, []string{"c.yaml:27 v2 error lock-dropped spec.f"}, false},
		{"a rule of a version that goes, a free one stays", "what is left accepts the update", "None", []string{"unserved " + free, free}, []string{ruled, free}, false, []string{"c.yaml:27 v2 error lock-dropped spec.f"}, false},
		{"a rule that another version has, too", "it is still there", "None", []string{"unserved " + free, ruled}, []string{ruled, ruled}, false, []string{"c.yaml:27 v2 warning cel-unset-then-set spec.f with a fix"}, true},
		{"a version goes, and the other one drops the rule", "it is one loss", "None", []string{"unserved " + free, free}, []string{ruled, ruled}, false, []string{"c.yaml:27 v2 error lock-dropped spec.f"}, false},
		{"a rule that stays", "nothing is lost", "None", []string{ruled}, []string{ruled}, false, []string{"c.yaml:18 v1 warning cel-unset-then-set spec.f with a fix"}, true},
		{"a lock that was dropped", "an update of the CRD takes it away", "None", []string{free}, []string{optional}, false, []string{"c.yaml:18 v1 error lock-dropped spec.f"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var olds []*crd.CRD
			if c.old != nil {
				olds = crds(t, "old.yaml", "Widget", "None", c.old...)
			}
			var begun int
			var steps atomic.Int64
			r, err := CRDs(crds(t, "c.yaml", "Widget", c.conversion, c.specs...), olds, Options{Explain: c.explain, Begin: func(n int) { begun = n }, Step: func() { steps.Add(1) }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, findings(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if r.Locked != c.locked || r.CRDs != 1 || begun != 1 || steps.Load() != 1 {
				t.Errorf("locked %v, %d CRDs, %d begun, %d done", r.Locked, r.CRDs, begun, steps.Load())
			}
		})
	}
}

// graded returns a finding of a severity.
func graded(severity immutability.Severity, accepted bool) Finding {
	return Finding{Finding: crd.Finding{Finding: immutability.Finding{Severity: severity}}, Accepted: accepted}
}

// TestOrder: errors, warnings and notes, each by line, path, rule and message.
func TestOrder(t *testing.T) {
	for severity, want := range map[immutability.Severity]int{"error": 0, "warning": 1, "note": 2} {
		if f := graded(severity, false); f.rank() != want {
			t.Errorf("%s has the rank %d", severity, f.rank())
		}
	}
	const deadTwice = "{type: object, required: [f, g], properties: {f: {type: string, enum: [a], x-kubernetes-validations: [{rule: self == oldSelf}]}, g: {type: string, enum: [a], x-kubernetes-validations: [{rule: self == oldSelf}]}}}"
	r, err := CRDs(slices.Concat(crds(t, "c.yaml", "Widget", "None", deadTwice), crds(t, "d.yaml", "Gadget", "None", once), crds(t, "e.yaml", "Box", "None", once)), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c.yaml:18 v1 warning dead-rule spec.f", "c.yaml:18 v1 warning dead-rule spec.g", "d.yaml:18 v1 warning unset-then-set spec.f with a fix", "e.yaml:18 v1 warning unset-then-set spec.f with a fix"}, findings(r)); diff != "" {
		t.Errorf("several findings of several CRDs (-want +got):\n%s", diff)
	}
	r, err = CRDs(crds(t, "c.yaml", "Widget", "Webhook", ruled, "{type: object}"), nil, Options{})
	if err != nil || len(r.Findings) != 2 || !strings.HasPrefix(r.Findings[1].Message, "possible: ") || len(r.Findings[1].Message) < 50 {
		t.Errorf("a hole that only the webhook can close: %+v, %v", r.Findings, err)
	}
}

// TestPairs: which CRD is an update of which old one.
func TestPairs(t *testing.T) {
	widget, gadget := crds(t, "w.yaml", "Widget", "None", free), crds(t, "g.yaml", "Gadget", "None", free)
	oldWidget, oldGadget := crds(t, "old-w.yaml", "Widget", "None", optional), crds(t, "old-g.yaml", "Gadget", "None", optional)
	for _, c := range []struct {
		name       string
		news, olds []*crd.CRD
		want       []string // "new old"
	}{
		{"no old ones", slices.Concat(widget, gadget), nil, []string{"w.yaml -", "g.yaml -"}},
		{"by their kind", slices.Concat(widget, gadget), slices.Concat(oldGadget, oldWidget), []string{"w.yaml old-w.yaml", "g.yaml old-g.yaml"}},
		{"one of two", slices.Concat(widget, gadget), oldGadget, []string{"w.yaml -", "g.yaml old-g.yaml"}},
		{"one of each, of whatever kind", widget, oldGadget, []string{"w.yaml old-g.yaml"}},
		{"the same kind in two files", slices.Concat(crds(t, "bases/w.yaml", "Widget", "None", free), crds(t, "chart/w.yaml", "Widget", "None", free)),
			slices.Concat(crds(t, "0123abc:chart/w.yaml", "Widget", "None", free), crds(t, "0123abc:bases/w.yaml", "Widget", "None", optional)), []string{"bases/w.yaml 0123abc:bases/w.yaml", "chart/w.yaml 0123abc:chart/w.yaml"}},
		{"the same kind in two directories", crds(t, "new/bases/w.yaml", "Widget", "None", free),
			slices.Concat(crds(t, "old/bases/w.yaml", "Widget", "None", free), crds(t, "old/bundle.yaml", "Widget", "None", optional)), []string{"new/bases/w.yaml old/bases/w.yaml"}},
		{"one, and two old ones", widget, slices.Concat(oldGadget, oldWidget), []string{"w.yaml old-w.yaml"}},
	} {
		updates, err := pair(c.news, c.olds)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range updates {
			old := "-"
			if u.old != nil {
				old = u.old.File
			}
			got = append(got, u.new.File+" "+old)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	_, err := CRDs(widget, slices.Concat(oldWidget, crds(t, "again.yaml", "Widget", "None", free)), Options{})
	if err == nil || err.Error() != "--old: Widget.example.com is defined twice, in old-w.yaml:1 and in again.yaml:1; give one of them" {
		t.Errorf("a kind that is defined twice: %v", err)
	}
	r, err := CRDs(slices.Concat(widget, gadget), nil, Options{})
	if err != nil || r.CRDs != 2 || r.Locked || r.Findings == nil {
		t.Errorf("two CRDs without locks: %+v, %v", r, err)
	}
}

// TestTransitionRules: the rules of a CRD that are about updates; those that repeat its locks are not listed.
func TestTransitionRules(t *testing.T) {
	for _, c := range []struct {
		name  string
		specs []string
		want  int
	}{
		{"none", []string{free}, 0}, {"about one object", []string{plainRule}, 0}, {"one", []string{ruled}, 1}, {"in two versions", []string{ruled, free, ruled}, 2}, {"beside its lock", []string{repeated}, 0},
		{"one that is no lock", []string{"{type: object, properties: {f: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf}]}}}"}, 1},
	} {
		got := 0
		for _, v := range crds(t, "c.yaml", "Widget", "None", c.specs...)[0].Versions {
			got += len(transitionRules(v))
		}
		if got != c.want {
			t.Errorf("%s: %d rules, want %d", c.name, got, c.want)
		}
	}
}

// TestAccept: an accepted finding stays in the report; entries that match nothing are warned of.
func TestAccept(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	list := func(text string) *accept.List {
		l, err := accept.Parse("f", []byte("accept: ["+text+"]"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const byRule, byPath = "{crd: widgets.example.com, rule: unset-then-set, reason: a}", "{crd: widgets.example.com, path: spec.f, reason: b}"
	for _, c := range []struct {
		name, list, old    string
		known              bool
		accepted, fresh    bool
		warnings, proposed int
	}{
		{"none", "", "", false, false, false, 0, 1},
		{"by rule", byRule, "", false, true, false, 0, 0},
		{"by path", byPath, "", false, true, false, 0, 0},
		{"an entry that the change adds", byPath, byRule, true, true, true, 0, 0},
		{"an entry that was there", byPath, byPath, true, true, false, 0, 0},
		{"another CRD", "{crd: gadgets.example.com, reason: a}", "", false, false, false, 1, 1},
		{"another rule", "{crd: widgets.example.com, rule: dead-rule, reason: a}", "", false, false, false, 1, 1},
		{"an entry for check", "{kind: Widget, path: spec.g, reason: a}", "", false, false, false, 0, 1},
	} {
		r, err := CRDs(crds(t, "c.yaml", "Widget", "None", once, once), nil, Options{})
		if err != nil || len(r.Findings) != 2 {
			t.Fatal(findings(r), err)
		}
		warnings := r.Accept(list(c.list), list(c.old), c.known, now)
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Accepted != c.accepted || f.AcceptedNew != c.fresh {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		entries := r.Acceptances("why")
		if len(warnings) != c.warnings || len(entries) != c.proposed {
			t.Errorf("%s: warnings %q, entries %+v", c.name, warnings, entries)
		}
		for _, e := range entries { // the finding of both versions once
			if e != (accept.Entry{CRD: "widgets.example.com", Path: "spec.f", Rule: "unset-then-set", Reason: "why"}) {
				t.Errorf("%s: the entry %+v", c.name, e)
			}
		}
	}
}

// TestSame: a finding of several versions is one; anything else differs.
func TestSame(t *testing.T) {
	f := Finding{Finding: crd.Finding{
		CRD: "c", Version: "v1", Position: token.Position{Filename: "f", Line: 1},
		Finding: immutability.Finding{Path: "p", Rule: "r", Message: "m"},
	}}
	for name, c := range map[string]struct {
		change func(*Finding)
		same   bool
	}{
		"version": {func(f *Finding) { f.Version, f.Position.Line = "v2", 2 }, true}, "file": {func(f *Finding) { f.Position.Filename = "x" }, false}, "CRD": {func(f *Finding) { f.CRD = "x" }, false},
		"path": {func(f *Finding) { f.Path = "x" }, false}, "rule": {func(f *Finding) { f.Rule = "x" }, false}, "message": {func(f *Finding) { f.Message = "x" }, false},
	} {
		g := f
		c.change(&g)
		if f.Same(&g) != c.same {
			t.Errorf("findings that differ in their %s are the same: %v", name, !c.same)
		}
	}
}

// TestLocksOf: the locked fields of CRDs, with the ways around them; versions that lock alike are one group.
func TestLocksOf(t *testing.T) {
	const pools = "{type: object, properties: {a: {type: object, properties: {f: {type: string, x-fieldlock-update: [NoModify]}}}, m: {type: object, additionalProperties: {type: object, properties: {v: {type: string, x-kubernetes-immutable: true}}}}, l: {type: array, items: {type: object, properties: {v: {type: string, x-kubernetes-immutable: true}}}}}}"
	document := func(list []*crd.CRD) (out []manifest.CRD) {
		for _, c := range list {
			out = append(out, manifest.CRD{CRD: c})
		}
		return out
	}
	all := slices.Concat(document(crds(t, "w.yaml", "Widget", "None", optional, optional, free)), document(crds(t, "g.yaml", "Gadget", "None", pools)), document(crds(t, "b.yaml", "Box", "None", mistaken)), document(crds(t, "r.yaml", "Ruled", "None", ruled, once)))
	l, errs := LocksOf(all)
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "b.yaml:18") {
		t.Errorf("mistakes: %v", errs)
	}
	var got []string
	for _, g := range l.Groups {
		got = append(got, fmt.Sprintf("%s of %s in %s: %s", g.Kind, g.Name, g.File, strings.Join(g.Versions, ", ")))
		for _, f := range g.Fields {
			line := "  " + f.Path + " " + f.Words()
			for _, h := range f.Holes {
				line += "; " + h.Short
			}
			got = append(got, line)
		}
	}
	want := []string{
		"Widget of widgets.example.com in w.yaml: v1, v2", "  spec.f immutable; write it through version v3", "Widget of widgets.example.com in w.yaml: v3",
		"Gadget of gadgets.example.com in g.yaml: v1", "  spec.a.f NoModify; remove spec.a, then add it again; unset it, then set it anew",
		"  spec.l[*].v immutable; move the items of spec.l: delete, then insert; remove spec.l, then add it again", "  spec.m[*].v immutable; remove spec.m, then add it again; rename a key of spec.m",
		"Ruled of ruleds.example.com in r.yaml: v1", "  spec.f rule", "Ruled of ruleds.example.com in r.yaml: v2", "  spec.f NoModify; unset it, then set it anew; write it through version v1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	got = nil
	for _, f := range l.Fields {
		got = append(got, fmt.Sprintf("%s:%d %s %s %s", f.File, f.Line, f.Kind, f.Version, f.SchemaPath))
	}
	if diff := cmp.Diff([]string{
		"w.yaml:18 Widget v1 /properties/spec/properties/f", "w.yaml:27 Widget v2 /properties/spec/properties/f", "g.yaml:18 Gadget v1 /properties/spec/properties/a/properties/f",
		"g.yaml:18 Gadget v1 /properties/spec/properties/l/items/properties/v", "g.yaml:18 Gadget v1 /properties/spec/properties/m/additionalProperties/properties/v", "r.yaml:18 Ruled v1 /properties/spec/properties/f", "r.yaml:27 Ruled v2 /properties/spec/properties/f",
	}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	other := &Locks{Fields: l.Fields[:1], Groups: l.Groups[:1]}
	l.Add(other)
	if len(l.Fields) != 8 || len(l.Groups) != 6 {
		t.Errorf("with others: %d fields, %d groups", len(l.Fields), len(l.Groups))
	}
}

// TestShortly: each way around a lock in a few words; that of an unknown finding is its message.
func TestShortly(t *testing.T) {
	if got := shortly("version-default", "spec", "m"); got != "leave it out, and write through a version with another default" {
		t.Errorf("another default: %q", got)
	}
	if got := shortly("other", "spec", "the message"); got != "the message" {
		t.Errorf("another finding: %q", got)
	}
}

// TestLocksOfKinds: built-in kinds have remarks instead of holes.
func TestLocksOfKinds(t *testing.T) {
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := kinds.Find("v1", "Secret")
	job, _ := kinds.Find("batch/v1", "Job")
	l := LocksOfKinds([]*builtin.Kind{secret, job})
	if len(l.Groups) != 2 || l.Groups[1].Kind != "Job" || !slices.Equal(l.Groups[1].Versions, []string{"batch/v1"}) || l.Groups[1].Name != "batch/v1" || len(l.Fields) != len(l.Groups[0].Fields)+len(l.Groups[1].Fields) {
		t.Errorf("groups %+v", l.Groups)
	}
	for i, row := range job.Rows() {
		f := l.Groups[1].Fields[i]
		if f.APIVersion != "batch/v1" || f.Kind != "Job" || f.Path != row.Path || !slices.Equal(f.Locks, words(row.Locks)) || f.Rule != row.Rule+row.Means || f.When != row.When || !slices.Equal(f.Except, row.Except) || f.Message != row.Message || f.Unknown != row.Unknown || f.Note != row.Note || f.Holes == nil {
			t.Errorf("%+v is listed as %+v", row, f)
		}
	}
}

func TestRemarks(t *testing.T) {
	for _, c := range []struct {
		f       Field
		words   string
		remarks []string
	}{
		{Field{Locks: []string{"NoSet", "NoModify"}}, "NoSet, NoModify", nil},
		{Field{Locks: []string{"rule"}, Rule: "self == oldSelf", When: "self.a", Except: []string{"b", "c"}}, "rule", []string{"has to hold: self == oldSelf", "when self.a", "except b, c"}},
		{Field{Locks: []string{"rule"}, Rule: "self == oldSelf", Unknown: "it depends"}, "unknown", []string{"the cluster decides: it depends"}},
		{Field{Locks: []string{"immutable"}, When: "self.a", Note: "nothing happens"}, "accepted", []string{"nothing happens"}},
	} {
		if c.f.Words() != c.words || !slices.Equal(c.f.Remarks(), c.remarks) {
			t.Errorf("%+v: %q, %q", c.f, c.f.Words(), c.f.Remarks())
		}
	}
}

// TestRefused: errors fail a run, warnings only a strict one, notes and accepted findings never.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		f             Finding
		plain, strict bool
	}{
		{graded("error", false), true, true}, {graded("error", true), false, false}, {graded("warning", false), false, true},
		{graded("warning", true), false, false}, {graded("note", false), false, false},
	} {
		for strict, want := range map[bool]bool{false: c.plain, true: c.strict} {
			if r := (&Report{Strict: strict, Findings: []Finding{graded("note", false), c.f}}); r.Refused() != want {
				t.Errorf("%+v, strict %v: refused %v", c.f, strict, !want)
			}
		}
	}
}
