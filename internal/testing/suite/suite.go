// Package suite loads the test suites of testdata: schemas with updates and what they break, as data that every route
// to the checks runs through.
package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Suite is one schema and the updates that are checked against it: one document of a file.
type Suite struct {
	// Name is unique in its file; Reason is the section of the contract or the proposal that the suite shows.
	Name, Reason string
	// File is the file that it is in.
	File string
	// Schema is the root schema of the object, with its extensions; Definitions are what its $refs lead to.
	Schema json.RawMessage
	// MapListOrder is "ignored" for suites that run under WithMapListOrder(MapListOrderIgnored).
	MapListOrder string
	// Defaults is set for suites whose objects are pruned and defaulted before they are compared.
	Defaults bool
	Cases    []Case
}

// Case is one update.
type Case struct {
	Name, Reason string
	// Old and New are the objects, as written in YAML; OldJSON and NewJSON are their text where it matters.
	Old, New         json.RawMessage
	OldJSON, NewJSON string
	Violations       []Violation
}

// Violation is what a case expects; Old, New and Key are compared where they are given.
type Violation struct {
	Path, Lock    string
	Old, New, Key json.RawMessage
	// Differences are the paths below the locked one, where they are given.
	Differences []string
}

// Load reads every suite below dir of files, in the order of their names. A member without a field is an
// error, so that a misspelled expectation cannot pass.
func Load(files fs.FS, dir string) ([]Suite, error) {
	var suites []Suite
	err := fs.WalkDir(files, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		return Documents(files, name, func(data []byte) error {
			s := Suite{File: name}
			if err := yaml.UnmarshalStrict(data, &s); err != nil {
				return err
			}
			suites = append(suites, s)
			return s.complete()
		})
	})
	return suites, err
}

// Documents calls read with each document of the multi-document YAML file name.
func Documents(files fs.FS, name string, read func([]byte) error) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	for i := 1; ; i++ {
		var node goyaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var document []byte
		if err == nil {
			document, err = goyaml.Marshal(&node)
		}
		if err == nil {
			err = read(document)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, i, err)
		}
	}
}

// complete reports what a suite lacks.
func (s *Suite) complete() error {
	if s.Name == "" || s.Reason == "" || s.Schema == nil || len(s.Cases) == 0 {
		return fmt.Errorf("suite %q needs a name, a reason, a schema and cases", s.Name)
	}
	seen := map[string]bool{}
	for _, c := range s.Cases {
		if c.Name == "" || c.Reason == "" || seen[c.Name] {
			return fmt.Errorf("case %q needs a reason and a name of its own", c.Name)
		}
		seen[c.Name] = true
		if (c.Old == nil) == (c.OldJSON == "") || (c.New == nil) == (c.NewJSON == "") {
			return fmt.Errorf("case %q needs old or oldJSON, and new or newJSON", c.Name)
		}
	}
	return nil
}

// Spec decodes the schema.
func (s *Suite) Spec() (*spec.Schema, error) {
	out := &spec.Schema{}
	return out, json.Unmarshal(s.Schema, out)
}

// OldDocument is the text of the old object.
func (c *Case) OldDocument() []byte { return document(c.Old, c.OldJSON) }

// NewDocument is the text of the new object.
func (c *Case) NewDocument() []byte { return document(c.New, c.NewJSON) }

func document(value json.RawMessage, text string) []byte {
	if text != "" {
		return []byte(text)
	}
	return value
}

// String names the suite for a subtest.
func (s *Suite) String() string {
	return strings.TrimSuffix(path.Base(s.File), ".yaml") + "/" + s.Name
}

// Value decodes a JSON value as an API server does; text that is not JSON is nil.
func Value(data []byte) any {
	var wrapped struct{ V any }
	text := append(append([]byte(`{"V":`), data...), '}')
	if err := kjson.Unmarshal(text, &wrapped); err != nil {
		return nil
	}
	return wrapped.V
}

// Group, Version and Kind of the CRD that holds a suite's schema.
const (
	Group   = "suite.fieldlock.dev"
	Version = "v1"
	Kind    = "Case"
)

