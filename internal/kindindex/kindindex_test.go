package kindindex

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIndex(t *testing.T) {
	var x Index[string]
	x.Add("sts", "apps", "StatefulSet")
	x.Add("new events", "events.k8s.io", "Event")
	x.Add("core events", "", "Event")
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	if !x.Serve(gvk, "sts") || x.Serve(gvk, "sts") {
		t.Error("Serve does not say whether there was one before")
	}
	if got := x.All(); !slices.Equal(got, []string{"core events", "sts", "new events"}) {
		t.Errorf("All: %q: want them by group and kind", got)
	}
	for _, row := range []struct {
		apiVersion, kind string
		ok               bool
	}{{"apps/v1", "StatefulSet", true}, {"apps/v2", "StatefulSet", false}, {"apps/v1", "statefulset", false}, {"a/b/c", "StatefulSet", false}} {
		if got, ok := x.Find(row.apiVersion, row.kind); ok != row.ok || ok != (got == "sts") {
			t.Errorf("%s %s: %q, %t", row.apiVersion, row.kind, got, ok)
		}
	}
	y := x.Map(func(s string) string { return s + "!" })
	if found, _ := y.Find("apps/v1", "StatefulSet"); found != "sts!" || y.All()[1] != "sts!" {
		t.Errorf("Map left something as it was: %q", y.All())
	}
	if found, _ := x.Find("apps/v1", "StatefulSet"); found != "sts" || x.All()[1] != "sts" {
		t.Errorf("Map changed its index: %q", x.All())
	}
}

func TestNames(t *testing.T) {
	sts, events, core := Names{"apps", "StatefulSet", "statefulsets", []string{"sts"}}, Names{"events.k8s.io", "Event", "events", []string{"ev"}}, Names{"", "Event", "events", []string{"ev"}}
	for name, want := range map[string][]Names{
		"STS": {sts}, "StatefulSet": {sts}, "statefulsets.apps": {sts}, "ev": {events, core}, "events.events.k8s.io": {events}, "events.": {core},
		"statefulsets.batch": nil, "none": nil, "": nil, "sts.": nil, ".apps": nil,
	} {
		for _, names := range []Names{sts, events, core} {
			wanted := slices.ContainsFunc(want, func(n Names) bool { return n.Group == names.Group && n.Kind == names.Kind })
			if got := names.Has(name); got != wanted {
				t.Errorf("%q is a name of %s.%s: %t", name, names.Kind, names.Group, got)
			}
		}
	}
}
