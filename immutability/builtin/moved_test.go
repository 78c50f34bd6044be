package builtin

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/canonical"
)

// TestMoved: an object that comes from a version that is gone may have had other defaults there, so that what its old
// manifest leaves out is unknown; what it has is judged.
func TestMoved(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) map[string]any {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	deployment := func(version, spec string) map[string]any {
		return read("{apiVersion: " + version + ", kind: Deployment, metadata: {name: a, namespace: b}, spec: {" + spec + "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: d}]}}}}")
	}
	const selector, other = "selector: {matchLabels: {a: b}}, ", "selector: {matchLabels: {a: c}}, "
	for _, c := range []struct {
		name               string
		newObj, oldObj     map[string]any
		violations, unsure int
	}{
		{"the same selector", deployment("apps/v1", selector), deployment("extensions/v1beta1", selector), 0, 0},
		{"another selector", deployment("apps/v1", other), deployment("extensions/v1beta1", selector), 1, 0},
		{"a selector that the old version filled in", deployment("apps/v1", other), deployment("extensions/v1beta1", ""), 0, 1},
		{"no selector in one version", deployment("apps/v1", other), deployment("apps/v1", ""), 1, 0},
		{"back to the old version", deployment("extensions/v1beta1", other), deployment("apps/v1", ""), 0, 1},
	} {
		kind, _ := kinds.Find("apps/v1", "Deployment")
		v := kind.Check(c.newObj, c.oldObj)
		if len(v.Violations) != c.violations || len(v.Unknown) != c.unsure {
			t.Errorf("%s: %d violations, unknown %+v", c.name, len(v.Violations), v.Unknown)
		}
		for _, r := range v.Unknown {
			if r.Path != "spec.selector" || r.Message == "" {
				t.Errorf("%s: unknown %+v", c.name, r)
			}
		}
	}
	with := func(uid string) map[string]any {
		return read("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b" + uid + "}}")
	}
	for _, c := range []struct {
		newUID, oldUID   string
		unknown, refused bool
	}{{"", "", false, false}, {", uid: x", ", uid: x", false, false}, {", uid: x", "", true, false}, {", uid: x", ", uid: z", false, true}, {"", ", uid: x", false, false}} {
		kind, _ := kinds.Find("v1", "ConfigMap")
		v := kind.Check(with(c.newUID), with(c.oldUID))
		if got := len(v.Unknown) == 1 && v.Unknown[0].Path == "metadata.uid"; got != c.unknown {
			t.Errorf("%q after %q: unknown %+v", c.newUID, c.oldUID, v.Unknown)
		}
		if got := len(v.Violations) == 1 && v.Violations[0].Path == "metadata.uid" && v.Violations[0].Lock == "immutable"; got != c.refused {
			t.Errorf("%q after %q: violations %+v", c.newUID, c.oldUID, v.Violations)
		}
	}
}

// TestIdentity: what the server compares with what it has stored, which only a manifest from the cluster names.
func TestIdentity(t *testing.T) {
	object := func(metadata string) map[string]any { return objectOf(t, "{metadata: {name: a"+metadata+"}}") }
	for _, c := range []struct {
		name           string
		newObj, oldObj map[string]any
		want           []string // paths of what is unknown
	}{
		{"neither", object(""), object(""), nil},
		{"a resourceVersion", object(", resourceVersion: '5'"), object(""), []string{"metadata.resourceVersion"}},
		{"the same resourceVersion", object(", resourceVersion: '5'"), object(", resourceVersion: '5'"), nil},
		{"another resourceVersion", object(", resourceVersion: '6'"), object(", resourceVersion: '5'"), []string{"metadata.resourceVersion"}},
		{"no resourceVersion any more", object(""), object(", resourceVersion: '5'"), nil},
		{"a new object", object(""), nil, nil},
		{"a new object with both", object(", resourceVersion: '5', uid: x"), nil, []string{"metadata.uid", "metadata.resourceVersion"}},
	} {
		v := identity(c.newObj, c.oldObj)
		var got []string
		for _, r := range v.Unknown {
			got = append(got, r.Path)
		}
		if !slices.Equal(got, c.want) || !v.Allowed() {
			t.Errorf("%s: unknown %q, want %q; allowed is %t", c.name, got, c.want, v.Allowed())
		}
	}
}

// TestPut: what the cluster has filled in, a PUT may drop.
func TestPut(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	const pod, claim = "containers: [{name: a, image: b}]", "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
	for _, c := range []struct{ kind, spec, want string }{
		{"Pod", pod, "spec"}, {"PersistentVolumeClaim", claim, "spec.volumeName"}, {"PersistentVolumeClaim", "volumeName: v, " + claim, ""}, {"LimitRange", "limits: []", ""},
	} {
		kind, _ := kinds.Find("v1", c.kind)
		obj := objectOf(t, "{apiVersion: v1, kind: "+c.kind+", metadata: {name: a, namespace: b}, spec: {"+c.spec+"}}")
		v := kind.CheckBy(ApplierReplace, obj, obj)
		if len(v.Violations) > 0 || (len(v.Unknown) == 1) != (c.want != "") || c.want != "" && v.Unknown[0].Path != c.want {
			t.Errorf("%s with %s: %+v, want %q unknown", c.kind, c.spec, v, c.want)
		}
		if v := kind.Check(obj, obj); len(v.Unknown) > 0 {
			t.Errorf("%s: it is applied, and %+v", c.kind, v.Unknown)
		}
	}
	kind, _ := kinds.Find("v1", "Pod")
	oldObj, newObj := objectOf(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {"+pod+"}}"), objectOf(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true, "+pod+"}}")
	if v := kind.CheckBy(ApplierReplace, newObj, oldObj); len(v.Violations) == 0 || len(v.Unknown) > 0 {
		t.Errorf("what is refused is not unknown as well: %+v", v)
	}
}

// TestWritten: a value is shown as the manifest has it, where that says the same as the stored value.
func TestWritten(t *testing.T) {
	manifest := map[string]any{"a": "5Gi", "b": "other", "c": nil, "d": map[string]any{"x": "1"}, "e": []any{"1"}, "f": "x"}
	for _, c := range []struct {
		path         string
		stored, want any
	}{
		{"a", "5Gi", "5Gi"}, {"b", "stored", "stored"}, {"c", "stored", "stored"}, {"none", "stored", "stored"}, {"d", map[string]any{"x": "2"}, map[string]any{"x": "1"}}, {"e", []any{"2"}, []any{"1"}}, {"f", nil, nil}, {"f", "x", "x"},
		{"a", canonical.Quantity("5Gi"), "5Gi"},
	} {
		got := written(manifest, c.path, c.stored)
		if string(asJSON(t, got)) != string(asJSON(t, c.want)) {
			t.Errorf("%s with %v stored is shown as %v, want %v", c.path, c.stored, got, c.want)
		}
	}
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
