package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

const (
	markedAPI = "../../markers/testdata/api/v1"
	markedCRD = "../../markers/testdata/crds/test.fieldlock.dev_widgets.yaml"
)

// crdFolder returns a folder with the CRD of markedAPI as controller-gen wrote it.
func crdFolder(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(markedCRD)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "widgets.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runIn(args ...string) (status int, out, err string) {
	var stdout, stderr bytes.Buffer
	status = run(args, streams{strings.NewReader(""), &stdout, &stderr})
	return status, stdout.String(), stderr.String()
}

// TestMarkersWrite: --check fails and writes nothing, a run writes, and then there is nothing left to write.
func TestMarkersWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list")
	}
	dir := crdFolder(t)
	file := filepath.Join(dir, "widgets.yaml")
	definitions := filepath.Join(dir, "definitions.marks")
	before, _ := os.ReadFile(file)
	args := []string{"markers", "--crds", dir, "--definitions", definitions, "--annotation", markedAPI}

	status, out, _ := runIn(append(args, "--check")...)
	after, _ := os.ReadFile(file)
	if status != exitRefused || !bytes.Equal(before, after) || strings.Count(out, "out of date") != 2 {
		t.Fatalf("--check: status %d, changed %v\n%s", status, !bytes.Equal(before, after), out)
	}
	status, out, errs := runIn(args...)
	after, _ = os.ReadFile(file)
	if status != exitClean || bytes.Equal(before, after) || strings.Count(out, "written") != 2 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the permissions changed: %v, %v", info.Mode(), err)
	}
	for _, more := range []string{"--check", "--annotation"} {
		status, out, _ = runIn(append(args, more)...)
		now, _ := os.ReadFile(file)
		if status != exitClean || !bytes.Equal(now, after) || strings.Count(out, "up to date") != 2 {
			t.Errorf("a second run with %s: status %d\n%s", more, status, out)
		}
	}
}

// TestMarkersAnnotation: what a stock API server leaves of the CRD, its typed form with the annotation, has the locks
// of the file.
func TestMarkersAnnotation(t *testing.T) {
	dir := crdFolder(t)
	file := filepath.Join(dir, "widgets.yaml")
	if status, out, errs := runIn("markers", "--crds", dir, "--annotation", markedAPI); status != exitClean {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(stored.Spec)
	if err != nil || bytes.Contains(kept, []byte("x-kubernetes-immutable")) {
		t.Fatalf("the typed form keeps the keys, so this shows nothing: %v", err)
	}
	fromObject, err := crd.FromObject(&stored)
	if err != nil {
		t.Fatal(err)
	}
	fromFile, err := crd.Read(file, data)
	if err != nil {
		t.Fatal(err)
	}
	want, got := locksOf(t, fromFile[0]), locksOf(t, fromObject)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 20 {
		t.Errorf("%d locks (-file +stored):\n%s", len(want), diff)
	}
}

func locksOf(t *testing.T, c *crd.CRD) []immutability.LockedField {
	t.Helper()
	v, err := c.Versions[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return v.Locks()
}

func TestMarkersJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs go list")
	}
	dir := crdFolder(t)
	for _, c := range []struct {
		args     []string
		status   int
		upToDate bool
		written  bool
		problems bool
	}{
		{[]string{"--check", markedAPI}, exitRefused, false, false, false},
		{[]string{markedAPI}, exitClean, true, true, false},
		{[]string{"--check", markedAPI}, exitClean, true, false, false},
		{[]string{"../../markers/testdata/bad"}, exitRefused, false, false, true},
	} {
		status, out, errs := runIn(append([]string{"markers", "-o", "json", "--crds", dir}, c.args...)...)
		var report markersReport
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %v\n%s%s", c.args, err, out, errs)
		}
		if status != c.status || report.UpToDate != c.upToDate || (len(report.Problems) > 0) != c.problems ||
			!c.problems && (len(report.Files) != 1 || report.Files[0].Written != c.written) {
			t.Errorf("%v: status %d, %+v", c.args, status, report)
		}
	}
}

// TestMarkersRefuses: a problem names its file and line, and nothing is written.
func TestMarkersRefuses(t *testing.T) {
	status, out, _ := runIn("markers", "--crds", crdFolder(t), "../../markers/testdata/bad")
	if status != exitRefused || !strings.Contains(out, "bad/types.go:12: +immutable=true: ") || !strings.Contains(out, "nothing was written") {
		t.Errorf("status %d\n%s", status, out)
	}
}

func TestMarkersUsage(t *testing.T) {
	dir := crdFolder(t)
	notJSON := filepath.Join(dir, "widgets.yaml")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no packages":                   {[]string{"--crds", dir}, "needs Go packages"},
		"nothing to write":              {[]string{markedAPI}, "--crds DIR or --definitions FILE"},
		"no such folder":                {[]string{"--crds", dir + "/none", markedAPI}, "cannot be read"},
		"no such package":               {[]string{"--crds", dir, "./none"}, "none"},
		"an unknown meaning":            {[]string{"--crds", dir, "--k8s-immutable=often", markedAPI}, `"often"`},
		"CRDs of other groups":          {[]string{"--crds", dir, "../../markers/testdata/api/model"}, "model.fieldlock.dev"},
		"packages without a group":      {[]string{"--crds", dir, "../../markers/testdata/api/shared"}, "+groupName="},
		"definitions over another file": {[]string{"--definitions", notJSON, markedAPI}, "not overwritten"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := runIn(append([]string{"markers"}, c.args...)...)
			if status != exitUnread || !strings.Contains(errs, c.want) {
				t.Errorf("status %d, want %q in\n%s%s", status, c.want, out, errs)
			}
		})
	}
}
