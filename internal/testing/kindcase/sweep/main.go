// Command sweep changes each field of a kind, one at a time, and prints where an operator and its catalogue disagree.
//
//	sweep CASES PROGRAM [CRD ...]
//
// CASES is a file of cases; the old object of each case is where the changes begin. PROGRAM is as in command ask. Each
// field of the object and each of its annotations and labels is changed, emptied and removed; each field that a CRD has
// and the object lacks is added. The operator sees objects with the defaults of their CRD, as the API server sends them.
// A change is left out when the CRD's schema or the operator refuses the new object for itself: when the operator
// refuses an update that leaves it as it is.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: sweep CASES PROGRAM [CRD ...]")
		os.Exit(2)
	}
	if err := sweep(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sweep:", err)
		os.Exit(1)
	}
}

func sweep(file, program string, crds []string) error {
	schemas, err := schemasOf(crds)
	if err != nil {
		return err
	}
	servers, err := serversOf(crds)
	if err != nil {
		return err
	}
	cases, err := kindcase.Read(filepath.Dir(file))
	if err != nil {
		return err
	}
	group := strings.TrimSuffix(filepath.Base(file), ".yaml") + "/"
	var questions []kindcase.Question
	seen := map[string]bool{}
	for _, c := range cases {
		begin := fmt.Sprint(c.Old)
		if !strings.HasPrefix(c.Name, group) || seen[begin] {
			continue
		}
		seen[begin] = true
		s := schemas[kindOf(c.Old)]
		questions = append(questions, changesOfObject(strings.TrimPrefix(c.Name, group), c.Old, s)...)
	}
	return compare(program, questions, servers)
}

// compare asks the program and the catalogue, and prints the differences.
func compare(program string, changes []kindcase.Question, servers map[string]*server) error {
	catalogue, err := operators.Load()
	if err != nil {
		return err
	}
	var questions, stored []kindcase.Question // as a client sends them, and as the operator sees them
	for _, q := range changes {
		if seen, ok := servers[kindOf(q.Old)].update(q); ok {
			questions, stored = append(questions, q), append(stored, seen)
		}
	}
	answers, err := kindcase.Ask(program, stored)
	if err != nil {
		return err
	}
	unchanged := make([]kindcase.Question, len(stored))
	for i, q := range stored {
		unchanged[i] = kindcase.Question{Name: q.Name, Old: q.New, New: q.New}
	}
	alone, err := kindcase.Ask(program, unchanged)
	if err != nil {
		return err
	}
	agreed, undecided, invalid, none := 0, 0, len(changes)-len(questions), 0
	for _, q := range questions {
		answer, ok := answers[q.Name]
		switch {
		case !ok:
			none++
			continue
		case alone[q.Name].Refused:
			invalid++
			continue
		}
		kind, ok := catalogue.Find(q.Old["apiVersion"].(string), q.Old["kind"].(string))
		if !ok {
			if answer.Refused {
				fmt.Printf("no kind: %s: %s\n", q.Name, cut(answer.Error))
			}
			continue
		}
		verdict := kind.Check(q.New, q.Old)
		switch {
		case len(verdict.Violations) > 0 == answer.Refused:
			agreed++
		case len(verdict.Unknown) > 0:
			undecided++
			fmt.Printf("undecided: %s: refused is %t: %s: %s\n",
				q.Name, answer.Refused, verdict.Unknown[0].Path, cut(verdict.Unknown[0].Message))
		case answer.Refused:
			fmt.Printf("missed: %s: %s\n", q.Name, cut(answer.Error))
		default:
			fmt.Printf("false alarm: %s: %s\n", q.Name, verdict.Violations[0].Path)
		}
	}
	fmt.Printf("%d changes: %d agreed, %d undecided, %d invalid for themselves, %d without an answer\n",
		len(changes), agreed, undecided, invalid, none)
	return nil
}

// cut shortens a long error.
func cut(s string) string {
	if len(s) > 160 {
		return s[:160]
	}
	return s
}

// kindOf returns "apiVersion Kind" of an object.
func kindOf(obj map[string]any) string { return fmt.Sprint(obj["apiVersion"], " ", obj["kind"]) }

// server is what the API server does with objects of a kind before the operator sees them. A nil server does nothing.
type server struct {
	preparer  *prepare.Preparer
	validator validation.SchemaValidator
}

