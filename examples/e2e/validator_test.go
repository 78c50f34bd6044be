package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// deploymentLocks has a lock for each direction: an adapter that takes the old object for the new one would let one
// update through and refuse another.
const deploymentLocks = `{"type": "object", "properties": {"spec": {"type": "object", "properties": {
	"minReadySeconds": {"type": "integer", "x-kubernetes-immutable": true},
	"template": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"hostname": {"type": "string", "x-fieldlock-update": ["NoSet"]},
		"subdomain": {"type": "string", "x-fieldlock-update": ["NoUnset"]}}}}}}}}}`

// TestValidatorProgram runs examples/validator/manager. Its manager of controller-runtime serves a Validator of
// Deployments, by their Go type, and one of unstructured custom resources. The API server calls both, and a refusal
// reaches its client as 422 with its cause.
func TestValidatorProgram(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	manager := startManager(t, w)

	t.Run("deployments", func(t *testing.T) {
		deployments := cluster.client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("default")
		create := func(t *testing.T, name, fields string) {
			t.Helper()
			if _, err := deployments.Create(w.ctx, deployment(t, name, fields), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := deployments.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
					t.Errorf("removing %s: %v", name, err)
				}
			})
		}
		patch := func(name, patch string, dryRun ...string) error {
			_, err := deployments.Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: dryRun})
			return err
		}
		create(t, "probe", `{"minReadySeconds": 5}`)
		w.registerWith(manager, func(webhook *admissionregistrationv1.ValidatingWebhook) {
			url := "https://" + manager.address + "/validate-apps-v1-deployment"
			webhook.Name, webhook.ClientConfig.URL = "deployments."+w.group, &url
			webhook.Rules[0].Rule = admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}
			webhook.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"for": "validator"}} // and no other test's
		}, func() error { return wantRefusal(patch("probe", `{"spec": {"minReadySeconds": 6}}`, metav1.DryRunAll)) })

		for _, row := range []struct{ name, reason, fields, patch, refused string }{
			{"free", "nothing locks it", `{}`, `{"spec": {"replicas": 2}}`, ""},
			{"changed", "a value is locked", `{"minReadySeconds": 5}`, `{"spec": {"minReadySeconds": 6}}`, "spec.minReadySeconds"},
			{"zero", "Go leaves 0 out, and the presence is locked", `{"minReadySeconds": 5}`, `{"spec": {"minReadySeconds": 0}}`, "spec.minReadySeconds"},
			{"set", "setting is locked", `{}`, `{"spec": {"template": {"spec": {"hostname": "a"}}}}`, "spec.template.spec.hostname"},
			{"set-other", "unsetting is locked", `{}`, `{"spec": {"template": {"spec": {"subdomain": "a"}}}}`, ""},
			{"unset", "unsetting is locked", `{"template": {"spec": {"subdomain": "a"}}}`, `{"spec": {"template": {"spec": {"subdomain": null}}}}`, "spec.template.spec.subdomain"},
			{"unset-other", "setting is locked", `{"template": {"spec": {"hostname": "a"}}}`, `{"spec": {"template": {"spec": {"hostname": null}}}}`, ""},
		} {
			t.Run(row.name, func(t *testing.T) {
				create(t, row.name, row.fields)
				checkCause(t, patch(row.name, row.patch), row.refused, row.reason)
			})
		}
		t.Run("applied", func(t *testing.T) {
			create(t, "applied", `{"minReadySeconds": 5}`)
			options := metav1.ApplyOptions{FieldManager: "e2e", Force: true}
			_, err := deployments.Apply(w.ctx, "applied", deployment(t, "applied", `{"minReadySeconds": 6}`), options)
			checkCause(t, err, "spec.minReadySeconds", "an apply is an update")
		})
	})
	t.Run("custom resources", func(t *testing.T) {
		w.create("w")
		w.registerWith(manager, func(webhook *admissionregistrationv1.ValidatingWebhook) {
			url := "https://" + manager.address + "/validate-custom"
			webhook.ClientConfig.URL = &url
		}, func() error { return wantRefusal(w.patch(cluster.client, "class", `"silver"`, metav1.DryRunAll)) })
		checkCause(t, w.patch(cluster.client, "class", `"silver"`), "spec.class", "it is locked")
		checkCause(t, w.patch(cluster.client, "size", "4"), "", "it is free")
		if got := w.get("w"); at(got, "spec", "class") != "gold" || at(got, "spec", "size") != int64(4) {
			t.Errorf("stored is %v", got.Object["spec"])
		}
	})
}

// startManager builds the manager and starts it with the locks of Deployments and of the world's CRD.
func startManager(t *testing.T, w *world) *hook {
	t.Helper()
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bundle := writeCertificate(t, dir, "tls.crt", "tls.key")
	deployments, crd := filepath.Join(dir, "deployments.json"), filepath.Join(dir, "crd.json")
	for file, data := range map[string][]byte{deployments: []byte(deploymentLocks), crd: mustJSON(w.read("widgets.yaml"))} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process, err := startProcess("the manager", filepath.Join(cluster.dir, "attached"), buildProgram(t, "..", "./validator/manager"),
		"-kubeconfig", writeKubeconfig(t, cluster.config), "-port", fmt.Sprint(ports[0]), "-cert-dir", dir,
		"-deployments", deployments, "-crd", crd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.stop()
		if t.Failed() {
			t.Logf("the log of the manager ends with:\n%s", process.log.String())
		}
	})
	return &hook{t: t, address: fmt.Sprintf("127.0.0.1:%d", ports[0]), bundle: bundle}
}

// wantRefusal is the probe of a webhook that refuses the update which ended with err. An answer of another kind, such
// as that nobody listens yet, is none of the webhook's.
func wantRefusal(err error) error {
	if !apierrors.IsInvalid(err) {
		return fmt.Errorf("%w, and the update ended with: %v", errNotCalled, err)
	}
	return nil
}

// checkCause holds the answer to an update against the field of its only cause; "" where the update is allowed.
func checkCause(t *testing.T, err error, field, reason string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("%v, want no refusal: %s", err, reason)
		}
		return
	}
	var status *apierrors.StatusError
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details == nil {
		t.Errorf("%v, want 422 Invalid: %s", err, reason)
		return
	}
	if causes := status.ErrStatus.Details.Causes; len(causes) != 1 || causes[0].Field != field {
		t.Errorf("the causes are %v, want one for %s: %s", causes, field, reason)
	}
}

// deployment is a Deployment with fields, a JSON object, merged into its spec.
func deployment(t *testing.T, name, fields string) *unstructured.Unstructured {
	t.Helper()
	spec, err := jsonpatch.MergePatch([]byte(`{"selector": {"matchLabels": {"app": "a"}},
		"template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}`), []byte(fields))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(spec, &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "labels": map[string]any{"for": "validator"}},
		"spec": numbers(object),
	}}
}
