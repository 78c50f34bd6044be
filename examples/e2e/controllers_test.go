package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// A way out for a claim is worth what the controllers make of it, so the tests of this chapter and of claims_test.go
// run the stock kube-controller-manager: it protects claims and volumes in use, binds, provisions and deletes volumes,
// makes the pods of StatefulSets and Jobs, and deletes dependents and what is in namespaces. Volumes are folders of
// this machine, so a test can write into them and see what is left. Nobody schedules and runs pods; a player does so,
// and it copies what a Job is to copy.
//
//	c := newControllers(t)
//	c.apply(classes + claim)
//	c.write("data", "42")
//	c.carryOut(way, actions)    // the commands as printed, in one shell
//	c.read("data")              // "42", or not
type controllers struct {
	t         *testing.T
	ctx       context.Context
	kubectl   kubectl
	namespace string
	program   string // fieldlock
	dir       string
}

// names of the controllers that run.
const running = "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,persistentvolume-protection-controller," +
	"statefulset-controller,job-controller,garbage-collector-controller,namespace-controller"

// newControllers starts the controllers, and makes storage classes and the namespace of the test.
func newControllers(t *testing.T) *controllers {
	t.Helper()
	if !*askAppliers {
		t.Skip("hack/appliers runs the controllers")
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout+10*patience)
	t.Cleanup(cancel)
	c := &controllers{t: t, ctx: ctx, kubectl: newKubectl(t), namespace: "claims", program: buildProgram(t, "../..", "./cmd/fieldlock"), dir: t.TempDir()}
	binary := buildProgram(t, "../controllers", "github.com/fieldlock/fieldlock/examples/controllers")
	manager, err := startProcess("kube-controller-manager", filepath.Join(cluster.dir, "attached"), binary,
		"--kubeconfig", c.kubectl.kubeconfig, "--controllers", running, "--leader-elect=false", "--secure-port=0",
		"--enable-hostpath-provisioner", "--pvclaimbinder-sync-period=1s", "--kube-api-qps=500", "--kube-api-burst=500")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(manager.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the controllers' log ends with:\n%s", manager.log.String())
		}
	})
	if _, err := ask.New(ctx, cluster.config, c.namespace); err != nil {
		t.Fatal(err)
	}
	c.must("kubectl config set-context --current --namespace " + c.namespace)
	c.apply(classes)
	go c.play(ctx)
	return c
}

// classes are storage classes, which differ in their names and in when they bind.
const classes = `
apiVersion: v1
kind: Node
metadata: {name: node}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: kubernetes.io/host-path
allowVolumeExpansion: true
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: kubernetes.io/host-path
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: kubernetes.io/host-path
volumeBindingMode: WaitForFirstConsumer
---
`

// shell runs command lines in one shell, which ends with the first that fails.
func (c *controllers) shell(lines ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	return c.kubectl.shell(ctx, "set -e\n"+strings.Join(lines, "\n"))
}

func (c *controllers) must(lines ...string) string {
	c.t.Helper()
	out, err := c.shell(lines...)
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", strings.Join(lines, "\n"), err, out)
	}
	return out
}

// apply applies manifests.
func (c *controllers) apply(text string) {
	c.t.Helper()
	c.must("kubectl apply -f " + c.file("applied.yaml", text))
}

// file writes a manifest, and returns its path.
func (c *controllers) file(name, text string) string {
	return writeFile(c.t, filepath.Join(c.dir, name), []byte(text))
}

// await waits until a field of an object has a value.
func (c *controllers) await(object, path, want string) {
	c.t.Helper()
	c.must(fmt.Sprintf("kubectl wait --for=jsonpath='{%s}'=%s %s --timeout=60s", path, want, object))
}

// get returns a field of an object, "" where there is none.
func (c *controllers) get(object, path string) string {
	c.t.Helper()
	return c.must(fmt.Sprintf("kubectl get %s --ignore-not-found -o jsonpath='{%s}'", object, path))
}

// folder returns the folder of the volume that a claim is bound to.
func (c *controllers) folder(claim string) string {
	c.t.Helper()
	c.await("pvc/"+claim, ".status.phase", "Bound")
	return c.get("pv/"+c.get("pvc/"+claim, ".spec.volumeName"), ".spec.hostPath.path")
}

const datum = "datum"

// write stores a datum in the volume of a claim.
func (c *controllers) write(claim, text string) (folder string) {
	c.t.Helper()
	folder = c.folder(claim)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		c.t.Fatal(err)
	}
	writeFile(c.t, filepath.Join(folder, datum), []byte(text))
	return folder
}

// has reports whether a folder still has a datum.
func has(folder, text string) bool {
	data, err := os.ReadFile(filepath.Join(folder, datum))
	return err == nil && string(data) == text
}

// waysOut returns the ways out that check prints for an object of a kind whose change is refused, or that goes.
func (c *controllers) waysOut(kind, oldText, newText string) []string {
	c.t.Helper()
	r := checked(c.t, c.program, "--applier", "server-side", c.file("old.yaml", oldText), c.file("new.yaml", newText))
	for _, found := range slices.Concat(r.Replacements, r.Deletions) {
		if found.Kind == kind && len(found.How) > 0 {
			return found.How
		}
	}
	c.t.Fatalf("no way out: %+v", r)
	return nil
}

