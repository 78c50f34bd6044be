// Package operators knows which updates of custom resources their operators refuse: in webhooks, which no CRD shows,
// and in controllers, which accept a change and ignore it, or leave the old resource behind.
//
//	catalogue, err := operators.Load()
//	...
//	kind, ok := catalogue.Find("cert-manager.io/v1", "CertificateRequest")
//	verdict := kind.Check(newObj, oldObj) // the objects as their manifests have them; nothing is allowed for a nil kind
//
// The knowledge is data: one YAML file for each operator in the folder data. A row names a field and a lock of package
// immutability, or a CEL rule, and the function of the operator that enforces it. A row is proved by cases that the
// operator's own code has answered; Row.Read marks the others.
//
// What the manifests cannot tell is in result.Verdict.Unknown: a refusal that depends on the status, on the user, on the
// request, or on the version of the operator where the versions differ.
//
// The package is v0: names may still change.
package operators

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/kindindex"
)

// Catalogue is all kinds whose operators are known. It is safe for concurrent use. The zero Catalogue and nil have no
// kinds.
type Catalogue struct{ kinds *kindindex.Catalogue[*Kind] }

// Load returns the catalogue. A file is read when a kind of its groups is first looked for, and the rows of a kind are
// compiled when the kind is first used. The error is about the data, which is part of the program.
func Load() (*Catalogue, error) { return catalogue() }

var catalogue = sync.OnceValues(list)

// list returns the catalogue before anything is read.
func list() (*Catalogue, error) {
	kinds, err := kindindex.NewCatalogue(files, read)
	if err != nil {
		return nil, err
	}
	return &Catalogue{kinds}, nil
}

// All returns every kind, sorted by group and kind. A kind whose API versions differ in form is there once for each
// form.
func (c *Catalogue) All() []*Kind {
	if c == nil {
		return nil
	}
	return c.kinds.All()
}

// Find returns what is known of an object's kind; ok is false for a kind that is not in the catalogue.
func (c *Catalogue) Find(apiVersion, kind string) (found *Kind, ok bool) {
	if c == nil {
		return nil, false
	}
	return c.kinds.Find(apiVersion, kind)
}

// read returns the kinds of a file.
func read(text []byte) ([]kindindex.Entry[*Kind], error) {
	operator := &operatorSource{}
	if err := yaml.UnmarshalStrict(text, operator); err != nil {
		return nil, err
	}
	if len(operator.Versions) == 0 || !slices.IsSortedFunc(operator.Versions, compareVersions) {
		return nil, errors.New("versions has to list the versions that were read, oldest first")
	}
	var entries []kindindex.Entry[*Kind]
	for i := range operator.Kinds {
		source := &operator.Kinds[i]
		if err := operator.complete(source); err != nil {
			return nil, err
		}
		for _, name := range source.names() {
			k := operator.kind(source, name)
			if len(k.Versions) == 0 || k.Source == "" || (k.Nothing == "") == (len(source.Rows) == 0) {
				return nil, errorf("%s of %s needs versions, a source, and either rows or nothing",
					name, operator.Operator)
			}
			k.APIVersion = schema.GroupVersion{Group: k.Group, Version: k.Versions[0]}.String()
			entries = append(entries, kindindex.Entry[*Kind]{Of: k, Group: k.Group, Kind: name, Versions: k.Versions})
		}
	}
	return entries, nil
}

// names returns the kinds that an entry is about.
func (k *kindSource) names() []string {
	if k.Kind == "" {
		return k.Kinds
	}
	return append([]string{k.Kind}, k.Kinds...)
}

