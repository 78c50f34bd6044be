package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// TestLive: with the objects of a cluster, what it has takes the place of OLD, what an apply would store that of NEW,
// and what its dry run refuses counts.
func TestLive(t *testing.T) {
	news := files(map[string]string{"crd.yaml": classLocked, "x.yaml": widget("v1", "a", "x", "{free: b}") + widget("v1", "a", "created", "{class: q}") + widget("v1", "a", "refused", "{class: p}")})
	object := func(text string) *yamldoc.Document {
		f := manifest.File{Name: manifest.Cluster}
		f.Parse([]byte(text))
		return f.Documents[0]
	}
	documents := news[1].Documents
	live := map[*yamldoc.Document]Live{
		documents[0]: {Old: object(widget("v1", "a", "x", "{class: p}")), New: object(widget("v1", "a", "x", "{class: q, free: b}")).Object},
		documents[2]: {Old: object(widget("v1", "a", "refused", "{class: p, free: a}")), New: object(widget("v1", "a", "refused", "{class: p}")).Object, Refusals: []ServerRefusal{{"spec.free", "a webhook says no"}}},
	}
	r, err := Check(Input{New: news, Live: live}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/x spec.class immutable", "a/refused spec.free server"}; !slices.Equal(found(r), want) || r.Created != 1 || r.Updated != 2 {
		t.Errorf("got %q, want %q; %d created, %d updated", found(r), want, r.Created, r.Updated)
	}
	if v := r.Violations[0]; v.OldFile != "" || v.OldLine != 0 {
		t.Errorf("the cluster is said to have the old object in %s:%d", v.OldFile, v.OldLine)
	}
	if len(r.Replacements) != 2 || r.Replacements[1].Message != "the API server refuses the change for a reason that is in none of the schemas" {
		t.Errorf("replacements %+v", r.Replacements)
	}
}

// TestLiveStatus: the status of a claim in the cluster says whether it has a volume, so that the verdict is known.
func TestLiveStatus(t *testing.T) {
	claim := func(size, status string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x, namespace: a}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}\n" + status
	}
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string][]string{
		"status: {phase: Pending}\n":                         {"a/x spec.resources.requests rule [an unbound claim keeps its size]"},
		"status: {phase: Bound, capacity: {storage: 1Gi}}\n": {"unknown a/x spec.resources.requests"}, // its class decides
	} {
		news := files(map[string]string{"x.yaml": claim("2Gi", "")})
		old, after := manifest.File{Name: manifest.Cluster}, manifest.File{Name: manifest.Cluster}
		old.Parse([]byte(claim("1Gi", status)))
		after.Parse([]byte(claim("2Gi", status)))
		r, err := Check(Input{New: news, Live: map[*yamldoc.Document]Live{news[0].Documents[0]: {Old: old.Documents[0], New: after.Documents[0].Object}}}, Options{Builtin: kinds})
		if err != nil {
			t.Fatal(err)
		}
		if got := found(r); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", status, got, want)
		}
	}
}

// TestLiveHooks: the dry run answers for an update, which is not what Helm does with hooks.
func TestLiveHooks(t *testing.T) {
	object := func(hook, class string) string {
		return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x, namespace: a" + hook + "}\nspec: {class: " + class + "}\n"
	}
	const hook, kept = ", annotations: {helm.sh/hook: pre-upgrade}", ", annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: hook-failed}"
	refusal := []ServerRefusal{{"spec.class", "it is immutable"}}
	for _, row := range []struct {
		name               string
		was, is, stored    string // the marks of the object in the cluster, in NEW, and in the cluster after an apply
		newClass           string
		refusals           []ServerRefusal // none if the server accepts
		withHelm, anyOther []string
	}{
		{"stays a hook", hook, hook, hook, "q", refusal, nil, []string{"a/x spec.class server"}},
		{"becomes a hook that is in its own way", "", kept, kept, "p", nil, []string{"a/x metadata.annotations server"}, nil},
		{"stops being a hook", hook, "", "", "p", nil, []string{"a/x metadata.annotations server"}, nil},
		{"stops being a hook, and an apply leaves the mark", hook, "", hook, "p", nil, []string{"a/x metadata.annotations server"}, nil},
		{"was deleted when it succeeded, but is still there", ", annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: hook-succeeded}", "", "", "q", refusal,
			[]string{"a/x spec.class immutable"}, []string{"a/x spec.class immutable"}},
		{"is no hook", "", "", "", "q", refusal, []string{"a/x spec.class immutable"}, []string{"a/x spec.class immutable"}},
	} {
		for _, run := range []struct {
			applier tool.Method
			want    []string
		}{{tool.ThreeWay, row.withHelm}, {"", row.anyOther}} {
			news := files(map[string]string{"crd.yaml": classLocked, "x.yaml": object(row.is, row.newClass)})
			old, after := manifest.File{Name: manifest.Cluster}, manifest.File{Name: manifest.Cluster}
			old.Parse([]byte(object(row.was, "p")))
			after.Parse([]byte(object(row.stored, row.newClass)))
			live := Live{Old: old.Documents[0], New: after.Documents[0].Object, Refusals: row.refusals, Accepted: row.refusals == nil}
			r, err := Check(Input{New: news, Live: map[*yamldoc.Document]Live{news[1].Documents[0]: live}}, Options{Applier: run.applier})
			if err != nil {
				t.Fatal(err)
			}
			if got := found(r); !slices.Equal(got, run.want) {
				t.Errorf("%s, applier %q: got %q, want %q", row.name, run.applier, got, run.want)
			}
		}
	}
}

