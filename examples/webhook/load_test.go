package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// load is one row of the table that TestLoad prints.
type load struct {
	name     string
	bytes    int  // of an object
	requests int  // sent over TLS
	allowed  bool // the update keeps the locks
}

var loads = []load{
	{"2 KB, allowed", 2_000, 2000, true},
	{"2 KB, refused", 2_000, 1000, false},
	{"230 KB, allowed", 230_000, 200, true},
	{"230 KB, refused", 230_000, 60, false},
}

// clients send at the same time, each one request after the other, over TLS and HTTP/2 as an API server does.
const clients = 4

// TestLoad drives the handler, and one that decodes both objects and compares, with the same AdmissionReviews in one
// run. It prints what it measures and judges only what does not depend on the machine: the answers, and the memory that
// an allowed request takes.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	ours := newHandler(t)
	t.Logf("%-16s %-20s %9s %9s %9s %9s %10s %9s", "", "", "req/s", "p50 ms", "p99 ms", "allocs", "KB", "heap MB")
	for _, l := range loads {
		body := l.review(t)
		var memory [2]int64
		for i, h := range []struct {
			name    string
			handler http.Handler
		}{{"fieldlock", ours}, {"decode and compare", http.HandlerFunc(decodeAndCompare)}} {
			perRequest := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					serveOne(h.handler, body)
				}
			})
			memory[i] = perRequest.AllocedBytesPerOp()
			r := l.run(t, h.handler, body)
			t.Logf("%-16s %-20s %9.0f %9.2f %9.2f %9d %10.1f %9.1f", l.name, h.name, r.rate, r.p50, r.p99,
				perRequest.AllocsPerOp(), float64(memory[i])/1000, float64(r.heap)/1e6)
		}
		if l.allowed && memory[0]*2 > memory[1] {
			t.Errorf("%s: the handler takes %d bytes a request, decoding %d: less than half is expected", l.name, memory[0], memory[1])
		}
	}
}

// BenchmarkHandler measures one request without a network, in the two handlers.
func BenchmarkHandler(b *testing.B) {
	ours := newHandler(b)
	for _, l := range loads {
		body := l.review(b)
		for _, h := range []struct {
			name    string
			handler http.Handler
		}{{"fieldlock", ours}, {"decode and compare", http.HandlerFunc(decodeAndCompare)}} {
			b.Run(l.name+"/"+h.name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					serveOne(h.handler, body)
				}
			})
		}
	}
}

func newHandler(t testing.TB) http.Handler {
	data, err := os.ReadFile("../../testdata/admission/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := loader.New().Read("crds.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete()
	handler, err := admission.NewHandler(registry)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// decodeAndCompare is what one writes by hand for the same locks: decode the review and both objects, look at the
// locked fields.
func decodeAndCompare(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	var is, was map[string]any
	if utiljson.Unmarshal(review.Request.Object.Raw, &is) != nil || utiljson.Unmarshal(review.Request.OldObject.Raw, &was) != nil || !sameLocked(is, was) {
		response.Allowed = false
		response.Result = &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "field is immutable"}
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func sameLocked(is, was map[string]any) bool {
	spec := func(o map[string]any) map[string]any { s, _ := o["spec"].(map[string]any); return s }
	for _, name := range []string{"class", "token", "size"} {
		if !reflect.DeepEqual(spec(is)[name], spec(was)[name]) {
			return false
		}
	}
	zones := func(o map[string]any) map[any]any {
		zones := map[any]any{}
		nodes, _ := spec(o)["nodes"].([]any)
		for _, n := range nodes {
			node, _ := n.(map[string]any)
			zones[node["name"]] = node["zone"]
		}
		return zones
	}
	old := zones(was)
	for name, zone := range zones(is) {
		if there, ok := old[name]; ok && there != zone {
			return false
		}
	}
	return reflect.DeepEqual(spec(is)["labels"], spec(was)["labels"])
}

// review is a review of the suite with nodes in both objects until each has about l.bytes. The new one has another note
// and generation; in a refused one the zone of the last node differs.
func (l load) review(t testing.TB) []byte {
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
		object := request[side].(map[string]any)
		var nodes []any
		for range max(1, (l.bytes-1000)/225) { // 225 bytes a node, 1,000 for the rest of the object
			nodes = append(nodes, map[string]any{
				"name": fmt.Sprintf("node-%05d", len(nodes)), "zone": "zone-" + string(rune('a'+len(nodes)%3)), "image": "disk-2026-03-01",
				"addresses": []any{fmt.Sprintf("10.%d.%d.1", len(nodes)/250, len(nodes)%250)},
				"taints":    []any{map[string]any{"key": "dedicated", "value": "database", "effect": "NoSchedule"}},
				"ready":     true, "weight": len(nodes), "note": "a node of the pool that holds the database",
			})
		}
		if side == "object" && !l.allowed {
			nodes[len(nodes)-1].(map[string]any)["zone"] = "elsewhere"
		}
		object["spec"].(map[string]any)["nodes"] = nodes
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func serveOne(handler http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// result is what one load measures.
type result struct {
	rate     float64 // requests a second, of all clients
	p50, p99 float64 // milliseconds
	heap     uint64  // the most bytes in objects that were seen, of server and clients
}

func (l load) run(t *testing.T, handler http.Handler, body []byte) result {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()

	want := fmt.Sprintf(`"allowed":%v`, l.allowed)
	times := make([][]time.Duration, clients)
	stop, sampled := make(chan struct{}), make(chan uint64)
	go sampleHeap(stop, sampled)
	start := time.Now()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for range l.requests / clients {
				begin := time.Now()
				r, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || !strings.Contains(string(answer), want) {
					t.Errorf("%s: %v, %s: %s is expected", l.name, err, answer, want)
					return
				}
				times[i] = append(times[i], time.Since(begin))
			}
		})
	}
	group.Wait()
	elapsed := time.Since(start)
	close(stop)
	all := slices.Concat(times...)
	if len(all) == 0 {
		t.Fatal("no request was answered")
	}
	slices.Sort(all)
	at := func(q int) float64 { return float64(all[(len(all)-1)*q/100].Microseconds()) / 1000 }
	return result{rate: float64(len(all)) / elapsed.Seconds(), p50: at(50), p99: at(99), heap: <-sampled}
}

// sampleHeap sends the most bytes in heap objects that it saw until stop.
func sampleHeap(stop <-chan struct{}, result chan<- uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var most uint64
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(sample)
		most = max(most, sample[0].Value.Uint64())
		select {
		case <-stop:
			result <- most
			return
		case <-tick.C:
		}
	}
}
