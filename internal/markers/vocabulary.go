package markers

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/spelling"
)

// K8sImmutable says what the marker +k8s:immutable means: "locked", "set-once", or "" where the rules of each CRD
// decide.
type K8sImmutable string

const (
	K8sImmutableLocked  K8sImmutable = "locked"
	K8sImmutableSetOnce K8sImmutable = "set-once"
)

const eachVal = "k8s:eachVal="

// stage is what declarative validation puts before a marker while its own check is rolled out. The rule is the same in
// every stage, and native types enforce it by hand meanwhile.
var stage = regexp.MustCompile(`^k8s:(alpha|beta)\([^()]*\)=`)

// markerLine is what one comment line means.
type markerLine struct {
	ours  bool // it is a marker that fieldlock reads
	depth int  // levels of +k8s:eachVal
	key   string
	value any
	err   string   // what is wrong and what would be right
	fix   []string // the marker that is right, nil for a choice that is the author's
	moved bool     // it is inside a marker of another tool, where only fieldlock cannot use it
}

// read reads one comment line, without the "//". Other lines are not ours.
func read(text string, k8s K8sImmutable) markerLine {
	whole := strings.TrimSpace(text)
	text, isMarker := strings.CutPrefix(whole, "+")
	if !isMarker {
		return markerLine{}
	}
	depth := 0
	for {
		inner, ok := strings.CutPrefix(text, eachVal)
		if ok {
			depth++
		} else if inner = text[len(stage.FindString(text)):]; inner == text {
			break
		}
		if text, ok = strings.CutPrefix(inner, "+"); !ok {
			return markerLine{}
		}
	}
	name, value, hasValue := strings.Cut(text, "=")
	name = strings.TrimSuffix(name, ":") // controller-gen takes := too
	if hasValue && strings.HasPrefix(value, "+") || strings.ContainsAny(name, "()") {
		return chained(text)
	}
	r := one(name, unquote(strings.TrimSpace(value)), hasValue, k8s)
	r.depth = depth
	for i, right := range r.fix {
		r.fix[i] = strings.TrimSuffix(whole, "+"+text) + right
	}
	return r
}

// chained refuses a lock inside any other marker that takes a marker: these make it conditional, or move it, in ways
// that a schema has no key for.
func chained(text string) markerLine {
	i := strings.Index(text, "=+")
	if i < 0 {
		return markerLine{}
	}
	inner := read(text[i+1:], K8sImmutableLocked)
	if !inner.ours || inner.err == "" && !isOwn(inner.key) {
		return markerLine{}
	}
	return markerLine{ours: true, moved: true,
		err: fmt.Sprintf("a marker inside +%s cannot be written into a schema: put %s on the "+
			"field or type itself", text[:i], text[i+1:])}
}

// topology are the markers for lists and maps, with the key that each writes and its values; nil allows any.
var topology = map[string]struct {
	key    string
	values []string
}{
	"listType":   {schema.KeyListType, []string{schema.ListAtomic, schema.ListSet, schema.ListMap}},
	"listMapKey": {schema.KeyListMapKeys, nil},
	"mapType":    {schema.KeyMapType, []string{"atomic", "granular"}},
	"structType": {schema.KeyMapType, []string{"atomic", "granular"}},
}

// one reads a marker by its name and value.
func one(name, value string, hasValue bool, k8s K8sImmutable) markerLine {
	base, isKubebuilder := strings.CutPrefix(name, "kubebuilder:")
	short, isK8s := strings.CutPrefix(base, "k8s:")
	bad := func(format string, args ...any) markerLine {
		return markerLine{ours: true, err: fmt.Sprintf(format, args...)}
	}
	is := func(key string, value any) markerLine { return markerLine{ours: true, key: key, value: value} }

	if t, ok := topology[short]; ok && !(isK8s && isKubebuilder) {
		switch {
		case value == "" || t.values != nil && !slices.Contains(t.values, value):
			if t.values == nil {
				return bad("it needs the name of a property of the items: +%s=name", name)
			}
			return bad("%q is not one of its values: write +%s=%s",
				value, name, strings.Join(t.values, " or +"+name+"="))
		case t.values == nil:
			return is(t.key, []string{value})
		}
		return is(t.key, value)
	}
	switch {
	case base == "immutable" && !hasValue:
		return is(schema.KeyImmutable, true)
	case base == "immutable" && value == "keys":
		return is(schema.KeyImmutableKeys, true)
	case base == "immutable":
		return bad("%q is not one of its values: write +immutable or +immutable=keys", value)
	case base == "normalize" && (value == schema.NormalizeUndefined || value == schema.NormalizeZero):
		return is(schema.KeyNormalize, value)
	case base == "normalize":
		return bad("%q is not one of its values: write +normalize=undefined or +normalize=zero", value)
	case name == "k8s:immutable" && hasValue:
		r := bad("it takes no value: write +k8s:immutable")
		r.fix = []string{"+k8s:immutable"}
		return r
	case name == "k8s:immutable" && k8s == K8sImmutableSetOnce:
		return is(schema.KeyUpdate, []string{string(schema.NoUnset), string(schema.NoModify)})
	case name == "k8s:immutable":
		return is(schema.KeyImmutable, true)
	case name == "k8s:update" && slices.Contains(schema.Words(), value):
		return is(schema.KeyUpdate, []string{value})
	case name == "k8s:update":
		return bad("%q is not one of its words: write one marker for each, +k8s:update=%s",
			value, strings.Join(schema.Words(), " or +k8s:update="))
	}
	return misspelled(name, value, hasValue, k8s)
}

