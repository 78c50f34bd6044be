package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// named is a file that was named itself, found one of a directory.
func named(name, text string) File {
	f := File{Name: name}
	f.Parse([]byte(text))
	return f
}

func found(path, text string) File { return of("dir/", path, text) }

// of is a file that was found in a tree, whose name begins the file's.
func of(tree, path, text string) File {
	f := File{Name: tree + path, Path: path, Found: true}
	f.Parse([]byte(text))
	return f
}

// TestRepeated: a key with two values counts where it is in an object: of a directory, other documents are left out.
func TestRepeated(t *testing.T) {
	const text = "a: 1\na: 2\n---\napiVersion: v1\na: 1\na: 2\n---\nkind: A\na: 1\na: 2\n---\n" + "apiVersion: v1\nkind: A\nmetadata: {name: x}\na: 1\na: 2\n"
	for _, row := range []struct {
		file File
		want []int // documents
	}{
		{found("x.yaml", text), []int{4}},
		{named("x.yaml", text), []int{1, 2, 3, 4}},
		{found("x.yaml", strings.TrimSuffix(text, "a: 2\n")), nil},
	} {
		var got []int
		for _, r := range Objects([]File{row.file}).Repeated {
			got = append(got, r.Document)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s, found %t: %v, want %v", row.file.Name, row.file.Found, got, row.want)
		}
	}
}

