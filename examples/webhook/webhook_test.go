package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"
)

// patience is how long a test waits for what has to happen; it fails when it does not, and never depends on it.
const patience = 30 * time.Second

// TestWebhook runs the whole webhook against a cluster: start, reload, a broken annotation, new certificates, and an
// end that answers what is in flight.
func TestWebhook(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	c := newCluster(t)
	crd := clusterCRD(t)
	lock := func(field string) {
		crd.Annotations = map[string]string{"fieldlock.dev/locks": `{"v1":{"/properties/spec/properties/` + field + `":{"x-kubernetes-immutable":true}}}`}
		c.put(crd)
	}
	lock("class")

	certs := t.TempDir()
	writeCert(t, certs, 1)
	ports := freePorts(t, 3)
	s, err := parse([]string{"-port", ports[0], "-cert-dir", certs, "-health-addr", "127.0.0.1:" + ports[1], "-metrics-addr", "127.0.0.1:" + ports[2]})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, c.config(), s) }()
	t.Cleanup(stop)

	hook := &hookClient{t: t, url: "https://127.0.0.1:" + ports[0] + path}
	health := "http://127.0.0.1:" + ports[1]
	eventually(t, "the webhook is ready", func() bool { return get(health+"/readyz") != "" })
	if get(health+"/healthz") == "" {
		t.Error("ready, and not healthy")
	}

	if text, allowed := hook.review("class"); allowed || !strings.Contains(text, "field is immutable") {
		t.Errorf("the locked class may change: %s", text)
	}
	if text, allowed := hook.review("note"); !allowed {
		t.Errorf("the unlocked note may not change: %s", text)
	}

	lock("note")
	eventually(t, "the new lock holds", func() bool { _, allowed := hook.review("note"); return !allowed })
	if text, allowed := hook.review("class"); !allowed {
		t.Errorf("the old lock still holds: %s", text)
	}

	crd.Annotations["fieldlock.dev/locks"] = "{"
	c.put(crd)
	metrics := "http://127.0.0.1:" + ports[2] + "/metrics"
	eventually(t, "the fault is counted", func() bool { return strings.Contains(get(metrics), "fieldlock_admission_kinds_with_faults 1") })
	if text, allowed := hook.review("note"); allowed {
		t.Errorf("a broken annotation takes the last good locks away: %s", text)
	}

	lock("class")
	eventually(t, "the repaired locks hold", func() bool { _, allowed := hook.review("class"); return !allowed })
	rival := clusterCRD(t)
	rival.Name, rival.Spec.Names.Plural = "rivals.example.dev", "rivals"
	rival.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{}
	c.put(rival)
	other := clusterCRD(t) // comes after the rival in the same watch, so the rival has been seen when this one has
	other.Name, other.Spec.Group = "clusters.example.org", "example.org"
	other.Annotations = map[string]string{"fieldlock.dev/locks": "{"}
	c.put(other)
	eventually(t, "a later CRD is seen", func() bool { return strings.Contains(get(metrics), "fieldlock_admission_kinds_with_faults 1") })
	if text, allowed := hook.review("class"); allowed {
		t.Errorf("a CRD that claims the kind of another one takes its locks away: %s", text)
	}

	text := get(metrics)
	for _, want := range []string{
		`fieldlock_admission_requests_total{decision="refused",dry_run="false",group="example.dev",kind="Cluster",operation="UPDATE",version="v1"}`,
		`fieldlock_admission_requests_total{decision="allowed",dry_run="false",group="example.dev",kind="Cluster",operation="UPDATE",version="v1"}`,
		`fieldlock_admission_violations_total{group="example.dev",kind="Cluster",version="v1"}`,
		`fieldlock_admission_duration_seconds_count`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}

	writeCert(t, certs, 2)
	eventually(t, "the new certificate is served", func() bool { return hook.serial() == 2 })

	c.remove(crd.Name)
	eventually(t, "a deleted CRD has no locks", func() bool { _, allowed := hook.review("class"); return allowed })

	// A request is half sent when the end comes: it is answered, and then the webhook ends.
	answer := hook.half("note", func() {
		stop()
		eventually(t, "no new connections are taken", func() bool { return hook.serial() == 0 })
	})
	if !strings.Contains(answer, `"allowed":true`) {
		t.Errorf("a request in flight at the end: %s", answer)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the webhook ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the webhook does not end")
	}
}

