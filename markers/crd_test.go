package markers_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/markers"
)

func model(t *testing.T) *markers.Source {
	t.Helper()
	source, err := markers.Load(t.Context(), ".", []string{"./testdata/api/model"})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// TestLayouts: every file in testdata/layouts says in its first lines what it is a case of; the golden file beside it
// has the keys, whatever the layout, and writing again changes nothing.
func TestLayouts(t *testing.T) {
	files, err := filepath.Glob("testdata/layouts/*.in")
	if err != nil || len(files) == 0 {
		t.Fatal("no layouts", err)
	}
	source := model(t)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			in := read(t, name)
			for _, newline := range []string{"\n", "\r\n"} {
				file := markers.File{Name: in.Name, Data: bytes.ReplaceAll(in.Data, []byte("\n"), []byte(newline))}
				out, err := source.WriteCRDs([]markers.File{file})
				if err != nil {
					t.Fatal(err)
				}
				data := out[0].Data
				if bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte(newline)) {
					t.Errorf("the file mixes the ends of lines: %q", data)
				}
				compareGolden(t, strings.TrimSuffix(name, ".in")+".golden", bytes.ReplaceAll(data, []byte(newline), []byte("\n")))
				again, err := source.WriteCRDs([]markers.File{out[0].File})
				if err != nil || again[0].Keys != 0 || !bytes.Equal(again[0].Data, data) {
					t.Errorf("a second run writes %d keys, error %v", again[0].Keys, err)
				}
			}
		})
	}
}

// crd is a CRD of the model's group whose schema has this property name, in flow style.
func crd(name string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.model.fieldlock.dev}
spec:
  group: model.fieldlock.dev
  names: {kind: Thing}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {properties: {name: ` + name + `}}}
