// Package locktest tests which updates of an object are refused, and attacks the locks that refuse them. It needs
// neither a cluster nor a binary: package immutability checks the locks, and the API server's own validators, linked
// into the test, check the schema and run the CEL rules.
//
// A first test of a CRD:
//
//	func TestLocks(t *testing.T) {
//		databases := locktest.CRD(t, "../config/crd/example.com_databases.yaml")
//		databases.Run(t, []locktest.Update{
//			{Name: "engine", Old: `spec: {engine: postgres}`, Patch: `spec: {engine: mysql}`, Refused: []string{"spec.engine"}},
//			{Name: "replicas", Old: `spec: {engine: postgres}`, Patch: `spec: {replicas: 3}`},
//		})
//		databases.Attack(t, `spec: {engine: postgres}`)
//	}
//
// Both objects of an update have to be valid, as an API server runs no rules otherwise. What the schema does not know
// is a mistake of the test, and fails it.
package locktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// T is what the functions of this package need of *testing.T, *testing.B and *testing.F.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Kind is a kind of objects under test. The zero Kind and nil end the test that uses them.
type Kind struct {
	kind    *witness.Kind
	version *witness.Version // of objects that do not say theirs

	crd       *crd.CRD // nil for a schema of something else
	documents []policy.Document
	policies  *policy.Set
}

// CRD reads the one CRD in a file, and compiles it with opts, such as immutability.WithLocks. Objects without
// apiVersion are of its storage version. A file that cannot be read, or a schema with mistakes, ends the test.
func CRD(t T, file string, opts ...immutability.Option) *Kind {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("locktest: %v", err)
		return nil
	}
	return CRDFrom(t, file, data, opts...)
}

// CRDFrom is CRD for the contents of a file.
func CRDFrom(t T, file string, data []byte, opts ...immutability.Option) *Kind {
	t.Helper()
	crds, err := crd.Read(file, data)
	if err == nil && len(crds) != 1 {
		err = fmt.Errorf("%s has %d CRDs; locktest reads files with one", file, len(crds))
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
		return nil
	}
	for _, v := range crds[0].Versions {
		validator, err := v.Compile(opts...)
		if err != nil {
			t.Fatalf("locktest: %v", err)
			return nil
		}
		if len(opts) > 0 {
			v.Schema = validator.Schema() // with the locks of opts
		}
	}
	k := &Kind{kind: witness.FromCRD(crds[0], nil), crd: crds[0]}
	for _, v := range k.kind.Versions {
		if k.version == nil || v.Storage {
			k.version = v
		}
	}
	if k.version == nil {
		t.Fatalf("locktest: %s has no version that is served or stored", file)
	}
	return k
}

// Schema compiles a schema, such as one of an aggregated API server. Objects are compared as they are: nothing is
// pruned or defaulted. It is compiled with opts; a schema that does not compile ends the test.
func Schema(t T, s *spec.Schema, opts ...immutability.Option) *Kind {
	t.Helper()
	locks, err := immutability.Compile(s, opts...)
	if err != nil {
		t.Fatalf("locktest: %v", err)
		return nil
	}
	v := &witness.Version{
		APIVersion: "example.com/v1", Kind: "Object", Name: "v1", Schema: locks.Schema(), Served: true,
		Storage: true, Locks: locks,
		Prepare: func(obj map[string]any) (map[string]any, error) { return obj, nil },
	}
	return &Kind{kind: &witness.Kind{Versions: []*witness.Version{v}}, version: v}
}

// undefined reports whether k is nil or was not made by this package, and ends the test then.
func (k *Kind) undefined(t T) bool {
	t.Helper()
	if k == nil || k.version == nil {
		t.Fatalf("locktest: there is no kind: make one with CRD, CRDFrom or Schema")
		return true
	}
	return false
}

// object reads an object: YAML or JSON text, or a Go value that encodes to JSON. What it does not say of apiVersion,
// kind and metadata.name is filled in.
func (k *Kind) object(v any) (map[string]any, error) {
	obj, err := decode(v)
	if err != nil {
		return nil, err
	}
	if obj["apiVersion"] == nil || obj["apiVersion"] == "" {
		obj["apiVersion"] = k.version.APIVersion
	}
	if obj["kind"] == nil || obj["kind"] == "" {
		obj["kind"] = k.version.Kind
	}
	metadata, _ := obj["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if metadata["name"] == nil {
		metadata["name"] = "example"
	}
	if metadata["creationTimestamp"] == nil {
		delete(metadata, "creationTimestamp") // as Go types encode it
	}
	obj["metadata"] = metadata
	return obj, k.unknown(obj)
}

func decode(v any) (map[string]any, error) {
	var data []byte
	var err error
	switch v := v.(type) {
	case nil:
		return nil, errors.New("it is missing")
	case string:
		data, err = yaml.YAMLToJSONStrict([]byte(v))
	case []byte:
		data, err = yaml.YAMLToJSONStrict(v)
	default:
		data, err = json.Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		return nil, fmt.Errorf("it is not an object: %w", err)
	}
	if obj == nil {
		return nil, errors.New("it is missing")
	}
	return obj, nil
}

// unknown returns an error about fields that the schema does not know, which are most likely misspelled.
func (k *Kind) unknown(obj map[string]any) error {
	for _, v := range k.kind.Versions {
		if v.APIVersion != obj["apiVersion"] {
			continue
		}
		prepared, err := v.Prepare(obj)
		if err != nil {
			return err
		}
		if at := lost(obj, prepared, ""); at != "" {
			return fmt.Errorf("the schema of %s does not know %s", v.APIVersion, at)
		}
	}
	return nil
}

// lost returns the first path by name of a value other than null that before has and after lacks, or "".
func lost(before, after any, at string) string {
	switch before := before.(type) {
	case map[string]any:
		other, _ := after.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			value, path := before[name], name
			if at != "" {
				path = at + "." + name
			}
			kept, ok := other[name]
			if !ok && value != nil && path != "metadata" {
				return path
			}
			if below := lost(value, kept, path); below != "" && ok {
				return below
			}
		}
	case []any:
		other, _ := after.([]any)
		for i, value := range before {
			if i < len(other) {
				if below := lost(value, other[i], fmt.Sprintf("%s[%d]", at, i)); below != "" {
					return below
				}
			}
		}
	}
	return ""
}
