// Package builtin knows which updates of Kubernetes' own kinds an API server refuses.
//
//	kinds, err := builtin.For("1.36")
//	...
//	kind, ok := kinds.Find("apps/v1", "Deployment") // not ok: not a built-in kind
//	verdict := kind.Check(newObj, oldObj)           // the objects as their manifests have them
//	if !verdict.Allowed() {
//		replacement := kind.Replacement(newObj, oldObj, verdict)
//		...
//	}
//
// Check predicts an apply: it stores the old manifest as the API server would, merges the new one into it, stores the
// result, and compares both. A field that the new manifest leaves out and that only the server has set is not a change.
//
// The knowledge is data: one YAML file for each API group in the folder data, with the fields that a comparison needs
// to know (defaults, list keys), the locks, and the server's words. A lock is one of the words of package immutability,
// or a CEL rule. What only the cluster can decide is in result.Verdict.Unknown.
//
// The package is v0: names may still change.
package builtin

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/kindindex"
)

// Kinds is the built-in kinds as one Kubernetes minor has them. It is safe for concurrent use. The zero Kinds and nil
// have no kinds.
type Kinds struct {
	Minor string // such as "1.36"

	minor int
	// of the minor; by apiVersion also those that other minors serve, and those that are gone
	index kindindex.Index[*Kind]
}

// For returns the built-in kinds of a Kubernetes minor, such as "1.36"; "" is the newest known one. It returns an error
// that names the known minors for any other text. The first call reads about 20 small files; the checks of a kind are
// compiled when the kind is first used.
func For(minor string) (*Kinds, error) {
	number, err := parseMinor(minor)
	if err != nil {
		return nil, err
	}
	sources, err := groups()
	if err != nil {
		return nil, err
	}
	k := &Kinds{Minor: minorName(number), minor: number}
	types := map[int]*structTypes{}
	for _, group := range sources {
		for i := range group.Kinds {
			if err := k.add(group.Group, &group.Kinds[i], types); err != nil {
				return nil, fmt.Errorf("%s: %w", group.Kinds[i].Kind, err)
			}
		}
	}
	return k, nil
}

// add adds a kind: once as the minor has it, and once for each other minor that is needed for a version.
func (k *Kinds) add(group string, source *kindSource, types map[int]*structTypes) error {
	byMinor := map[int]*Kind{}
	at := func(minor int) *Kind {
		if byMinor[minor] == nil {
			if types[minor] == nil {
				types[minor] = &structTypes{minor: minor}
			}
			byMinor[minor] = newKind(group, source, minor, types[minor])
		}
		return byMinor[minor]
	}
	served := false
	for _, version := range source.Versions {
		name, s, err := parseVersion(version)
		if err != nil {
			return err
		}
		minor := k.minor
		if !s.has(minor) {
			minor = s.newest()
		}
		kind := at(minor)
		if kind.Versions = append(kind.Versions, name); len(kind.Versions) == 1 {
			kind.APIVersion = schema.GroupVersion{Group: group, Version: name}.String()
		}
		k.index.Serve(schema.GroupVersionKind{Group: group, Version: name, Kind: source.Kind}, kind)
		served = served || minor == k.minor
	}
	for _, apiVersion := range source.Formerly {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return err
		}
		k.index.Serve(gv.WithKind(source.Kind), at(k.minor))
	}
	if served {
		k.index.Add(at(k.minor), group, source.Kind)
	}
	return nil
}

// All returns the kinds that the minor serves, sorted by group and kind.
func (k *Kinds) All() []*Kind {
	if k == nil {
		return nil
	}
	return k.index.All()
}

// Find returns the kind of an object; ok is false for one that is not built in. A version that the minor does not serve
// is found as the newest known minor has it, one that is gone as the version that replaced it.
func (k *Kinds) Find(apiVersion, kind string) (found *Kind, ok bool) {
	if k == nil {
		return nil, false
	}
	return k.index.Find(apiVersion, kind)
}

