package typed_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability/typed"
)

// Cluster is an API object with what these usually have: lists by key, sets, maps, pointers and quantities.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
}

type ClusterSpec struct {
	Class    string   `json:"class"`
	Zone     string   `json:"zone,omitempty"`
	Replicas *int32   `json:"replicas,omitempty"`
	Paused   bool     `json:"paused,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Nodes    []Node   `json:"nodes,omitempty"`
}

type Node struct {
	Name      string                       `json:"name"`
	Zone      string                       `json:"zone,omitempty"`
	Image     string                       `json:"image,omitempty"`
	Weight    *int32                       `json:"weight,omitempty"`
	Ready     bool                         `json:"ready"`
	Labels    map[string]string            `json:"labels,omitempty"`
	Resources map[string]resource.Quantity `json:"resources,omitempty"`
	Ports     []int32                      `json:"ports,omitempty"`
}

func cluster(n int) *Cluster {
	replicas := int32(3)
	c := &Cluster{Spec: ClusterSpec{Class: "standard", Zone: "europe-west1", Replicas: &replicas}}
	for i := range n {
		weight := int32(i % 100)
		c.Spec.Tags = append(c.Spec.Tags, fmt.Sprint("tag-", i))
		c.Spec.Nodes = append(c.Spec.Nodes, Node{
			Name: fmt.Sprint("node-", i), Zone: fmt.Sprint("europe-west1-", string(rune('a'+i%3))), Image: fmt.Sprintf("registry.example.com/team/agent:v1.%d.0", i%30),
			Weight: &weight, Ready: true, Labels: map[string]string{"pool": fmt.Sprint("pool-", i%10), "role": "worker"},
			Resources: map[string]resource.Quantity{"cpu": resource.MustParse("4"), "memory": resource.MustParse(fmt.Sprint(8+i%8, "Gi"))},
			Ports:     []int32{80, 443},
		})
	}
	return c
}

// The locks that are measured.
var (
	wholeSpec  = `{type: object, properties: {spec: {type: object, x-kubernetes-immutable: true}}}`
	twoScalars = `{type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-immutable: true}, zone: {type: string, x-kubernetes-immutable: true}}}}}`
	setAndKey  = `{type: object, properties: {spec: {type: object, properties: {
  tags: {type: array, x-kubernetes-list-type: set, items: {type: string}, x-kubernetes-immutable: true},
  nodes: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}, zone: {type: string, x-kubernetes-immutable: true}}}}}}}}`
)

var keysOfMap = `{type: object, properties: {spec: {type: object, properties: {nodes: {type: array, items: {type: object, properties: {
  labels: {type: object, x-kubernetes-immutable-keys: true, additionalProperties: {type: string}}}}}}}}}`

func wholeByHand(a, b *ClusterSpec) bool {
	return a.Class == b.Class && a.Zone == b.Zone && sameInt(a.Replicas, b.Replicas) && a.Paused == b.Paused && slices.Equal(a.Tags, b.Tags) &&
		slices.EqualFunc(a.Nodes, b.Nodes, func(x, y Node) bool { return sameNode(&x, &y) })
}

func sameNode(x, y *Node) bool {
	return x.Name == y.Name && x.Zone == y.Zone && x.Image == y.Image && sameInt(x.Weight, y.Weight) && x.Ready == y.Ready &&
		maps.Equal(x.Labels, y.Labels) && maps.EqualFunc(x.Resources, y.Resources, func(p, q resource.Quantity) bool { return p.Cmp(q) == 0 }) && slices.Equal(x.Ports, y.Ports)
}

func sameInt(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

func TestAllocatesNothing(t *testing.T) {
	newObj, oldObj := cluster(50), cluster(50)
	for _, c := range []*Cluster{newObj, oldObj} { // one that holds an inf.Dec
		c.Spec.Nodes[0].Resources["memory"] = resource.MustParse("1.5Gi")
	}
	shuffled := cluster(50)
	slices.Reverse(shuffled.Spec.Nodes)
	slices.Reverse(shuffled.Spec.Tags)
	for _, row := range []struct {
		name, reason, schema string
		newObj               *Cluster
	}{
		{"whole spec", "", wholeSpec, newObj},
		{"two scalars", "", twoScalars, newObj},
		{"set and field by key", "", setAndKey, newObj},
		{"keys of maps", "", keysOfMap, newObj},
		{"the same in another order", "the index comes from a pool", setAndKey, shuffled},
	} {
		v := compile[Cluster](t, validatorOf(row.schema))
		if errs := v.ValidateUpdate(row.newObj, oldObj); errs != nil {
			t.Fatalf("%s: %v", row.name, errs)
		}
		if n := testing.AllocsPerRun(50, func() { v.ValidateUpdate(row.newObj, oldObj) }); n >= 1 {
			t.Errorf("%s: %v allocations: %s", row.name, n, row.reason)
		}
		if n := testing.AllocsPerRun(50, func() { v.Check(row.newObj, oldObj) }); n >= 1 {
			t.Errorf("%s: Check: %v allocations: %s", row.name, n, row.reason)
		}
	}
}

// Level is an object in which others are in each other.
type Level struct {
	Leaf  string `json:"leaf"`
	Child *Level `json:"child,omitempty"`
}

func levels(depth int, leaf string) *Level {
	l := &Level{Leaf: leaf}
	for range depth {
		l = &Level{Leaf: "same", Child: l}
	}
	return l
}

// TestRefusedAllocates: four times as many levels, of which none may be modified, cost about four times as much. A list
// of errors names no differences, which would be the paths of all levels below, for each level. The bound leaves room
// for the text of the paths. Allocations are counted because they do not depend on the clock.
func TestRefusedAllocates(t *testing.T) {
	v := validatorOf(`{$ref: '#/definitions/level', definitions: {level: {type: object, properties: {
  leaf: {type: string}, child: {$ref: '#/definitions/level', x-fieldlock-update: [NoModify]}}}}}`)
	plan, err := typed.CompileType(v, reflect.TypeFor[Level]())
	if err != nil {
		t.Fatal(err)
	}
	locks := compile[Level](t, v)
	for name, validate := range map[string]func(newObj, oldObj *Level) field.ErrorList{
		"Validator": locks.ValidateUpdate,
		"Plan":      func(newObj, oldObj *Level) field.ErrorList { return plan.ValidateUpdate(newObj, oldObj) },
	} {
		allocations := func(depth int) float64 {
			newObj, oldObj := levels(depth, "new"), levels(depth, "old")
			return testing.AllocsPerRun(3, func() {
				if errs := validate(newObj, oldObj); len(errs) != depth {
					t.Fatalf("%d errors, want %d", len(errs), depth)
				}
			})
		}
		if few, many := allocations(100), allocations(400); many > 6*few {
			t.Errorf("%s: %.0f allocations for 400 levels, %.0f for 100", name, many, few)
		}
	}
}

func BenchmarkValidateUpdate(b *testing.B) {
	for _, n := range []int{5, 1000} {
		newObj, oldObj := cluster(n), cluster(n)
		run := func(name string, equal func() bool) {
			b.Run(fmt.Sprintf("route=typed/n=%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !equal() {
						b.Fatal("not equal")
					}
				}
			})
		}
		locked := func(schema string) func() bool {
			v := compile[Cluster](b, validatorOf(schema))
			return func() bool { return v.ValidateUpdate(newObj, oldObj) == nil }
		}
		run("locks=whole/peer=locks", locked(wholeSpec))
		run("locks=whole/peer=by-hand", func() bool { return wholeByHand(&newObj.Spec, &oldObj.Spec) })
		run("locks=whole/peer=Semantic.DeepEqual", func() bool { return equality.Semantic.DeepEqual(newObj.Spec, oldObj.Spec) })
		run("locks=scalars/peer=locks", locked(twoScalars))
		run("locks=scalars/peer=ValidateImmutableField", func() bool {
			return len(apivalidation.ValidateImmutableField(newObj.Spec.Class, oldObj.Spec.Class, field.NewPath("spec", "class"))) == 0 &&
				len(apivalidation.ValidateImmutableField(newObj.Spec.Zone, oldObj.Spec.Zone, field.NewPath("spec", "zone"))) == 0
		})
		run("locks=set-and-key/peer=locks", locked(setAndKey))
		run("locks=set-and-key/peer=by-hand-in-place", func() bool {
			return slices.Equal(newObj.Spec.Tags, oldObj.Spec.Tags) && slices.EqualFunc(newObj.Spec.Nodes, oldObj.Spec.Nodes, func(x, y Node) bool { return x.Name == y.Name && x.Zone == y.Zone })
		})
		run("locks=set-and-key/peer=by-hand-by-key", func() bool { return byKeyByHand(&newObj.Spec, &oldObj.Spec) })
	}
}

// byKeyByHand is the loop that respects the keys: it allows another order, as the locks do.
func byKeyByHand(a, b *ClusterSpec) bool {
	tags := make(map[string]int, len(b.Tags))
	for _, tag := range b.Tags {
		tags[tag]++
	}
	for _, tag := range a.Tags {
		if tags[tag] == 0 {
			return false
		}
		tags[tag]--
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
