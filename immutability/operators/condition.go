package operators

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// condition is a CEL expression on self and oldSelf, the objects after and before the update. They are dynamic: what a field
// holds is known when the expression runs. Optional syntax and the API server's libraries are there: self.?spec.?size.
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

// newCondition compiles an expression; "" is nil.
func newCondition(text string) (*condition, error) {
	if text == "" {
		return nil, nil
	}
	e, err := env()
	if err != nil {
		return nil, err
	}
	checked, issues := e.Compile(text)
	if issues.Err() != nil {
		return nil, errorf("%s: %w", text, issues.Err())
	}
	program, err := e.Program(checked, cel.CostLimit(celconfig.PerCallLimit))
	if err != nil {
		return nil, errorf("%s: %w", text, err)
	}
	return &condition{text, program}, nil
}

// holds reports whether the condition is true. The error is that it has no boolean value for these objects: a field has an
// unexpected type, or the objects are so large that the expression would cost too much.
func (c *condition) holds(newObj, oldObj map[string]any) (bool, error) {
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
