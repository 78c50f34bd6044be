package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
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
	eventually(t, "the webhook is ready", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the webhook ended before it was ready: %v", err)
		default:
		}
		return get(health+"/readyz") != ""
	})
	if get(health+"/healthz") == "" {
		t.Error("ready, and not healthy")
	}

	if text, allowed := hook.review("class"); allowed || !strings.Contains(text, "field is immutable") {
		t.Errorf("the locked class may change: %s", text)
	}
	if text, allowed := hook.review("note"); !allowed {
		t.Errorf("the unlocked note may not change: %s", text)
	}

	if text, allowed := hook.reviewCRD("{"); allowed || !strings.Contains(text, "fieldlock.dev/locks") {
		t.Errorf("a broken annotation is not refused: %s", text)
	}
	if text, allowed := hook.reviewCRD(`{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}`); !allowed || !strings.Contains(text, "v1beta1 leaves free") {
		t.Errorf("a good annotation with a gap is not taken with a warning: %s", text)
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
		`fieldlock_admission_violations_total{group="example.dev",kind="Cluster",lock="immutable",version="v1"}`,
		`fieldlock_admission_locked_fields{group="example.dev",kind="Cluster",version="v1"} 1`,
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
		{"all", "every flag is read", []string{"-mode", "warn", "-failure-policy", "ignore", "-status-code", "400", "-exempt-deleting", "-exempt-dry-run", "a", "-exempt-user", "a", "-exempt-user", "b", "-exempt-group", "c", "-client-ca", "ca.crt"}, true},
		{"mode", "no such mode", []string{"-mode", "off"}, false},
		{"gaps", "no such way", []string{"-version-gaps", "maybe"}, false},
		{"kubeconfig", "for a webhook outside the cluster", []string{"-kubeconfig", "/tmp/config", "-version-gaps", "enforce", "-ready-with-faults"}, true},
		{"policy", "no such policy", []string{"-failure-policy", "Maybe"}, false},
		{"argument", "a forgotten dash would be a lost setting", []string{"mode=warn"}, false},
	} {
		if _, err := parse(row.args); (err == nil) != row.ok {
			t.Errorf("%s: %v: %s", row.name, err, row.reason)
		}
	}
}

func TestHelp(t *testing.T) {
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v; main takes flag.ErrHelp for success", err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
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
