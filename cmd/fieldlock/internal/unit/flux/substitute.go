package flux

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// The controller replaces variables in the YAML text of each object, if the Kustomization has the field postBuild and
// at least one variable. This file follows github.com/fluxcd/pkg/kustomize, version 1.41.0 (kustomize_varsub.go), and
// uses the controller's own parser of ${...}.

const (
	// substituteKey is the label or annotation of objects whose variables are not replaced.
	substituteKey = kustomizationGroup + "/substitute"
	disabled      = "disabled"
)

// variableName is what the name of a variable must match.
var variableName = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// variables are the values of variables, as far as the tree tells them.
type variables struct {
	known   map[string]string
	unknown map[string]bool // set to a value that the tree does not tell
	open    bool            // an object is missing that sets variables; those that nothing else sets may be among them
}

// variables returns the variables, or nil if none are replaced. Later objects overwrite earlier ones, and the field
// substitute overwrites all of them.
func (k *Kustomization) variables(lookup Lookup) (*variables, error) {
	if k.spec.PostBuild == nil {
		return nil, nil
	}
	v := &variables{known: map[string]string{}, unknown: map[string]bool{}}
	for _, from := range k.spec.PostBuild.SubstituteFrom {
		var object map[string]any
		var ok bool
		if lookup != nil {
			object, ok = lookup(from.Kind, k.Namespace, from.Name)
		}
		switch {
		case ok:
			v.addObject(object)
		case !from.Optional:
			v.open = true
		}
	}
	for name, value := range k.spec.PostBuild.Substitute {
		v.add(name, value)
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(v.known)), slices.Sorted(maps.Keys(v.unknown))) {
		if !variableName.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a variable", name)
		}
	}
	if len(v.known)+len(v.unknown) == 0 && !v.open && k.spec.PostBuild.SubstituteStrategy != "Always" {
		return nil, nil
	}
	return v, nil
}

// add sets a variable. The controller drops line breaks.
func (v *variables) add(name, value string) {
	delete(v.unknown, name)
	v.known[name] = strings.ReplaceAll(value, "\n", "")
}

// addObject sets the variables of a ConfigMap or Secret.
func (v *variables) addObject(object map[string]any) {
	for name, text := range textsOf(object) {
		if text != nil {
			v.add(name, *text)
			continue
		}
		delete(v.known, name)
		v.unknown[name] = true
	}
}

// substitute replaces the variables of an object, and notes the places that variables of unknown value decide: those
// that change when the value does. It tries two values besides the marker: a long text that has nothing in common with
// any marker, and the empty text, on which functions such as ${NAME:-default} and ${NAME:0:3} depend.
func (v *variables) substitute(o *rendered.Object) error {
	tree, err := parse.Parse(string(o.YAML))
	if err != nil {
		return fmt.Errorf("variables: %w", err)
	}
	uses := map[string]bool{}
	bare(tree.Root, uses)
	uncertain := false
	content, object, err := v.evaluate(o.YAML, func(name string) string {
		uncertain = true
		if v.unknown[name] || uses[name] {
			return "${" + name + "}"
		}
		return ""
	})
	if err != nil {
		return err
	}
	if uncertain {
		o.Unknown = v.unknownPlaces(o.YAML, object)
	}
	if bytes.Equal(content, o.YAML) {
		return nil
	}
	o.YAML, err = yaml.Marshal(object)
	return err
}

// unknownPlaces returns the places of an object that differ when the variables of unknown value do.
func (v *variables) unknownPlaces(content []byte, object any) []string {
	places := map[string]bool{}
	for _, value := range []string{strings.Repeat("~", 99), ""} {
		_, other, err := v.evaluate(content, func(string) string { return value })
		if err != nil {
			return []string{""}
		}
		differences(object, other, "", places)
	}
	return slices.Sorted(maps.Keys(places))
}

// evaluate replaces all variables. Those of unknown value get the one that unknown returns.
func (v *variables) evaluate(content []byte, unknown func(name string) string) (text []byte, object any, err error) {
	evaluated, err := envsubst.Eval(string(content), func(name string) (string, bool) {
		if value, ok := v.known[name]; ok {
			return value, true
		}
		if v.unknown[name] || v.open {
			return unknown(name), true
		}
		return "", true
	})
	if err != nil {
		return nil, nil, fmt.Errorf("variables: %w", err)
	}
	if err := yaml.Unmarshal([]byte(evaluated), &object); err != nil {
		return nil, nil, fmt.Errorf("not YAML after variables are replaced: %w", err)
	}
	return []byte(evaluated), object, nil
}

// bare notes the names of variables that are used without a default.
func bare(n parse.Node, names map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			bare(child, names)
		}
	case *parse.FuncNode:
		switch n.Name {
		case "-", "+", "=", "?", ":-", ":+", ":=", ":?":
		default:
			names[n.Param] = true
		}
		for _, child := range n.Args {
			bare(child, names)
		}
	}
}

// differences notes the places, as JSON pointers, where two values differ: the smallest value that is on both sides.
func differences(a, b any, at string, places map[string]bool) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
			places[at] = true
			return
		}
		for key := range a {
			differences(a[key], b[key], at+"/"+pointer.Escape(key), places)
		}
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			places[at] = true
			return
		}
		for i := range a {
			differences(a[i], b[i], at+"/"+strconv.Itoa(i), places)
		}
	default:
		switch b.(type) {
		case map[string]any, []any:
			places[at] = true
		default:
			if a != b {
				places[at] = true
			}
		}
	}
}