// Kind is one built-in kind as one Kubernetes minor has it. Get one from Kinds.Find: the zero Kind and nil check
// nothing, so their verdict is not allowed.
type Kind struct {
	Group, Kind, Plural string
	ShortNames          []string
	Versions            []string // that Kubernetes serves, newest first
	APIVersion          string   // with the newest version, such as "apps/v1"
	Namespaced          bool

	minor  int
	source *kindSource
	types  *structTypes

	once    sync.Once
	fields  *kind.Field
	prepare []preparation
	create  []preparation
	keep    retention // nil for most kinds
	kept    []keptSource
	merging merging
	rules   *kind.Definition
	err     error
}

func newKind(group string, source *kindSource, minor int, types *structTypes) *Kind {
	return &Kind{
		Group: group, Kind: source.Kind, Plural: source.Plural, ShortNames: source.Short, Namespaced: source.Namespaced,
		minor: minor, source: source, types: types,
	}
}

// undefined reports whether k is nil or did not come from For.
func (k *Kind) undefined() bool { return k == nil || k.source == nil }

// compile makes what Check needs, once.
func (k *Kind) compile() error {
	k.once.Do(func() { k.err = k.doCompile() })
	return k.err
}

func (k *Kind) doCompile() error {
	var err error
	if k.fields, err = fieldsOf(k.source); err != nil {
		return err
	}
	preparations := preparations()
	if k.source.PodSpec != "" {
		preparations["podSpec"] = podSpec(k.source.PodSpec)
	}
	if k.prepare, err = pick(preparations, k.source.Prepare); err != nil {
		return err
	}
	if k.create, err = pick(preparations, k.source.Create); err != nil {
		return err
	}
	if k.keep = retentions()[k.source.Keep]; k.keep == nil && k.source.Keep != "" {
		return errorf("there is no retention %q", k.source.Keep)
	}
	if k.kept, err = keptOf(k.source, k.minor); err != nil {
		return err
	}
	rows := k.rows()
	if err = known(rows); err != nil {
		return err
	}
	for i := range rows {
		if rows[i].Annotation == "" {
			for _, path := range rows[i].Paths() {
				k.fields.At(fieldpath.Parse(path))
			}
		}
	}
	if k.rules, err = kind.FromData(k.fields, rows); err != nil {
		return err
	}
	gvk := schema.GroupVersionKind{Group: k.Group, Version: k.Versions[0], Kind: k.Kind}
	parents(k.fields, goType(gvk))
	k.merging = newMerging(gvk, k.fields)
	return nil
}

// pick returns the preparations of those names.
func pick(known map[string]preparation, names []string) ([]preparation, error) {
	picked := make([]preparation, len(names))
	for i, name := range names {
		if picked[i] = known[name]; picked[i] == nil {
			return nil, errorf("there is no preparation %q", name)
		}
	}
	return picked, nil
}

// store returns obj as the API server stores it: each field in its canonical form, with what the server fills in.
func (k *Kind) store(obj map[string]any) map[string]any {
	t, exact := k.goType(obj)
	c := canonicalizer{k.types, exact}
	stored := c.value(obj, t).(map[string]any)
	for _, rule := range k.prepare {
		rule(stored)
	}
	k.fields.Fill(stored)
	return stored
}

// goType returns the Go type of an object of the kind, or nil. Exact reports whether it is the type of the object's own
// version.
func (k *Kind) goType(obj map[string]any) (t reflect.Type, exact bool) {
	gvk := schema.FromAPIVersionAndKind(fieldpath.Text(obj, "apiVersion"), k.Kind)
	group := gvk.Group
	gvk.Group = k.Group
	t = goType(gvk)
	return t, t != nil && group == k.Group && strings.HasSuffix(t.PkgPath(), "/"+gvk.Version)
}

// Rows returns the locks of the kind, in the order of the data; nil for a kind without locks.
func (k *Kind) Rows() []Row {
	if k.undefined() {
		return nil
	}
	var rows []Row
	for _, source := range k.rows() {
		for _, path := range source.Paths() {
			rows = append(rows, newRow(&source, path))
		}
	}
	return rows
}

