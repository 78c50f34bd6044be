package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// cluster is an API server that serves CustomResourceDefinitions and nothing else: discovery, lists and watches.
type cluster struct {
	server *httptest.Server

	mu       sync.Mutex
	version  int
	crds     map[string]*apiextensionsv1.CustomResourceDefinition
	watchers map[chan metav1.WatchEvent]bool
}

func newUnstartedCluster() *cluster {
	return &cluster{crds: map[string]*apiextensionsv1.CustomResourceDefinition{}, watchers: map[chan metav1.WatchEvent]bool{}, version: 1}
}

func newCluster(t *testing.T) *cluster {
	c := newUnstartedCluster()
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	t.Cleanup(c.server.CloseClientConnections)
	return c
}

func (c *cluster) config() *rest.Config { return &rest.Config{Host: c.server.URL} }

// put stores a CRD and tells the watchers.
func (c *cluster) put(crd *apiextensionsv1.CustomResourceDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	event := watch.Added
	if c.crds[crd.Name] != nil {
		event = watch.Modified
	}
	crd = crd.DeepCopy()
	c.version++
	crd.ResourceVersion = strconv.Itoa(c.version)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	c.crds[crd.Name] = crd
	c.tell(event, crd)
}

func (c *cluster) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	crd := c.crds[name].DeepCopy()
	delete(c.crds, name)
	c.version++
	crd.ResourceVersion = strconv.Itoa(c.version)
	c.tell(watch.Deleted, crd)
}

func (c *cluster) tell(event watch.EventType, crd *apiextensionsv1.CustomResourceDefinition) {
	for w := range c.watchers {
		w <- metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Object: crd}}
	}
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gv := "apiextensions.k8s.io/v1"
	switch {
	case r.URL.Path == "/api":
		reply(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}})
	case r.URL.Path == "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: "v1"}
		reply(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "apiextensions.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}})
	case r.URL.Path == "/apis/"+gv:
		reply(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv,
			APIResources: []metav1.APIResource{{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition", Verbs: []string{"get", "list", "watch"}}}})
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions") && r.URL.Query().Get("watch") != "":
		c.watch(w, r)
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		reply(w, c.list())
	default:
		http.NotFound(w, r)
	}
}

func (c *cluster) list() apiextensionsv1.CustomResourceDefinitionList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := apiextensionsv1.CustomResourceDefinitionList{TypeMeta: metav1.TypeMeta{Kind: "CustomResourceDefinitionList", APIVersion: "apiextensions.k8s.io/v1"}}
	list.ResourceVersion = strconv.Itoa(c.version)
	for _, crd := range c.crds {
		list.Items = append(list.Items, *crd)
	}
	return list
}

// watch streams changes, with the initial ones where the client asks for these in place of a list.
func (c *cluster) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan metav1.WatchEvent, 100)
	c.mu.Lock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, crd := range c.crds {
			events <- metav1.WatchEvent{Type: string(watch.Added), Object: runtime.RawExtension{Object: crd}}
		}
		end := &apiextensionsv1.CustomResourceDefinition{TypeMeta: metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"}}
		end.ResourceVersion = strconv.Itoa(c.version)
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		events <- metav1.WatchEvent{Type: string(watch.Bookmark), Object: runtime.RawExtension{Object: end}}
	}
	c.watchers[events] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, events)
	}()
	w.Header().Set("Content-Type", "application/json")
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case e := <-events:
			_ = json.NewEncoder(w).Encode(e)
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
