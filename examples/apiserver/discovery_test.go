package main

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// What kubectl begins with: every group, and in it the custom resources.
func TestDiscovery(t *testing.T) {
	w := newWorld(t)
	w.install(w.object("versions.yaml"))
	client, err := discovery.NewDiscoveryClientForConfig(clientConfig())
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the group is listed with its resources", func() error {
		groups, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == w.group })
		if i < 0 {
			return errors.New("no such group")
		}
		if got := groups[i].PreferredVersion.Version; got != "v2" {
			t.Errorf("the preferred version is %s, want v2, the newest", got)
		}
		for _, list := range lists {
			if list.GroupVersion == w.group+"/v1" && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == "Thing" }) {
				return nil
			}
		}
		return errors.New("no such resource")
	})
	if !slices.Contains(w.groups(client), "apiextensions.k8s.io") {
		t.Errorf("the group of CRDs is not listed")
	}
}

func (w *world) groups(client *discovery.DiscoveryClient) []string {
	w.t.Helper()
	list, err := client.ServerGroups()
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, g := range list.Groups {
		names = append(names, g.Name)
	}
	return names
}