func TestParse(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		args         []string
		ok           bool
	}{
		{"none", "all flags have defaults", nil, true},
		{"all", "every flag is read", []string{"-mode", "warn", "-failure-policy", "ignore", "-status-code", "400", "-exempt-deleting", "-exempt-dry-run", "a", "-exempt-user", "a", "-exempt-user", "b", "-exempt-group", "c", "-import-cel", "-client-ca", "ca.crt"}, true},
		{"mode", "no such mode", []string{"-mode", "off"}, false},
		{"policy", "no such policy", []string{"-failure-policy", "Maybe"}, false},
		{"argument", "a forgotten dash would be a lost setting", []string{"mode=warn"}, false},
	} {
		if _, err := parse(row.args); (err == nil) != row.ok {
			t.Errorf("%s: %v: %s", row.name, err, row.reason)
		}
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
	}
}

// get returns the body of a page that answers 200, else "".
func get(url string) string {
	r, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

type hookClient struct {
	t   *testing.T
	url string
}

var insecure = &tls.Config{InsecureSkipVerify: true} // the test is about which certificate is served, not by whom

// review sends an update that changes one field of spec, over a connection of its own.
func (h *hookClient) review(field string) (text string, allowed bool) {
	h.t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}
	r, err := client.Post(h.url, "application/json", bytes.NewReader(reviewOf(h.t, field)))
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(body), strings.Contains(string(body), `"allowed":true`)
}

// half sends half a review, calls between when the webhook reads it, sends the rest and returns the answer.
func (h *hookClient) half(field string, between func()) string {
	h.t.Helper()
	body := reviewOf(h.t, field)
	host := strings.TrimSuffix(strings.TrimPrefix(h.url, "https://"), path)
	connection, err := tls.Dial("tcp", host, insecure)
	if err != nil {
		h.t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, host, len(body))
	reader := bufio.NewReader(connection)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		h.t.Fatalf("%q, %v: the webhook does not read the body", line, err)
	}
	_, _ = connection.Write(body[:len(body)/2])
	between()
	_, _ = connection.Write(body[len(body)/2:])
	answer, err := io.ReadAll(reader)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(answer)
}

// serial is that of the certificate that is served; 0 when no connection is taken.
func (h *hookClient) serial() int64 {
	connection, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(h.url, "https://"), path), insecure)
	if err != nil {
		return 0
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func reviewOf(t *testing.T, field string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/admission/review.json")
	if err != nil {
		t.Fatal(err)
	}
	var review map[string]any
	if err := json.Unmarshal(data, &review); err != nil {
		t.Fatal(err)
	}
	request := review["request"].(map[string]any)
	for _, side := range []string{"object", "oldObject"} {
		request[side].(map[string]any)["spec"].(map[string]any)["note"] = "first"
	}
	request["object"].(map[string]any)["spec"].(map[string]any)[field] = "other"
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// clusterCRD is the first CRD of the admission suite as a cluster has it: established, and without marks.
func clusterCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile("../../testdata/admission/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := strings.Cut(string(data), "\n---\n")
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
		t.Fatal(err)
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	return &crd
}

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

// writeCert writes a certificate and its key as a mounted Secret has them: a folder that is swapped as a whole.
func writeCert(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "webhook"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, fmt.Sprint("data", serial))
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(data, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if serial == 1 {
			if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := filepath.Join(dir, "next")
	if err := os.Symlink(filepath.Base(data), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}
