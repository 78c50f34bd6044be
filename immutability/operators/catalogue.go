package operators

import (
	"cmp"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/kindindex"
)

// Catalogue is all kinds whose operators are known. It is safe for concurrent use.
type Catalogue struct {
	index kindindex.Index[*Kind]
}

// Load returns the catalogue. The first call reads a small file for each operator; the rows of a kind are compiled when the
// kind is first used. The error is about the data, which is part of the program: a test reads all of it.
func Load() (*Catalogue, error) { return catalogue() }

var catalogue = sync.OnceValues(func() (*Catalogue, error) {
	list, err := sources()
	if err != nil {
		return nil, err
	}
	c := &Catalogue{}
	for i := range list {
		for j := range list[i].Kinds {
			if err := c.add(&list[i], &list[i].Kinds[j]); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
})

// add adds the kinds of one entry.
func (c *Catalogue) add(operator *operatorSource, source *kindSource) error {
	names := source.Kinds
	if source.Kind != "" {
		names = append([]string{source.Kind}, names...)
	}
	for _, name := range names {
		k := &Kind{
			Group: source.Group, Kind: name, Plural: cmp.Or(source.Plural, plural(name)), ShortNames: source.Short, Versions: source.Versions,
			Operator: operator.of(source),
			Source:   source.Source, Nothing: source.Nothing, source: source, read: operator.Read || source.Read,
		}
		if len(k.Versions) == 0 || k.Source == "" || (k.Nothing == "") == (len(source.Rows) == 0) {
			return errorf("%s of %s needs versions, a source, and either rows or nothing", name, operator.Operator)
		}
		c.index.Add(k, k.Group, name, k.Plural, k.ShortNames)
		for _, version := range k.Versions {
			gvk := schema.GroupVersionKind{Group: k.Group, Version: version, Kind: k.Kind}
			if !c.index.Serve(gvk, k) {
				return errorf("there are two entries for %s", gvk)
			}
		}
	}
	return nil
}

// of returns the operator of a kind.
func (o *operatorSource) of(k *kindSource) Operator {
	if k.Operator == "" {
		return Operator{Name: o.Operator, Module: o.Module, Versions: o.Versions}
	}
	return Operator{Name: k.Operator, Module: k.Module, Versions: []string{k.Version}}
}

// plural makes the plural of a kind as most projects do.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "x"), strings.HasSuffix(name, "ch"):
		return name + "es"
	case strings.HasSuffix(name, "y") && !strings.HasSuffix(name, "ey") && !strings.HasSuffix(name, "ay"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// All returns every kind, sorted by group and kind. A kind whose API versions differ in form is there once for each form.
func (c *Catalogue) All() []*Kind { return c.index.All() }

// Find returns what is known of an object's kind; ok is false for a kind that is not in the catalogue.
func (c *Catalogue) Find(apiVersion, kind string) (found *Kind, ok bool) {
	return c.index.Find(apiVersion, kind)
}

// Lookup returns the kinds with a name: a kind, plural or short name in any case, with ".group" where needed. It returns nil
// when there is none.
func (c *Catalogue) Lookup(name string) []*Kind { return c.index.Lookup(name) }

// Operator is a program that watches custom resources.
type Operator struct {
	Name   string // such as "cert-manager"
	Module string // where its source is, such as "github.com/cert-manager/cert-manager"
	// Versions are those whose source was read, oldest first.
	Versions []string
}

// Kind is a kind of custom resources and what its operator refuses.
type Kind struct {
	Group, Kind, Plural string
	ShortNames          []string
	Versions            []string // of the API, newest first
	Operator            Operator
	// Source is the function that judges updates, and its file.
	Source string
	// Nothing is why the operator refuses no update; "" for a kind with rows.
	Nothing string

	source *kindSource
	read   bool

	once   sync.Once
	fields *field
	checks []*check
	err    error
}

// APIVersion returns the newest apiVersion of the kind.
func (k *Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Versions[0]}.String()
}

// Rows returns the rows of the kind, in the order of the data.
func (k *Kind) Rows() []builtin.Row {
	var rows []builtin.Row
	for _, r := range k.rows() {
		rows = append(rows, r.Row)
	}
	return rows
}

func (k *Kind) rows() []row {
	var rows []row
	for i := range k.source.Rows {
		source := &k.source.Rows[i]
		fields := source.Fields
		if source.Field != "" {
			fields = append([]string{source.Field}, fields...)
		}
		if source.Annotation != "" {
			fields = []string{"metadata.annotations[" + source.Annotation + "]"}
		}
		for _, path := range fields {
			rows = append(rows, row{k.newRow(source, path), source})
		}
	}
	return rows
}

// row is one lock of a kind, with its source.
type row struct {
	builtin.Row
	source *rowSource
}

func (k *Kind) newRow(source *rowSource, path string) builtin.Row {
	r := builtin.Row{
		Path: path, Lock: source.Lock, Rule: source.Rule, When: and(k.source.When, source.When), Except: source.Except, Allow: source.Allow,
		Effect: cmp.Or(builtin.Effect(source.Effect), builtin.EffectRefused), Message: cmp.Or(source.Says, defaultText), Unknown: source.Unknown,
		Since: source.Since, Until: source.Until, Edit: source.Edit, First: source.First,
		Source: cmp.Or(source.Source, k.Source), Read: k.read || source.Read,
	}
	switch {
	case source.Rule != "":
		r.Lock = lockRule
	case len(source.Update) > 0:
		r.Lock = strings.Join(source.Update, ",")
	case len(source.Allow) > 0, source.Annotation != "":
		r.Lock = "immutable"
	}
	return r
}

// and joins two conditions; "" holds always.
func and(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(" + a + ") && (" + b + ")"
}

// lockRule is the lock of a row that no word expresses.
const lockRule = "rule"
