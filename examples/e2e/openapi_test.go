package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// TestOpenAPIDocuments reads the documents that the server publishes: every kind in them compiles. With a lock in a
// copy of them, which is how a user locks a field of a built-in kind, locks lists it and check holds it.
func TestOpenAPIDocuments(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	client := kubernetes.NewForConfigOrDie(cluster.config).RESTClient()
	for _, c := range []struct {
		path    string
		schemas []string // the steps to the schemas of the document
		kinds   int      // at least
	}{
		{"/openapi/v3/apis/apps/v1", []string{"components", "schemas"}, 10},
		{"/openapi/v3/api/v1", []string{"components", "schemas"}, 20},
		{"/openapi/v2", []string{"definitions"}, 100},
	} {
		t.Run(c.path, func(t *testing.T) {
			data, err := client.Get().AbsPath(c.path).SetHeader("Accept", "application/json").DoRaw(ctx)
			if err != nil {
				t.Fatal(err)
			}
			document, err := openapi.Read("openapi.json", data)
			if err != nil {
				t.Fatal(err)
			}
			if len(document.Kinds) < c.kinds {
				t.Fatalf("the document has %d kinds, want at least %d", len(document.Kinds), c.kinds)
			}
			for _, kind := range document.Kinds {
				if _, err := document.Compile(kind.Ref); err != nil {
					t.Errorf("%s %s: %v", kind.APIVersion, kind.Kind, err)
				}
			}
			if _, ok := document.Find("apps/v1", "Deployment"); ok {
				testLockedDocument(t, withLock(t, data, c.schemas, "io.k8s.api.apps.v1.DeploymentSpec", "progressDeadlineSeconds"))
			} else if c.path != "/openapi/v3/api/v1" {
				t.Error("the document has no Deployment")
			}
		})
	}
}

// withLock returns an OpenAPI document with a lock on a property of one of its schemas.
func withLock(t *testing.T, data []byte, schemas []string, name, property string) []byte {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	object := document
	for _, step := range slices.Concat(schemas, []string{name, "properties", property}) {
		below, ok := object[step].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %q on the way to %s of %s", step, property, name)
		}
		object = below
	}
	object["x-kubernetes-immutable"] = true
	return mustJSON(document)
}

// testLockedDocument lists the locks of a document whose Deployments have progressDeadlineSeconds locked, and compares
// two Deployments by it.
func testLockedDocument(t *testing.T, document []byte) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	reader := &manifest.Reader{}
	schemas, errs, err := reader.Schemas(write("openapi.json", document))
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	kinds, errs := schemas.Amended(nil)
	if len(kinds) == 0 || len(errs) > 0 {
		t.Fatalf("%d kinds have locks or rules: %v", len(kinds), errs)
	}
	locks, errs := audit.LocksOf(kinds)
	if len(errs) > 0 {
		t.Error(errs)
	}
	if !slices.ContainsFunc(locks.Fields, func(f audit.Field) bool { return f.Kind == "Deployment" && f.Path == "spec.progressDeadlineSeconds" }) {
		t.Errorf("the lock is not among those that are listed: %+v", locks.Fields)
	}

	deployment := func(file, seconds, replicas string) []manifest.File {
		files, err := reader.Read(write(file, []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"},
			"spec": {"progressDeadlineSeconds": `+seconds+`, "replicas": `+replicas+`}}`)))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	oldFiles := deployment("old.json", "600", "1")
	for seconds, want := range map[string][]string{"600": nil, "700": {"spec.progressDeadlineSeconds"}} {
		report, err := compare.Check(compare.Input{New: deployment("new.json", seconds, "2"), Old: oldFiles, NewSchemas: schemas, OldSchemas: schemas}, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, v := range report.Violations {
			paths = append(paths, v.Path)
		}
		if !slices.Equal(paths, want) || report.Updated != 1 || len(report.Errors) > 0 {
			t.Errorf("progressDeadlineSeconds from 600 to %s: violations at %q, want %q; %d updated, errors %v", seconds, paths, want, report.Updated, report.Errors)
		}
	}
}
