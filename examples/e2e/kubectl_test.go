package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// kubectl runs kubectl on the shared API server and returns what it prints on either output.
type kubectl struct{ kubeconfig, home string }

func newKubectl(t *testing.T) kubectl {
	t.Helper()
	return kubectl{kubeconfig: writeKubeconfig(t, cluster.config), home: t.TempDir()}
}

func (k kubectl) run(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, filepath.Join(cluster.dir, "kubectl"), args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home, "KUBECACHEDIR="+filepath.Join(k.home, "cache"))
	out, err := c.CombinedOutput()
	return string(out), err
}

// applyCRDs applies the CRDs of a file and waits until kubectl can read and write their objects. A new CRD has null for
// its conditions until its names are accepted, and waiting for a condition fails on null.
func (k kubectl) applyCRDs(ctx context.Context, t *testing.T, file string) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", file},
		{"wait", "--for=jsonpath={.status.acceptedNames.listKind}", "--timeout=60s", "-f", file},
		{"wait", "--for=condition=Established", "--timeout=60s", "-f", file},
	} {
		if out, err := k.run(ctx, args...); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	names, err := k.run(ctx, "get", "-f", file, "-o", "name")
	if err != nil {
		t.Fatalf("%v\n%s", err, names)
	}
	for name := range strings.FieldsSeq(names) {
		_, kind, _ := strings.Cut(name, "/")
		for { // discovery follows a moment later
			out, err := k.run(ctx, "get", kind, "--all-namespaces")
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("%s is not served: %v\n%s", kind, err, out)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// TestKubectlTakesAnnotations: a stock cluster takes the files of `markers --annotation-only` and `export annotation`
// however they are applied, with no word about unknown fields, and has all their locks then. The files with the keys in
// the schema are what it refuses.
func TestKubectlTakesAnnotations(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	k := newKubectl(t)
	fieldlock := buildProgram(t, "../..", "./cmd/fieldlock")
	run := func(t *testing.T, args ...string) []byte {
		t.Helper()
		c := exec.CommandContext(ctx, fieldlock, args...)
		c.Dir = "../.."
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); err != nil {
			t.Fatalf("fieldlock %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
		}
		return stdout.Bytes()
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) (keys, annotation string) // two files with the same locks
	}{
		{"markers", func(t *testing.T, dir string) (string, string) {
			var files []string
			for _, form := range []string{"--annotation", "--annotation-only"} {
				crds := filepath.Join(dir, form)
				data, err := os.ReadFile("../../markers/testdata/crds/test.fieldlock.dev_widgets.yaml")
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, writeFile(t, filepath.Join(crds, "widgets.yaml"), data))
				run(t, "markers", "--crds", crds, form, "./markers/testdata/api/v1")
			}
			return files[0], files[1]
		}},
		{"export", func(t *testing.T, dir string) (string, string) {
			w := &world{t: t, group: "kubectl.fieldlock.test"}
			data, err := yaml.Marshal(w.read("widgets.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			keys := writeFile(t, filepath.Join(dir, "keys.yaml"), data)
			return keys, writeFile(t, filepath.Join(dir, "annotation.yaml"), run(t, "export", "annotation", keys))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			keys, annotation := c.make(t, t.TempDir())
			want := crdFile(t, keys)
			name := want.Name
			if out, err := k.run(ctx, "apply", "-f", keys); err == nil || !strings.Contains(out, "unknown field") {
				t.Errorf("kubectl apply takes keys in a schema: %v\n%s", err, out)
			}
			t.Cleanup(func() { _, _ = k.run(context.Background(), "delete", "crd", name, "--ignore-not-found") })
			for _, how := range [][]string{
				{"apply"},
				{"apply", "--validate=strict"},
				{"apply", "--validate=warn"},
				{"apply", "--validate=ignore"},
				{"apply", "--server-side"},
				{"apply", "--server-side", "--validate=strict"},
				{"create", "--validate=strict"},
			} {
				t.Run(strings.Join(how, " "), func(t *testing.T) {
					checkApplied(t, ctx, k, append(how, "-f", annotation), name, want)
				})
			}
		})
	}
}

// checkApplied has kubectl write a CRD in some way, compares the locks of what is stored, and removes it.
func checkApplied(t *testing.T, ctx context.Context, k kubectl, how []string, name string, want *crd.CRD) {
	t.Helper()
	times := 2 // an apply of what is there changes nothing
	if how[0] == "create" {
		times = 1
	}
	for range times {
		out, err := k.run(ctx, how...)
		if err != nil || strings.Contains(out, "unknown field") || strings.Contains(out, "Warning") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	stored, err := cluster.client.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := crd.FromObject(stored)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := locksOf(t, got), locksOf(t, want); got != want || want == "" {
		t.Errorf("stored are the locks\n%s\nwant\n%s", got, want)
	}
	if out, err := k.run(ctx, "delete", "crd", name); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func crdFile(t *testing.T, file string) *crd.CRD {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := crd.Read(file, data)
	if err != nil || len(crds) != 1 {
		t.Fatalf("%s: %d CRDs, %v", file, len(crds), err)
	}
	return crds[0]
}

func writeFile(t *testing.T, file string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