// misspelled reports names that only look like one of fieldlock's markers: such a lock would not lock.
func misspelled(name, value string, hasValue bool, k8s K8sImmutable) markerLine {
	first := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(first) == 0 {
		return markerLine{}
	}
	prefix, word := "", strings.ToLower(first[0])
	if i := strings.LastIndexByte(word, ':'); i >= 0 {
		prefix, word = word[:i+1], word[i+1:]
	}
	isK8s := prefix == "k8s:"
	like := func(marker string, edits int) bool { return spelling.Distance(word, strings.ToLower(marker)) <= edits }
	right, meant := "", ""
	switch {
	case word == "mutable":
		return markerLine{}
	case like("immutable", 2) && isK8s:
		right, meant = "+k8s:immutable", "k8s:immutable"
	case like("immutable", 2):
		right, meant = "+immutable or +immutable=keys", "immutable"
	case like("normalize", 2):
		right, meant = "+normalize=undefined or +normalize=zero", "normalize"
	case like("update", 1) && isK8s:
		right, meant = "+k8s:update=NoModify, or another of its words", "k8s:update"
	case prefix != "" && !isK8s && prefix != "kubebuilder:":
		return markerLine{}
	default:
		for _, marker := range slices.Sorted(maps.Keys(topology)) {
			if like(marker, 1) {
				meant = prefix + marker
				right = "+" + prefix + marker + "="
				if values := topology[marker].values; values != nil {
					right += strings.Join(values, " or +"+prefix+marker+"=")
				} else {
					right += "name"
				}
			}
		}
		if right == "" {
			return markerLine{}
		}
	}
	r := markerLine{ours: true, err: "unknown marker: write " + right + ", alone on its line"}
	if hasValue {
		meant += "=" + value
	}
	if inner := read("+"+meant, k8s); len(first) == 1 && inner.ours && inner.err == "" {
		r.fix = []string{"+" + meant}
	}
	return r
}

func unquote(value string) string {
	if s, err := strconv.Unquote(value); err == nil {
		return s
	}
	return value
}

// marks are the keys for one schema node, in the order of their markers and merged per key.
type marks []mark

// get returns the mark with this key.
func (m marks) get(key string) (mark, bool) { return m.first(func(k string) bool { return k == key }) }

// lock returns the first mark that is a lock.
func (m marks) lock() (mark, bool) { return m.first(schema.IsLockKey) }

// own returns the first mark with a key that only fieldlock reads.
func (m marks) own() (mark, bool) { return m.first(isOwn) }

func (m marks) first(is func(key string) bool) (mark, bool) {
	i := slices.IndexFunc(m, func(k mark) bool { return is(k.key) })
	if i < 0 {
		return mark{}, false
	}
	return m[i], true
}

// isOwn reports whether only fieldlock reads key.
func isOwn(key string) bool { return slices.Contains(schema.OwnKeys(), key) }

// extensions returns the keys with their values, for schema.Read.
func (m marks) extensions() map[string]any {
	if len(m) == 0 {
		return nil
	}
	ext := make(map[string]any, len(m))
	for _, k := range m {
		ext[k.key] = k.value
	}
	return ext
}

// with merges k into m: words and map keys add up, other keys have one value. m is not changed.
func (m marks) with(k mark, p *problems) marks {
	i := slices.IndexFunc(m, func(other mark) bool { return other.key == k.key })
	if i < 0 {
		return append(slices.Clip(m), k)
	}
	m = slices.Clone(m)
	was, isList := m[i].value.([]string)
	if !isList {
		if m[i].value != k.value {
			p.of(k, "%s is already %q by %s in line %d: remove one", k.key, m[i].value, m[i].text, m[i].pos.Line)
		}
		return m
	}
	all := slices.Clone(was)
	for _, word := range k.value.([]string) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	if k.key == schema.KeyUpdate {
		all = slices.DeleteFunc(schema.Words(), func(word string) bool { return !slices.Contains(all, word) })
	}
	m[i].value = all
	return m
}

// levels are the marks of one field or type: of its own schema node, of its items or values, of theirs, and so on.
type levels []marks

func (l levels) at(depth int) marks {
	if depth < len(l) {
		return l[depth]
	}
	return nil
}

// with merges k into depth. l is not changed.
func (l levels) with(depth int, k mark, p *problems) levels {
	l = slices.Clone(l)
	for len(l) <= depth {
		l = append(l, nil)
	}
	l[depth] = l[depth].with(k, p)
	return l
}

// merge returns l with the marks of other, which come after: their topology overrides l's, as for other tools.
func (l levels) merge(other levels, p *problems) levels {
	for depth, marks := range other {
		for _, k := range marks {
			if !isOwn(k.key) {
				l = l.without(depth, k.key)
			}
		}
		for _, k := range marks {
			l = l.with(depth, k, p)
		}
	}
	return l
}

// without returns l without a key at depth. l is not changed.
func (l levels) without(depth int, key string) levels {
	if _, there := l.at(depth).get(key); !there {
		return l
	}
	l = slices.Clone(l)
	l[depth] = slices.DeleteFunc(slices.Clone(l[depth]), func(k mark) bool { return k.key == key })
	return l
}

// below returns the levels of the items or values.
func (l levels) below() levels {
	if len(l) < 2 {
		return nil
	}
	return l[1:]
}
