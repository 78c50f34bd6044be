package markers

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/internal/extension"
)

// K8sImmutable says what the marker +k8s:immutable means. Two tools read it, in two ways.
type K8sImmutable string

const (
	// Locked is what validation-gen makes of it for native types, and the default: no set, no unset, no change, like
	// +immutable. It is the default because a lock that is too strict shows at the first update that it refuses, one
	// that is too loose does not show.
	Locked K8sImmutable = "locked"
	// SetOnce is what controller-gen renders it as for CRDs: an unset field may be set, then it is locked.
	SetOnce K8sImmutable = "set-once"
)

// mark is one schema key that a marker asks for.
type mark struct {
	key     string
	value   any // true, a string or a []string
	text    string
	pos     token.Position
	foreign bool // in a package that was not asked for
}

// marks are the keys for one schema node, in the order of their markers and merged per key.
type marks []mark

// get returns the mark with this key.
func (m marks) get(key string) (mark, bool) {
	i := slices.IndexFunc(m, func(k mark) bool { return k.key == key })
	if i < 0 {
		return mark{}, false
	}
	return m[i], true
}

// lock returns the first mark that is a lock.
func (m marks) lock() (mark, bool) {
	i := slices.IndexFunc(m, func(k mark) bool { return isLock(k.key) })
	if i < 0 {
		return mark{}, false
	}
	return m[i], true
}

func isLock(key string) bool { return extension.HasLock(map[string]any{key: true}) }

// isOwn reports whether only fieldlock reads key.
func isOwn(key string) bool { return slices.Contains(extension.Own(), key) }

// own returns the first mark with a key that only fieldlock reads.
func (m marks) own() (mark, bool) {
	i := slices.IndexFunc(m, func(k mark) bool { return isOwn(k.key) })
	if i < 0 {
		return mark{}, false
	}
	return m[i], true
}

// extensions returns the keys with their values, for extension.Read.
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
			p.of(k, "%s is already %q by %s in line %d: one of the two has to go", k.key, m[i].value, m[i].text, m[i].pos.Line)
		}
		return m
	}
	all := slices.Clone(was)
	for _, word := range k.value.([]string) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	if k.key == extension.Update {
		all = slices.DeleteFunc(extension.Words(), func(word string) bool { return !slices.Contains(all, word) })
	}
	m[i].value = all
	return m
}

// levels are the marks of one field or type: those of its own schema node, of its items or values, of theirs, and so on.
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

// merge returns l with the marks of other, which come after: their topology goes before that of l, as for other tools.
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

const eachVal = "k8s:eachVal="

// stage is what declarative validation puts before a marker while its own check is rolled out. The rule is the same in every
// stage, and native types enforce it by hand meanwhile.
var stage = regexp.MustCompile(`^k8s:(alpha|beta)\([^()]*\)=`)

// reading is what one comment line says.
type reading struct {
	ours  bool // whether it is a marker that fieldlock reads
	depth int  // levels of +k8s:eachVal
	key   string
	value any
	err   string // what is wrong and what would be right
}

// read reads one comment line, without the "//". Lines that are no marker of fieldlock's are not ours.
func read(line string, k8s K8sImmutable) reading {
	text, isMarker := strings.CutPrefix(strings.TrimSpace(line), "+")
	if !isMarker {
		return reading{}
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
			return reading{}
		}
	}
	name, value, hasValue := strings.Cut(text, "=")
	name = strings.TrimSuffix(name, ":") // controller-gen takes := too
	if hasValue && strings.HasPrefix(value, "+") || strings.ContainsAny(name, "()") {
		return chained(text)
	}
	r := one(name, unquote(strings.TrimSpace(value)), hasValue, k8s)
	r.depth = depth
	return r
}