// CRD returns a CRD with the suite's schema, as decoded JSON. The schema gets the properties that every object has.
func (s *Suite) CRD() map[string]any {
	root := Value(s.Schema).(map[string]any)
	properties := root["properties"].(map[string]any)
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if _, ok := properties[name]; !ok {
			properties[name] = map[string]any{"type": kind}
		}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "cases." + Group},
		"spec": map[string]any{
			"group": Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": Kind, "plural": "cases", "singular": "case", "listKind": "CaseList"},
			"versions": []any{map[string]any{
				"name": Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": root},
			}},
		},
	}
}

// Mismatch says how got differs from what the case expects, or "". Paths and locks are compared always and in order;
// values, keys and differences where the case gives them; if a case gives only old or only new, the other one must be
// absent.
func (c *Case) Mismatch(got []Violation) string {
	if len(got) != len(c.Violations) {
		return fmt.Sprintf("got %s, want %s", names(got), names(c.Violations))
	}
	var wrong []string
	for i, want := range c.Violations {
		wrong = append(wrong, want.mismatch(got[i])...)
	}
	return strings.Join(wrong, "\n")
}

func (v *Violation) mismatch(got Violation) []string {
	var wrong []string
	differ := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s: %s: got %s, want %s", v.Path, what, got, want))
	}
	if got.Path != v.Path || got.Lock != v.Lock {
		differ("violation", names([]Violation{got}), names([]Violation{*v}))
	}
	sides := v.Old != nil || v.New != nil
	for _, p := range []struct {
		what      string
		got, want json.RawMessage
		check     bool
	}{{"old", got.Old, v.Old, sides && v.Key == nil}, {"new", got.New, v.New, sides && v.Key == nil},
		{"key", got.Key, v.Key, v.Key != nil}} {
		if p.check && !equalJSON(p.got, p.want) {
			differ(p.what, string(p.got), string(p.want))
		}
	}
	if v.Differences != nil && !slices.Equal(got.Differences, v.Differences) {
		differ("differences", fmt.Sprint(got.Differences), fmt.Sprint(v.Differences))
	}
	return wrong
}

func equalJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return jsonvalue.Equal(Value(a), Value(b))
}

func names(list []Violation) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = v.Path + " " + v.Lock
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// LintRow is one schema and what lint finds in it.
type LintRow struct {
	Name, Reason string
	// Schema is the root schema. Instead, Fields are the properties of a required object spec, of which Required are
	// required.
	Schema   json.RawMessage
	Fields   map[string]json.RawMessage
	Required []string
	// Redact are schema paths whose values a validator is to redact.
	Redact   []string
	Findings []Finding
}

// Finding is what a row expects; Fields, and how the message ends, are compared where they are given.
type Finding struct {
	Rule, Path, Ends string
	Fields           []string
}

