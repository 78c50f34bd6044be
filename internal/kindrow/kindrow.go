// Package kindrow is what the rows in the data of built-in kinds and of operators have in common. A row is one lock of one
// or several fields.
package kindrow

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Row is one lock, or several fields with the same lock.
type Row struct {
	Field      string   `json:"field"`
	Fields     []string `json:"fields"`
	Annotation string   `json:"annotation"` // a key of metadata.annotations, or a prefix that ends in "*"

	Lock   string   `json:"lock"`
	Update []string `json:"update"` // words of x-fieldlock-update
	Rule   string   `json:"rule"`   // CEL on the whole objects: false is a violation
	When   string   `json:"when"`   // CEL as in Rule: the row applies when it is true
	Except []string `json:"except"` // fields below Field that may change
	Each   bool     `json:"each"`   // report each difference at its own path
	Since  string   `json:"since"`  // the first version that has the row
	Until  string   `json:"until"`  // the last version that has the row

	Says    string `json:"says"`    // the text of who refuses
	Unknown string `json:"unknown"` // why the manifests cannot tell
	Edit    string `json:"edit"`    // an edit that makes a replacement unnecessary
	First   string `json:"first"`   // what to do before the object is replaced
}

// LockRule is the lock of a row that no word expresses.
const LockRule = "rule"

// Paths returns the fields that the row locks.
func (r *Row) Paths() []string {
	paths := slices.Clone(r.Fields)
	if r.Field != "" {
		paths = append([]string{r.Field}, paths...)
	}
	if r.Annotation != "" {
		paths = append(paths, annotations.Key(r.Annotation).String())
	}
	return paths
}

// Locks returns the locks of the row, nil for none.
func (r *Row) Locks() []immutability.Lock {
	switch {
	case r.Rule != "":
		return []immutability.Lock{LockRule}
	case len(r.Update) > 0:
		locks := make([]immutability.Lock, len(r.Update))
		for i, word := range r.Update {
			locks[i] = immutability.Lock(word)
		}
		return locks
	case r.Annotation != "":
		return []immutability.Lock{immutability.LockImmutable}
	case r.Lock != "":
		return []immutability.Lock{immutability.Lock(r.Lock)}
	}
	return nil
}

// Marks returns the lock of a row as extension keys of a schema.
func (r *Row) Marks() map[string]any {
	if len(r.Update) == 0 {
		return map[string]any{"x-kubernetes-" + r.Lock: true}
	}
	words := make([]any, len(r.Update))
	for i, word := range r.Update {
		words[i] = word
	}
	return map[string]any{schema.KeyUpdate: words}
}

// Broken returns what an update breaks of the lock, which the schema of v has.
func (r *Row) Broken(v *immutability.Validator, newObj, oldObj map[string]any) []immutability.Violation {
	for _, path := range r.Except {
		except := fieldpath.Parse(path)
		newObj, _ = except.Without(newObj).(map[string]any)
		oldObj, _ = except.Without(oldObj).(map[string]any)
	}
	var all []immutability.Violation
	for _, v := range v.Check(newObj, oldObj).Violations {
		if !r.Each || len(v.Differences) == 0 {
			all = append(all, v)
			continue
		}
		for _, d := range v.Differences {
			one := v
			one.Path, one.Old, one.New, one.HasOld, one.HasNew, one.Differences = d.Path, d.Old, d.New, d.HasOld, d.HasNew, nil
			all = append(all, one)
		}
	}
	return all
}

var annotations = field.NewPath("metadata", "annotations")

// Annotations returns the annotations of an update that the row is about, sorted, each as the violation that it is if its
// values are not equal.
func (r *Row) Annotations(newObj, oldObj map[string]any) []immutability.Violation {
	found, _ := fieldpath.At(newObj, annotations.String())
	is, _ := found.(map[string]any)
	found, _ = fieldpath.At(oldObj, annotations.String())
	was, _ := found.(map[string]any)
	keys := slices.AppendSeq(slices.Collect(maps.Keys(is)), maps.Keys(was))
	slices.Sort(keys)
	prefix, many := strings.CutSuffix(r.Annotation, "*")
	var all []immutability.Violation
	for _, key := range slices.Compact(keys) {
		if key == prefix || many && strings.HasPrefix(key, prefix) {
			v := immutability.Violation{Lock: immutability.LockImmutable, Path: annotations.Key(key)}
			v.New, v.HasNew = is[key]
			v.Old, v.HasOld = was[key]
			all = append(all, v)
		}
	}
	return all
}

// Read decodes a file of the folder data. A key that is not known is an error.
func Read(files fs.FS, name string, into any) error {
	name = path.Join("data", name)
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
