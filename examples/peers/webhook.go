package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
)

// webhook returns the handler of fieldlock with locks.
func webhook(locks map[string]object) (http.Handler, error) {
	schema, err := schemaWith(locks)
	if err != nil {
		return nil, err
	}
	crd := encoded(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "clusters.example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced",
			"names": object{"kind": "Cluster", "plural": "clusters", "singular": "cluster",
				"listKind": "ClusterList"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": schema}}},
		},
	})
	kinds, err := loader.New().Read("clusters.yaml", crd)
	if err != nil {
		return nil, err
	}
	registry := &admission.Registry{}
	registry.Put(kinds...)
	registry.SetComplete()
	return admission.NewHandler(registry)
}

// decodingWebhook is what a programmer writes for the same locks: it decodes the review and both objects, and looks at
// the locked fields until one differs. It names neither causes nor owners.
func decodingWebhook(c codec) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var review admissionv1.AdmissionReview
		if err := c.unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		newObj, newErr := c.object(review.Request.Object.Raw)
		oldObj, oldErr := c.object(review.Request.OldObject.Raw)
		if newErr != nil || oldErr != nil || !sameClassAndZones(newObj, oldObj) {
			response.Allowed = false
			response.Result = &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity,
				Reason: metav1.StatusReasonInvalid, Message: "field is immutable"}
		}
		review.Request, review.Response = nil, response
		answer, err := c.marshal(review)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}
}

func sameClassAndZones(newObj, oldObj object) bool {
	newSpec, _ := newObj["spec"].(object)
	oldSpec, _ := oldObj["spec"].(object)
	if !reflect.DeepEqual(newSpec["class"], oldSpec["class"]) {
		return false
	}
	zones := map[any]any{}
	oldNodes, _ := oldSpec["nodes"].([]any)
	for _, node := range oldNodes {
		node, _ := node.(object)
		zones[node["name"]] = node["zone"]
	}
	newNodes, _ := newSpec["nodes"].([]any)
	for _, node := range newNodes {
		node, _ := node.(object)
		if zone, ok := zones[node["name"]]; ok && zone != node["zone"] {
			return false
		}
	}
	return true
}

// reviewOf is the AdmissionReview of an update as an API server sends it.
func reviewOf(newObj, oldObj object) []byte {
	kind, resource := object{"group": "example.com", "version": "v1", "kind": "Cluster"}, object{"group": "example.com",
		"version": "v1", "resource": "clusters"}
	return encoded(object{
		"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
		"request": object{
			"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": resource, "requestKind": kind,
			"requestResource": resource,
			"name":            "main", "namespace": "default", "operation": "UPDATE", "dryRun": false,
			"userInfo": object{"username": "admin", "uid": "014fbff9a07c",
				"groups": []any{"system:authenticated", "admins"}},
			"options": object{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "kubectl-edit"},
			"object":  newObj, "oldObject": oldObj,
		},
	})
}

// inWebhook measures answers to AdmissionReviews, without a network.
func inWebhook() ([]group, error) {
	ours, err := webhook(map[string]object{"class": immutable, "nodes.zone": immutable})
	if err != nil {
		return nil, err
	}
	var groups []group
	for _, n := range []int{5, 1_000} {
		refused := updated(cluster(n))
		refused["spec"].(object)["nodes"].([]any)[n-1].(object)["zone"] = "elsewhere"
		var rows []row
		for _, r := range []struct {
			name    string
			newObj  object
			allowed bool
			target  float64
		}{
			{"allow an update", updated(cluster(n)), true, map[int]float64{5: 1, 1_000: 3}[n]},
			{"refuse one, with cause and owner", refused, false, map[int]float64{5: 1, 1_000: 3}[n]},
		} {
			body := reviewOf(r.newObj, cluster(n))
			answer := func(name string, h http.Handler, expected ...string) *subject {
				return must(name, func() bool {
					request := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
					request.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					h.ServeHTTP(w, request)
					for _, text := range expected {
						if !strings.Contains(w.Body.String(), text) {
							return false
						}
					}
					return true
				})
			}
			allowed := fmt.Sprintf(`"allowed":%t`, r.allowed)
			part := answer(r.name, ours, allowed)
			if !r.allowed {
				part = answer(r.name, ours, allowed, fmt.Sprintf(`"field":"spec.nodes[%d].zone"`, n-1),
					"last applied by kubectl")
			}
			for i, c := range codecs() {
				compared := row{part: part, peer: answer(c.name+" and compare", decodingWebhook(c), allowed),
					atLeast: true}
				if i == 0 {
					compared.target = r.target
				}
				rows = append(rows, compared)
			}
		}
		title := fmt.Sprintf("Webhook, %d nodes, %d KB an object", n, len(encoded(cluster(n)))/1000)
		groups = append(groups, group{title, "Sooner than one that decodes, and names the owners.", rows})
	}
	return groups, nil
}
