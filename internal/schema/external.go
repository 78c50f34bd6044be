package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/spelling"
)

// External is a lock on a schema that somebody else owns.
type External struct {
	Kind  string // with group and version where needed: "Widget", "Widget.example.com", "Widget.v1.example.com"; "" for every kind
	Path  string // of the field, such as "spec.nodes[*].zone" or `spec["a.b"]`
	Locks []Lock
}

var isVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// IsFor reports whether e is for a kind. Letter case does not matter in the kind.
func (e *External) IsFor(group, version, kind string) bool {
	name, rest, qualified := strings.Cut(e.Kind, ".")
	if !strings.EqualFold(name, kind) {
		return strings.EqualFold(e.Kind, kind) || e.Kind == "" // a schema can have dots in its name
	}
	if v, groupOf, _ := strings.Cut(rest, "."); isVersion.MatchString(v) {
		return v == version && (groupOf == "" || groupOf == group)
	}
	return !qualified || rest == group
}

// NoPath is the error for a path that a schema does not have.
type NoPath struct {
	Path, Nearest string
}

// Error implements error.
func (e *NoPath) Error() string {
	return fmt.Sprintf("the schema has no %s; the nearest path is %s", e.Path, e.Nearest)
}

// Add returns s with the locks of e at its path, and the path of the node that has them. $refs on the way are written
// out, so that other uses of the same definition stay free. It leaves s as it is. The error is a *NoPath, or that of a
// $ref that cannot be resolved. Mistakes in where the lock is are left to the compiler.
func (e *External) Add(s *spec.Schema, resolve Resolver) (*spec.Schema, *Path, error) {
	if resolve == nil {
		resolve = Definitions(s)
	}
	p := placer{path: e.Path, resolve: resolve, locks: e.Locks}
	out, err := p.add(s, nil, e.Path)
	return out, p.at, err
}

type placer struct {
	path    string
	resolve Resolver
	locks   []Lock
	at      *Path

	readings *int // how many were tried
}

// add returns s, which is at path at, with the locks at what rest leads to.
func (p *placer) add(s *spec.Schema, at *Path, rest string) (*spec.Schema, error) {
	out, err := p.writeOut(s)
	if err != nil {
		return nil, err
	}
	if rest == "" {
		p.at = at
		if out.Extensions = maps.Clone(out.Extensions); out.Extensions == nil {
			out.Extensions = spec.Extensions{}
		}
		addLocks(out.Extensions, p.locks)
		return out, nil
	}
	if below, ok := strings.CutPrefix(rest, "[*]"); ok {
		return out, p.each(out, at, below)
	}
	name, below, err := p.property(out, at, rest)
	if err != nil {
		return nil, err
	}
	property, ok := out.Properties[name]
	switch {
	case ok:
	case at == nil && name == "metadata": // not described in most CRDs; the compiler says that it cannot be locked
		property, below = *spec.MapProperty(nil), ""
	case keepsUnknown(out):
		property = spec.Schema{}
		property.AddExtension(KeyPreserveUnknown, true)
	default:
		return nil, p.missing(out, at, name, below)
	}
	changed, err := p.add(&property, at.Property(name), below)
	if err != nil {
		if at == nil && name == "metadata" && errors.As(err, new(*NoPath)) {
			changed, err = p.add(&property, at.Property(name), "")
		}
		if err != nil {
			return nil, err
		}
	}
	out.SetProperty(name, *changed)
	return out, nil
}

// each adds the locks to the items of a list or the values of a map, whose own copy out is.
func (p *placer) each(out *spec.Schema, at *Path, rest string) error {
	switch {
	case out.Items != nil && out.Items.Schema != nil:
		changed, err := p.add(out.Items.Schema, at.Items(), rest)
		out.Items.Schema = changed
		return err
	case out.AdditionalProperties != nil && out.AdditionalProperties.Schema != nil:
		changed, err := p.add(out.AdditionalProperties.Schema, at.Values(), rest)
		out.AdditionalProperties.Schema = changed
		return err
	}
	return &NoPath{p.path, at.String()}
}

// keepsUnknown reports whether objects may have fields that s does not describe.
func keepsUnknown(s *spec.Schema) bool {
	return isTrue(s.Extensions[KeyPreserveUnknown]) && s.AdditionalProperties == nil
}

// maxReadings is how many readings of a path are tried. Schemas have hardly any names with dots.
const maxReadings = 1000

