package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// widgetSchema finds the widgets of the test in an OpenAPI document.
func (w *world) widgetSchema(body string) (*spec.Schema, error) {
	var document struct {
		Definitions map[string]*spec.Schema `json:"definitions"`
		Components  struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(body), &document); err != nil {
		return nil, err
	}
	definitions := document.Definitions
	if definitions == nil {
		definitions = document.Components.Schemas
	}
	for name, s := range definitions {
		if strings.HasSuffix(name, ".v1.Widget") && strings.Contains(encoded(s.Extensions), w.group) {
			return s, nil
		}
	}
	return nil, errors.New("the document has no schema of the widgets")
}

// The locks are published: compiling what a client downloads gives the locks of the CRD.
func TestOpenAPIPublishing(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	w.install(document)
	var original spec.Schema
	if err := json.Unmarshal([]byte(encoded(schemas(document.Object)["v1"])), &original); err != nil {
		t.Fatal(err)
	}
	want := encoded(immutability.MustCompile(&original).Locks())
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/" + w.group + "/v1"} {
		t.Run(path[:len("/openapi/v2")], func(t *testing.T) {
			var published *spec.Schema
			w.eventually("the widgets are published", func() (err error) {
				_, body := w.do(http.MethodGet, path, "", "")
				published, err = w.widgetSchema(body)
				return err
			})
			delete(published.Properties, "metadata") // a reference into the rest of the document; nothing is locked there
			v, err := immutability.Compile(published)
			if err != nil {
				t.Fatalf("compiling the published schema: %v", err)
			}
			if got := encoded(v.Locks()); got != want {
				t.Errorf("the published locks are\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Clients that take protobuf alone get the keys too, in its form for vendor extensions.
func TestOpenAPIProtobuf(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("widgets.yaml"))
	for _, c := range []struct {
		path, media string
		document    proto.Message
	}{
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", &openapiv2.Document{}},
		{"/openapi/v3/apis/" + w.group + "/v1", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", &openapiv3.Document{}},
	} {
		w.eventually("the widgets are published", func() error {
			_, body := w.do(http.MethodGet, c.path, "", "")
			_, err := w.widgetSchema(body)
			return err
		})
		resp, body := w.do(http.MethodGet, c.path, "", "", "Accept", c.media)
		if resp.StatusCode != http.StatusOK || !strings.HasSuffix(resp.Header.Get("Content-Type"), "+protobuf") {
			t.Errorf("%s: %s, %s", c.path, resp.Status, resp.Header.Get("Content-Type"))
			continue
		}
		if err := proto.Unmarshal([]byte(body), c.document); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if !strings.Contains(body, "x-kubernetes-immutable-keys") {
			t.Errorf("%s: the keys are not published as protobuf", c.path)
		}
	}
	if resp, body := w.do(http.MethodGet, "/openapi/v2", "", "", "Accept", "text/html"); resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("an unknown form is answered with %s: %s", resp.Status, body)
	}
}

// The address of a v3 document has a hash, under which clients keep it: it changes with the marks alone.
func TestOpenAPIHash(t *testing.T) {
	w := newWorld(t)
	document := w.object("widgets.yaml")
	w.install(document)
	address := func() string {
		_, body := w.do(http.MethodGet, "/openapi/v3", "", "")
		var index struct {
			Paths map[string]struct{ ServerRelativeURL string }
		}
		if err := json.Unmarshal([]byte(body), &index); err != nil {
			t.Fatal(err)
		}
		return index.Paths["apis/"+w.group+"/v1"].ServerRelativeURL
	}
	var before string
	w.eventually("the widgets are listed with their locks", func() error {
		before = address()
		if before == "" {
			return errors.New("not listed")
		}
		_, body := w.do(http.MethodGet, before, "", "")
		s, err := w.widgetSchema(body)
		if err == nil && !strings.Contains(encoded(s), "x-kubernetes-immutable-keys") {
			err = errors.New("no locks yet")
		}
		return err
	})
	resp, _ := w.do(http.MethodGet, before, "", "")
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s: %s, Cache-Control %q; want 200 to be kept", before, resp.Status, resp.Header.Get("Cache-Control"))
	}
	if again, _ := w.do(http.MethodGet, before, "", "", "If-None-Match", resp.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("with the entity tag that it has: %s, want 304", again.Status)
	}

	_, err := crds().Patch(w.ctx, document.GetName(), types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema`+classPath+`/x-kubernetes-immutable"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var after string
	w.eventually("the address has changed", func() error {
		if after = address(); after == before {
			return errors.New("it has not")
		}
		return nil
	})
	resp, _ = w.do(http.MethodGet, before, "", "")
	if resp.StatusCode != http.StatusMovedPermanently || resp.Header.Get("Location") != after {
		t.Errorf("the old address: %s to %q, want 301 to %q", resp.Status, resp.Header.Get("Location"), after)
	}
}