// serversOf returns the servers of the kinds of CRDs, by "apiVersion Kind".
func serversOf(files []string) (map[string]*server, error) {
	servers := map[string]*server{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crds, err := crd.Read(file, data)
		if err != nil {
			return nil, err
		}
		for _, c := range crds {
			for _, v := range c.Versions {
				converted, err := celrun.Convert(v.Schema)
				if err != nil {
					return nil, err
				}
				validator, _, err := validation.NewSchemaValidator(converted)
				if err != nil {
					return nil, err
				}
				servers[c.Group+"/"+v.Name+" "+c.Kind] = &server{prepare.New(v), validator}
			}
		}
	}
	return servers, nil
}

// update returns a question with the objects as the server sends them. It is not ok if the schema refuses the new
// object for something that it accepts in the old one.
func (s *server) update(q kindcase.Question) (seen kindcase.Question, ok bool) {
	if s == nil {
		return q, true
	}
	oldObj, oldErr := s.preparer.Prepare(q.Old)
	newObj, newErr := s.preparer.Prepare(q.New)
	if oldErr != nil || newErr != nil {
		return q, false
	}
	known := map[string]bool{} // mistakes of the case
	for _, e := range validation.ValidateCustomResource(nil, oldObj, s.validator) {
		known[e.Error()] = true
	}
	for _, e := range validation.ValidateCustomResource(nil, newObj, s.validator) {
		if !known[e.Error()] {
			return q, false
		}
	}
	return kindcase.Question{Name: q.Name, Old: oldObj, New: newObj}, true
}

// schemasOf reads the schemas of CRDs, by "apiVersion Kind".
func schemasOf(files []string) (map[string]*apiextensionsv1.JSONSchemaProps, error) {
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, doc := range strings.Split("\n"+string(data), "\n---") {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal([]byte(doc), &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
				continue
			}
			for _, v := range crd.Spec.Versions {
				if v.Schema != nil {
					schemas[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = v.Schema.OpenAPIV3Schema
				}
			}
		}
	}
	return schemas, nil
}

// propertyOf returns the schema of a property, nil where there is none.
func propertyOf(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if s == nil {
		return nil
	}
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// changesOfObject returns the changes of all that an operator may compare: what is written in an object, but for what
// identifies it.
func changesOfObject(name string, obj map[string]any, s *apiextensionsv1.JSONSchemaProps) []kindcase.Question {
	var all []kindcase.Question
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		if key == "apiVersion" || key == "kind" || key == "metadata" || key == "status" {
			continue
		}
		all = append(all, changesOfMember(name+" ", obj, []any{key}, obj[key], propertyOf(s, key))...)
	}
	meta, _ := obj["metadata"].(map[string]any)
	for _, key := range []string{"annotations", "labels"} {
		if values, ok := meta[key]; ok {
			all = append(all, changesOfMember(name+" metadata.", obj, []any{"metadata", key}, values, nil)...)
		}
	}
	return all
}

// changesOfMember returns the changes of a member of an object: it is removed, emptied, or changed inside.
func changesOfMember(name string, obj map[string]any, at []any, value any,
	s *apiextensionsv1.JSONSchemaProps) []kindcase.Question {
	name += at[len(at)-1].(string)
	all := []kindcase.Question{{Name: name + " removed", Old: obj, New: edited(obj, at, nil, true).(map[string]any)}}
	if inner, isObject := value.(map[string]any); isObject && len(inner) > 0 {
		all = append(all, kindcase.Question{Name: name + " emptied", Old: obj,
			New: edited(obj, at, map[string]any{}, false).(map[string]any)})
	}
	return append(all, changesOf(name, obj, at, value, s)...)
}

