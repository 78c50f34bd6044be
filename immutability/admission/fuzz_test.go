package admission_test

import (
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

// FuzzReview: every body gets a well-formed answer, and no update that changes the class of a Cluster is allowed, as
// far as a plain decoder can tell.
func FuzzReview(f *testing.F) {
	body := string((&reviewCase{Request: map[string]any{"object": map[string]any{"spec": map[string]any{"class": "silver"}}}}).body(f))
	for _, seed := range []string{
		body,
		strings.Replace(body, `"silver"`, `null`, 1),
		strings.Replace(body, `"class":"silver",`, ``, 1),
		strings.Replace(body, `"spec":`, `"spec":{},"spec":`, 1),
		strings.Replace(body, `"spec":`, `"\u0073pec":`, 1),
		strings.Replace(body, `"oldObject":{`, `"oldObject":[{`, 1),
		strings.Replace(body, `"UPDATE"`, `"CREATE"`, 1),
		strings.Replace(body, `"clusters"`, `"notes"`, 1),
		strings.Replace(body, `"Cluster"`, `"Note"`, 1),
		`{"request":{"uid":"u"}}`, ``, `[]`, `null`,
	} {
		f.Add(seed)
	}
	handler, err := admission.NewHandler(newRegistry(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Response == nil || answer.Kind != "AdmissionReview" {
			t.Fatalf("%v: %s is no answer", err, w.Body)
		}
		if !answer.Response.Allowed {
			if answer.Response.Result == nil || answer.Response.Result.Code < 400 {
				t.Fatalf("a refusal without a reason: %s", w.Body)
			}
			return
		}
		if w.Code != 200 || answer.Response.UID == "" {
			t.Fatalf("%d: an allowed request has a uid: %s", w.Code, w.Body)
		}
		var review struct{ Request map[string]any }
		if utiljson.Unmarshal([]byte(body), &review) != nil {
			return // no JSON in a part that the answer does not depend on
		}
		if review.Request["operation"] == "UPDATE" && isCluster(review.Request) && !reflect.DeepEqual(class(review.Request["object"]), class(review.Request["oldObject"])) {
			t.Fatalf("the class of a Cluster may change: %s", body)
		}
	})
}

func isCluster(request map[string]any) bool {
	kind, _ := request["kind"].(map[string]any)
	resource, _ := request["resource"].(map[string]any)
	return kind["group"] == "example.dev" && kind["version"] == "v1" && kind["kind"] == "Cluster" || resource["group"] == "example.dev" && resource["version"] == "v1" && resource["resource"] == "clusters"
}

// class is spec.class of an object, with whether it is there.
func class(object any) any {
	o, _ := object.(map[string]any)
	spec, ok := o["spec"].(map[string]any)
	if !ok {
		return nil // a spec that comes or goes as a whole takes its locks along
	}
	value, ok := spec["class"]
	return []any{value, ok}
}
