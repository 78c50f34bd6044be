package admission_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
)

// BenchmarkHandler measures a review from its body to its answer, of an update that is allowed and of one that is
// refused.
func BenchmarkHandler(b *testing.B) {
	var s spec.Schema
	if err := s.UnmarshalJSON([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"class": {"type": "string", "x-kubernetes-immutable": true}, "tags": {"type": "array", "items": {"type": "string"}}}}}}`)); err != nil {
		b.Fatal(err)
	}
	kind := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	registry := &admission.Registry{}
	registry.Put(admission.Kind{GroupKind: kind, Resource: "things", Versions: map[string]admission.Version{"v1": {Validator: immutability.MustCompile(&s)}}})
	registry.SetComplete()
	handler, err := admission.NewHandler(registry)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10, 1_000} {
		object := func(class string) string {
			return `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"class":"` + class + `","tags":["` + strings.Repeat(`tag","`, n) + `end"]}}`
		}
		for _, verdict := range []string{"allowed", "refused"} {
			review := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE","name":"a",
				"kind":{"group":"example.com","version":"v1","kind":"Thing"},"resource":{"group":"example.com","version":"v1","resource":"things"},
				"object":` + object(verdict) + `,"oldObject":` + object("allowed") + `}}`)
			b.Run(fmt.Sprintf("route=webhook/n=%d/verdict=%s", n, verdict), func(b *testing.B) {
				b.SetBytes(int64(len(review)))
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(review))
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					handler.ServeHTTP(w, r)
					if allowed := strings.Contains(w.Body.String(), `"allowed":true`); allowed != (verdict == "allowed") {
						b.Fatal(w.Body)
					}
				}
			})
		}
	}
}
