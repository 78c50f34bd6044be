package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// clusterWidgets is classLocked for a kind whose objects have no namespace.
var clusterWidgets = strings.Replace(classLocked, "scope: Namespaced", "scope: Cluster", 1)

// TestScope: an API server drops the namespace of an object whose kind has none.
func TestScope(t *testing.T) {
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	class := func(namespace, provisioner string) string {
		return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: x" + namespace + "}\nprovisioner: " + provisioner + "\n"
	}
	in := func(namespace string) string { return ", namespace: " + namespace }
	one := func(crd, text string) map[string]string { return map[string]string{"crd.yaml": crd, "x.yaml": text} }
	none := "# nothing\n"
	for _, test := range []struct {
		name, reason string
		olds, news   map[string]string
		want         []string
	}{
		{"added", "the namespace is dropped", one(none, class("", "a")), one(none, class(in("a"), "b")), []string{"x provisioner immutable"}},
		{"removed", "", one(none, class(in("a"), "a")), one(none, class("", "b")), []string{"x provisioner immutable"}},
		{"changed", "", one(none, class(in("a"), "a")), one(none, class(in("b"), "b")), []string{"x provisioner immutable"}},
		{"changed, and the file", "", one(none, class(in("a"), "a")), map[string]string{"y.yaml": class(in("b"), "b")}, []string{"x provisioner immutable"}},
		{"changed, nothing else", "", one(none, class(in("a"), "a")), one(none, class(in("b"), "a")), nil},
		{"custom, added", "spec.scope says so", one(clusterWidgets, widget("v1", "", "x", "{class: p}")), one(clusterWidgets, widget("v1", "a", "x", "{class: q}")), []string{"x spec.class immutable"}},
		{"custom, removed", "", one(clusterWidgets, widget("v1", "a", "x", "{class: p}")), one(clusterWidgets, widget("v1", "", "x", "{class: q}")), []string{"x spec.class immutable"}},
		{"custom, changed", "", one(clusterWidgets, widget("v1", "a", "x", "{class: p}")), one(clusterWidgets, widget("v2", "b", "x", "{class: q}")), []string{"x spec.class immutable"}},
		{"custom, with another scope in NEW", "an update of a CRD cannot change the scope", one(clusterWidgets, widget("v1", "a", "x", "{class: p}")), one(classLocked, widget("v1", "b", "x", "{class: q}")),
			[]string{"widgets.example.com spec.scope immutable", "x spec.class immutable"}},
		{"custom, cluster-scoped in NEW only", "otherwise two objects would become one, which hides what they were",
			one(classLocked, widget("v1", "a", "x", "{class: p}")+widget("v1", "b", "x", "{class: q}")), one(clusterWidgets, widget("v1", "a", "x", "{class: q}")+widget("v1", "b", "x", "{class: p}")),
			[]string{"widgets.example.com spec.scope immutable", "a/x spec.class immutable", "b/x spec.class immutable"}},
		{"custom, with the CRD in NEW only", "nobody else knows the scope", map[string]string{"x.yaml": widget("v1", "a", "x", "{class: p}")}, one(clusterWidgets, widget("v1", "b", "x", "{class: q}")), []string{"x spec.class immutable"}},
		{"namespaced", "another namespace is another object", one(classLocked, widget("v1", "a", "x", "{class: p}")), one(classLocked, widget("v1", "b", "x", "{class: q}")), nil},
		{"two of one name", "a client applies one over the other", one(none, class("", "a")), one(none, class("", "a")+class(in("a"), "a")),
			[]string{"error x.yaml:7: document 2, StorageClass a/x: the object appears twice, first at x.yaml:2; a file may contain each object once"}},
		{"two of one name on both sides", "nothing changes", one(none, class("", "a")+class(in("a"), "a")), one(none, class("", "a")+class(in("a"), "a")), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, test.news, test.olds, Options{Builtin: kinds})
			if diff := cmp.Diff(test.want, found(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestCopies: no number of copies hides a change that is refused, wherever they are.
func TestCopies(t *testing.T) {
	const many = 100
	spec := func(class string, i int) string { return fmt.Sprintf("{class: %s, free: f%d}", class, i) }
	side := func(crd string, texts ...map[string]string) map[string]string {
		all := map[string]string{"crd.yaml": crd}
		for _, t := range texts {
			for name, text := range t {
				all[name] = text
			}
		}
		return all
	}
	// spread is many copies, each in a file of its own, made by text.
	spread := func(folder string, text func(i int) string) map[string]string {
		all := map[string]string{}
		for i := range many {
			all[fmt.Sprintf("%s/%d.yaml", folder, i)] = text(i)
		}
		return all
	}
	copies := func(class string) func(int) string {
		return func(i int) string { return widget("v1", "a", "x", spec(class, i)) }
	}
	few := func(all map[string]string) map[string]string {
		names := slices.Sorted(maps.Keys(all))
		for _, name := range names[65:] {
			delete(all, name)
		}
		return all
	}
	one := func(name, text string) map[string]string { return map[string]string{name: text} }
	p, q := widget("v1", "a", "x", "{class: p}"), widget("v1", "a", "x", "{class: q}")
	for _, test := range []struct {
		name, reason string
		olds, news   map[string]string
		refused      bool // some change is
		unknown      bool // some verdict is
	}{
		{"changed copies in new files", "each of them is refused", side(classLocked, one("x.yaml", p)), side(classLocked, spread("new", copies("q"))), true, false},
		{"changed copies, first in the order", "", side(classLocked, one("x.yaml", p)), side(classLocked, spread("a", copies("q"))), true, false},
		{"changed copies on both sides of the order", "", side(classLocked, one("m/x.yaml", p)), side(classLocked, spread("a", copies("q")), spread("z", copies("q"))), true, false},
		{"changed copies that are equal", "", side(classLocked, one("x.yaml", p)), side(classLocked, spread("new", func(int) string { return q })), true, false},
		{"changed copies in two versions", "the same object is served in both", side(classLocked, one("x.yaml", p)),
			side(classLocked, spread("new", copies("q")), spread("more", func(i int) string { return widget("v2", "a", "x", spec("q", i)) })), true, false},
		{"changed copies without a namespace", "a client may put them into the namespace", side(classLocked, one("x.yaml", p)), side(classLocked, spread("new", func(i int) string { return widget("v1", "", "x", spec("q", i)) })), true, false},
		{"changed copies, some without a namespace", "", side(classLocked, one("x.yaml", p)),
			side(classLocked, spread("new", func(i int) string { return widget("v1", "", "x", spec("q", i)) }), spread("more", copies("q"))), true, false},
		{"changed copies in other namespaces, too", "those are other objects", side(classLocked, one("x.yaml", p)),
			side(classLocked, spread("new", func(i int) string { return widget("v1", fmt.Sprint("other", i), "x", spec("q", i)) }), one("y.yaml", q)), true, false},
		{"the file stays, with changed copies", "the file is compared on its own", side(classLocked, one("x.yaml", p)), side(classLocked, one("x.yaml", q), spread("new", copies("q"))), true, true},
		{"copies in OLD, all changed", "whichever it was, it is refused", side(classLocked, spread("old", copies("p"))), side(classLocked, one("x.yaml", q)), true, false},
		{"copies in OLD and in NEW", "to compare each with each would take too long", side(classLocked, spread("old", copies("p"))), side(classLocked, spread("new", copies("q"))), false, true},
		{"65 copies in OLD and in NEW", "each of them is refused, whichever it was", side(classLocked, few(spread("old", copies("p")))), side(classLocked, few(spread("new", copies("q")))), true, false},
		{"copies in OLD that stay, and a changed one", "in another cluster it is a create", side(classLocked, spread("old", copies("p"))), side(classLocked, spread("old", copies("p")), one("x.yaml", q)), false, true},
		{"copies in OLD, one of them like the new one", "it may be that one", side(classLocked, spread("old", func(i int) string {
			return widget("v1", "a", "x", spec(fmt.Sprint("c", i), i))
		})), side(classLocked, one("x.yaml", widget("v1", "a", "x", "{class: c23}"))), false, true},
		{"a folder renamed, with an object of its own for each cluster", "each is compared with its neighbours too; nothing is refused", side(classLocked, spread("old", func(i int) string {
			return widget("v1", "a", "x", spec(fmt.Sprint("c", i), i))
		})), side(classLocked, spread("new", func(i int) string { return widget("v1", "a", "x", spec(fmt.Sprint("c", i), i+1)) })), false, true},
		{"moved and copied", "the copies may be for other clusters", side(classLocked, one("x.yaml", p)), side(classLocked, one("y.yaml", p), spread("new", copies("q"))), false, true},
		{"copies in a small part of a large input", "a large copy does not use up the effort", side(classLocked, one("x.yaml", p)),
			side(classLocked, spread("new", copies("q")), one("a.yaml", widget("v1", "a", "x", "{class: q, free: "+strings.Repeat("x", 1<<20)+"}"))), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, test.news, test.olds, Options{})
			if r.Allowed == test.refused || len(r.Unknown) > 0 != test.unknown || len(r.Errors) > 0 {
				t.Errorf("%s: allowed %t, %d violations, %d unknown, errors %v", test.reason, r.Allowed, len(r.Violations), len(r.Unknown), r.Errors)
			}
		})
	}
}

// TestCopiesCost: what is compared grows with what the copies hold, not with its square. Beyond that, the verdicts are
// unknown.
func TestCopiesCost(t *testing.T) {
	objects := func(folder, class string, n, items int) []*manifest.Object {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("%s/%06d.yaml", folder, i)] = widget("v1", "a", "x", fmt.Sprintf("{class: %s, free: f%d, l: [%s]}", class, i, strings.Repeat("1, ", items)))
		}
		return manifest.Objects(files(all)).Objects
	}
	for _, test := range []struct {
		name               string
		news, olds         int
		newItems, oldItems int
		compared           bool
	}{
		{"one in OLD", 1000, 1, 0, 0, true},
		{"one in NEW", 1, 1000, 0, 0, true},
		{"65 in both", 65, 65, 0, 0, true},
		{"hundreds in both", 200, 100, 0, 0, false},
		{"a few large ones", 4, 4, 1000, 1000, true},
		{"many large ones in NEW", 100, 100, 1000, 0, false},
		{"many large ones in OLD", 100, 100, 0, 1000, false},
		{"copies of a large one", 100, 1, 1000, 1000, true},
	} {
		news, olds := objects("new", "q", test.news, test.newItems), objects("old", "p", test.olds, test.oldItems)
		pairs, _ := pairUp(news, olds, func(*manifest.Object) bool { return false })
		g := pairs[0].group
		if g == nil || len(g.predecessors) != test.olds || g.tooMany == test.compared {
			t.Fatalf("%s: the group is %+v", test.name, g)
		}
	}
}

