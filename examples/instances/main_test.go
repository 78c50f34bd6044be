package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// TestReviews sends AdmissionReviews that a real kube-apiserver (1.36) sent to the webhook.
func TestReviews(t *testing.T) {
	hook := handler(dynamic.NewForConfigOrDie(&rest.Config{Host: cluster(t)}))
	tests := map[string]struct {
		reason  string
		message string // of a refusal; "" for an allowed request
		patch   string
	}{
		"create":             {reason: "KEP-30, Installation: the default of an immutable parameter is copied", patch: `[{"op":"add","path":"/spec/parameters","value":{"NODE_COUNT":"5","NUM_TOKENS":"256"}}]`},
		"create-refused":     {reason: "the shipped KUDO checks types", message: `"NODE_COUNT" cannot have the value "many"`},
		"update":             {reason: "KEP-30, Updates: all immutable values stay"},
		"update-immutable":   {reason: "KEP-30, Updates: the whole update is rejected", message: `"NUM_TOKENS" is immutable: it may not change from "256" to "16"`},
		"update-toggle":      {reason: "KEP-36, Validation", message: `cannot enable the task "reaper"`},
		"update-disk":        {reason: "the value is set explicitly before the upgrade locks it"},
		"label":              {reason: "no parameter changes"},
		"upgrade-refused":    {reason: "KEP-30, Upgrades: the Instance does not have the value", message: `"DISK_SIZE" becomes immutable with this upgrade`},
		"upgrade-unknown":    {reason: "the OperatorVersion does not exist", message: `"cassandra-3.11.6-9.9.9" not found`},
		"upgrade":            {reason: "KEP-30, Upgrades: the Instance has the value; that of a removed parameter goes", patch: `[{"op":"add","path":"/spec/parameters","value":{"DISK_SIZE":"5Gi","NODE_COUNT":"7","NUM_TOKENS":"256"}}]`},
		"upgraded-immutable": {reason: "KEP-30, Updates: the parameter is immutable now", message: `"DISK_SIZE" is immutable: it may not change from "5Gi" to "10Gi"`},
	}
	files, err := filepath.Glob("testdata/reviews/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("got %d reviews and %v, want %d", len(files), err, len(tests))
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile("testdata/reviews/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodPost, "/instances", bytes.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			recorder := httptest.NewRecorder()
			hook.ServeHTTP(recorder, request)

			var sent, got admissionv1.AdmissionReview
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v in %s", err, recorder.Body)
			}
			message := ""
			if got.Response.Result != nil {
				message = got.Response.Result.Message
			}
			if got.Response.UID != sent.Request.UID || got.Response.Allowed != (test.message == "") || !strings.Contains(message, test.message) || string(got.Response.Patch) != test.patch {
				t.Errorf("%s: got %s with the patch %s", test.reason, recorder.Body, got.Response.Patch)
			}
		})
	}
}

// cluster serves the OperatorVersions of testdata as an API server does.
func cluster(t *testing.T) (url string) {
	data, err := os.ReadFile("testdata/versions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]byte{}
	for _, document := range strings.Split(string(data), "\n---\n") {
		object, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var named struct {
			Metadata struct{ Name string }
		}
		if err := json.Unmarshal(object, &named); err != nil {
			t.Fatal(err)
		}
		objects["/apis/kudo.dev/v1beta1/namespaces/prod/operatorversions/"+named.Metadata.Name] = object
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		object, ok := objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			object, _ = json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
				"message": `operatorversions.kudo.dev "` + path.Base(r.URL.Path) + `" not found`})
		}
		_, _ = w.Write(object)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
