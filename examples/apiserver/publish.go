package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// published is the marks of one kind in one version.
type published map[schema.GroupVersionKind]map[string]map[string]any

// published returns the marks of the CRDs that are served.
func (f *keyFilter) published() (published, error) {
	lister := f.crds()
	if lister == nil {
		return nil, nil
	}
	crds, err := lister.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	p := published{}
	for _, c := range crds {
		found, err := decodeMarks(c.Annotations[crd.AnnotationKey])
		if err != nil {
			continue // what cannot be read is not in force, and not published
		}
		for version, paths := range found {
			p[schema.GroupVersionKind{Group: c.Spec.Group, Version: version, Kind: c.Spec.Names.Kind}] = paths
		}
	}
	return p, nil
}

// has reports whether any kind of a group and version has marks.
func (p published) has(gv schema.GroupVersion) bool {
	for kind := range p {
		if kind.GroupVersion() == gv {
			return true
		}
	}
	return false
}

// groupVersion returns what an address such as "apis/example.com/v1" is of.
func groupVersion(path string) schema.GroupVersion {
	group, version, _ := strings.Cut(strings.TrimPrefix(path, "apis/"), "/")
	return schema.GroupVersion{Group: group, Version: version}
}

// publish serves the OpenAPI documents with the keys of the CRDs in them. Documents without such CRDs pass as they
// are. The v3 documents are cached by clients under the hash in their address, so that hash has to count the keys too.
func (f *keyFilter) publish(w http.ResponseWriter, r *http.Request) {
	marks, err := f.published()
	if err != nil {
		fail(w, err)
		return
	}
	path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/openapi/v3"), "/")
	switch {
	case r.Method != http.MethodGet || len(marks) == 0:
		f.inner.ServeHTTP(w, r)
	case r.URL.Path == "/openapi/v2":
		f.publishDocument(w, r, marks)
	case path == "":
		f.publishIndex(w, r, marks)
	case marks.has(groupVersion(path)):
		f.publishDocument(w, r, marks)
	default:
		f.inner.ServeHTTP(w, r)
	}
}

// publishIndex serves the list of v3 documents with the hashes of what is served here.
func (f *keyFilter) publishIndex(w http.ResponseWriter, r *http.Request, marks published) {
	answer := ask(f.inner, r, nil)
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(answer.body.Bytes(), &index); answer.status != http.StatusOK || err != nil {
		answer.send(w, nil)
		return
	}
	for path, entry := range index.Paths {
		if !marks.has(groupVersion(path)) {
			continue
		}
		document := ask(f.inner, r, func(r *http.Request) { r.URL = &url.URL{Path: "/openapi/v3/" + path} })
		if body, ok := marks.restore(document); ok {
			entry.ServerRelativeURL = address(path, hash(body))
			index.Paths[path] = entry
		}
	}
	body, err := json.Marshal(index)
	if err != nil {
		fail(w, err)
		return
	}
	serve(w, r, "application/json", hash(body), body)
}

func address(path, hash string) string {
	return (&url.URL{Path: "/openapi/v3/" + path, RawQuery: url.Values{"hash": {hash}}.Encode()}).String()
}

// publishDocument serves the v2 document, or the v3 document of one group and version.
func (f *keyFilter) publishDocument(w http.ResponseWriter, r *http.Request, marks published) {
	answer := ask(f.inner, r, func(r *http.Request) { r.URL.RawQuery = "" })
	body, ok := marks.restore(answer)
	if !ok {
		answer.send(w, nil)
		return
	}
	tag := hash(body)
	if asked := r.URL.Query().Get("hash"); asked != "" {
		if asked != tag {
			http.Redirect(w, r, address(strings.TrimPrefix(r.URL.Path, "/openapi/v3/"), tag),
				http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
	}
	w.Header().Set("Vary", "Accept")
	switch accept := r.Header.Get("Accept"); {
	case accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*"):
		serve(w, r, "application/json", tag, body)
	case strings.Contains(accept, "protobuf"):
		media, binary, err := protobuf(r.URL.Path, body)
		if err != nil {
			fail(w, err)
			return
		}
		serve(w, r, media, tag, binary)
	default:
		fail(w, statusError(http.StatusNotAcceptable, "NotAcceptable",
			"the document is served as application/json or protobuf"))
	}
}

// restore returns the document of an answer with the keys in it; false where the answer has none.
func (p published) restore(answer *buffer) ([]byte, bool) {
	if answer.status != http.StatusOK {
		return nil, false
	}
	decoder := json.NewDecoder(&answer.body)
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, false
	}
	definitions, ok := document["definitions"].(map[string]any)
	if !ok {
		components, _ := document["components"].(map[string]any)
		definitions, _ = components["schemas"].(map[string]any)
	}
	for _, definition := range definitions {
		s, _ := definition.(map[string]any)
		kinds, _ := s["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			group, _ := kind["group"].(string)
			version, _ := kind["version"].(string)
			name, _ := kind["kind"].(string)
			marks{version: p[schema.GroupVersionKind{Group: group, Version: version, Kind: name}]}.restore(version, s)
		}
	}
	return encode(document), true
}

func protobuf(path string, body []byte) (media string, binary []byte, err error) {
	version := "v3"
	if path == "/openapi/v2" {
		version = "v2"
		binary, err = handler.ToProtoBinary(body)
	} else {
		binary, err = handler3.ToV3ProtoBinary(body)
	}
	if err != nil {
		return "", nil, apierrors.NewInternalError(fmt.Errorf("writing the document as protobuf: %w", err))
	}
	return "application/com.github.proto-openapi.spec." + version + ".v1.0+protobuf", binary, nil
}

func hash(body []byte) string { return fmt.Sprintf("%X", sha256.Sum256(body)) }

// serve answers with a document, or that it has not changed.
func serve(w http.ResponseWriter, r *http.Request, media, tag string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Etag", strconv.Quote(tag))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
