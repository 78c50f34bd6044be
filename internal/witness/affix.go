package witness

import (
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