// TestCopiesOfNamespaces: new objects in many namespaces, with as many in OLD that have none, cost no more.
func TestCopiesOfNamespaces(t *testing.T) {
	const n = 1500
	olds, news := map[string]string{}, map[string]string{}
	for i := range n {
		olds[fmt.Sprintf("old/%d.yaml", i)] = widget("v1", "", "x", fmt.Sprintf("{class: p, free: f%d}", i))
		news[fmt.Sprintf("new/%d.yaml", i)] = widget("v1", fmt.Sprint("ns", i), "x", "{class: q}")
		news[fmt.Sprintf("old/%d.yaml", i)] = olds[fmt.Sprintf("old/%d.yaml", i)]
	}
	pairs, _ := pairUp(manifest.Objects(files(news)).Objects, manifest.Objects(files(olds)).Objects, func(*manifest.Object) bool { return false })
	groups := 0
	for _, p := range pairs {
		if p.group == nil {
			continue
		}
		if groups++; p.group.tooMany || len(p.group.predecessors) > maxWithoutNamespace {
			t.Fatalf("%s is compared with %d objects", p.new.Path, len(p.group.predecessors))
		}
	}
	if groups != n {
		t.Errorf("%d of %d objects are compared with something", groups, n)
	}
}

// TestCounts: of several objects with one name, each side's count once.
func TestCounts(t *testing.T) {
	p, q := widget("v1", "a", "x", "{class: p}"), widget("v1", "a", "x", "{class: q}")
	for _, test := range []struct {
		olds, news                []string
		updated, created, deleted int
	}{
		{[]string{p}, []string{q, q}, 1, 1, 0},
		{[]string{p, q}, []string{p}, 1, 0, 1},
		{[]string{p, q}, []string{p, q}, 2, 0, 0},
		{[]string{p, p}, []string{q}, 1, 0, 1},
	} {
		olds, news := map[string]string{"crd.yaml": classLocked}, map[string]string{"crd.yaml": classLocked}
		for i, text := range test.olds {
			olds[fmt.Sprintf("old%d.yaml", i)] = text
		}
		for i, text := range test.news {
			news[fmt.Sprintf("new%d.yaml", i)] = text
		}
		r := check(t, news, olds, Options{})
		if r.Updated != test.updated || r.Created != test.created || r.Deleted != test.deleted {
			t.Errorf("%d in OLD, %d in NEW: %d updated, %d created, %d deleted; want %+v", len(test.olds), len(test.news), r.Updated, r.Created, r.Deleted, test)
		}
		if slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "nothing was compared") }) {
			t.Errorf("something was compared, and the report says: %q", r.Warnings)
		}
	}
}

// TestOldPlace: a violation names the file and line of OLD, of the same item where a list has another order.
func TestOldPlace(t *testing.T) {
	const nodes = "nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: {name: {type: string}, zone: {type: string, x-kubernetes-immutable: true}}}}"
	crd := widgets("None", nodes+"\n"+locked, "")
	r := check(t, map[string]string{"crd.yaml": crd, "b/x.yaml": widget("v1", "a", "x", "\n  nodes:\n  - {name: b, zone: q}\n  - {name: a, zone: q}")},
		map[string]string{"crd.yaml": crd, "a/x.yaml": widget("v1", "a", "x", "\n  class: p\n  nodes:\n  - name: a\n    zone: p\n  - name: b\n    zone: p")}, Options{})
	var got []string
	for _, v := range r.Violations {
		got = append(got, fmt.Sprintf("%s %s:%d was %s:%d, moved %t", v.Path, v.File, v.Line, v.OldFile, v.OldLine, v.Moved))
	}
	want := []string{
		"spec.class b/x.yaml:5 was a/x.yaml:6, moved true",
		"spec.nodes[0].zone b/x.yaml:7 was a/x.yaml:11, moved true",
		"spec.nodes[1].zone b/x.yaml:8 was a/x.yaml:9, moved true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
