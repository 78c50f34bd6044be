package main

import (
	"encoding/json"
	"net/http"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// discover serves the two addresses that a cluster's aggregator answers and kubectl begins with: there are no legacy
// versions, and the groups are the CRDs' own and those of the custom resources.
func (f *keyFilter) discover(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api" {
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{}})
		return
	}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups: []metav1.APIGroup{}}
	names, err := f.groups()
	if err != nil {
		fail(w, err)
		return
	}
	for _, name := range names {
		var group metav1.APIGroup
		found := ask(f.inner, r, func(r *http.Request) {
			r.URL.Path = "/apis/" + name
			*r = *r.WithContext(request.WithRequestInfo(r.Context(),
				&request.RequestInfo{Path: r.URL.Path, Verb: "get"}))
		})
		// A group whose CRDs are not established yet is not found, and comes with a later request.
		if found.status == http.StatusOK && json.Unmarshal(found.body.Bytes(), &group) == nil {
			list.Groups = append(list.Groups, group)
		}
	}
	answer(w, list)
}

// groups returns the names of the groups, sorted.
func (f *keyFilter) groups() ([]string, error) {
	names := []string{apiextensions.GroupName}
	if lister := f.crds(); lister != nil {
		crds, err := lister.List(labels.Everything())
		if err != nil {
			return nil, err
		}
		for _, c := range crds {
			names = append(names, c.Spec.Group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func answer(w http.ResponseWriter, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}
