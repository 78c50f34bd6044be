package witness

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// affix makes the text of a field begin or end with another text. It keeps of the value that is there what fits. Example:
// self.mail.endsWith('@' + self.project + '.com') turns a@b.org with the project p into a@p.com.
func (g goals) affix(x, affix ast.Expr, front bool) []goal {
	at, old, ok := g.pathOf(x)
	part, known := g.text(affix)
	if !ok || !known || part == "" {
		return []goal{{}}
	}
	now, _ := get(g.obj, at)
	text, _ := now.(string)
	found := []goal{g.set(at, old, part)}
	if i := strings.IndexByte(text, part[0]); i >= 0 && !front {
		found = append(found, g.set(at, old, text[:i]+part))
	}
	if i := strings.LastIndexByte(text, part[len(part)-1]); i >= 0 && front {
		found = append(found, g.set(at, old, part+text[i+1:]))
	}
	if front {
		return append(found, g.set(at, old, part+text))
	}
	return append(found, g.set(at, old, text+part))
}

// text returns the text of x: a constant, a field of the object, or both joined.
func (g goals) text(x ast.Expr) (string, bool) {
	if text, ok := literal(x).(string); ok {
		return text, true
	}
	if at, _, ok := g.pathOf(x); ok {
		value, _ := get(g.obj, at)
		text, ok := value.(string)
		return text, ok
	}
	if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Add {
		a, okA := g.text(x.AsCall().Args()[0])
		b, okB := g.text(x.AsCall().Args()[1])
		return a + b, okA && okB
	}
	return "", false
}

// partMatching makes a part of a text match a regular expression. Example: self.id.split('/')[2].matches('^[0-9]+$') turns
// /groups/a/b into /groups/0/b.
func (g goals) partMatching(x, regex ast.Expr) []goal {
	none := []goal{{}}
	pattern, _ := literal(regex).(string)
	if x.Kind() != ast.CallKind || x.AsCall().FunctionName() != operators.Index || pattern == "" {
		return none
	}
	split, index := x.AsCall().Args()[0], x.AsCall().Args()[1]
	if split.Kind() != ast.CallKind || split.AsCall().FunctionName() != "split" || len(split.AsCall().Args()) != 1 {
		return none
	}
	at, old, ok := g.pathOf(split.AsCall().Target())
	separator, _ := literal(split.AsCall().Args()[0]).(string)
	i, _ := literal(index).(int64)
	now, _ := get(g.obj, at)
	text, _ := now.(string)
	parts := strings.Split(text, separator)
	if !ok || separator == "" || i < 0 || i >= int64(len(parts)) {
		return none
	}
	var found []goal
	for _, part := range matching(pattern, 0, 3) {
		changed := slices.Clone(parts)
		changed[i] = part
		found = append(found, g.set(at, old, strings.Join(changed, separator)))
	}
	return append(found, goal{})
}