// property splits the first name off a path in s, which is at path at. As names can have dots, a path can have several
// readings: "a.b" is the property a.b, or the property b of a. Those that lead nowhere do not count, and it is an error
// if two are left. A quoted name, as in `["a.b"]`, has one reading.
func (p *placer) property(s *spec.Schema, at *Path, path string) (name, rest string, err error) {
	name, rest, quoted := FirstName(path)
	if quoted {
		return name, rest, nil
	}
	path = strings.TrimPrefix(path, ".")
	var names []string
	for known := range s.Properties {
		below, ok := strings.CutPrefix(path, known)
		if ok && known != "" && (below == "" || below[0] == '.' || below[0] == '[') {
			names = append(names, known)
		}
	}
	if !slices.Contains(names, name) && keepsUnknown(s) {
		names = append(names, name)
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return name, rest, nil
	case 1:
		return names[0], path[len(names[0]):], nil
	}
	if p.readings == nil {
		p.readings = new(int)
	}
	var found []string
	for _, name := range names {
		if *p.readings++; *p.readings > maxReadings {
			return "", "", fmt.Errorf("the path %s has too many readings, as names have dots; quote the names, as "+
				"in [%q]", p.path, name)
		}
		further := placer{path: p.path, resolve: p.resolve, readings: p.readings}
		property := s.Properties[name]
		if _, known := s.Properties[name]; !known {
			property.AddExtension(KeyPreserveUnknown, true)
		}
		if _, err := further.add(&property, at.Property(name), path[len(name):]); err == nil ||
			!errors.As(err, new(*NoPath)) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return names[0], path[len(names[0]):], nil // whose error names the nearest path
	case 1:
		return found[0], path[len(found[0]):], nil
	}
	var spelled []string
	for _, name := range found {
		spelled = append(spelled, fmt.Sprintf("%s[%q]%s", at.String(), name, path[len(name):]))
	}
	return "", "", fmt.Errorf("the path %s is ambiguous; write %s", p.path, strings.Join(spelled, " or "))
}

// FirstName splits the first name off a path of an external lock: what is before a dot or bracket, or a name in quotes,
// as in `["a.b"]`, which can hold any of them.
func FirstName(path string) (name, rest string, quoted bool) {
	if inner, ok := strings.CutPrefix(path, "["); ok {
		if text, err := strconv.QuotedPrefix(inner); err == nil && strings.HasPrefix(inner[len(text):], "]") {
			name, _ = strconv.Unquote(text) // QuotedPrefix has read it
			return name, inner[len(text)+len("]"):], true
		}
	}
	path = strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end], path[end:], false
	}
	return path, "", false
}

// missing returns the error for a name that s, at path at, has no property for.
func (p *placer) missing(s *spec.Schema, at *Path, name, rest string) error {
	nearest, least := at, len(name)+1
	for _, known := range slices.Sorted(maps.Keys(s.Properties)) {
		if d := spelling.Distance(strings.ToLower(known), strings.ToLower(name)); d < least {
			nearest, least = at.Property(known), d
		}
	}
	if nearest == at {
		return &NoPath{p.path, nearestName(at)}
	}
	property := s.Properties[nearest.name]
	further := placer{path: p.path, resolve: p.resolve, readings: p.readings}
	if _, err := further.add(&property, nearest, rest); err == nil {
		nearest = further.at
	}
	return &NoPath{p.path, nearest.String()}
}

func nearestName(at *Path) string {
	if at == nil {
		return "the root"
	}
	return at.String()
}

// writeOut returns a copy of s, with its $ref replaced by what it leads to.
func (p *placer) writeOut(s *spec.Schema) (*spec.Schema, error) {
	ref, wrapped := RefOf(s)
	if ref == "" {
		return copyOf(s), nil
	}
	chain, err := follow(ref, p.resolve)
	if err != nil {
		return nil, fmt.Errorf("$ref %q: %w", ref, err)
	}
	l := &Location{Schema: s, wrapped: wrapped, Body: &Body{chain: chain, Schema: chain[len(chain)-1]}}
	for each := range l.Schemas() {
		marks, _ := ReadMarks(each.Extensions)
		l.Marks = merge(l.Marks, marks)
	}
	out := copyOf(l.Body.Schema)
	out.Extensions, out.Default, out.Nullable = extensions(l), l.Default(), l.Nullable()
	return out, nil
}

// Aliases are extension keys of other dialects, and the locks that each means. Letter case does not matter in the keys.
type Aliases map[string][]Lock

// Check returns an error if a key cannot be an alias, or means no lock.
func (a Aliases) Check() error {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		switch {
		case len(key) < 3 || !strings.EqualFold(key[:2], "x-"):
			return fmt.Errorf("the alias %q is not an extension key; extension keys begin with x-", key)
		case exactKey(key) != "" || slices.Contains(others[:], strings.ToLower(key)):
			return fmt.Errorf("the alias %q has a meaning of its own; an alias is a key of another dialect", key)
		case len(a[key]) == 0:
			return fmt.Errorf("the alias %q means no lock; name at least one", key)
		}
		if err := CheckLocks(a[key]); err != nil {
			return fmt.Errorf("the alias %q: %w", key, err)
		}
	}
	return nil
}

// CheckLocks returns an error if one of locks is unknown.
func CheckLocks(locks []Lock) error {
	for _, l := range locks {
		if l.Key() == "" {
			var names []string
			for _, known := range Locks() {
				names = append(names, string(known))
			}
			return fmt.Errorf("there is no lock %q; the locks are %s", l, strings.Join(names, ", "))
		}
	}
	return nil
}

