package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// hook is an HTTPS server on loopback that the API server calls. It can go away and come back at the same address.
type hook struct {
	t       *testing.T
	handler http.Handler
	cert    tls.Certificate
	bundle  []byte // what its certificate is verified with
	address string
	calls   atomic.Int64

	mu     sync.Mutex
	server *http.Server
}

// newHook starts a server with a certificate of its own authority.
func newHook(t *testing.T, handler http.Handler) *hook {
	t.Helper()
	h := &hook{t: t, handler: handler, address: "127.0.0.1:0"}
	h.cert, h.bundle = selfSigned(t)
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.calls.Add(1)
	h.handler.ServeHTTP(w, r)
}

// start listens at the hook's address, which may need a moment to be free after stop.
func (h *hook) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var l net.Listener
	deadline := time.Now().Add(patience)
	for {
		var err error
		if l, err = net.Listen("tcp", h.address); err == nil {
			break
		}
		if time.Now().After(deadline) {
			h.t.Errorf("listening at %s: %v", h.address, err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.address = l.Addr().String()
	h.server = &http.Server{
		Handler:   h,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{h.cert}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	server := h.server
	go func() {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.t.Errorf("the webhook server ended: %v", err)
		}
	}()
}

// stop closes the server with all its connections, also those in use.
func (h *hook) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.server.Close()
}

// selfSigned returns a certificate for 127.0.0.1 and the PEM bundle that verifies it.
func selfSigned(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "fieldlock e2e"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// locksHandler is fieldlock's handler with the locks of the world.
func (w *world) locksHandler(opts ...admission.Option) http.Handler {
	w.t.Helper()
	h, err := admission.NewHandler(w.registry, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// enforce has fieldlock's webhook called for every create and update of the world's group.
func (w *world) enforce() *hook {
	w.t.Helper()
	h := newHook(w.t, w.locksHandler())
	w.register(h, nil)
	return h
}

// register tells the API server to call h, and waits until it does. edit may change the configuration before.
func (w *world) register(h *hook, edit func(*admissionregistrationv1.ValidatingWebhook)) {
	w.t.Helper()
	w.registerWith(h, edit, func() error {
		before := h.calls.Load()
		_, err := w.widgets().Create(w.ctx, w.widget("probe"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if h.calls.Load() == before {
			return fmt.Errorf("%w, and the create ended with: %v", errNotCalled, err)
		}
		return nil
	})
}

var errNotCalled = errors.New("the webhook was not called")

// registerWith is register with a probe of its own: it sends a request and fails unless h was called.
func (w *world) registerWith(h *hook, edit func(*admissionregistrationv1.ValidatingWebhook), probe func() error) {
	w.t.Helper()
	url := "https://" + h.address + "/locks"
	none, fail, timeout := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, int32(30)
	webhook := admissionregistrationv1.ValidatingWebhook{
		Name:         "locks." + w.group,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: h.bundle},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{w.group}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		}},
		SideEffects:             &none,
		FailurePolicy:           &fail,
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
	}
	if edit != nil {
		edit(&webhook)
	}
	configurations := kubernetes.NewForConfigOrDie(cluster.config).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhook.Name},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{webhook},
	}
	if _, err := configurations.Create(w.ctx, configuration, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("registering the webhook: %v", err)
	}
	w.t.Cleanup(func() {
		if err := configurations.Delete(context.Background(), webhook.Name, metav1.DeleteOptions{}); err != nil {
			w.t.Errorf("removing the webhook: %v", err)
		}
	})
	w.eventually("the webhook is called", probe)
}