// kind returns a kind of an entry.
func (o *operatorSource) kind(source *kindSource, name string) *Kind {
	return &Kind{
		Group: source.Group, Kind: name, Plural: cmp.Or(source.Plural, plural(name)), ShortNames: source.Short,
		Versions: source.Versions,
		Operator: o.of(source), Source: source.EnforcedBy, Nothing: source.Nothing, source: source,
	}
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

// Operator is a program that watches custom resources.
type Operator struct {
	Name   string // such as "cert-manager"
	Module string // where its source is, such as "github.com/cert-manager/cert-manager"
	// Versions are those whose source was read, oldest first.
	Versions []string
}

// Kind is a kind of custom resources and what its operator refuses. Get one from Catalogue.Find: the zero Kind and nil
// check nothing, so their verdict is not allowed.
type Kind struct {
	Group, Kind, Plural string
	ShortNames          []string
	Versions            []string // of the API, newest first
	APIVersion          string   // with the newest version, such as "serving.kserve.io/v1beta1"
	Operator            Operator
	// Source is the function that judges updates, and its file.
	Source string
	// Nothing is why the operator refuses no update; "" for a kind with rows.
	Nothing string

	source *kindSource

	once       sync.Once
	definition *kind.Definition
	err        error
}

// undefined reports whether k is nil or did not come from a Catalogue.
func (k *Kind) undefined() bool { return k == nil || k.source == nil }

// Rows returns the rows of the kind, in the order of the data.
func (k *Kind) Rows() []builtin.Row {
	if k.undefined() {
		return nil
	}
	var rows []builtin.Row
	for i := range k.source.Rows {
		for _, path := range k.source.Rows[i].Paths() {
			rows = append(rows, k.newRow(&k.source.Rows[i], path))
		}
	}
	return rows
}

func (k *Kind) newRow(source *kind.Row, path string) builtin.Row {
	return builtin.Row{
		Path: path, Locks: source.Locks(), Rule: source.Rule, When: source.When, Except: source.Except,
		Allow:  source.Allow,
		Effect: builtin.Effect(source.Effect), Message: source.Says, Unknown: source.Unknown,
		Since: source.Since, Until: source.Until, WaysOut: source.WaysOut, Source: source.Source, Read: source.Read,
	}
}

// complete fills in what the rows of a kind have in common.
func (o *operatorSource) complete(k *kindSource) error {
	for i := range k.Rows {
		row := &k.Rows[i]
		row.Effect = cmp.Or(row.Effect, string(builtin.EffectRefused))
		switch builtin.Effect(row.Effect) {
		case builtin.EffectRefused:
		case builtin.EffectIgnored, builtin.EffectLeaked:
			if row.Says == "" {
				return errorf("%s of %s: a row that is not refused says what happens", k.Kind, o.Operator)
			}
		default:
			return errorf("%s of %s: unknown effect %q", k.Kind, o.Operator, row.Effect)
		}
		row.Says, row.Source, row.When = cmp.Or(row.Says, defaultText), cmp.Or(row.Source,
			k.EnforcedBy), and(k.When, row.When)
		row.Read = row.Read || k.Read || o.Read
		row.Presence = true // webhooks compare the maps
	}
	return nil
}

// and joins two conditions; "" holds always.
func and(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(" + a + ") && (" + b + ")"
}

//go:embed data/*.yaml
var files embed.FS

// operatorSource is a file of the folder data: the kinds of one operator.
type operatorSource struct {
	Operator string       `json:"operator"` // its name for people
	Module   string       `json:"module"`   // where its source is
	Versions []string     `json:"versions"` // that were read, oldest first
	Read     bool         `json:"read"`     // its code was read and not run
	Kinds    []kindSource `json:"kinds"`
}

// kindSource is what a file says about one kind, or about several with the same rows. The fields have one form in all
// versions of the API, and the versions of the rows are the operator's.
type kindSource struct {
	kind.Source
	Operator   string   `json:"operator"` // where the file holds several operators, with Module and Version
	Module     string   `json:"module"`
	Version    string   `json:"version"`
	Kinds      []string `json:"kinds"` // kinds with the same rows; their plurals are regular
	Group      string   `json:"group"`
	Since      string   `json:"since"`  // the first of the operator's versions that has these API versions
	EnforcedBy string   `json:"source"` // function and file
	Read       bool     `json:"read"`
	Nothing    string   `json:"nothing"` // why the operator refuses no update; then there are no rows
	When       string   `json:"when"`    // CEL as in a row's: the rows apply when it is true
}

// defaultText is what most webhooks say.
const defaultText = "field is immutable"

// has reports whether a version of the operator has a row.
func has(version string, r *kind.Row) bool {
	return reached(version, r.Since) && (r.Until == "" || compareVersions(version, r.Until) <= 0)
}

// reached reports whether a version is not before another one; "" is before all.
func reached(version, since string) bool { return since == "" || compareVersions(version, since) >= 0 }

// compareVersions orders versions such as "1.14.2" or "2.1.0-beta.1" by their numbers.
func compareVersions(a, b string) int {
	xs, ys := strings.FieldsFunc(a, separates), strings.FieldsFunc(b, separates)
	for i := range min(len(xs), len(ys)) {
		x, xErr := strconv.Atoi(xs[i])
		y, yErr := strconv.Atoi(ys[i])
		if xErr != nil || yErr != nil {
			if c := strings.Compare(xs[i], ys[i]); c != 0 {
				return c
			}
			continue
		}
		if x != y {
			return x - y
		}
	}
	return 0 // "1.14" stands for all of its patches
}

func separates(r rune) bool { return r == '.' || r == '-' }

func errorf(format string, args ...any) error { return fmt.Errorf("operators: "+format, args...) }

// Replacement returns how to get the violations of verdict through.
func (k *Kind) Replacement(newObj map[string]any, verdict result.Verdict) result.Replacement {
	if k.undefined() {
		return result.Replacement{Cost: result.CostUnknown, Message: "the kind is not known"}
	}
	var around kind.Around
	for _, v := range verdict.Violations {
		around.Add(v.WaysOut)
	}
	target := kind.Target(k.Plural+"."+k.Group+"/"+text(newObj, "metadata.name"), text(newObj, "metadata.namespace"))
	why := cmp.Or(k.source.Why, "what is lost depends on the operator")
	return k.source.Replacement(why, strings.NewReplacer(kind.Words(target)...), around)
}

// text returns the string at a path, or "".
func text(value any, path string) string {
	found, _ := fieldpath.At(value, path)
	t, _ := found.(string)
	return t
}
