package yamldoc

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a file, counted from 1 in lines and characters. The zero Position is an unknown place.
type Position struct{ Line, Column int }

// String returns "line:column", or "" where the position is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// At returns the value that steps lead to from value, each step a member name (string) or an index (int); nil when
// there is none.
func At(value any, steps ...any) any {
	for _, step := range steps {
		switch container := value.(type) {
		case map[string]any:
			name, _ := step.(string)
			value = container[name]
		case []any:
			i, ok := step.(int)
			if !ok || i < 0 || i >= len(container) {
				return nil
			}
			value = container[i]
		default:
			return nil
		}
	}
	return value
}

// PathString prints steps as field.Path does. Member names that would not read back are quoted.
func PathString(steps ...any) string {
	var b strings.Builder
	for _, step := range steps {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			switch {
			case step == "" || strings.ContainsAny(step, ".[]\"/ \n"):
				fmt.Fprintf(&b, "[%q]", step)
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

// Within reports whether a path, as field.Path prints it, is parent or below it.
func Within(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Steps resolves a path as field.Path prints it ("spec.nodes[2].zone", "spec.labels[app.kubernetes.io/name]") against
// value, as far as it leads; ok is set if it leads all the way. The members that value has decide where a name with dots or
// brackets ends.
func Steps(value any, path string) (steps []any, ok bool) {
	for path != "" {
		var step any
		var length int
		switch value := value.(type) {
		case map[string]any:
			step, length = memberAt(value, path)
		case []any:
			step, length = indexAt(value, path)
		}
		if length == 0 {
			return steps, false
		}
		path, steps, value = path[length:], append(steps, step), At(value, step)
	}
	return steps, true
}

// memberAt returns the longest member name of object that path starts with, and how much of path it takes: "name",
// ".name" or "[name]". The length is 0 when there is none.
func memberAt(object map[string]any, path string) (name string, length int) {
	for end := len(path); end > 0; end-- {
		if end < len(path) && path[end] != '.' && path[end] != '[' {
			continue
		}
		for _, around := range [...][2]string{{"", ""}, {".", ""}, {"[", "]"}} {
			inner, begins := strings.CutPrefix(path[:end], around[0])
			key, ends := strings.CutSuffix(inner, around[1])
			if _, ok := object[key]; begins && ends && ok {
				return key, end
			}
		}
	}
	return "", 0
}

// indexAt reads "[2]" at the start of path, when list has that index.
func indexAt(list []any, path string) (index, length int) {
	end := strings.IndexByte(path, ']')
	if end < 0 || path[0] != '[' {
		return 0, 0
	}
	index, err := strconv.Atoi(path[1:end])
	if err != nil || strconv.Itoa(index) != path[1:end] || index < 0 || index >= len(list) {
		return 0, 0
	}
	return index, end + 1
}