// TestSame: an object is what it is called, of which kind, and where it is written.
func TestSame(t *testing.T) {
	s := result.Subject{Object: "a/x", Kind: "Widget", File: "x.yaml", ObjectLine: 3, Line: 5}
	for name, c := range map[string]struct {
		change func(*result.Subject)
		want   bool
	}{
		"field": {func(s *result.Subject) { s.Line = 9 }, true}, "object": {func(s *result.Subject) { s.Object = "a/y" }, false}, "kind": {func(s *result.Subject) { s.Kind = "Gadget" }, false},
		"file": {func(s *result.Subject) { s.File = "y.yaml" }, false}, "document": {func(s *result.Subject) { s.ObjectLine = 4 }, false},
	} {
		other := s
		c.change(&other)
		if s.Same(other) != c.want {
			t.Errorf("another %s is the same object: %v", name, !c.want)
		}
	}
}

// TestUnenforced: a lock in a schema that nothing in the cluster enforces is a note, unless the server refuses the
// update there. Rules are the server's own.
func TestUnenforced(t *testing.T) {
	lock := result.Violation{Path: "spec.class", Lock: "immutable", LockFile: "crd.yaml", Message: "field is immutable"}
	rule := result.Violation{Path: "spec.class", Lock: "rule", Rule: "self == oldSelf", LockFile: "crd.yaml", Message: "no"}
	own := result.Violation{Path: "spec.class", Lock: "immutable", Message: "field is immutable"}
	webhook := result.Violation{Path: "spec.size", Lock: "rule", Rule: "self.spec.size >= oldSelf.spec.size", Message: "may not shrink", EnforcedBy: "Widget Operator"}
	for _, c := range []struct {
		name, reason string
		violation    result.Violation
		live         Live
		refused      bool
		note         string // the end of it
	}{
		{"guarded", "a webhook may enforce it", lock, Live{}, true, ""},
		{"unguarded", "nothing does", lock, Live{Unguarded: true}, false, "no webhook or policy of the cluster looks at updates of the kind"},
		{"accepted", "the server says so", lock, Live{Accepted: true}, false, "the API server accepts the change in a dry run"},
		{"refused there", "something enforces it", lock, Live{Unguarded: true, Refusals: []ServerRefusal{{"spec.class", "no"}}}, true, ""},
		{"refused elsewhere", "the lock is not the reason", lock, Live{Unguarded: true, Refusals: []ServerRefusal{{"spec.zone", "no"}}}, true, "no webhook or policy of the cluster looks at updates of the kind"},
		{"a rule", "the API server runs it", rule, Live{Unguarded: true}, true, ""},
		{"an operator's lock", "its webhook is there", webhook, Live{}, true, ""},
		{"an operator's rule that nothing enforces", "its webhook is not there", webhook, Live{Unguarded: true}, false, "no webhook or policy of the cluster looks at updates of the kind"},
		{"an operator's rule that the server knows better", "its webhook says so", webhook, Live{Accepted: true}, false, "the API server accepts the change in a dry run"},
		{"an operator's rule that it enforces", "it says so", webhook, Live{Refusals: []ServerRefusal{{"", "admission webhook denied the request: may not shrink"}}}, true, ""},
		{"a built-in kind", "its locks are code of the API server", own, Live{Unguarded: true}, true, ""},
	} {
		v := verdict{Verdict: result.Verdict{Violations: []result.Violation{c.violation}}, replacement: &result.Replacement{}}
		c.live.Old = &yamldoc.Document{}
		v.addAnswer(&c.live)
		var note string
		if len(v.Notes) > 0 {
			note = v.Notes[0].Message
		}
		if len(v.Violations) > 0 != c.refused || !strings.HasSuffix(note, c.note) || (note == "") != (c.note == "") || (v.replacement != nil) != c.refused {
			t.Errorf("%s: %+v, note %q, %v: %s", c.name, v.Violations, note, v.replacement, c.reason)
		}
	}
}

