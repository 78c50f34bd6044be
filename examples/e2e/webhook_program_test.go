package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// TestWebhookProgram runs the example webhook as people do outside a cluster: its binary, with -kubeconfig, called by
// url. The API server that it watches is the test's own, so that the test can stop it; both servers share an etcd and
// call the webhook.
func TestWebhookProgram(t *testing.T) {
	w := newWorld(t, "widgets.yaml")
	w.create("w")
	server := newOwnServer(t)
	program := startWebhook(t, server.config)

	t.Run("starts while the API server is down", func(t *testing.T) {
		if program.get("/healthz") != http.StatusOK {
			t.Error("the webhook is not alive: it would be restarted, which does not help")
		}
		if status := program.get("/readyz"); status == http.StatusOK {
			t.Error("the webhook is ready without the locks")
		}
		if answer := program.review(t, w); answer.Allowed || !strings.Contains(answer.Result.Message, "not all kinds are loaded") {
			t.Errorf("an update is not refused while no locks are known: %+v", answer)
		}
	})
	server.start(t)
	w.eventually("the webhook is ready", func() error { return wantStatus(program.get("/readyz"), http.StatusOK) })

	enforced := &hook{t: t, address: program.address, bundle: program.bundle}
	w.registerWith(enforced, func(webhook *admissionregistrationv1.ValidatingWebhook) {
		root := "https://" + program.address + "/"
		webhook.ClientConfig.URL = &root
		for _, rule := range webhook.Rules { // the one kind that is enforced, with its subresources
			rule.Resources = []string{"widgets", "widgets/*"}
		}
	}, func() error {
		if err := w.patch(cluster.client, "class", `"silver"`, metav1.DryRunAll); err == nil {
			return errNotCalled
		}
		return nil
	})
	t.Run("enforces", func(t *testing.T) {
		checkVerdict(t, w.patch(server.client, "class", `"silver"`), []string{"spec.class"})
		checkVerdict(t, w.patch(server.client, "size", "4"), nil)
		if got := w.get("w"); at(got, "spec", "class") != "gold" || at(got, "spec", "size") != int64(4) {
			t.Errorf("stored is %v", got.Object["spec"])
		}
		if page := program.page("/metrics"); !strings.Contains(page, `fieldlock_admission_violations_total{group="`+w.group+`",kind="Widget",lock="immutable",version="v1"}`) {
			t.Errorf("the metrics do not count the refusal:\n%s", page)
		}
	})
	t.Run("API server restarts", func(t *testing.T) {
		server.stop()
		checkVerdict(t, w.patch(cluster.client, "class", `"silver"`), []string{"spec.class"})
		checkVerdict(t, w.patch(cluster.client, "size", "5"), nil)
		w.replaceCRD(w.lockOnly("size"))
		checkVerdict(t, w.patch(cluster.client, "class", `"silver"`), []string{"spec.class"}) // the locks it knows

		server.start(t)
		w.eventually("the locks of the changed CRD are enforced", func() error {
			return wantStatus(program.locked(w, "size"), http.StatusUnprocessableEntity)
		})
		checkVerdict(t, w.patch(server.client, "size", "6"), []string{"spec.size"})
		checkVerdict(t, w.patch(server.client, "class", `"silver"`), nil)
	})
	t.Run("refuses a CRD with locks that cannot be read", func(t *testing.T) {
		w.checkBrokenLocks(t, program)
	})
	t.Run("ends", func(t *testing.T) {
		if err := program.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-program.done:
		case <-time.After(patience):
			t.Fatalf("the webhook does not end with SIGTERM; its log ends with:\n%s", program.log.String())
		}
		if status := program.cmd.ProcessState.ExitCode(); status != 0 {
			t.Errorf("the webhook ended with %d; its log ends with:\n%s", status, program.log.String())
		}
	})
	t.Run("flags", func(t *testing.T) {
		help, err := exec.CommandContext(t.Context(), program.binary, "-h").CombinedOutput()
		if err != nil || !bytes.Contains(help, []byte("-kubeconfig")) {
			t.Errorf("-h: %v\n%s", err, help)
		}
		var exit *exec.ExitError
		if out, err := exec.CommandContext(t.Context(), program.binary, "-mode", "strict").CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("a wrong -mode: %v\n%s", err, out)
		}
	})
}