// way returns the way that contains a text.
func (c *controllers) way(ways []string, text string) string {
	c.t.Helper()
	i := slices.IndexFunc(ways, func(way string) bool { return strings.Contains(way, text) })
	if i < 0 {
		c.t.Fatalf("no way has %q: %q", text, ways)
	}
	return ways[i]
}

// carryOut runs the steps of a way in one shell. actions are the commands for the steps that are sentences, by how
// these begin.
func (c *controllers) carryOut(way string, actions map[string]string) (string, error) {
	c.t.Helper()
	_, steps := tool.Steps(way)
	var lines []string
	for _, step := range steps {
		command, _, _ := strings.Cut(step, tool.Comment)
		if strings.HasPrefix(command, "kubectl ") || strings.HasPrefix(command, "volume=") {
			lines = append(lines, command)
			continue
		}
		done := false
		for begin, action := range actions {
			if strings.HasPrefix(step, begin) {
				lines, done = append(lines, action), true
			}
		}
		if !done {
			c.t.Fatalf("nobody does %q", step)
		}
	}
	return c.shell(lines...)
}

// play does what schedulers and kubelets do, until ctx ends: it gives pods a node once their claims are bound, runs
// them, and lets them go when they are deleted.
func (c *controllers) play(ctx context.Context) {
	pods := cluster.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	claims := cluster.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"})
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		list, err := pods.Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			pod := &list.Items[i]
			node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
			phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
			switch mine := pods.Namespace(pod.GetNamespace()); {
			case pod.GetDeletionTimestamp() != nil:
				_ = mine.Delete(ctx, pod.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			case node == "":
				bound := true
				for _, name := range claimsOf(pod) {
					claim, err := claims.Namespace(pod.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
					if err != nil {
						bound = false
						continue
					}
					if at, _, _ := unstructured.NestedString(claim.Object, "status", "phase"); at != "Bound" {
						bound = false
						_, _ = claims.Namespace(pod.GetNamespace()).Patch(ctx, name, types.MergePatchType,
							[]byte(`{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"node"}}}`), metav1.PatchOptions{})
					}
				}
				if bound {
					binding := map[string]any{"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": pod.GetName()}, "target": map[string]any{"kind": "Node", "name": "node"}}
					_, _ = mine.Create(ctx, &unstructured.Unstructured{Object: binding}, metav1.CreateOptions{}, "binding")
				}
			case phase != "Running" && phase != "Succeeded":
				phase := "Running"
				if from, to, copies := c.copies(pod); copies {
					phase = "Succeeded"
					if err := exec.CommandContext(ctx, "cp", "-a", from+"/.", to).Run(); err != nil {
						phase = "Failed"
					}
				}
				status := map[string]any{"status": map[string]any{"phase": phase, "startTime": metav1.Now(),
					"conditions": []any{map[string]any{"type": "Ready", "status": fmt.Sprint(map[bool]string{true: "True", false: "False"}[phase == "Running"]), "lastTransitionTime": metav1.Now()}}}}
				_, _ = mine.Patch(ctx, pod.GetName(), types.MergePatchType, mustJSON(status), metav1.PatchOptions{}, "status")
			}
		}
	}
}

// podSpec is what a player reads of a pod.
type podSpec struct {
	Spec struct {
		Containers []struct {
			Command      []string
			VolumeMounts []struct{ Name, MountPath string }
		}
		Volumes []struct {
			Name                  string
			PersistentVolumeClaim struct{ ClaimName string }
		}
	}
}

func specOf(pod *unstructured.Unstructured) (s podSpec) {
	_ = json.Unmarshal(mustJSON(pod.Object), &s)
	return s
}

// claimsOf returns the claims that a pod uses.
func claimsOf(pod *unstructured.Unstructured) (names []string) {
	for _, volume := range specOf(pod).Spec.Volumes {
		if name := volume.PersistentVolumeClaim.ClaimName; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// copies returns the folders between which a pod copies: its command is "cp -a /old/. /new/".
func (c *controllers) copies(pod *unstructured.Unstructured) (from, to string, ok bool) {
	s := specOf(pod)
	command := s.Spec.Containers[0].Command
	if len(command) != 4 || command[0] != "cp" {
		return "", "", false
	}
	folder := func(path string) string {
		for _, mount := range s.Spec.Containers[0].VolumeMounts {
			for _, volume := range s.Spec.Volumes {
				if mount.MountPath == strings.TrimSuffix(strings.TrimSuffix(path, "."), "/") && volume.Name == mount.Name {
					out, _ := c.shell("kubectl get pv $(kubectl get pvc " + volume.PersistentVolumeClaim.ClaimName + " -o jsonpath={.spec.volumeName}) -o jsonpath={.spec.hostPath.path}")
					return out
				}
			}
		}
		return ""
	}
	from, to = folder(command[2]), folder(command[3])
	return from, to, from != "" && to != ""
}