// chained refuses a lock inside any other marker that takes a marker: these make it conditional, or move it, in ways
// that a schema has no key for.
func chained(text string) reading {
	i := strings.Index(text, "=+")
	if i < 0 {
		return reading{}
	}
	inner := read(text[i+1:], Locked)
	if !inner.ours || inner.err == "" && !isOwn(inner.key) {
		return reading{}
	}
	return reading{ours: true, err: fmt.Sprintf("a marker inside +%s has no place in a schema: put %s on the field or type itself", text[:i], text[i+1:])}
}

// topology are the markers for lists and maps, with the key that each writes and the values it takes; none is any.
var topology = map[string]struct {
	key    string
	values []string
}{
	"listType":   {extension.ListType, []string{extension.ListAtomic, extension.ListSet, extension.ListMap}},
	"listMapKey": {extension.ListMapKeys, nil},
	"mapType":    {extension.MapType, []string{"atomic", "granular"}},
	"structType": {extension.MapType, []string{"atomic", "granular"}},
}

// one reads a marker by its name and value.
func one(name, value string, hasValue bool, k8s K8sImmutable) reading {
	base, isKubebuilder := strings.CutPrefix(name, "kubebuilder:")
	short, isK8s := strings.CutPrefix(base, "k8s:")
	bad := func(format string, args ...any) reading {
		return reading{ours: true, err: fmt.Sprintf(format, args...)}
	}
	is := func(key string, value any) reading { return reading{ours: true, key: key, value: value} }

	if t, ok := topology[short]; ok && !(isK8s && isKubebuilder) {
		switch {
		case value == "" || t.values != nil && !slices.Contains(t.values, value):
			if t.values == nil {
				return bad("it needs the name of a property of the items: +%s=name", name)
			}
			return bad("%q is none of its values: write +%s=%s", value, name, strings.Join(t.values, " or +"+name+"="))
		case t.values == nil:
			return is(t.key, []string{value})
		}
		return is(t.key, value)
	}
	switch {
	case base == "immutable" && !hasValue:
		return is(extension.Immutable, true)
	case base == "immutable" && value == "keys":
		return is(extension.ImmutableKeys, true)
	case base == "immutable":
		return bad("%q is none of its values: write +immutable or +immutable=keys", value)
	case base == "normalize" && (value == extension.NormalizeUndefined || value == extension.NormalizeZero):
		return is(extension.Normalize, value)
	case base == "normalize":
		return bad("%q is none of its values: write +normalize=undefined or +normalize=zero", value)
	case name == "k8s:immutable" && hasValue:
		return bad("it takes no value: write +k8s:immutable")
	case name == "k8s:immutable" && k8s == SetOnce:
		return is(extension.Update, []string{extension.NoUnset, extension.NoModify})
	case name == "k8s:immutable":
		return is(extension.Immutable, true)
	case name == "k8s:update" && slices.Contains(extension.Words(), value):
		return is(extension.Update, []string{value})
	case name == "k8s:update":
		return bad("%q is none of its words: write one marker for each, +k8s:update=%s", value, strings.Join(extension.Words(), " or +k8s:update="))
	}
	return misspelled(name)
}

// misspelled reports names that only look like a marker of fieldlock's. Such a lock would not lock.
func misspelled(name string) reading {
	first := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(first) == 0 {
		return reading{}
	}
	word := first[0][strings.LastIndexByte(first[0], ':')+1:]
	isK8s := strings.HasPrefix(strings.ToLower(name), "k8s:")
	right := ""
	switch {
	case strings.EqualFold(word, "immutable") && isK8s:
		right = "+k8s:immutable"
	case strings.EqualFold(word, "immutable"):
		right = "+immutable or +immutable=keys"
	case strings.EqualFold(word, "normalize"):
		right = "+normalize=undefined or +normalize=zero"
	case strings.EqualFold(word, "update") && isK8s:
		right = "+k8s:update=NoModify, or another of its words"
	default:
		return reading{}
	}
	return reading{ours: true, err: "it is not spelled so: write " + right + ", alone on its line"}
}

func unquote(value string) string {
	if s, err := strconv.Unquote(value); err == nil {
		return s
	}
	return value
}
