package kind

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fieldlock/fieldlock/internal/canonical"
)

// condition is a CEL expression on self and oldSelf, the objects after and before the update. They are dynamic: what a
// field holds is known when the expression runs. Optional syntax and the API server's libraries are there:
// self.?spec.?size.
type condition struct {
	text    string
	program cel.Program
}

// env is the environment that all conditions are compiled in.
var env = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", cel.DynType), cel.Variable("oldSelf", cel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.StoredExpressions)
})

// newCondition compiles an expression.
func newCondition(text string) (*condition, error) {
	e, err := env()
	if err != nil {
		return nil, err
	}
	checked, issues := e.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%s: %w", text, issues.Err())
	}
	program, err := e.Program(checked, cel.CostLimit(celconfig.PerCallLimit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return &condition{text, program}, nil
}

// holds reports whether the condition is true. The error is that it has no boolean value for these objects: a field has
// an unexpected type, or the objects are so large that the expression would cost too much.
func (c *condition) holds(newObj, oldObj map[string]any) (bool, error) {
	if strings.Contains(c.text, "quantity(") {
		if text := cmp.Or(canonical.Vast(newObj), canonical.Vast(oldObj)); text != "" {
			return false, fmt.Errorf("the amount %s has too many digits", text)
		}
	}
	value, _, err := c.program.Eval(map[string]any{"self": newObj, "oldSelf": oldObj})
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%s is no boolean: %v", c.text, value.Value())
	}
	return holds, nil
}
