// Package crdfacts knows the transition rules of the CRDs of many projects, for trees that hold custom resources but
// not their CRDs.
//
//	kind, ok := crdfacts.Find("karpenter.sh/v1", "NodePool")
//	if ok {
//		verdict := kind.Check(newObj, oldObj) // the objects as their manifests have them
//	}
//
// The knowledge is data: one YAML file for each project in the folder data. A row names a field and the lock that the
// rules of the CRD amount to. Rules that equal no lock have rows that only name the fields they read. A kind without
// rows has a CRD without transition rules, so that its updates cannot break one. `go run ./hack/crdrules` derives the
// files from published modules and proves them by the API server's validator; nobody writes them by hand.
//
// Plain rules and the rest of a schema are left out: they judge one object, not a change.
package crdfacts

import (
	"embed"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/kindindex"
)

// Project is a file of the folder data.
type Project struct {
	Name    string `json:"project"` // for people, such as "Karpenter"
	Module  string `json:"module"`  // the Go module that publishes the CRDs
	Version string `json:"version"` // of the module
	// Kinds are sorted by group and kind. A kind whose versions have different rules is there once for each form.
	Kinds []*Kind `json:"kinds"`
}

// Kind is what is known of a kind of custom resources in some versions of its API.
type Kind struct {
	Group    string                    `json:"group"`
	Kind     string                    `json:"kind"`
	Plural   string                    `json:"plural"`
	Cluster  bool                      `json:"cluster,omitempty"` // its objects have no namespace
	Versions []string                  `json:"versions"`          // of the API, as the CRD lists them
	Rows     []Row                     `json:"rows,omitempty"`
	Fields   map[string]kind.FieldData `json:"fields,omitempty"` // by path: what a comparison needs to know at, above and below the rows

	Project *Project `json:"-"`

	once     sync.Once
	compiled *compiled
	err      error
}

// compiled are the rows of a kind: those that are locks, and those of which only the fields are known. Either may be
// nil.
type compiled struct{ locks, open *ruled }

// ruled are rows, as one schema.
type ruled struct {
	*kind.Definition
	rows []*Row
}

// Row is what the transition rules of a CRD say about one field.
type Row struct {
	Path      string   `json:"path"`             // such as "spec.listeners[*].port"; {*} is every value of a map
	Lock      string   `json:"lock,omitempty"`   // immutable, immutable-keys, addition-only or deletion-only
	Update    []string `json:"update,omitempty"` // words of x-fieldlock-update
	Normalize string   `json:"normalize,omitempty"`
	Ordered   bool     `json:"ordered,omitempty"` // the order of keyed lists counts
	Unknown   bool     `json:"unknown,omitempty"` // a rule that equals no lock reads the field
	Says      string   `json:"says,omitempty"`    // the messages of the rules
}

// Locks returns the locks of the row; none for a row that is unknown.
func (r *Row) Locks() []immutability.Lock {
	if r.Lock != "" {
		return []immutability.Lock{immutability.Lock(r.Lock)}
	}
	var locks []immutability.Lock
	for _, word := range r.Update {
		locks = append(locks, immutability.Lock(word))
	}
	return locks
}

// Password reports whether the value at a path is not shown.
func (k *Kind) Password(at fieldpath.Path) bool {
	for path, f := range k.Fields {
		if f.Password && at.Within(fieldpath.Parse(path)) {
			return true
		}
	}
	return false
}

// APIVersion returns the group with the first version.
func (k *Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Versions[0]}.String()
}

// Source names the CRD that the rows are from.
func (k *Kind) Source() string {
	if k.Project == nil {
		return "the CRD of " + k.Kind
	}
	return fmt.Sprintf("the CRD of %s %s (%s)", k.Project.Name, k.Project.Version, k.Project.Module)
}

// Has reports whether name, in any case, is the kind or its plural, with ".group" where wanted.
func (k *Kind) Has(name string) bool {
	return kindindex.Names{Group: k.Group, Kind: k.Kind, Plural: k.Plural}.Has(name)
}

//go:embed data/*.yaml
var files embed.FS

var catalogue = sync.OnceValue(func() *kindindex.Catalogue[*Kind] {
	c, err := kindindex.NewCatalogue(files, func(text []byte) ([]kindindex.Entry[*Kind], error) {
		p, err := Parse(text)
		if err != nil {
			return nil, err
		}
		var entries []kindindex.Entry[*Kind]
		for _, k := range p.Kinds {
			entries = append(entries, kindindex.Entry[*Kind]{Of: k, Group: k.Group, Kind: k.Kind, Versions: k.Versions})
		}
		return entries, nil
	})
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return c
})

// Parse reads a file of the folder data. A key that is not known is an error, as is a kind without a version.
func Parse(text []byte) (*Project, error) {
	p := &Project{}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, err
	}
	for _, k := range p.Kinds {
		k.Project = p
		if k.Group == "" || k.Kind == "" || len(k.Versions) == 0 {
			return nil, fmt.Errorf("%s of %s needs a group, a kind and versions", k.Kind, k.Group)
		}
	}
	return p, nil
}

// Find returns what is known of an object's kind in its version; ok is false for one that no file has.
func Find(apiVersion, kind string) (found *Kind, ok bool) { return catalogue().Find(apiVersion, kind) }

// All returns every kind, sorted by group and kind.
func All() []*Kind { return catalogue().All() }