// ownServer is a kube-apiserver on the cluster's etcd that a test stops and starts again at the same address.
type ownServer struct {
	port         int
	certificates string
	config       *rest.Config
	client       dynamic.Interface
	process      *process
}

// newOwnServer returns a server that does not run yet. Its certificate is there, for those who want to know how to
// reach it.
func newOwnServer(t *testing.T) *ownServer {
	t.Helper()
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	s := &ownServer{port: ports[0], certificates: t.TempDir()}
	writeCertificate(t, s.certificates, "apiserver.crt", "apiserver.key")
	s.config = adminConfig(s.port, s.certificates)
	s.client = dynamic.NewForConfigOrDie(s.config)
	t.Cleanup(s.stop)
	return s
}

func (s *ownServer) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	var err error
	if s.process, err = startAPIServer(ctx, s.port, s.certificates); err != nil {
		t.Fatal(err)
	}
}

func (s *ownServer) stop() {
	if s.process != nil {
		s.process.stop()
	}
}

// webhookProgram is the example webhook as a process beside the tests.
type webhookProgram struct {
	*process
	binary, address string
	bundle          []byte // verifies its certificate
	health, metrics string
	client          *http.Client
}

// startWebhook builds the example webhook and starts it, and waits until it serves.
func startWebhook(t *testing.T, config *rest.Config) *webhookProgram {
	t.Helper()
	ports, err := freePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir()
	p := &webhookProgram{
		binary:  buildProgram(t, "..", "./webhook"),
		address: fmt.Sprintf("127.0.0.1:%d", ports[0]),
		health:  fmt.Sprintf("127.0.0.1:%d", ports[1]),
		metrics: fmt.Sprintf("127.0.0.1:%d", ports[2]),
		bundle:  writeCertificate(t, certs, "tls.crt", "tls.key"),
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.bundle)
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	p.process, err = startProcess("the webhook", filepath.Join(cluster.dir, "attached"), p.binary,
		"-kubeconfig", writeKubeconfig(t, config), "-port", fmt.Sprint(ports[0]), "-cert-dir", certs,
		"-health-addr", p.health, "-metrics-addr", p.metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.await(ctx, func(context.Context) error { return wantStatus(p.get("/healthz"), http.StatusOK) }); err != nil {
		t.Fatal(err)
	}
	return p
}

// writeCertificate writes a certificate for 127.0.0.1 into a folder and returns what verifies it.
func writeCertificate(t *testing.T, dir, certName, keyName string) []byte {
	t.Helper()
	cert, bundle := selfSigned(t)
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{certName: bundle, keyName: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return bundle
}

// get returns the status of /healthz or /readyz; 0 if nobody answers.
func (p *webhookProgram) get(path string) int {
	r, err := http.Get("http://" + p.health + path)
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	return r.StatusCode
}

// page returns the metrics.
func (p *webhookProgram) page(path string) string {
	r, err := http.Get("http://" + p.metrics + path)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	return string(body)
}

// review sends an update of a widget as an API server would, one that changes nothing.
func (p *webhookProgram) review(t *testing.T, w *world) *admissionv1.AdmissionResponse {
	t.Helper()
	object := runtime.RawExtension{Raw: mustJSON(w.widget("w").Object)}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Operation: admissionv1.Update, Name: "w", Namespace: "default", Object: object, OldObject: object,
			Kind:     metav1.GroupVersionKind{Group: w.group, Version: "v1", Kind: "Widget"},
			Resource: metav1.GroupVersionResource{Group: w.group, Version: "v1", Resource: "widgets"},
		},
	}
	r, err := p.client.Post("https://"+p.address+"/", "application/json", bytes.NewReader(mustJSON(review)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Response == nil {
		t.Fatalf("the answer cannot be read as a review: %v", err)
	}
	return answer.Response
}

// locked returns the status of a dry run that changes a field of spec; 0 where it is allowed.
func (p *webhookProgram) locked(w *world, field string) int32 {
	var status interface{ Status() metav1.Status }
	if err := w.patch(cluster.client, field, "77", metav1.DryRunAll); errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

func wantStatus[T int | int32](got, want T) error {
	if got != want {
		return fmt.Errorf("the status is %d, want %d", got, want)
	}
	return nil
}

// patch changes a field of the spec of the widget w through an API server.
func (w *world) patch(client dynamic.Interface, field, value string, dryRun ...string) error {
	widgets := schema.GroupVersionResource{Group: w.group, Version: "v1", Resource: "widgets"}
	_, err := client.Resource(widgets).Namespace("default").
		Patch(w.ctx, "w", types.MergePatchType, fmt.Appendf(nil, `{"spec": {%q: %s}}`, field, value), metav1.PatchOptions{DryRun: dryRun})
	return err
}

// lockOnly returns the CRD of the world with one lock, on a field of spec.
func (w *world) lockOnly(field string) map[string]any {
	document := w.read("widgets.yaml")
	var unlock func(v any)
	unlock = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range []string{"x-kubernetes-immutable", "x-kubernetes-immutable-keys", "x-kubernetes-addition-only", "x-kubernetes-deletion-only", "x-fieldlock-update"} {
				delete(v, key)
			}
			for _, below := range v {
				unlock(below)
			}
		case []any:
			for _, below := range v {
				unlock(below)
			}
		}
	}
	unlock(document)
	v := any(document)
	for _, step := range []any{"spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec", "properties", field} {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	v.(map[string]any)["x-kubernetes-immutable"] = true
	return document
}

// checkBrokenLocks has the webhook review CRDs too, and changes the annotation of the world's CRD.
func (w *world) checkBrokenLocks(t *testing.T, program *webhookProgram) {
	t.Helper()
	name := "widgets." + w.group
	annotate := func(value string, dryRun ...string) error {
		patch := mustJSON(map[string]any{"metadata": map[string]any{"annotations": map[string]string{crd.AnnotationKey: value}}})
		_, err := cluster.client.Resource(crdResource).Patch(w.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dryRun})
		return err
	}
	reviewer := &hook{t: t, address: program.address, bundle: program.bundle}
	w.registerWith(reviewer, func(webhook *admissionregistrationv1.ValidatingWebhook) {
		webhook.Name = "crds." + w.group
		url := "https://" + program.address + "/crds"
		webhook.ClientConfig.URL = &url
		webhook.Rules[0].Rule = admissionregistrationv1.Rule{APIGroups: []string{crdResource.Group}, APIVersions: []string{"*"}, Resources: []string{crdResource.Resource}}
		webhook.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "one-crd", Expression: "object.metadata.name == '" + name + "'"}}
	}, func() error {
		if err := annotate("{", metav1.DryRunAll); err == nil {
			return errNotCalled
		}
		return nil
	})
	for _, c := range []struct{ value, want string }{
		{`{"v1": {"/properties/spec/properties/none": {"x-kubernetes-immutable": true}}}`, "none"},
		{`{"v1": {"/properties/spec/properties/size": {"x-kubernetes-imutable": true}}}`, "x-kubernetes-imutable"},
	} {
		if err := annotate(c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the annotation %s: got %v, want a refusal that names %s", c.value, err, c.want)
		}
	}
	if err := annotate(`{"v1": {"/properties/spec/properties/size": {"x-kubernetes-immutable": true}}}`); err != nil {
		t.Errorf("a good annotation is refused: %v", err)
	}
	if got := program.locked(w, "size"); got != http.StatusUnprocessableEntity {
		t.Errorf("the lock on size is not in force any more: %v", got)
	}
}
