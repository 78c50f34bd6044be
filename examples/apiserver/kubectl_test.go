package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// asKubectl is the environment variable that makes this test program kubectl.
const asKubectl = "FIELDLOCK_TEST_AS_KUBECTL"

func runKubectl() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}

// kubectl runs kubectl with the kubeconfig that the server wrote, and returns what it prints and whether it succeeds.
func (w *world) kubectl(stdin string, args ...string) (output string, ok bool) {
	w.t.Helper()
	program, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.CommandContext(w.ctx, program, args...)
	home := w.t.TempDir() // of the discovery cache
	command.Env = append(os.Environ(), asKubectl+"=1", "KUBECONFIG="+shared.server.Kubeconfig, "HOME="+home, "KUBECACHEDIR="+filepath.Join(home, "cache"))
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return string(out), err == nil
}

// TestKubectl works with CRDs and custom resources as people do.
func TestKubectl(t *testing.T) {
	w := newWorld(t)
	read := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("demo", file))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), "example.com", w.group)
	}
	run := func(what string, succeeds bool, want, stdin string, args ...string) {
		t.Helper()
		out, ok := w.kubectl(stdin, args...)
		if ok != succeeds || !strings.Contains(out, want) {
			t.Fatalf("%s: kubectl %s succeeds: %v, want %v with %q:\n%s", what, strings.Join(args, " "), ok, succeeds, want, out)
		}
	}
	crd := read("databases.yaml")
	name := "databases." + w.group
	run("the CRD with its keys", true, name+" created", crd, "apply", "-f", "-")
	t.Cleanup(func() { w.kubectl("", "delete", "crd", name, "--ignore-not-found") })
	// Until its names are accepted, the CRD has null for its conditions, and waiting for a condition fails on null.
	for _, fact := range []string{"jsonpath={.status.acceptedNames.listKind}", "condition=Established"} {
		run("the kind is served", true, "condition met", "", "wait", "--for="+fact, "crd/"+name, "--timeout=120s")
	}

	database := "apiVersion: " + w.group + "/v1\nkind: Database\nmetadata: {name: main, namespace: default}\nspec: {engine: postgres, size: 1}\n"
	w.eventually("the database is created", func() error {
		out, ok := w.kubectl(database, "apply", "-f", "-")
		if !ok {
			return errorString(out)
		}
		return nil
	})
	run("an unlocked field", true, "configured", strings.ReplaceAll(database, "size: 1", "size: 2"), "apply", "-f", "-")
	run("a locked field", false, "field is immutable", strings.ReplaceAll(database, "postgres", "mysql"), "apply", "-f", "-")
	run("the same by server-side apply", false, "field is immutable", strings.ReplaceAll(database, "postgres", "mysql"), "apply", "--server-side", "--force-conflicts", "-f", "-")

	// The second apply of a CRD is a strategic merge patch: it changes the size into a locked field.
	changed := strings.Replace(crd, "              size:\n                type: integer\n", "              size:\n                type: integer\n                x-kubernetes-immutable: true\n", 1)
	if changed == crd {
		t.Fatal("the demo has no size to lock")
	}
	run("a second apply of the CRD", true, "configured", changed, "apply", "-f", "-")
	run("nothing is left to change", true, "", changed, "diff", "-f", "-")
	w.eventually("the new lock holds", func() error {
		out, ok := w.kubectl(strings.ReplaceAll(database, "size: 1", "size: 3"), "apply", "--dry-run=server", "-f", "-")
		if ok || !strings.Contains(out, "field is immutable") {
			return errorString(out)
		}
		return nil
	})
	run("an apply that takes the lock away", true, "configured", crd, "apply", "-f", "-")
	run("the keys in kubectl explain", true, "engine", "", "explain", "databases.spec", "--api-version="+w.group+"/v1")
	run("a broken CRD", false, "x-kubernetes-immutable", strings.Replace(crd, "x-kubernetes-immutable: true", "x-kubernetes-immutable: false", 1), "apply", "-f", "-")
}

type errorString string

func (e errorString) Error() string { return string(e) }
