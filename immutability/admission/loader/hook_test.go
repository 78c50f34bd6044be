package loader_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

const (
	goodLocks  = `{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}},"v1beta1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}`
	v1Locks    = `{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":true}}}`
	badPath    = `{"v1":{"/properties/spec/properties/klass":{"x-kubernetes-immutable":true}}}`
	badLock    = `{"v1":{"/properties/spec/properties/class":{"x-kubernetes-immutable":false}}}`
	brokenJSON = `{`
)

// TestHook: a CRD whose locks cannot be read is refused when it is written.
func TestHook(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		operation    string
		newLocks     string
		oldLocks     string
		resource     string // customresourcedefinitions unless set
		version      string // v1 unless set
		allowed      bool
		want         string
	}{
		{"good", "the locks of all versions", "CREATE", goodLocks, "", "", "", true, ""},
		{"no locks", "nothing to read", "CREATE", "", "", "", "", true, ""},
		{"broken JSON", "nobody could tell what is locked", "CREATE", brokenJSON, "", "", "", false, "fieldlock.dev/locks"},
		{"no such field", "a typo would be no lock", "UPDATE", badPath, goodLocks, "", "", false, "klass"},
		{"bad lock", "the schema does not compile", "UPDATE", badLock, goodLocks, "", "", false, "x-kubernetes-immutable"},
		{"broken before", "somebody must be able to label the CRD, or to remove its finalizer", "UPDATE", badPath, badPath, "", "", true, "as before"},
		{"broken in another way", "a new mistake", "UPDATE", badPath, brokenJSON, "", "", false, "klass"},
		{"repaired", "the mistake is gone", "UPDATE", goodLocks, brokenJSON, "", "", true, ""},
		{"gap", "the other served version is a way around the lock", "CREATE", v1Locks, "", "", "", true, "version v1beta1 leaves free what other served versions lock: spec.class"},
		{"delete", "nothing is written", "DELETE", brokenJSON, brokenJSON, "", "", true, ""},
		{"another resource", "the hook is for CRDs", "CREATE", brokenJSON, "", "widgets", "", true, ""},
		{"another version", "its form is not known", "CREATE", goodLocks, "", "", "v1beta1", false, "matchPolicy"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := func(locks string) any {
				crd := clusterObject(t)
				crd.Annotations = map[string]string{"fieldlock.dev/locks": locks}
				if locks == "" {
					crd.Annotations = nil
				}
				return crd
			}
			resource, version := row.resource, row.version
			if resource == "" {
				resource = "customresourcedefinitions"
			}
			if version == "" {
				version = "v1"
			}
			request := map[string]any{
				"uid": "u", "operation": row.operation, "name": "clusters.example.dev",
				"kind":     map[string]any{"group": "apiextensions.k8s.io", "version": version, "kind": "CustomResourceDefinition"},
				"resource": map[string]any{"group": "apiextensions.k8s.io", "version": version, "resource": resource},
				"object":   object(row.newLocks),
			}
			if row.operation == "UPDATE" {
				request["oldObject"] = object(row.oldLocks)
			}
			response := post(t, loader.New().Hook(), request)
			text, _ := json.Marshal(response)
			if response.UID != "u" || response.Allowed != row.allowed || !strings.Contains(string(text), row.want) {
				t.Errorf("%s; want allowed %v with %q: %s", text, row.allowed, row.want, row.reason)
			}
			if reason := map[int32]string{400: "BadRequest", 422: "Invalid"}; !row.allowed && (string(response.Result.Reason) != reason[response.Result.Code] || (len(response.Result.Details.Causes) == 1) != (response.Result.Code == 422)) {
				t.Errorf("the reason of %d is %s, with the causes %v", response.Result.Code, response.Result.Reason, response.Result.Details.Causes)
			}
			if !row.allowed && response.Result.Details.Name != "clusters.example.dev" {
				t.Errorf("the refusal is about %+v", response.Result.Details)
			}
			if !row.allowed && (response.Result == nil || response.Result.Code < 400 || response.Result.Message == "") {
				t.Errorf("a refusal without a reason: %s", text)
			}
			if row.allowed && row.want == "" && len(response.Warnings) > 0 {
				t.Errorf("warnings %q", response.Warnings)
			}
		})
	}
	for reason, review := range map[string]map[string]any{
		"another group":                {"resource": map[string]any{"group": "example.dev", "version": "v1", "resource": "customresourcedefinitions"}},
		"a subresource, without locks": {"subResource": "status", "resource": map[string]any{"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions"}},
	} {
		review["uid"], review["operation"], review["object"] = "u", "UPDATE", []any{}
		if response := post(t, loader.New().Hook(), review); !response.Allowed {
			t.Errorf("%s: %v is not for this hook", reason, response.Result)
		}
	}
	if response := post(t, loader.New().Hook(), map[string]any{"uid": "u", "operation": "CREATE", "object": []any{},
		"resource": map[string]any{"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions"}}); response.Allowed || !strings.Contains(response.Result.Message, "cannot be decoded") {
		t.Error("a list is taken for a CRD")
	}
}

func post(t *testing.T, handler http.Handler, request map[string]any) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return review.Response
}
