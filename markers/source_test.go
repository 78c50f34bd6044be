package markers_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/testing/golden"
	"github.com/fieldlock/fieldlock/markers"
)

var update = flag.Bool("update", false, "write the golden files anew")

// compareGolden compares got with a file in testdata.
func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	want := golden.Want(t, *update, file, string(got))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// problems returns the problems of an error, one per line.
func problems(t *testing.T, err error) string {
	t.Helper()
	var e *markers.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *markers.Error", err)
	}
	return e.Error() + "\n"
}

func api(t *testing.T, opts ...markers.Option) *markers.Source {
	t.Helper()
	source, err := markers.Load(t.Context(), ".", []string{"./testdata/api/v1"}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func read(t *testing.T, name string) markers.File {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return markers.File{Name: name, Data: data}
}

// TestLoadRefuses: the problems of package bad, every one with file, line and the right form. Package bad also has
// types that are right, so that the golden file shows that they are not reported.
func TestLoadRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list for each case")
	}
	_, err := markers.Load(t.Context(), ".", []string{"./testdata/bad"})
	compareGolden(t, "testdata/bad/problems.golden", []byte(problems(t, err)))
}

func TestLoadErrors(t *testing.T) {
	for name, patterns := range map[string][]string{
		"a package that is not there": {"./testdata/none"},
		"a pattern without packages":  {"./testdata/none/..."},
	} {
		if _, err := markers.Load(t.Context(), ".", patterns); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := markers.Load(t.Context(), ".", []string{"./testdata/api/v1"}, markers.WithK8sImmutable("often")); err == nil {
		t.Error("an unknown meaning: no error")
	}
}

func TestWriteCRDs(t *testing.T) {
	source := api(t)
	in := read(t, "testdata/crds/test.fieldlock.dev_widgets.yaml")
	before := bytes.Clone(in.Data)
	out, err := source.WriteCRDs([]markers.File{in})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, in.Data) {
		t.Error("the input changed")
	}
	compareGolden(t, "testdata/crds/widgets.golden.yaml", out[0].Data)
	keepsLines(t, before, out[0].Data)

	again, err := source.WriteCRDs([]markers.File{out[0].File})
	if err != nil {
		t.Fatal(err)
	}
	if again[0].Keys != 0 || !bytes.Equal(again[0].Data, out[0].Data) {
		t.Errorf("a second run writes %d keys", again[0].Keys)
	}
}

// keepsLines: the lines before are among those after, in order.
func keepsLines(t *testing.T, before, after []byte) {
	t.Helper()
	rest := strings.Split(string(after), "\n")
	for _, line := range strings.Split(string(before), "\n") {
		for len(rest) > 0 && rest[0] != line {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Fatalf("the line %q is lost or moved", line)
		}
		rest = rest[1:]
	}
}

// TestK8sImmutable: the option chooses what +k8s:immutable means.
func TestK8sImmutable(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list for each case")
	}
	in := read(t, "testdata/crds/test.fieldlock.dev_widgets.yaml")
	for meaning, want := range map[markers.K8sImmutable]string{
		markers.K8sImmutableLocked:  "native:\n                type: string\n                x-kubernetes-immutable: true\n",
		markers.K8sImmutableSetOnce: "native:\n                type: string\n                x-fieldlock-update:\n                - NoUnset\n                - NoModify\n",
	} {
		out, err := api(t, markers.WithK8sImmutable(meaning)).WriteCRDs([]markers.File{in})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(out[0].Data), want) {
			t.Errorf("%s: %q is not in the CRD:\n%s", meaning, want, out[0].Data)
		}
	}
}

// TestAnnotation: the annotation holds what the schemas say, and a second run changes nothing.
func TestAnnotation(t *testing.T) {
	source := api(t)
	in := read(t, "testdata/crds/test.fieldlock.dev_widgets.yaml")
	out, err := source.WriteCRDs([]markers.File{in}, markers.WithAnnotation())
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/crds/widgets.annotated.golden.yaml", out[0].Data)
	again, err := source.WriteCRDs([]markers.File{out[0].File}, markers.WithAnnotation())
	if err != nil || again[0].Keys != 0 {
		t.Errorf("a second run writes %d keys, error %v", again[0].Keys, err)
	}

	stale := out[0].File
	stale.Data = bytes.Replace(stale.Data, []byte(`{"x-kubernetes-immutable-keys":true}`), []byte(`{"x-kubernetes-immutable":true}`), 1)
	if _, err := source.WriteCRDs([]markers.File{stale}, markers.WithAnnotation()); err == nil {
		t.Error("an annotation that says something else is kept")
	}
}

// TestRepeatable: the same input gives the same bytes.
func TestRepeatable(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list many times")
	}
	in := read(t, "testdata/crds/test.fieldlock.dev_widgets.yaml")
	first, err := api(t).WriteCRDs([]markers.File{in})
	if err != nil {
		t.Fatal(err)
	}
	second, err := api(t).WriteCRDs([]markers.File{in})
	if err != nil || !bytes.Equal(first[0].Data, second[0].Data) {
		t.Errorf("two runs differ, error %v", err)
	}
}
