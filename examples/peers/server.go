package main

import (
	"encoding/json"
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func decodeInto(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// besideServer measures what the check adds to what an API server does with a custom resource anyway: decode, prune,
// default and validate it. The whole spec is locked.
func besideServer() ([]group, error) {
	schema, err := schemaWith(nil)
	if err != nil {
		return nil, err
	}
	rows := make([]row, 0, 8)
	add := func(name string, schema, obj object) error {
		text := encoded(obj)
		newObj, oldObj := decoded(text), decoded(text)
		props, s, err := structural(schema)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		serve := &subject{name: fmt.Sprintf("%s, %.1f KB", name, float64(len(text))/1000), do: func() {
			handle(text, s, v)
		}}
		schema["properties"].(object)["spec"].(object)["x-kubernetes-immutable"] = true
		locks, err := compile(schema)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		check := must("check", func() bool { return locks.ValidateUpdate(newObj, oldObj) == nil })
		rows = append(rows, row{part: check, peer: serve, target: 0.01, noAllocs: true})
		return nil
	}
	if err := add("made up", schema, cluster(1_000)); err != nil {
		return nil, err
	}
	for _, r := range realResources {
		schema, err := r.schema()
		if err != nil {
			return nil, err
		}
		if err := add(r.kind, schema, sample(schema, 0).(object)); err != nil {
			return nil, err
		}
	}
	return []group{{"Check / decode, prune, default and validate",
		"An API server that checks locks works at most 1 % more for them.", rows}}, nil
}

// handle is what an API server does with a custom resource that it receives.
func handle(text []byte, s *structuralschema.Structural, v validation.SchemaValidator) {
	var obj object
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		panic(err) // only for texts made by encoded
	}
	pruning.Prune(obj, s, true)
	defaulting.Default(obj, s)
	validation.ValidateCustomResource(nil, obj, v)
}
