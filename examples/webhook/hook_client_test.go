package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type hookClient struct {
	t   *testing.T
	url string
}

var insecure = &tls.Config{InsecureSkipVerify: true} // the test is about which certificate is served, not by whom

// review sends an update that changes one field of spec, over a connection of its own.
func (h *hookClient) review(field string) (text string, allowed bool) {
	h.t.Helper()
	return h.post(h.url, reviewOf(h.t, field))
}

// reviewCRD sends the creation of a CRD with an annotation.
func (h *hookClient) reviewCRD(locks string) (text string, allowed bool) {
	h.t.Helper()
	crd := clusterCRD(h.t)
	crd.Annotations = map[string]string{"fieldlock.dev/locks": locks}
	resource := map[string]any{"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions"}
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
		"uid": "u", "operation": "CREATE", "name": crd.Name, "resource": resource, "object": crd,
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.post(strings.TrimSuffix(h.url, path)+crdsPath, body)
}

func (h *hookClient) post(url string, review []byte) (text string, allowed bool) {
	h.t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}
	r, err := client.Post(url, "application/json", bytes.NewReader(review))
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(body), strings.Contains(string(body), `"allowed":true`)
}

// half sends half a review, calls between when the webhook reads it, sends the rest and returns the answer.
func (h *hookClient) half(field string, between func()) string {
	h.t.Helper()
	body := reviewOf(h.t, field)
	host := strings.TrimSuffix(strings.TrimPrefix(h.url, "https://"), path)
	connection, err := tls.Dial("tcp", host, insecure)
	if err != nil {
		h.t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, host, len(body))
	reader := bufio.NewReader(connection)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		h.t.Fatalf("%q, %v: the webhook does not read the body", line, err)
	}
	_, _ = connection.Write(body[:len(body)/2])
	between()
	_, _ = connection.Write(body[len(body)/2:])
	answer, err := io.ReadAll(reader)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(answer)
}

// serial returns the serial number of the certificate that is served; 0 when no connection is taken.
func (h *hookClient) serial() int64 {
	connection, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(h.url, "https://"), path), insecure)
	if err != nil {
		return 0
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func reviewOf(t *testing.T, field string) []byte {
	t.Helper()
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
		request[side].(map[string]any)["spec"].(map[string]any)["note"] = "first"
	}
	request["object"].(map[string]any)["spec"].(map[string]any)[field] = "other"
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// clusterCRD is the first CRD of the admission suite as a cluster has it: established, and without marks.
func clusterCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile("../../testdata/admission/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := strings.Cut(string(data), "\n---\n")
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
		t.Fatal(err)
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	return &crd
}