// TestHidden: the directories on a path decide, not the file.
func TestHidden(t *testing.T) {
	for path, want := range map[string]bool{".d/x": true, "a/.d/e/x": true, "a/b/x": false, "x": false, ".x": false, "a/.x": false, "./x": false, "../a/x": false} {
		if got := IsHidden(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

// listed says what a set holds, one line each.
func listed(s *Set) []string {
	var lines []string
	for _, o := range s.Objects {
		line := strings.TrimSpace(o.Kind + "." + o.Group + " " + o.String())
		if o.Invalid != nil {
			line += " invalid: " + o.Invalid.Error()
		}
		lines = append(lines, line)
	}
	for _, c := range s.CRDs {
		lines = append(lines, "crd "+c.Name)
	}
	for _, p := range s.Patches {
		lines = append(lines, "patch "+p.Name+" by "+p.Kustomization)
	}
	for _, o := range s.Others {
		lines = append(lines, "other "+o)
	}
	for _, err := range s.Errs {
		lines = append(lines, "error "+err.Error())
	}
	return lines
}

const (
	widgetText = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: ns}\n"
	crdText    = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced, " +
		"versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-immutable: true}}}}}]}\n"
)

func TestObjects(t *testing.T) {
	crd := "CustomResourceDefinition.apiextensions.k8s.io widgets.example.com"
	old := func(spec string) string {
		return "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {" + spec + "}\n"
	}
	for _, c := range []struct {
		name, reason string
		files        []File
		want         []string
		documents    int
	}{
		{"an object", "named by group, kind, namespace and name", []File{named("x", widgetText)}, []string{"Widget.example.com ns/a"}, 1},
		{"the core group", "it has no name", []File{named("x", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")}, []string{"Pod. p"}, 1},
		{"two documents", "in their order", []File{named("x", widgetText+"---\n"+strings.Replace(widgetText, "name: a", "name: b", 1))}, []string{"Widget.example.com ns/a", "Widget.example.com ns/b"}, 2},
		{"an object without spec in a directory", "it is not a patch of a CRD", []File{found("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}, []string{"ConfigMap. a"}, 1},
		{"a generated name", "it is another object each time", []File{named("x", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\n")}, []string{"Pod."}, 1},
		{"a CRD", "it is an object too", []File{named("x", crdText)}, []string{crd, "crd widgets.example.com"}, 1},

		{"a file without apiVersion", "a file that is named holds objects", []File{named("x", "kind: A\nmetadata: {name: a}\n")},
			[]string{`error x:1: document 1, A a: apiVersion: it is missing; it has to be the group and version of the object, such as "example.com/v1"`}, 1},
		{"a file without kind", "", []File{named("x", "apiVersion: v1\nmetadata: {name: a}\n")},
			[]string{`error x:1: document 1, a: kind: it is missing; it has to be the kind of the object, such as "Widget"`}, 1},
		{"an empty kind", "it is mistaken in a directory too", []File{found("x", "apiVersion: v1\nkind: ''\n")},
			[]string{`error dir/x:2: document 1: kind: it is the string ""; it has to be the kind of the object, such as "Widget"`}, 1},
		{"a kind that is a list", "", []File{found("x", "apiVersion: v1\nkind: [a]\n")},
			[]string{`error dir/x:2: document 1: kind: it is a list; it has to be the kind of the object, such as "Widget"`}, 1},
		{"an apiVersion that is an object", "", []File{found("x", "apiVersion: {a: 1}\nkind: A\n")},
			[]string{`error dir/x:1: document 1, A: apiVersion: it is an object; it has to be the group and version of the object, such as "example.com/v1"`}, 1},
		{"an apiVersion that is a number", "", []File{found("x", "apiVersion: 1\nkind: A\n")},
			[]string{`error dir/x:1: document 1, A: apiVersion: it is the number 1; it has to be the group and version of the object, such as "example.com/v1"`}, 1},
		{"metadata that is a long string", "its text is not repeated", []File{named("x", "apiVersion: v1\nkind: A\nmetadata: "+strings.Repeat("a", 41)+"\n")},
			[]string{"A. invalid: x:3: document 1, A: metadata: it is a string; it has to be an object with the name of the object"}, 1},
		{"metadata that is a string", "", []File{named("x", "apiVersion: v1\nkind: A\nmetadata: "+strings.Repeat("a", 40)+"\n")},
			[]string{`A. invalid: x:3: document 1, A: metadata: it is the string "` + strings.Repeat("a", 40) + `"; it has to be an object with the name of the object`}, 1},
		{"a name that is a number", "the namespace is known", []File{named("x", "apiVersion: v1\nkind: A\nmetadata: {namespace: ns, name: 5}\n")},
			[]string{"A. ns/ invalid: x:3: document 1, A: metadata.name: it is the number 5; it has to be a string, in quotes where YAML reads it as something else"}, 1},
		{"no name", "", []File{named("x", "apiVersion: v1\nkind: A\nmetadata: {namespace: ns}\n")},
			[]string{"A. ns/ invalid: x:3: document 1, A: metadata.name: it is missing; objects are paired by kind, namespace and name"}, 1},

		{"a document of a directory without apiVersion", "the values of a chart", []File{found("values.yaml", "kind: A\n")}, []string{"other values.yaml"}, 1},
		{"a document of a directory without kind", "", []File{found("values.yaml", "apiVersion: v1\n")}, []string{"other values.yaml"}, 1},
		{"a document of a directory without name", "the template of a Pod", []File{found("pod.yaml", "apiVersion: v1\nkind: Pod\n")}, []string{"other pod.yaml"}, 1},
		{"a namespace that is a boolean, in a directory", "kubectl refuses it", []File{found("x.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: yes}\n")},
			[]string{`A. invalid: dir/x.yaml:3: document 1, A a: metadata.namespace: it is the boolean true; it has to be a string, in quotes where YAML reads it as something else`}, 1},
		{"a name that is a number, in a directory", "kubectl refuses it", []File{found("x.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: 5}\n")},
			[]string{`A. invalid: dir/x.yaml:3: document 1, A: metadata.name: it is the number 5; it has to be a string, in quotes where YAML reads it as something else`}, 1},
		{"a malformed file of a directory with names in base64", "a client's parser may be more lenient", []File{found("x.yaml", " !!map {!!binary YXBpVmVyc2lvbg==: v1}\n---\na: b: c\n")},
			[]string{"other x.yaml", `error dir/x.yaml:3: document 2: the YAML is malformed: mapping values are not allowed in this context`}, 1},
		{"a malformed file of a directory with patterns", "no tag begins in quotes", []File{found("x.json", "{// c\n \"ignore\": [\"!**/binary\"]}\n")}, []string{"other x.json"}, 1},
		{"a list in a directory", "a JSON patch", []File{found("patch.json", "[{op: add}]\n")}, nil, 0},
		{"a list in a file", "it is a mistake", []File{named("x", "[1]\n")}, []string{"error x:1: document 1: it is a list; a document is an object with apiVersion and kind"}, 0},
		{"a configuration of kustomize", "no cluster sees it", []File{found("kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n")}, []string{"other kustomization.yaml"}, 1},
		{"a malformed file of a directory that holds no object", "a configuration of another tool", []File{found("tsconfig.json", "{// a comment\n a: }\n")}, []string{"other tsconfig.json"}, 1},

		{"a patch of a CRD", "kubebuilder writes them for kustomize", []File{found("patch.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {conversion: {strategy: None}}\n")}, []string{"other patch.yaml"}, 1},
		{"a patch of a CRD without spec", "it changes the annotations", []File{found("patch.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n")}, []string{"other patch.yaml"}, 1},
		{"a CRD of v1beta1 without a schema", "it has no locks", []File{named("x", old("group: example.com, names: {kind: Widget, plural: widgets}, versions: [{name: v1}]"))}, []string{"CustomResourceDefinition.apiextensions.k8s.io widgets.example.com"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Objects(c.files)
			if diff := cmp.Diff(c.want, listed(s)); diff != "" || s.Documents != c.documents {
				t.Errorf("%s: %d documents (-want +got):\n%s", c.reason, s.Documents, diff)
			}
		})
	}
	for _, spec := range []string{"5", "{group: example.com}", "{names: {}}", "{version: v1}", "{versions: []}", "{validation: {}}"} {
		s := Objects([]File{found("crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: "+spec+"\n")})
		if len(s.Errs) != 1 || len(s.Objects) != 1 || len(s.Others) != 0 {
			t.Errorf("a CRD with the spec %s: %q", spec, listed(s))
		}
	}
	for _, spec := range []string{"names: {kind: Widget, plural: widgets}, versions: [{name: v1}]", "group: example.com, validation: {openAPIV3Schema: 5}, versions: [{name: v1}]",
		"group: example.com, versions: [{name: v1}, {name: v2, schema: 5}]"} {
		if s := Objects([]File{named("x", old(spec))}); len(s.Errs) != 1 {
			t.Errorf("a CRD of v1beta1 with %s: %q", spec, listed(s))
		}
	}
	if s := Objects([]File{named("x", strings.Replace(old("group: example.com, names: {kind: Widget, plural: widgets}, versions: [{name: v1}]"), "v1beta1", "v1", 1))}); len(s.Errs) != 1 {
		t.Errorf("a CRD of v1 without a schema: %q", listed(s))
	}
}

// TestPatches: which files a kustomization names as patches; their documents are not objects.
func TestPatches(t *testing.T) {
	for _, c := range []struct {
		name, kustomization string
		file                string // the file with the kustomization
		want                bool
	}{
		{"patches with a path", "patches:\n- {path: patch.yaml, target: {kind: Widget}}\n", "base/kustomization.yaml", true},
		{"in the second document", "namePrefix: a-\n---\npatches: [patch.yaml]\n", "base/kustomization.yaml", true},
		{"patches by name", "patches: [patch.yaml]\n", "base/kustomization.yaml", true},
		{"patchesStrategicMerge", "patchesStrategicMerge:\n- patch.yaml\n", "base/kustomization.yml", true},
		{"patchesJson6902", "patchesJson6902:\n- {path: ./patch.yaml}\n", "base/kustomization.yaml", true},
		{"of a folder beside it", "patches: [../base/patch.yaml]\n", "other/kustomization.yaml", true},
		{"the second of two", "patches:\n- other.yaml\n- patch.yaml\n", "base/kustomization.yaml", true},
		{"in another folder", "patches: [patch.yaml]\n", "other/kustomization.yaml", false},
		{"in another file", "patches: [patch.yaml]\n", "base/values.yaml", false},
		{"in place", "patches:\n- |\n  a: b\n  c: d\n", "base/kustomization.yaml", false},
		{"as a resource", "resources: [patch.yaml]\n", "base/kustomization.yaml", false},
		{"not a list", "patches: patch.yaml\n", "base/kustomization.yaml", false},
	} {
		s := Objects([]File{found(c.file, c.kustomization), found("base/patch.yaml", widgetText)})
		if got := len(s.Patches) == 1 && len(s.Objects) == 0 && s.Patches[0].Kustomization == "dir/"+c.file; got != c.want {
			t.Errorf("%s: %q", c.name, listed(s))
		}
	}
}

// TestUnrendered: one error for all templates of a directory, which names the chart.
func TestUnrendered(t *testing.T) {
	const text = "{{ if .Values.a }}\napiVersion: v1\nkind: A\n{{ end }}\n"
	chart := func(path string) File { return found(path, "apiVersion: v2\nname: a\n") }
	for _, c := range []struct {
		name  string
		files []File
		want  string
	}{
		{"one", []File{found("a.yaml", text)}, "dir/a.yaml: it is a template, not YAML: check the manifests that the chart renders to, with --render 'helm template CHART'"},
		{"two of a chart", []File{chart("a/Chart.yaml"), chart("shop/Chart.yaml"), found("shop/templates/a.yaml", text), found("shop/templates/b.yaml", text), chart("z/Chart.yaml")},
			"dir/shop/templates/a.yaml: it is a template, not YAML, and so is 1 more file: check the manifests that the chart renders to, with --render 'helm template dir/shop'"},
		{"an old revision", []File{of("0123456789ab:", "shop/Chart.yaml", "apiVersion: v2\nname: a\n"), of("0123456789ab:", "shop/templates/a.yaml", text)},
			"0123456789ab:shop/templates/a.yaml: it is a template, not YAML: check the manifests that the chart renders to, with --render 'helm template shop'"},
		{"a variable of Jinja", []File{found("a.yaml", "apiVersion: v1\nkind: A\nmaxPods: {{ max_pods }}\n")}, "dir/a.yaml: it is a template, not YAML: check the manifests that the chart renders to, with --render 'helm template CHART'"},
		{"a filter of Jinja", []File{found("a.yaml", "apiVersion: v1\nkind: A\nmaxPods: {{ max_pods | default(9) }}\n")}, "dir/a.yaml: it is a template, not YAML: check the manifests that the chart renders to, with --render 'helm template CHART'"},
		{"three", []File{found("a.yaml", text), found("b.yaml", text), found("c.yaml", text)},
			"dir/a.yaml: it is a template, not YAML, and so are 2 more files: check the manifests that the chart renders to, with --render 'helm template CHART'"},
	} {
		s := Objects(c.files)
		if len(s.Errs) != 1 || s.Errs[0].Error() != c.want || s.Unrendered != s.Errs[0] {
			t.Errorf("%s: %v, unrendered %v", c.name, s.Errs, s.Unrendered)
		}
	}
	s := Objects([]File{named("a.yaml", text)})
	if len(s.Errs) != 1 || s.Unrendered != nil || !strings.Contains(s.Errs[0].Error(), "it looks like a template") {
		t.Errorf("a template that is named: %v", s.Errs)
	}
	if s := Objects([]File{named("a.yaml", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")}); len(s.Errs) != 1 || !strings.Contains(s.Errs[0].Error(), "a.yaml: it is a pointer of Git LFS") {
		t.Errorf("a pointer of Git LFS: %v", s.Errs)
	}
	for _, c := range []struct {
		text string
		err  bool
	}{{"apiVersion: v1\nkind: A\na: [\n", true}, {"kind: A\na: [\n", false}, {"apiVersion: v1\na: [\n", false}, {"\"\\u0061piVersion\": [\n", true}, {"a: [\xff\n", true}} {
		f := found("a.yaml", c.text)
		if (f.Err != nil) != c.err || f.Unrelated == c.err {
			t.Errorf("%q: %v, unrelated %v", c.text, f.Err, f.Unrelated)
		}
	}
}

// TestLocate: a path of what a cluster stores leads to the line of the file where it is written, or that of its parent.
func TestLocate(t *testing.T) {
	f := named("x", "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec:\n  a: 1\n  named:\n  - name: x\n    v: 1\n  - name: w\n    v: 2\n  plain:\n  - b\n  - c\n")
	o := Objects([]File{f}).Objects[0]
	written := o.Document.Object
	stored := map[string]any{"spec": map[string]any{"a": int64(1), "defaulted": true,
		"named": []any{map[string]any{"name": "new"}, map[string]any{"name": "w", "v": int64(3)}, map[string]any{"name": "x", "v": int64(1)}, map[string]any{"name": "more"}},
		"plain": []any{"c", "b", "d"}}}
	for _, c := range []struct {
		path         string
		file, server int // lines, by what is written and by what is stored
	}{
		{"spec.a", 5, 5}, {"spec.defaulted", 4, 4}, {"spec.named[1].v", 10, 10}, {"spec.named[0].v", 8, 7}, {"spec.named[2].v", 6, 8}, {"spec.named[3].v", 6, 6}, {"spec.plain[0]", 12, 13}, {"spec.plain[1]", 13, 12}, {"spec.plain[2]", 11, 11},
	} {
		o.Stored = nil
		if got := o.Locate(fieldpath.Resolve(c.path, o.Value())).Line; got != c.file || fmt.Sprint(o.Value()) != fmt.Sprint(written) {
			t.Errorf("%s is written at line %d, want %d", c.path, got, c.file)
		}
		o.Stored = stored
		if got := o.Locate(fieldpath.Resolve(c.path, o.Value())).Line; got != c.server || fmt.Sprint(o.Value()) != fmt.Sprint(stored) {
			t.Errorf("%s of what is stored is written at line %d, want %d", c.path, got, c.server)
		}
	}
}

// TestSplitPlain: what is not an object gets the path of its file as its name.
func TestSplitPlain(t *testing.T) {
	rest, plain := SplitPlain([]File{
		named("values.yaml", "a: 1\n"), found("x/values.yaml", "a: 1\n---\n"+widgetText+"---\nkind: A\n---\napiVersion: v1\n"),
		found("Chart.yaml", "name: a\n"), found("values.schema.json", "{}"), found("y.yaml", widgetText),
	}, func(map[string]any) bool { return true })
	var got []string
	for _, o := range plain {
		got = append(got, o.Name+" of "+o.Path)
	}
	if diff := cmp.Diff([]string{"values of ", "x/values.yaml of x/values.yaml", "x/values.yaml of x/values.yaml", "x/values.yaml of x/values.yaml"}, got); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	got = nil
	for _, f := range rest {
		got = append(got, fmt.Sprint(f.Name, " ", len(f.Documents)))
	}
	if diff := cmp.Diff([]string{"values.yaml 0", "dir/x/values.yaml 1", "dir/y.yaml 1"}, got); diff != "" {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

// TestParseAll: a file that has an error already is not parsed.
func TestParseAll(t *testing.T) {
	files := []File{{Name: "a"}, {Name: "b", Err: fmt.Errorf("gone")}, {Name: "c"}}
	ParseAll(files, [][]byte{[]byte(widgetText), []byte(widgetText), []byte(widgetText + "---\n" + widgetText)}, &yamldoc.Shared{})
	var got []int
	for _, f := range files {
		got = append(got, len(f.Documents))
	}
	if !slices.Equal(got, []int{1, 0, 2}) {
		t.Errorf("documents %v", got)
	}
}

// TestNameless: in a directory, what has no name is not an object; in a file that was named itself, it is a mistake.
func TestNameless(t *testing.T) {
	for text, skipped := range map[string]bool{"kind: A\napiVersion: v1\n": true, "kind: A\napiVersion: v1\nmetadata: {namespace: b}\n": true, "kind: A\napiVersion: v1\nmetadata: {name: 5}\n": false, "kind: A\napiVersion: v1\nmetadata: x\n": false} {
		for _, found := range []bool{false, true} {
			f := named("x.yaml", text)
			f.Found = found
			s := Objects([]File{f})
			mistakes := len(s.Errs)
			for _, o := range s.Objects {
				if o.Invalid != nil {
					mistakes++
				}
			}
			if (mistakes == 0) != (found && skipped) {
				t.Errorf("%q, found in a directory %t: %d objects, %v", text, found, len(s.Objects), s.Errs)
			}
		}
	}
}

// TestSameCRD: CRDs that judge alike are one definition, whatever else a deployment changes in them.
func TestSameCRD(t *testing.T) {
	crd := func(annotations, conversion, description string) map[string]any {
		f := named("crd.yaml", fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a, annotations: {%s}}\n"+
			"spec: {group: example.com, conversion: %s, versions: [{name: v1, schema: {openAPIV3Schema: {description: %s}}}]}\n", annotations, conversion, description))
		return f.Documents[0].Object
	}
	one := crd("a: b", "{strategy: Webhook, webhook: {clientConfig: {service: {namespace: a}}}}", "a")
	for _, c := range []struct {
		name  string
		other map[string]any
		want  bool
	}{
		{"another annotation and webhook", crd("c: d", "{strategy: Webhook, webhook: {}}", "a"), true},
		{"another strategy", crd("a: b", "{strategy: None}", "a"), false},
		{"a strategy that is none", crd("a: b", "{strategy: {}}", "a"), false},
		{"no conversion", crd("a: b", "null", "a"), false},
		{"a lock", crd("fieldlock.dev/locks: x", "{strategy: Webhook}", "a"), false},
		{"a cost", crd("fieldlock.dev/replacement-cost: none", "{strategy: Webhook}", "a"), false},
		{"another schema", crd("a: b", "{strategy: Webhook}", "b"), false},
	} {
		if got := SameCRD(one, c.other); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestReadCRDs: only the CRDs that are wanted are read, each mistake has its place among the others, and equal CRDs are
// read once.
func TestReadCRDs(t *testing.T) {
	const broken = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: b}\nspec: {group: 1, versions: []}\n"
	good := strings.Replace(broken, "name: b}\nspec: {group: 1, versions: []}", "name: as.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}", 1)
	files := []File{named("a", good), named("b", broken), named("c", "kind: A\n"), named("d", good)}
	s := ObjectsWithoutCRDs(files)
	if len(s.CRDs) != 0 || len(s.Objects) != 3 || len(s.Errs) != 1 {
		t.Fatalf("unread: %d CRDs, %d objects, %v", len(s.CRDs), len(s.Objects), s.Errs)
	}
	s.ReadCRDs(func(o *Object) bool { return true }, nil)
	if len(s.CRDs) != 2 || s.CRDs[0].CRD != s.CRDs[1].CRD || s.CRDs[1].Document.File != "d" || len(s.Errs) != 2 || !strings.HasPrefix(s.Errs[0].Error(), "b:") {
		t.Errorf("read: %d CRDs, %v", len(s.CRDs), s.Errs)
	}
	known := s
	s = ObjectsWithoutCRDs(files)
	if s.ReadCRDs(func(o *Object) bool { return o.Document.File == "d" }, known); len(s.CRDs) != 1 || s.CRDs[0].CRD != known.CRDs[0].CRD || s.CRDs[0].Document.File != "d" {
		t.Errorf("one is known: %+v", s.CRDs)
	}
	s = ObjectsWithoutCRDs(files)
	s.ReadCRDs(func(o *Object) bool { return o.Document.File == "d" }, nil)
	if len(s.CRDs) != 1 || len(s.Errs) != 1 {
		t.Errorf("one is wanted: %d CRDs, %v", len(s.CRDs), s.Errs)
	}
}

// TestForgive: of mistakes that both sides have, none counts, however many copies there are; others do.
func TestForgive(t *testing.T) {
	const broken = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: b}\nspec: {group: g, versions: []}\n"
	other := strings.Replace(broken, "group: g", "group: h", 1)
	for _, c := range []struct {
		name                string
		news, olds          []File
		alike, inNew, inOld int
	}{
		{"copies on both sides", []File{named("a", broken), named("b", broken)}, []File{named("a", broken), named("b", broken)}, 2, 0, 0},
		{"another copy in NEW", []File{named("a", broken), named("b", broken)}, []File{named("a", broken)}, 2, 0, 0},
		{"another copy in OLD", []File{named("a", broken)}, []File{named("a", broken), named("b", broken)}, 1, 0, 0},
		{"one that changes", []File{named("a", broken), named("b", other)}, []File{named("a", broken), named("b", broken)}, 1, 1, 0},
		{"one that is repaired", nil, []File{named("a", broken)}, 0, 0, 1},
	} {
		news, olds := Objects(c.news), Objects(c.olds)
		if alike := Forgive(news, olds); len(alike) != c.alike || len(news.Errs) != c.inNew || len(olds.Errs) != c.inOld {
			t.Errorf("%s: %d alike, in NEW %v, in OLD %v", c.name, len(alike), news.Errs, olds.Errs)
		}
	}
}

// TestEqualDocuments: a unit has an object once on each side, with one name, and both are equal.
func TestEqualDocuments(t *testing.T) {
	const a, b = "kind: A\nmetadata: {name: a}\n", "kind: A\nmetadata: {name: b}\n"
	for _, c := range []struct {
		name, new, old string
		unit           string
		want           int // documents of both sides
	}{
		{"equal", a, a, "u", 2},
		{"two", a + "---\n" + b, b + "---\n" + a, "u", 4},
		{"another value", a + "spec: 1\n", a, "u", 0},
		{"twice in NEW", a + "---\n" + a, a, "u", 0},
		{"twice in OLD", a, a + "---\n" + a, "u", 0},
		{"twice on both sides", a + "---\n" + a, a + "---\n" + a, "u", 0},
		{"only in NEW, twice", a + "---\n" + a, b, "u", 0},
		{"without a name", "kind: A\n", "kind: A\n", "u", 0},
		{"no unit", a, a, "", 0},
	} {
		sides := make([][]File, 2)
		for i, text := range []string{c.new, c.old} {
			f := File{Path: "p", Unit: c.unit}
			f.Parse([]byte(text))
			sides[i] = []File{f}
		}
		if got := len(EqualDocuments(sides[0], sides[1])); got != c.want {
			t.Errorf("%s: %d documents, want %d", c.name, got, c.want)
		}
	}
}