// rows returns the rows of the kind in its minor.
func (k *Kind) rows() []kind.Row {
	return slices.DeleteFunc(slices.Clone(k.source.Rows), func(row kind.Row) bool {
		s, err := spanOf(row.Since, row.Until)
		return err != nil || !s.has(k.minor)
	})
}

// minors lists the Kubernetes minors whose validation was read, oldest first.
var minors = [...]int{35, 36, 37}

// Minors returns the Kubernetes minors that For knows, oldest first.
func Minors() []string {
	names := make([]string, len(minors))
	for i, minor := range minors {
		names[i] = minorName(minor)
	}
	return names
}

func minorName(minor int) string { return "1." + strconv.Itoa(minor) }

// newestMinor is the minor that For("") chooses.
func newestMinor() int { return minors[len(minors)-1] }

// parseMinor reads "1.36", "v1.36" or "1.36.3"; "" is the newest.
func parseMinor(text string) (int, error) {
	if text == "" {
		return newestMinor(), nil
	}
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) >= 2 && len(parts) <= 3 && parts[0] == "1" {
		if minor, err := strconv.Atoi(parts[1]); err == nil && slices.Contains(minors[:], minor) {
			return minor, nil
		}
	}
	nearest := newestMinor()
	if minor, err := strconv.Atoi(parts[min(1, len(parts)-1)]); err == nil && minor < minors[0] {
		nearest = minors[0]
	}
	return 0, fmt.Errorf("the Kubernetes version is %q; the known ones are %s; the nearest is %s", text,
		strings.Join(Minors(), ", "), minorName(nearest))
}

// span is a range of minors; 0 is open.
type span struct{ since, until int }

func (s span) has(minor int) bool {
	return minor >= s.since && (s.until == 0 || minor <= s.until)
}

// newest returns the newest known minor of the span, or 0.
func (s span) newest() int {
	for _, minor := range slices.Backward(minors[:]) {
		if s.has(minor) {
			return minor
		}
	}
	return 0
}

// spanOf reads the first and the last minor of a row.
func spanOf(since, until string) (span, error) {
	var s span
	var err error
	if since != "" {
		if s.since, err = parseMinor(since); err != nil {
			return s, err
		}
	}
	if until != "" {
		s.until, err = parseMinor(until)
	}
	return s, err
}

// parseVersion reads a version of a kind, such as "v1alpha2 since 1.36 until 1.36".
func parseVersion(text string) (string, span, error) {
	words := strings.Fields(text)
	var since, until string
	for i := 1; i+1 < len(words); i += 2 {
		switch words[i] {
		case "since":
			since = words[i+1]
		case "until":
			until = words[i+1]
		default:
			return "", span{}, fmt.Errorf("version %q: unknown word %q", text, words[i])
		}
	}
	s, err := spanOf(since, until)
	return words[0], s, err
}

// Typed returns obj as an API server shows it to its admission policies: each field as its Go type writes it, with the
// defaults that matter to the rows of the kind. Fields that the type does not have are gone, and some that it always
// writes are there with their zero value. Other defaults are missing. obj is a decoded manifest and stays as it is.
//
// It returns false for a version whose Go type is not linked, and for an object that its type cannot hold.
func (k *Kind) Typed(obj map[string]any) (typed map[string]any, ok bool) {
	if k.undefined() {
		return nil, false
	}
	t, exact := k.goType(obj)
	if !exact || k.compile() != nil {
		return nil, false
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, false
	}
	value := reflect.New(t).Interface()
	if json.Unmarshal(data, value) != nil {
		return nil, false
	}
	if typed, err = runtime.DefaultUnstructuredConverter.ToUnstructured(value); err != nil {
		return nil, false
	}
	for _, rule := range k.prepare {
		rule(typed)
	}
	k.fields.Fill(typed)
	return typed, true
}
