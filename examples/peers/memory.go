package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/api/equality"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// byHand compares decoded JSON as a programmer writes it: the least that comparing in memory costs.
func byHand(a, b any) bool {
	switch a := a.(type) {
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !byHand(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, byHand)
	}
	return a == b
}

// must makes a subject of a comparison that has to say yes.
func must(name string, equal func() bool) *subject {
	return &subject{name: name, do: func() {
		if !equal() {
			panic(name + " says that the objects differ")
		}
	}}
}

// inMemory measures checks of decoded objects.
func inMemory() ([]group, error) {
	var groups []group
	for _, n := range []int{10, 1_000} {
		of, err := inMemoryOf(n)
		if err != nil {
			return nil, err
		}
		groups = append(groups, of)
	}
	return groups, nil
}

// inMemoryOf measures updates of n fields. It is long because each peer prepares its validator in another way.
func inMemoryOf(n int) (group, error) {
	text := encoded(cluster(n))
	oldObj, newObj := decoded(text), decoded(text)
	moved := decoded(encoded(shuffled(cluster(n))))
	hand := must("by hand", func() bool { return byHand(newObj["spec"], oldObj["spec"]) })
	check := func(name string, locks map[string]object, newObj object) (*subject, error) {
		v, err := validator(locks)
		return must(name, func() bool { return v.ValidateUpdate(newObj, oldObj) == nil }), err
	}
	spec, err := check("spec locked", map[string]object{"spec": immutable}, newObj)
	if err != nil {
		return group{}, err
	}
	parts := map[string]object{"class": immutable, "tags": immutable, "node": immutable}
	rows := []row{{part: spec, peer: hand, target: 1.1, noAllocs: true}}
	for _, r := range []struct {
		name   string
		locks  map[string]object
		newObj object
		target float64
	}{
		{"set, items, scalar locked", parts, newObj, 1.1},
		{"keys locked", map[string]object{"nodes": {"x-kubernetes-immutable-keys": true}, "nodes.name": immutable},
			newObj, 0.35},
		{"set, items shuffled", parts, moved, 2.5},
	} {
		s, err := check(r.name, r.locks, r.newObj)
		if err != nil {
			return group{}, err
		}
		rows = append(rows, row{part: s, peer: hand, target: r.target, noAllocs: r.target < 2})
	}
	empty, err := validator(nil)
	if err != nil {
		return group{}, err
	}
	none := &subject{name: "nothing locked", each: 16, do: func() {
		for range 16 { // so that the call of this function hardly counts
			if empty.ValidateUpdate(newObj, oldObj) != nil {
				panic("an update is refused without locks")
			}
		}
	}}
	rows = append(rows, row{part: none, unit: inNanos, target: 5, noAllocs: true})

	celRule, err := celCheck(map[string]object{"spec": {"x-kubernetes-validations": []any{object{"rule": "self == oldSelf"}}}}, newObj, oldObj)
	if err != nil {
		return group{}, err
	}
	merge, err := mergeCheck(newObj, oldObj)
	if err != nil {
		return group{}, err
	}
	for _, peer := range []struct {
		*subject
		target float64
	}{
		{must("reflect.DeepEqual", func() bool { return reflect.DeepEqual(newObj["spec"], oldObj["spec"]) }), 12},
		{must("equality.Semantic", func() bool { return equality.Semantic.DeepEqual(newObj["spec"], oldObj["spec"]) }),
			0},
		{merge, 0},
		{must("go-cmp", func() bool { return cmp.Equal(newObj["spec"], oldObj["spec"]) }), 0},
		{celRule, 150},
	} {
		rows = append(rows, row{part: spec, peer: peer.subject, target: peer.target, atLeast: true})
	}
	title := fmt.Sprintf("Decoded objects, %d nodes, %d KB", n, len(text)/1000)
	return group{title, "As fast as by hand, and far faster than what compares anything.", rows}, nil
}

// structural returns a schema as API servers of custom resources hold it.
func structural(schema object) (*apiextensions.JSONSchemaProps, *structuralschema.Structural, error) {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := decodeInto(schema, &v1); err != nil {
		return nil, nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1,
		&internal, nil); err != nil {
		return nil, nil, err
	}
	s, err := structuralschema.NewStructural(&internal)
	return &internal, s, err
}

// celCheck evaluates CEL rules as the API server does, but for the budget, which this object exceeds.
func celCheck(rules map[string]object, newObj, oldObj object) (*subject, error) {
	schema, err := schemaWith(rules)
	if err != nil {
		return nil, err
	}
	_, s, err := structural(schema)
	if err != nil {
		return nil, err
	}
	v := cel.NewValidator(s, true, 1_000*celconfig.PerCallLimit)
	return must("CEL self == oldSelf", func() bool {
		errs, _ := v.Validate(context.Background(), nil, s, newObj, oldObj, 1_000*celconfig.RuntimeCELCostBudget)
		return len(errs) == 0
	}), nil
}

// mergeSchema is the schema of the made-up spec for structured-merge-diff.
const mergeSchema = `types:
- name: spec
  map:
    fields:
    - {name: class, type: {scalar: string}}
    - {name: replicas, type: {scalar: numeric}}
    - {name: tags, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - {name: nodes, type: {list: {elementType: {namedType: node}, elementRelationship: associative, keys: [name]}}}
- name: node
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: zone, type: {scalar: string}}
    - {name: image, type: {scalar: string}}
    - {name: weight, type: {scalar: numeric}}
    - {name: schedulable, type: {scalar: boolean}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: resources, type: {map: {elementType: {scalar: string}}}}
    - {name: ports, type: {list: {elementType: {scalar: numeric}, elementRelationship: atomic}}}
`

func mergeCheck(newObj, oldObj object) (*subject, error) {
	parser, err := typed.NewParser(mergeSchema)
	if err != nil {
		return nil, err
	}
	is, err := parser.Type("spec").FromUnstructured(newObj["spec"])
	if err != nil {
		return nil, err
	}
	was, err := parser.Type("spec").FromUnstructured(oldObj["spec"])
	if err != nil {
		return nil, err
	}
	return must("structured-merge-diff", func() bool {
		c, err := was.Compare(is)
		return err == nil && c.IsSame()
	}), nil
}