// TestAnswer: what the server has answered is not unknown.
func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		live Live
		want []string // paths that stay unknown
	}{
		{"not asked", Live{}, []string{"spec.size", "spec.zone"}},
		{"accepted", Live{Accepted: true}, nil},
		{"refused for one of them", Live{Refusals: []ServerRefusal{{"spec.size", "no"}}}, []string{"spec.zone"}},
		{"refused below one of them", Live{Refusals: []ServerRefusal{{"spec.size.x", "no"}}}, []string{"spec.zone"}},
		{"refused for another field", Live{Refusals: []ServerRefusal{{"spec.class", "no"}}}, []string{"spec.size", "spec.zone"}},
		{"refused as a whole", Live{Refusals: []ServerRefusal{{"", "no"}}}, nil},
	} {
		v := verdict{Verdict: result.Verdict{Unknown: []result.Remark{{Path: "spec.size", Message: "?"}, {Path: "spec.zone", Message: "?"}}}}
		c.live.Old = &yamldoc.Document{}
		v.addAnswer(&c.live)
		var got []string
		for _, u := range v.Unknown {
			got = append(got, u.Path)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestServerRefusals: what a dry run refuses is listed, unless a lock explains it.
func TestServerRefusals(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		violation    result.Violation
		refusal      ServerRefusal
		want         []string // "path lock"
	}{
		{"same field", "it is reported once", result.Violation{Path: "spec.class", Lock: "immutable"}, ServerRefusal{"spec.class", "field is immutable"}, []string{"spec.class immutable"}},
		{"parent", "some kinds name the spec only", result.Violation{Path: "spec.serviceName", Lock: "immutable"}, ServerRefusal{"spec", "Forbidden: updates"}, []string{"spec.serviceName immutable"}},
		{"child", "a lock covers a subtree", result.Violation{Path: "spec.template", Lock: "immutable"}, ServerRefusal{"spec.template.spec", "x"}, []string{"spec.template immutable"}},
		{"mirrored list", "clusterIPs for clusterIP", result.Violation{Path: "spec.clusterIP", Lock: "rule"}, ServerRefusal{"spec.clusterIPs[0]", "x"}, []string{"spec.clusterIP rule"}},
		{"another field", "the server knows more", result.Violation{Path: "spec.b", Lock: "immutable"}, ServerRefusal{"spec.a", "x"}, []string{"spec.a server", "spec.b immutable"}},
		{"a field that begins alike", "it is another one", result.Violation{Path: "spec.class", Lock: "immutable"}, ServerRefusal{"spec.className", "x"}, []string{"spec.class immutable", "spec.className server"}},
		{"no field", "a webhook's refusal is not hidden by a lock", result.Violation{Path: "spec.b", Lock: "immutable", Message: "field is immutable"}, ServerRefusal{"", "denied"}, []string{" server", "spec.b immutable"}},
		{"no field, the same rule", "a rule at the root", result.Violation{Path: "", Lock: "rule", Message: "the size may only grow"}, ServerRefusal{"", "Invalid value: the size may only grow"}, []string{" rule"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := verdict{Verdict: result.Verdict{Violations: []result.Violation{test.violation}}}
			v.addServer(&Live{Old: &yamldoc.Document{}, Refusals: []ServerRefusal{test.refusal}})
			var got []string
			for _, b := range v.Violations {
				got = append(got, b.Path+" "+b.Lock)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
