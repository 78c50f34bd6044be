package markers

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Problem is a marker that cannot do what it says: a mistake in Go source, or in a CRD file that the source disagrees
// with.
type Problem struct {
	File    string // relative to the folder of Load where it is below it
	Line    int    // 0 where a file as a whole is meant
	Marker  string // as written, "" where none is meant
	Message string // what was found and what would be right
	// Rule is the name of a hole that Lint found, such as "optional-parent"; "" for a marker that is wrong.
	Rule string
	// Fix is the comment lines, without the slashes, that make the problem go away: in place of Marker, none to remove it, or
	// without a Marker above the declaration in Line. Nil where only the author knows.
	Fix []string
}

// String returns the problem in one line: FILE:LINE: MARKER: MESSAGE, without the parts that p does not have.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Marker != "" {
		b.WriteString(p.Marker + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error holds every problem found, sorted by file and line.
type Error struct {
	Problems []Problem
}

// Error implements error with one line per problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects problems of one run.
type problems struct {
	dir  string // absolute
	list []Problem
	// lenient leaves out what is right for Kubernetes' own types and only CRDs have no key for.
	lenient bool
}

// at adds a problem. The result is for the caller to add to it, before the next problem.
func (p *problems) at(pos token.Position, marker, format string, args ...any) *Problem {
	p.list = append(p.list, Problem{File: p.relative(pos.Filename), Line: pos.Line, Marker: marker, Message: fmt.Sprintf(format, args...)})
	return &p.list[len(p.list)-1]
}

func (p *problems) of(m mark, format string, args ...any) *Problem {
	return p.at(m.pos, m.text, format, args...)
}

func (p *problems) relative(file string) string {
	if rel, err := filepath.Rel(p.dir, file); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return file
}

// err returns the problems as an *Error, sorted, or nil.
func (p *problems) err() error {
	p.sort()
	if len(p.list) == 0 {
		return nil
	}
	return &Error{p.list}
}

// sort sorts the problems, each once.
func (p *problems) sort() {
	slices.SortFunc(p.list, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Marker, b.Marker), strings.Compare(a.Message, b.Message))
	})
	p.list = slices.CompactFunc(p.list, func(a, b Problem) bool { return a.String() == b.String() })
}

// mark is one schema key that a marker asks for.
type mark struct {
	key     string
	value   any // true, a string or a []string
	text    string
	pos     token.Position
	foreign bool // in a package that was not asked for
}