// changesOf returns the changes at a place in an object and below.
func changesOf(name string, obj map[string]any, at []any, value any,
	s *apiextensionsv1.JSONSchemaProps) []kindcase.Question {
	var all []kindcase.Question
	put := func(name string, at []any, value any, remove bool) {
		all = append(all, kindcase.Question{Name: name, Old: obj, New: edited(obj, at, value, remove).(map[string]any)})
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, changesOfMember(name+".", obj, append(slices.Clone(at), key), value[key],
				propertyOf(s, key))...)
		}
		if s == nil {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if _, ok := value[key]; !ok {
				p := s.Properties[key]
				put(name+"."+key+" added", append(slices.Clone(at), key), sample(&p, 0, false), false)
				if zero := zeroOf(&p); zero != nil {
					put(name+"."+key+" added as zero", append(slices.Clone(at), key), zero, false)
				}
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			put(name+".{} added", append(slices.Clone(at), "added"),
				sample(s.AdditionalProperties.Schema, 0, false), false)
		}
	case []any:
		var items *apiextensionsv1.JSONSchemaProps
		if s != nil && s.Items != nil {
			items = s.Items.Schema
		}
		if len(value) > 1 {
			turned := slices.Clone(value)
			slices.Reverse(turned)
			put(name+" reversed", at, turned, false)
		}
		if len(value) > 0 {
			put(name+" doubled", at, append(slices.Clone(value), value[0]), false)
			put(name+" shortened", at, value[:len(value)-1], false)
			put(name+" emptied", at, []any{}, false)
		}
		if len(value) > 1 {
			put(name+" without the first", at, value[1:], false)
		}
		if items != nil {
			put(name+" extended", at, append(slices.Clone(value), sample(items, 0, true)), false)
		}
		for i, item := range value {
			all = append(all, changesOf(fmt.Sprintf("%s[%d]", name, i), obj,
				append(slices.Clone(at), i), item, items)...)
		}
	default:
		for i, other := range others(value, s) {
			put(fmt.Sprintf("%s changed %d", name, i), at, other, false)
		}
	}
	return all
}

// others returns values other than value.
func others(value any, s *apiextensionsv1.JSONSchemaProps) []any {
	var all []any
	if s != nil && len(s.Enum) > 0 {
		for _, e := range s.Enum {
			var v any
			if json.Unmarshal(e.Raw, &v) == nil && fmt.Sprint(v) != fmt.Sprint(value) {
				all = append(all, v)
			}
		}
		return all
	}
	switch v := value.(type) {
	case string:
		return []any{v + "1", ""}
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1, v - 1}
	}
	return nil
}

// zeroOf returns the empty value of a type.
func zeroOf(s *apiextensionsv1.JSONSchemaProps) any {
	switch s.Type {
	case "object":
		return map[string]any{}
	case "array":
		return []any{}
	case "string":
		return ""
	case "boolean":
		return false
	case "integer":
		return int64(0)
	}
	return nil
}

// sample makes a value of a schema with what it requires; the second one differs from the first one.
func sample(s *apiextensionsv1.JSONSchemaProps, depth int, second bool) any {
	if len(s.Enum) > 0 {
		var v any
		_ = json.Unmarshal(s.Enum[len(s.Enum)-1].Raw, &v)
		return v
	}
	switch s.Type {
	case "object":
		out := map[string]any{}
		if depth > 6 {
			return out
		}
		for _, key := range s.Required {
			p := s.Properties[key]
			out[key] = sample(&p, depth+1, second)
		}
		if len(out) == 0 {
			for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
				p := s.Properties[key]
				if p.Type == "string" || p.Type == "integer" || p.Type == "boolean" {
					out[key] = sample(&p, depth+1, second)
					break
				}
			}
		}
		if len(out) == 0 && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			out["key"] = sample(s.AdditionalProperties.Schema, depth+1, second)
		}
		return out
	case "array":
		if s.Items == nil || s.Items.Schema == nil {
			return []any{}
		}
		return []any{sample(s.Items.Schema, depth+1, second)}
	case "boolean":
		return true
	case "integer":
		return int64(7)
	case "number":
		return 1.5
	}
	if s.XIntOrString {
		return int64(1)
	}
	switch {
	case s.Format == "date-time":
		return "2020-01-01T00:00:00Z"
	case strings.Contains(s.Pattern, "smh"):
		return "5s"
	case second:
		return "second"
	}
	return "sample"
}

// edited returns a copy with a value put or removed.
func edited(in any, at []any, value any, remove bool) any {
	if len(at) == 0 {
		return kindcase.Clone(value)
	}
	switch in := in.(type) {
	case map[string]any:
		out := maps.Clone(in)
		key := at[0].(string)
		if len(at) == 1 && remove {
			delete(out, key)
			return out
		}
		out[key] = edited(in[key], at[1:], value, remove)
		return out
	case []any:
		out := slices.Clone(in)
		i := at[0].(int)
		out[i] = edited(in[i], at[1:], value, remove)
		return out
	}
	if len(at) == 1 && !remove {
		return map[string]any{at[0].(string): value}
	}
	return in
}
