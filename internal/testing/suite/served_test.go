package suite_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/apiserver"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

var (
	servedKind     = schema.GroupVersionKind{Group: suite.Group, Version: suite.Version, Kind: suite.Kind}
	servedResource = schema.GroupVersionResource{Group: suite.Group, Version: suite.Version, Resource: "cases"}
)

// server answers an update as an API server's clients see it: nil when it is admitted.
type server struct {
	name   string
	update func(t *testing.T, newJSON, oldJSON []byte) *metav1.Status
}

// TestSuitesServed sends every update of testdata/suites through the webhook, as the text of an AdmissionReview, and
// through the API server's plugin. What a suite allows is admitted; what it refuses is refused at the same fields.
// Suites with defaults are left out: an API server prepares the objects before it asks.
func TestSuitesServed(t *testing.T) {
	suites, err := suite.Load(os.DirFS("../../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, s := range suites {
		if s.Defaults {
			continue
		}
		for _, server := range servers(t, &s) {
			for _, c := range s.Cases {
				// The webhook refuses a document with a member twice, as it cannot know which one the API server takes.
				if server.name == "webhook" && strings.HasPrefix(c.Name, "doubled member") {
					continue
				}
				ran++
				t.Run(s.String()+"/"+c.Name+"/"+server.name, func(t *testing.T) {
					got := refusedFields(server.update(t, c.NewDocument(), c.OldDocument()))
					want := []string{}
					for _, v := range c.Violations {
						want = append(want, v.Path)
					}
					if !slices.Equal(got, want) {
						t.Errorf("refused at %q, want %q: %s", got, want, c.Reason)
					}
				})
			}
		}
	}
	if ran < 2*100 {
		t.Errorf("only %d cases ran", ran)
	}
}

func servers(t *testing.T, s *suite.Suite) []server {
	t.Helper()
	kinds, err := loader.New(options(s)...).Read("suite.yaml", document(t, s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete()
	handler, err := admission.NewHandler(registry)
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := apiserver.NewPlugin(registry)
	if err != nil {
		t.Fatal(err)
	}
	interfaces := k8sadmission.NewObjectInterfacesFromScheme(runtime.NewScheme())
	return []server{
		{"webhook", func(t *testing.T, newJSON, oldJSON []byte) *metav1.Status {
			return review(t, handler, newJSON, oldJSON)
		}},
		{"plugin", func(t *testing.T, newJSON, oldJSON []byte) *metav1.Status {
			newObj := &unstructured.Unstructured{Object: decode(t, newJSON)}
			oldObj := &unstructured.Unstructured{Object: decode(t, oldJSON)}
			newObj.SetGroupVersionKind(servedKind)
			oldObj.SetGroupVersionKind(servedKind)
			err := plugin.Validate(t.Context(), k8sadmission.NewAttributesRecord(
				newObj, oldObj, servedKind, "ns", "x", servedResource, "", k8sadmission.Update, nil, false, nil), interfaces)
			if err == nil {
				return nil
			}
			refusal, ok := err.(apierrors.APIStatus)
			if !ok {
				t.Fatal(err)
			}
			status := refusal.Status()
			return &status
		}},
	}
}

// review posts the update to the handler, with the texts of both objects as they are.
func review(t *testing.T, handler http.Handler, newJSON, oldJSON []byte) *metav1.Status {
	t.Helper()
	request := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Name: "x", Namespace: "ns", Operation: admissionv1.Update,
			Kind:     metav1.GroupVersionKind(servedKind),
			Resource: metav1.GroupVersionResource(servedResource),
		},
	}
	text, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	// json.Marshal would write the objects anew: 1.0 and doubled members would be lost.
	text = bytes.Replace(text, []byte(`"object":null`), append([]byte(`"object":`), identified(newJSON)...), 1)
	text = bytes.Replace(text, []byte(`"oldObject":null`), append([]byte(`"oldObject":`), identified(oldJSON)...), 1)
	post := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(text))
	post.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, post)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
		t.Fatalf("HTTP %d: %s", recorder.Code, recorder.Body)
	}
	if answer.Response.Allowed {
		return nil
	}
	return answer.Response.Result
}

// identified returns the text of an object with its apiVersion and kind in front.
func identified(object []byte) []byte {
	members := bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{"))
	text := `{"apiVersion":"` + suite.Group + "/" + suite.Version + `","kind":"` + suite.Kind + `"`
	if !bytes.HasPrefix(bytes.TrimSpace(members), []byte("}")) {
		text += ","
	}
	return append([]byte(text), members...)
}

// refusedFields returns the fields that a refusal names, [] for nil.
func refusedFields(s *metav1.Status) []string {
	fields := []string{}
	if s == nil {
		return fields
	}
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return append(fields, s.Message)
	}
	for _, cause := range s.Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}
