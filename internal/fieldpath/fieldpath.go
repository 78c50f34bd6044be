// Package fieldpath is the one form of a path into an object, and the only place where the text of one is read: of the
// data of built-in kinds and operators, such as "spec.racks[*].storage", and of what others print, such as an API
// server.
package fieldpath

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Path leads into an object. Each step is the name of a member (string) or the index of an item (int); in the path of
// several values it can be an Each.
type Path []any

// Each is a step to several values.
type Each string

const (
	EachItem  Each = "[*]" // every item of a list
	EachValue Each = "{*}" // every value of a map
)

// Of returns the path with names of members as its steps.
func Of(names []string) Path {
	p := make(Path, len(names))
	for i, name := range names {
		p[i] = name
	}
	return p
}

// Parse reads a path that a person wrote, or that String printed: Parse(p.String()) is p, whatever the names. A name
// with dots is in brackets: "a[b.c/d]"; one that brackets cannot hold is quoted there: "a[\"b]c\"]". "[2]" is an index.
// Every text is a path, and takes time linear in its length.
func Parse(text string) Path {
	var p Path
	for text != "" {
		step, length := stepAt(text)
		p, text = append(p, step), strings.TrimPrefix(text[length:], ".")
	}
	return p
}

// stepAt reads the step that text starts with, and how much of text it takes, without the dot behind it. Only the empty
// name in front of a dot takes nothing.
func stepAt(text string) (step any, length int) {
	for _, each := range [...]Each{EachItem, EachValue} {
		if strings.HasPrefix(text, string(each)) {
			return each, len(each)
		}
	}
	inner, isBracket := strings.CutPrefix(text, "[")
	if !isBracket {
		name := text
		for _, end := range [...]string{".", "[", string(EachValue)} {
			name, _, _ = strings.Cut(name, end)
		}
		return name, len(name)
	}
	if quoted, err := strconv.QuotedPrefix(inner); err == nil && strings.HasPrefix(inner[len(quoted):], "]") {
		name, _ := strconv.Unquote(quoted) // QuotedPrefix has read it
		return name, len("[") + len(quoted) + len("]")
	}
	name, _, closed := strings.Cut(inner, "]")
	length = len("[") + len(name)
	if closed {
		length += len("]")
	}
	if i, ok := index(name); ok {
		return i, length
	}
	return name, length
}

// index reads a number as an index is printed.
func index(text string) (i int, ok bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && strconv.Itoa(i) == text
}

// Resolve reads a path that field.Path has printed ("spec.nodes[2].zone", "spec.labels[app.kubernetes.io/name]") about
// one of several states of an object. The members of the first state that the path leads through decide where a name
// with dots or brackets ends, or else those of the state in which it leads furthest; behind the last one it is read as
// Parse reads it.
func Resolve(text string, states ...map[string]any) Path {
	var longest Path
	rest := text
	for _, state := range states {
		p, left := resolve(state, text)
		if len(left) < len(rest) {
			longest, rest = p, left
		}
		if left == "" {
			break
		}
	}
	return append(longest, Parse(strings.TrimPrefix(rest, "."))...)
}

// resolve reads a path as far as it leads in value, and returns the rest of its text.
func resolve(value any, text string) (p Path, rest string) {
	for text != "" {
		var step any
		var length int
		switch value := value.(type) {
		case map[string]any:
			step, length = memberAt(value, text)
		case []any:
			number, _, found := strings.Cut(text, "]")
			if i, ok := index(strings.TrimPrefix(number, "[")); found && ok && number[0] == '[' && i < len(value) {
				step, length = i, len(number)+1
			}
		}
		if length == 0 {
			break
		}
		value, _ = Get(value, step)
		p, text = append(p, step), text[length:]
	}
	return p, text
}

// memberAt returns the longest member name of object that text starts with, and how much of text it takes: "name",
// ".name" or "[name]". If text starts with no member name, the length is 0. It looks names up for each place where one
// can end, or tries each name, whichever is less: a name of a million dots must not cost a million hashes of it.
func memberAt(object map[string]any, text string) (name string, length int) {
	if len(object) < strings.Count(text, ".")+strings.Count(text, "[") {
		for key := range object {
			for i, around := range surroundings {
				rest, ok := strings.CutPrefix(text, around[0]+key+around[1])
				end := len(text) - len(rest)
				if ok && endsName(text, end) && (end > length || end == length && i == 0) {
					name, length = key, end
				}
			}
		}
		return name, length
	}
	for end := len(text); end > 0; end-- {
		if !endsName(text, end) {
			continue
		}
		for _, around := range surroundings {
			inner, begins := strings.CutPrefix(text[:end], around[0])
			key, ends := strings.CutSuffix(inner, around[1])
			if _, ok := object[key]; begins && ends && ok {
				return key, end
			}
		}
	}
	return "", 0
}

// surroundings are the ways in which field.Path prints a member name: the first one, as a property, and as a key.
var surroundings = [...][2]string{{"", ""}, {".", ""}, {"[", "]"}}

// endsName reports whether a member name can end at a place of a path.
func endsName(text string, end int) bool {
	return end == len(text) || text[end] == '.' || text[end] == '['
}

// String prints the path as field.Path does. Member names that would not read back are quoted.
func (p Path) String() string {
	text := ""
	for text = range p.Prefixes() {
	}
	return text
}

// Prefixes yields the paths at and above p as text, the root first.
func (p Path) Prefixes() iter.Seq[string] {
	return func(yield func(string) bool) {
		var b strings.Builder
		for i := 0; yield(b.String()) && i < len(p); i++ {
			switch step := p[i].(type) {
			case int:
				fmt.Fprintf(&b, "[%d]", step)
			case Each:
				b.WriteString(string(step))
			case string:
				switch {
				case step == "" || strings.ContainsAny(step, ".[]{\"/ \n"):
					fmt.Fprintf(&b, "[%q]", step)
				case b.Len() > 0:
					b.WriteString("." + step)
				default:
					b.WriteString(step)
				}
			}
		}
	}
}

// Child returns the path one step below p. It shares nothing with other children of p.
func (p Path) Child(step any) Path { return append(p[:len(p):len(p)], step) }

// Within reports whether p is parent or below it.
func (p Path) Within(parent Path) bool {
	return len(p) >= len(parent) && slices.Equal(p[:len(parent)], parent)
}

// Within reports whether a path, as field.Path prints it, is parent or below it.
func Within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Name returns a step as the name of a member.
func Name(step any) string {
	if name, ok := step.(string); ok {
		return name
	}
	return fmt.Sprint(step)
}

// Get returns the value that steps lead to from value, each step a member name (string) or an index (int), and whether
// there is one.
func Get(value any, steps ...any) (at any, ok bool) {
	for _, step := range steps {
		switch container := value.(type) {
		case map[string]any:
			name, isName := step.(string)
			if value, ok = container[name]; !ok || !isName {
				return nil, false
			}
		case []any:
			i, isIndex := step.(int)
			if !isIndex || i < 0 || i >= len(container) {
				return nil, false
			}
			value = container[i]
		default:
			return nil, false
		}
	}
	return value, true
}