// Misread is an alias whose value cannot be read.
type Misread struct {
	SchemaPath string
	Message    string
}

// Translate returns s with the aliases replaced by the locks that they mean, in every keyword. It leaves s as it is,
// and returns it where there are no aliases at all. Values that cannot be read are misread, in the order of their
// paths; such a key locks nothing, so the caller refuses the schema. $refs are not followed. Cost: linear in the
// schema.
func (a Aliases) Translate(s *spec.Schema) (*spec.Schema, []Misread) {
	if len(a) == 0 || s == nil {
		return s, nil
	}
	t := translator{aliases: map[string][]Lock{}}
	for key, locks := range a {
		t.aliases[strings.ToLower(key)] = locks
	}
	out := t.schema(s, "")
	return out, t.misread
}

// Resolver returns resolve with the aliases of each schema translated. An alias that cannot be read is an error.
func (a Aliases) Resolver(resolve Resolver) Resolver {
	if len(a) == 0 {
		return resolve
	}
	return func(ref string) (*spec.Schema, error) {
		s, err := resolve(ref)
		if err != nil {
			return nil, err
		}
		s, misread := a.Translate(s)
		if len(misread) > 0 {
			return nil, fmt.Errorf("%s: %s", misread[0].SchemaPath, misread[0].Message)
		}
		return s, nil
	}
}

type translator struct {
	aliases map[string][]Lock // keys in lower case
	misread []Misread
}

// schema returns a copy of s, which is at path.
func (t *translator) schema(s *spec.Schema, path string) *spec.Schema {
	out := copyOf(s)
	out.Extensions = t.extensions(s.Extensions, path)
	for p := range parts(out) {
		p.replace(t.schema(p.schema, p.pointer(path)))
	}
	return out
}

// extensions returns the keys of one node with its aliases translated.
func (t *translator) extensions(ext spec.Extensions, path string) spec.Extensions {
	var out spec.Extensions
	dropped, _ := stringsOf(ext[KeyDropped])
	for _, key := range dropped {
		if _, isAlias := t.aliases[strings.ToLower(key)]; isAlias {
			t.misread = append(t.misread, Misread{path, key + " is below a keyword that only validates, where a lock " +
				"has no effect; put it on the property itself"})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ext)) {
		locks, isAlias := t.aliases[strings.ToLower(key)]
		if !isAlias {
			continue
		}
		locked, err := meansLock(ext[key])
		if err != nil {
			t.misread = append(t.misread, Misread{path, key + " " + err.Error()})
		}
		if out == nil {
			out = maps.Clone(ext)
		}
		delete(out, key)
		if locked && !(isTrue(out[KeyImmutable]) && !slices.Contains(locks, Immutable)) { // which leaves nothing to refuse
			addLocks(out, locks)
		}
	}
	if out == nil {
		return ext
	}
	return out
}

// addLocks adds the keys of locks to those of a node.
func addLocks(ext spec.Extensions, locks []Lock) {
	for _, l := range locks {
		if l.Key() != KeyUpdate {
			ext[l.Key()] = true
			continue
		}
		words, ok := stringsOf(ext[KeyUpdate])
		if !ok && ext[KeyUpdate] != nil {
			continue // the compiler refuses it
		}
		if !slices.Contains(words, string(l)) {
			words = append(slices.Clone(words), string(l))
		}
		list := make([]any, len(words))
		for i, word := range words {
			list[i] = word
		}
		ext[KeyUpdate] = list
	}
}

// The words that other dialects list: the operations that may write a field, as in x-ms-mutability, of which update
// leaves it free; and the field behaviors of AIP-203, of which IMMUTABLE locks it.
var (
	operations = [...]string{"create", "read", "update"}
	behaviors  = [...]string{"immutable", "optional", "required", "output_only", "input_only", "unordered_list",
		"non_empty_default", "identifier",
		"field_behavior_unspecified"}
)

// meansLock reports whether the value of an alias locks the field: true does, false and null do not. A list of
// operations does unless update is among them, and one of field behaviors if IMMUTABLE is. Any other value is an error.
func meansLock(value any) (bool, error) {
	switch {
	case isTrue(value):
		return true, nil
	case value == nil || value == false || value == "false":
		return false, nil
	}
	const right = "it is true or false, a list of create, read and update, or a list of AIP-203's field behaviors"
	words, ok := stringsOf(value)
	if !ok || len(words) == 0 {
		return false, fmt.Errorf("is %s: %s", show(value), right)
	}
	all := func(known []string) bool {
		return !slices.ContainsFunc(words, func(word string) bool {
			return !slices.Contains(known, strings.ToLower(word))
		})
	}
	has := func(wanted string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, wanted) })
	}
	switch {
	case all(operations[:]):
		return !has("update"), nil
	case all(behaviors[:]):
		return has("immutable"), nil
	}
	return false, fmt.Errorf("is %s: %s", show(value), right)
}
