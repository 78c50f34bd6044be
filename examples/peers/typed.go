package main

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability/typed"
)

// Cluster is the made-up resource as a Go type of an API server.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
}

// ClusterSpec is the spec of a Cluster.
type ClusterSpec struct {
	Class    string   `json:"class"`
	Region   string   `json:"region,omitempty"`
	Replicas *int32   `json:"replicas,omitempty"`
	Paused   bool     `json:"paused,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Nodes    []Node   `json:"nodes,omitempty"`
}

// Node is an item of the list by key.
type Node struct {
	Name        string                       `json:"name"`
	Zone        string                       `json:"zone,omitempty"`
	Image       string                       `json:"image,omitempty"`
	Weight      *int32                       `json:"weight,omitempty"`
	Schedulable bool                         `json:"schedulable"`
	Labels      map[string]string            `json:"labels,omitempty"`
	Resources   map[string]resource.Quantity `json:"resources,omitempty"`
	Ports       []int32                      `json:"ports,omitempty"`
}

// goCluster is cluster as a Go object.
func goCluster(n int) *Cluster {
	replicas := int32(3)
	c := &Cluster{Spec: ClusterSpec{Class: "standard", Region: "europe-west1", Replicas: &replicas}}
	for i := range n {
		weight := int32(i % 100)
		c.Spec.Tags = append(c.Spec.Tags, fmt.Sprintf("tag-%d", i))
		c.Spec.Nodes = append(c.Spec.Nodes, Node{
			Name: fmt.Sprintf("node-%d", i), Zone: fmt.Sprintf("europe-west1-%c", 'a'+i%3),
			Weight: &weight, Schedulable: true,
			Image:  fmt.Sprintf("registry.example.com/team/agent:v1.%d.0", i%30),
			Labels: map[string]string{"pool": fmt.Sprintf("pool-%d", i%10), "role": "worker"},
			Resources: map[string]resource.Quantity{"cpu": resource.MustParse("4"),
				"memory": resource.MustParse(fmt.Sprintf("%dGi", 8+i%8))},
			Ports: []int32{80, 443},
		})
	}
	return c
}

// The comparisons that a programmer writes for the type: of all of it, and of what the locks below cover.

func sameSpec(a, b *ClusterSpec) bool {
	return a.Class == b.Class && a.Region == b.Region && sameNumber(a.Replicas, b.Replicas) && a.Paused == b.Paused &&
		slices.Equal(a.Tags, b.Tags) && slices.EqualFunc(a.Nodes, b.Nodes, func(x, y Node) bool {
		return sameNode(&x, &y)
	})
}

func sameNode(a, b *Node) bool {
	return a.Name == b.Name && a.Zone == b.Zone && a.Image == b.Image && sameNumber(a.Weight, b.Weight) &&
		a.Schedulable == b.Schedulable &&
		maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Ports, b.Ports) &&
		maps.EqualFunc(a.Resources, b.Resources, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

func sameNumber(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

func sameTagsAndZones(a, b *ClusterSpec) bool {
	if !slices.Equal(a.Tags, b.Tags) || len(a.Nodes) != len(b.Nodes) {
		return false
	}
	for i := range a.Nodes {
		if x, y := &a.Nodes[i], &b.Nodes[i]; x.Name != y.Name || x.Zone != y.Zone {
			return false
		}
	}
	return true
}

// joinedTagsAndZones is sameTagsAndZones in any order.
func joinedTagsAndZones(a, b *ClusterSpec) bool {
	tags := make(map[string]int, len(b.Tags))
	for _, tag := range b.Tags {
		tags[tag]++
	}
	for _, tag := range a.Tags {
		if tags[tag]--; tags[tag] < 0 {
			return false
		}
	}
	zones := make(map[string]string, len(b.Nodes))
	for i := range b.Nodes {
		zones[b.Nodes[i].Name] = b.Nodes[i].Zone
	}
	for i := range a.Nodes {
		if zone, ok := zones[a.Nodes[i].Name]; ok && zone != a.Nodes[i].Zone {
			return false
		}
	}
	return len(a.Tags) == len(b.Tags)
}

// goTypes measures checks of Go objects.
func goTypes() ([]group, error) {
	var groups []group
	for _, n := range []int{5, 1_000} {
		of, err := goTypesOf(n)
		if err != nil {
			return nil, err
		}
		groups = append(groups, of)
	}
	return groups, nil
}

func goTypesOf(n int) (group, error) {
	newObj, oldObj, moved := goCluster(n), goCluster(n), goCluster(n)
	slices.Reverse(moved.Spec.Nodes)
	slices.Reverse(moved.Spec.Tags)
	check := func(name string, locks map[string]object, newObj *Cluster) (*subject, error) {
		v, err := validator(locks)
		if err != nil {
			return nil, err
		}
		plan, err := typed.Compile[Cluster](v)
		return must(name, func() bool { return plan.ValidateUpdate(newObj, oldObj) == nil }), err
	}
	whole, err := check("spec locked", map[string]object{"spec": immutable}, newObj)
	if err != nil {
		return group{}, err
	}
	scalars, err := check("two scalars locked", map[string]object{"class": immutable, "paused": immutable}, newObj)
	if err != nil {
		return group{}, err
	}
	parts := map[string]object{"tags": immutable, "nodes.zone": immutable}
	inOrder, err := check("set, field by key locked", parts, newObj)
	if err != nil {
		return group{}, err
	}
	anyOrder, err := check("set, field by key, reversed", parts, moved)
	if err != nil {
		return group{}, err
	}
	path := field.NewPath("spec")
	rows := []row{
		{part: whole, peer: must("by hand", func() bool { return sameSpec(&newObj.Spec, &oldObj.Spec) }),
			target: 1.5, noAllocs: true},
		{part: whole, peer: must("equality.Semantic",
			func() bool { return equality.Semantic.DeepEqual(&newObj.Spec, &oldObj.Spec) }), target: 10, atLeast: true},
		{part: scalars, peer: must("two ValidateImmutableField", func() bool {
			return len(validation.ValidateImmutableField(newObj.Spec.Class, oldObj.Spec.Class,
				path.Child("class"))) == 0 &&
				len(validation.ValidateImmutableField(newObj.Spec.Paused, oldObj.Spec.Paused,
					path.Child("paused"))) == 0
		}), target: 1, noAllocs: true},
		{part: scalars, unit: inNanos, target: 150, noAllocs: true},
		{part: inOrder, peer: must("by hand, in place",
			func() bool { return sameTagsAndZones(&newObj.Spec, &oldObj.Spec) }), target: 1.5, noAllocs: true},
		{part: anyOrder, peer: must("by hand, joined",
			func() bool { return joinedTagsAndZones(&moved.Spec, &oldObj.Spec) }), target: 1.5, noAllocs: true},
	}
	title := fmt.Sprintf("Go types, %d nodes", n)
	return group{title, "About as fast as code written by hand for the type.", rows}, nil
}