// LoadLint reads the rows of a file.
func LoadLint(files fs.FS, name string) ([]LintRow, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var rows []LintRow
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range rows {
		r := &rows[i]
		if r.Name == "" || r.Reason == "" || r.Findings == nil || (r.Schema == nil) == (r.Fields == nil) {
			return nil, fmt.Errorf("%s: row %q needs a name, a reason, findings, and a schema or fields", name, r.Name)
		}
		if r.Fields == nil {
			continue
		}
		spec := map[string]any{"type": "object", "properties": r.Fields}
		if r.Required != nil {
			spec["required"] = r.Required
		}
		if r.Schema, err = json.Marshal(map[string]any{
			"type": "object", "required": []string{"spec"}, "properties": map[string]any{"spec": spec},
		}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Growth is a class of schemas and updates in which a check that looks at a subtree once for each level above it needs
// the square of the depth, or more.
type Growth struct {
	Name, Reason string
	Schema       string
	Build        func(depth int, isNew bool) map[string]any
	Refused      bool
}

// Growths lists the classes. It is one table, and long because each row has a schema.
func Growths() []Growth {
	return []Growth{
		{
			"NoModify and normalize at each level",
			"absence and equality are asked at each level, for everything below",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},
		 "x-fieldlock-update":["NoModify"],"x-kubernetes-normalize":"undefined"}}}`,
			nestedObject(bottom), true,
		},
		{
			"NoModify at each level", "equality is asked at each level, for everything below",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedObject(bottom), true,
		},
		{
			"NoModify at each level, differences at each level", "each difference is below all the locks above it",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedObject(each), true,
		},
		{
			"NoModify in lists at each level",
			"items are compared in order, so the first difference is always at the bottom",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"items":{"$ref":"#/definitions/A"},"x-fieldlock-update":["NoModify"]}}}`,
			nestedList(false), true,
		},
		{
			"immutable over normalize", "absence is asked at each level",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"properties":{"a":{"$ref":"#/definitions/A"}}}},
		 "definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},"l":{}},"x-kubernetes-normalize":"undefined"}}}`,
			nestedObject(bottom), true,
		},
		{
			"sets of sets in another order", "each item is hashed with everything in it",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"set","items":{"$ref":"#/definitions/A"}}}}`,
			nestedList(true), false,
		},
		{
			"sets of sets that differ at the bottom", "a comparison that fails may be tried again at each level",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"set","items":{"$ref":"#/definitions/A"}}}}`,
			nestedList(false), true,
		},
		{
			"NoModify over sets in another order at each level",
			"what is equal without order is unequal as JSON, so the locks below compare too",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"},
		 "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}},"x-fieldlock-update":["NoModify"]}}}`,
			nestedSets, false,
		},
		{
			"keyed lists without order that differ", "differences are looked for at each level",
			`{"x-fieldlock-map-list-order":"ignored","properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(false), true,
		},
		{
			"keyed lists in keyed lists, with a lock in the items", "as text, each list is read again at each level",
			`{"properties":{"a":{"$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{"x-kubernetes-immutable":true},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(false), true,
		},
		{
			"keyed lists without order and with repeated keys that differ",
			"lists with repeated keys are compared twice",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			keyedLists(true), true,
		},
		{
			"keyed lists with repeated keys in the same order that differ",
			"what a comparison of a level finds out is asked again at the next one",
			`{"properties":{"a":{"x-kubernetes-immutable":true,"x-fieldlock-map-list-order":"ignored","$ref":"#/definitions/A"}},
		 "definitions":{"A":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
		  "items":{"properties":{"k":{"type":"string"},"l":{},"a":{"$ref":"#/definitions/A"}}}}}}`,
			repeatedInOrder, true,
		},
	}
}

type where int // the levels at which two objects differ

const (
	bottom where = iota
	each
)

func leaf(isNew bool) any {
	if isNew {
		return "new"
	}
	return "old"
}

func nestedObject(differ where) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := map[string]any{"l": leaf(isNew)}
		for range depth {
			v = map[string]any{"a": v, "l": leaf(isNew && differ == each)}
		}
		return map[string]any{"a": v}
	}
}

func nestedList(equal bool) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := []any{leaf(isNew && !equal)}
		for i := range depth {
			v = []any{v, fmt.Sprint(i), []any{fmt.Sprint(i)}}
			if isNew && equal {
				slices.Reverse(v)
			}
		}
		return map[string]any{"a": v}
	}
}

func nestedSets(depth int, isNew bool) map[string]any {
	v := map[string]any{}
	for range depth {
		set := []any{"a", "b", "c"}
		if isNew {
			slices.Reverse(set)
		}
		v = map[string]any{"a": v, "s": set}
	}
	return map[string]any{"a": v}
}

func repeatedInOrder(depth int, isNew bool) map[string]any {
	v := []any{map[string]any{"k": "x", "l": leaf(isNew)}}
	for range depth {
		v = []any{map[string]any{"k": "x", "a": v}, map[string]any{"k": "y"}, map[string]any{"k": "y"}}
	}
	return map[string]any{"a": v}
}

func keyedLists(repeated bool) func(int, bool) map[string]any {
	return func(depth int, isNew bool) map[string]any {
		v := []any{map[string]any{"k": "x", "l": leaf(isNew)}}
		for range depth {
			v = []any{map[string]any{"k": "x", "a": v}, map[string]any{"k": "y"}, map[string]any{"k": "z"}}
			if repeated {
				v[2] = map[string]any{"k": "y"}
			}
			if isNew {
				slices.Reverse(v)
			}
		}
		return map[string]any{"a": v}
	}
}
