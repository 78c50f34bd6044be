package locktest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/witness"
)

// Update is a row of a table: an update, and what is to become of it.
type Update struct {
	Name string
	// Old is the object before: YAML or JSON text, or a Go value that encodes to JSON, such as a pointer to an API
	// type.
	Old any
	// New is the object after, in the same forms. Instead, Patch changes Old: a JSON merge patch as YAML or JSON text,
	// in which null removes a field.
	New   any
	Patch string
	// Refused are the paths at which the update is refused, such as "spec.nodes[0].zone"; none when it is allowed. The
	// path of a CEL rule is its fieldPath, otherwise the field that it is on; "" is the whole object, and the path of a
	// policy.
	Refused []string
}

// Run tries each update, in a subtest of its own where t is a *testing.T.
func (k *Kind) Run(t T, updates []Update) {
	t.Helper()
	if k.undefined(t) {
		return
	}
	if parent, ok := t.(*testing.T); ok {
		for _, u := range updates {
			parent.Run(u.Name, func(t *testing.T) {
				t.Helper()
				k.try(t, u, "")
			})
		}
		return
	}
	for _, u := range updates {
		k.try(t, u, u.Name+": ")
	}
}

func (k *Kind) try(t T, u Update, prefix string) {
	t.Helper()
	oldObj, newObj, err := k.sides(u)
	if err != nil {
		t.Errorf("%s%v", prefix, err)
		return
	}
	refused, mistakes, err := k.kind.Update(newObj, oldObj)
	switch {
	case err != nil:
		t.Errorf("%s%v", prefix, err)
		return
	case len(mistakes) > 0:
		t.Errorf("%sthe objects are not valid, so that no lock or rule is to be tried on them:\n%s",
			prefix, indent(mistakes))
		return
	}
	byPolicies, err := k.byPolicies(newObj, oldObj)
	if err != nil {
		t.Errorf("%s%v", prefix, err)
		return
	}
	refused = append(refused, byPolicies...)
	var got []string
	for _, r := range refused {
		got = append(got, r.Path)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := slices.Compact(slices.Sorted(slices.Values(u.Refused)))
	if slices.Equal(got, want) {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%swant the update %s, got it %s", prefix, outcome(want), outcome(got))
	if len(refused) > 0 {
		text.WriteString("\n" + indent(reasons(refused)))
	}
	t.Errorf("%s", text.String())
}

// sides reads both objects of an update.
func (k *Kind) sides(u Update) (oldObj, newObj map[string]any, err error) {
	if oldObj, err = k.object(u.Old); err != nil {
		return nil, nil, in("Old", err)
	}
	switch {
	case u.Patch == "" && u.New == nil:
		return nil, nil, errors.New("the update has neither New nor Patch")
	case u.Patch != "" && u.New != nil:
		return nil, nil, errors.New("the update has both New and Patch: remove one")
	case u.Patch == "":
		if newObj, err = k.object(u.New); err != nil {
			return nil, nil, in("New", err)
		}
		return oldObj, newObj, nil
	}
	patch, err := decode(u.Patch)
	if err != nil {
		return nil, nil, in("Patch", err)
	}
	if newObj, err = k.object(merge(oldObj, patch)); err != nil {
		return nil, nil, in("Old with Patch", err)
	}
	return oldObj, newObj, nil
}

// in says which part of an update a mistake is in.
func in(part string, err error) error { return fmt.Errorf("%s: %w", part, err) }

// merge applies a JSON merge patch (RFC 7386).
func merge(old, patch map[string]any) map[string]any {
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range patch {
		if value == nil {
			delete(merged, name)
			continue
		}
		if below, ok := value.(map[string]any); ok {
			before, _ := merged[name].(map[string]any)
			value = merge(before, below)
		}
		merged[name] = value
	}
	return merged
}

// outcome says what becomes of an update that is refused at paths.
func outcome(paths []string) string {
	if len(paths) == 0 {
		return "allowed"
	}
	named := slices.Clone(paths)
	for i, path := range named {
		if path == "" {
			named[i] = "the whole object"
		}
	}
	return "refused at " + strings.Join(named, ", ")
}

// reasons are the refusals as lines.
func reasons(refused []witness.Refusal) []string {
	var lines []string
	for _, r := range refused {
		lines = append(lines, r.String())
	}
	return slices.Compact(lines)
}

func indent(lines []string) string { return "    " + strings.Join(lines, "\n    ") }
