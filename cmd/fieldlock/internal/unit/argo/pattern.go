package argo

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/gobwas/glob"
)

// Each pattern costs a walk over the tree, so their number and their length are bounded.
const (
	maxPatterns = 1000
	maxPattern  = 1000
)

// compile reads a pattern of Argo CD, in which "*" matches "/", too; nil for no pattern.
func compile(pattern string) (glob.Glob, error) {
	if pattern == "" {
		return nil, nil
	}
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a pattern has more than %d characters", maxPattern)
	}
	return glob.Compile(pattern)
}

// isPattern reports whether a path has characters that match others.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// matching returns the files of the tree that a pattern matches, sorted. Where separate is true, it is the pattern of a
// shell with "**"; otherwise of git, in which "*" matches "/", too, and the name of a directory matches all that is in
// it.
func matching(tree fs.FS, pattern string, separate bool) ([]string, error) {
	expression, err := patternExpression(pattern, separate)
	if err != nil {
		return nil, err
	}
	var files []string
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !entry.IsDir() && (expression.MatchString(name) ||
			!separate && strings.HasPrefix(name, strings.TrimSuffix(pattern, "/")+"/")):
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// patternExpression turns a pattern into a regular expression.
func patternExpression(pattern string, separate bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("a pattern has more than %d characters", maxPattern)
	}
	var b strings.Builder
	b.WriteString("^(?s:")
	any, one := ".*", "."
	if separate {
		any, one = "[^/]*", "[^/]"
	}
	braces := 0
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch c := pattern[i]; {
		case separate && strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case separate && strings.HasPrefix(rest, "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString(any)
		case c == '?':
			b.WriteString(one)
		case c == '[' && strings.IndexByte(rest[1:], ']') > 0:
			end := 1 + strings.IndexByte(rest[1:], ']')
			class := strings.ReplaceAll(rest[1:end], `\`, `\\`)
			if strings.HasPrefix(class, "!") {
				class = "^" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i += end
		case separate && c == '{':
			braces++
			b.WriteString("(?:")
		case separate && c == '}' && braces > 0:
			braces--
			b.WriteByte(')')
		case c == ',' && braces > 0:
			b.WriteByte('|')
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString(")$")
	expression, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	return expression, nil
}