`
}

func TestWriteCRDsRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list for each case")
	}
	locked := crd("{type: string}")
	for _, c := range []struct{ reason, data, want string }{
		{"a lock in the file that the marker would stand beside",
			crd("{type: object, x-kubernetes-immutable-keys: true}"), "already has the lock x-kubernetes-immutable-keys there"},
		{"another value in the file", crd("{x-kubernetes-immutable: false}"), "line 9 of crd.yaml has x-kubernetes-immutable with another value"},
		{"the schema lacks the field", strings.Replace(locked, "name: {type", "title: {type", 1), "no schema at /properties/name"},
		{"a version without a Go type", strings.Replace(locked, "name: v1", "name: v2", 1), "no Go type model.fieldlock.dev/v2 Thing"},
		{"a kind without a Go type", strings.Replace(locked, "kind: Thing", "kind: Thong", 1), "no Go type model.fieldlock.dev/v1 Thong"},
		{"v1beta1 gains no locks", strings.Replace(locked, "k8s.io/v1", "k8s.io/v1beta1", 1), "apiVersion apiextensions.k8s.io/v1beta1"},
		{"no versions", strings.Replace(locked, "versions:", "version:", 1), "no list of versions"},
		{"a version without a schema", strings.Replace(locked, "schema:", "scheme:", 1), "no schema at its root"},
		{"no YAML", "a: [", "crd.yaml:1: document 1: the YAML is malformed"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			in := markers.File{Name: "crd.yaml", Data: []byte(c.data)}
			_, err := model(t).WriteCRDs([]markers.File{in})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestOtherDocuments: what is no CRD of the groups is left alone, and told from those that are.
func TestOtherDocuments(t *testing.T) {
	for _, data := range []string{
		"", "---\n", "# nothing\n", "[]\n", "kind: ConfigMap\napiVersion: v1\n",
		strings.Replace(crd("{}"), "group: model.fieldlock.dev", "group: other.fieldlock.dev", 1),
	} {
		out, err := model(t).WriteCRDs([]markers.File{{Name: "x.yaml", Data: []byte(data)}})
		if err != nil || out[0].CRDs != 0 || out[0].Keys != 0 || string(out[0].Data) != data {
			t.Errorf("%q: got %+v, error %v", data, out, err)
		}
	}
}

// TestAlias: where a schema is an alias, the marker's key is written at its place only.
func TestAlias(t *testing.T) {
	data := strings.Replace(crd("*shared"), "metadata: {", "metadata: {annotations: &shared {type: string}, ", 1)
	out, err := model(t).WriteCRDs([]markers.File{{Name: "x.yaml", Data: []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(data, "*shared", `{"type": "string", "x-kubernetes-immutable": true}`, 1); string(out[0].Data) != want {
		t.Errorf("got\n%s\nwant\n%s", out[0].Data, want)
	}
}

// TestAnnotationOnly: the schemas have no key of fieldlock, so that a stock API server accepts the CRD under strict
// validation; the annotation has them all, and a second run changes nothing.
func TestAnnotationOnly(t *testing.T) {
	files, _ := filepath.Glob("testdata/layouts/*.in")
	source := model(t)
	for _, name := range files {
		in := read(t, name)
		only, err := source.WriteCRDs([]markers.File{in}, markers.WithAnnotationOnly())
		if err != nil && strings.Contains(err.Error(), "no metadata") {
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		both, err := source.WriteCRDs([]markers.File{in}, markers.WithAnnotation())
		if err != nil {
			t.Fatal(name, err)
		}
		got, want := locksOf(t, name, only[0].Data), locksOf(t, name, both[0].Data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the locks differ from those of WithAnnotation (-want +got):\n%s", name, diff)
		}
		for _, line := range strings.Split(string(only[0].Data), "\n") {
			if strings.Contains(line, "x-kubernetes-immutable") && !strings.Contains(line, "nor is this a key") && !strings.Contains(line, "fieldlock.dev/locks") {
				t.Errorf("%s: a lock is left in a schema: %s", name, line)
			}
		}
		for _, first := range [][]markers.Written{only, both} {
			again, err := source.WriteCRDs([]markers.File{first[0].File}, markers.WithAnnotationOnly())
			if err != nil {
				t.Fatal(name, err)
			}
			if &first[0] == &only[0] && (again[0].Keys != 0 || !bytes.Equal(again[0].Data, only[0].Data)) {
				t.Errorf("%s: a second run writes %d keys", name, again[0].Keys)
			}
			if diff := cmp.Diff(want, locksOf(t, name, again[0].Data)); diff != "" {
				t.Errorf("%s: the second run changes the locks (-want +got):\n%s", name, diff)
			}
		}
	}
}

// locksOf returns the annotations of the CRDs in a file.
func locksOf(t *testing.T, name string, data []byte) []string {
	t.Helper()
	var all []string
	for _, document := range strings.Split(string(data), "\n---") {
		var object struct {
			Metadata struct{ Annotations map[string]string }
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if locks := object.Metadata.Annotations["fieldlock.dev/locks"]; locks != "" {
			all = append(all, locks)
		}
	}
	return all
}

// TestNotices: a lock that no marker asks for is kept, and pointed out.
func TestNotices(t *testing.T) {
	data := strings.Replace(crd("{type: string}"), "properties: {name", "properties: {size: {type: string, x-kubernetes-immutable: true}, name", 1)
	source := model(t)
	out, err := source.WriteCRDs([]markers.File{{Name: "x.yaml", Data: []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out[0].Data), "size: {type: string, x-kubernetes-immutable: true}") {
		t.Errorf("the lock is gone:\n%s", out[0].Data)
	}
	if len(out[0].Notices) != 1 || !strings.Contains(out[0].Notices[0], "x.yaml: no marker asks for x-kubernetes-immutable at /properties/size of version v1") {
		t.Errorf("got notices %q", out[0].Notices)
	}
}

// FuzzLayout: whatever the file looks like, WriteCRDs gives an error or a file that a second run leaves alone.
func FuzzLayout(f *testing.F) {
	files, _ := filepath.Glob("testdata/layouts/*.in")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	source, err := markers.Load(f.Context(), ".", []string{"./testdata/api/model"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := source.WriteCRDs([]markers.File{{Name: "x.yaml", Data: data}}, markers.WithAnnotation())
		if err != nil {
			return
		}
		again, err := source.WriteCRDs([]markers.File{out[0].File}, markers.WithAnnotation())
		if err != nil || again[0].Keys != 0 || !bytes.Equal(again[0].Data, out[0].Data) {
			t.Fatalf("a second run writes %v, error %v, from\n%s", again, err, out[0].Data)
		}
	})
}
