package yamldoc_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// layout writes random documents in the styles of hand-written files, every line with a comment that names it.
type layout struct {
	*rand.Rand
	strings.Builder
	lines int
	deep  bool // lists are indented below their keys
}

func (l *layout) one(of ...string) string { return of[l.IntN(len(of))] }

func (l *layout) scalar() string {
	return l.one("1", "x", "'it''s'", `"a\tb"`, "true", "null", "1.5", "~", "a b", "'#'", "é")
}

func (l *layout) comment() string {
	if l.IntN(3) > 0 {
		return ""
	}
	l.lines++
	return fmt.Sprintf(" # line %d", l.lines)
}

func (l *layout) flow(depth int) string {
	switch n := l.IntN(4); {
	case depth > 0 && n == 0:
		return "{" + l.one("", "a: "+l.flow(depth-1), "a: "+l.flow(depth-1)+", \"b\": 1", "m: 1, z: "+l.flow(depth-1)) + "}"
	case depth > 0 && n == 1:
		return "[" + l.one("", l.flow(depth-1), l.flow(depth-1)+", "+l.scalar(), "x, y, x") + "]"
	}
	return l.scalar()
}

func (l *layout) mapping(indent string, depth int, first string) {
	names := []string{"a", "b", "c", "d", "'true'", "x.y/z"}
	l.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names[:1+l.IntN(4)] {
		begin := indent
		if i == 0 {
			begin = first
		} else if l.IntN(6) == 0 {
			l.WriteString(l.one("\n", indent+"# above "+strings.Trim(name, "'")+"\n"))
		}
		l.WriteString(begin + name + ":")
		l.value(indent, depth)
	}
}

// value writes what follows a colon, up to the end of the line.
func (l *layout) value(indent string, depth int) {
	switch n := l.IntN(7); {
	case depth > 0 && n < 2:
		l.WriteString(l.comment() + "\n")
		l.mapping(indent+"  ", depth-1, indent+"  ")
	case depth > 0 && n == 2:
		l.WriteString(l.comment() + "\n")
		inner := indent
		if l.deep {
			inner += "  "
		}
		for range 1 + l.IntN(3) {
			if l.IntN(2) == 0 {
				l.mapping(inner+"  ", depth-1, inner+"- ")
				continue
			}
			l.WriteString(inner + "- " + l.flow(1) + l.comment() + "\n")
		}
	case n == 3:
		l.WriteString(l.one(" |\n", " |-\n", " >-\n") + indent + "  some text\n" + indent + "  of lines\n")
	default:
		l.WriteString(" " + l.flow(2) + l.comment() + "\n")
	}
}

// newValues are values that an edit puts in.
func newValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(7); {
	case depth > 0 && n == 0:
		o := object{}
		for range r.IntN(3) {
			o[[]string{"a", "k", "true", "x: y"}[r.IntN(4)]] = newValue(r, depth-1)
		}
		return o
	case depth > 0 && n == 1:
		list := []any{}
		for range r.IntN(3) {
			list = append(list, newValue(r, depth-1))
		}
		return list
	}
	return []any{"x", "", "on", "1", "a: b", "...", "- x", "two\nlines", "two\nlines\n", " lead\nx", "trail \nx", "tab\there", "\x1f", "\u2028", "é", "it's", int64(2), 1.5, true, nil, "\ufeff", "a\r\nb", "#x", "x #y", "[", "@a", "<<"}[r.IntN(27)]
}

// edit changes something in value, which is an object or list, or below it.
func edit(r *rand.Rand, value any) any {
	switch value := value.(type) {
	case object:
		names := slices.Sorted(maps.Keys(value))
		if len(names) > 0 && r.IntN(3) > 0 {
			name := names[r.IntN(len(names))]
			switch value[name].(type) {
			case object, []any:
				value[name] = edit(r, value[name])
				return value
			}
			if r.IntN(2) == 0 {
				delete(value, name)
				return value
			}
			value[name] = newValue(r, 2)
			return value
		}
		value[[]string{"a", "aa", "bb", "zz", "0"}[r.IntN(5)]] = newValue(r, 2)
		return value
	case []any:
		i := r.IntN(len(value) + 1)
		switch r.IntN(4) {
		case 0:
			return slices.Insert(slices.Clone(value), i, newValue(r, 1))
		case 1:
			return slices.Delete(slices.Clone(value), min(i, len(value)-min(1, len(value))), min(i+1, len(value)))
		}
		if i < len(value) {
			value[i] = edit(r, value[i])
			return value
		}
		return append(slices.Clone(value), newValue(r, 1))
	}
	return newValue(r, 2)
}

// TestRandomEdits: whatever is changed, the text can be written and reads back as what was asked for, lines that have
// nothing to do with the change stay as they are, and undoing the change gives an equal value.
func TestRandomEdits(t *testing.T) {
	rounds := 2_500
	if testing.Short() {
		rounds = 500
	}
	kept, all := 0, 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := &layout{Rand: r, deep: seed%2 == 0}
		l.mapping("", 3, "")
		text := l.String()
		if seed%5 == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		file, err := yamldoc.Parse("f", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for range 1 + r.IntN(2) {
			edit(r, file.Documents[0].Object)
		}
		got, err := file.Bytes()
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\nwant %v", seed, err, text, file.Documents[0].Object)
		}
		again, err := yamldoc.Read("f", got)
		if err != nil || len(again) != 1 || !reflect.DeepEqual(jsonValue(t, again[0].Object), jsonValue(t, file.Documents[0].Object)) {
			t.Fatalf("seed %d: reads back as %v, %v\n%s\nof\n%s", seed, again, err, got, text)
		}
		if strings.Contains(text, "\r\n") != strings.Contains(string(got), "\r\n") && len(strings.TrimSpace(string(got))) > 0 && strings.Contains(string(got), "\n") {
			t.Errorf("seed %d: the line ends have changed\n%s\nof\n%s", seed, got, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if all++; strings.Contains("\n"+string(got)+"\n", "\n"+line+"\n") {
				kept++
			}
		}
	}
	if kept*100 < all*80 {
		t.Errorf("only %d of %d lines stay as they are", kept, all)
	}
}
