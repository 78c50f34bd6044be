package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestStartWithoutAPIServer: a webhook that starts while the API server is down refuses what it does not know, and
// loads the locks when the server is back.
func TestStartWithoutAPIServer(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	ports := freePorts(t, 4)
	certs := t.TempDir()
	writeCert(t, certs, 1)
	s, err := parse([]string{"-port", ports[0], "-cert-dir", certs, "-health-addr", "127.0.0.1:" + ports[1], "-metrics-addr", "127.0.0.1:" + ports[2]})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, &rest.Config{Host: "http://127.0.0.1:" + ports[3]}, s) }()
	hook := &hookClient{t: t, url: "https://127.0.0.1:" + ports[0] + path}
	eventually(t, "the webhook serves", func() bool { return hook.serial() == 1 })
	if text, allowed := hook.review("note"); allowed || !strings.Contains(text, "not all kinds are loaded") {
		t.Errorf("an update is allowed while no locks are known: %s", text)
	}
	ready := "http://127.0.0.1:" + ports[1] + "/readyz"
	if get(ready) != "" {
		t.Error("the webhook is ready without the locks")
	}

	c := newUnstartedCluster()
	crd := clusterCRD(t)
	crd.Annotations = map[string]string{"fieldlock.dev/locks": `{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}`}
	c.put(crd)
	listener, err := net.Listen("tcp", "127.0.0.1:"+ports[3])
	if err != nil {
		t.Fatal(err)
	}
	c.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: c}}
	c.server.Start()
	t.Cleanup(c.server.Close)
	t.Cleanup(c.server.CloseClientConnections)
	eventually(t, "the webhook is ready", func() bool { return get(ready) != "" })
	if text, allowed := hook.review("class"); allowed || !strings.Contains(text, "field is immutable") {
		t.Errorf("the locked class may change: %s", text)
	}
	if text, allowed := hook.review("note"); !allowed {
		t.Errorf("the unlocked note may not change: %s", text)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the webhook ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the webhook does not end")
	}
}
