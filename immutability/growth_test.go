package immutability_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

func refTo(name string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/definitions/" + name)}}
}

// chained returns a schema of n levels with a lock at the bottom; wrap puts a schema one level down.
func chained(wrap func(s *spec.Schema) *spec.Schema) func(n int) *spec.Schema {
	return func(n int) *spec.Schema {
		s := mark(&spec.Schema{}, "x-kubernetes-immutable", true)
		for range n {
			s = wrap(s)
		}
		return object(map[string]spec.Schema{"a": *s})
	}
}

// definitions returns a schema of n definitions, each of which refers to the next one, in an order in which a search
// that goes through the list again and again finds one more each time.
func definitions(n int) *spec.Schema {
	root := object(map[string]spec.Schema{})
	root.Definitions = spec.Definitions{}
	for i := range n {
		name := fmt.Sprintf("d%06d", i)
		root.Properties[name] = refTo(name)
		d := object(map[string]spec.Schema{"l": {}})
		if i == 0 {
			d = mark(d, "x-fieldlock-update", []any{"NoModify"})
		} else {
			d.Properties["a"] = refTo(fmt.Sprintf("d%06d", i-1))
		}
		root.Definitions[name] = *d
	}
	return root
}

// TestSchemaGrowth: four times the schema takes about four times the memory to compile. Memory is counted because it
// does not depend on the clock; paths that become text at each level show in it as the square.
func TestSchemaGrowth(t *testing.T) {
	property := func(s *spec.Schema) *spec.Schema { return object(map[string]spec.Schema{"a": *s}) }
	for name, test := range map[string]struct {
		build   func(n int) *spec.Schema
		options []immutability.Option
	}{
		"properties": {build: chained(property)},
		"items":      {build: chained(list)},
		"locks at each level": {build: chained(func(s *spec.Schema) *spec.Schema {
			return mark(property(s), "x-fieldlock-update", []any{"NoModify"})
		})},
		"normalized at each level": {build: chained(func(s *spec.Schema) *spec.Schema {
			return mark(property(s), "x-kubernetes-normalize", "undefined")
		})},
		"anyOf": {build: func(n int) *spec.Schema {
			s := &spec.Schema{}
			for range n {
				s = &spec.Schema{SchemaProps: spec.SchemaProps{AnyOf: []spec.Schema{*s}}}
			}
			return object(map[string]spec.Schema{"a": *s})
		}},
		"anyOf of one definition in many places": {build: func(n int) *spec.Schema {
			root := object(map[string]spec.Schema{})
			big := object(map[string]spec.Schema{})
			for i := range n {
				root.Properties[fmt.Sprint(i)] = spec.Schema{SchemaProps: spec.SchemaProps{AnyOf: []spec.Schema{refTo("big")}}}
				big.Properties[fmt.Sprint(i)] = spec.Schema{}
			}
			root.Definitions = spec.Definitions{"big": *big}
			return root
		}},
		"definitions that lead to each other": {build: definitions},
		"redacted path": {
			build:   chained(property),
			options: []immutability.Option{immutability.WithRedacted("/properties/a" + strings.Repeat("/properties/a", 400))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var bytes [2]uint64
			for i, n := range []int{500, 2000} {
				s := test.build(n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := immutability.Compile(s, test.options...)
				runtime.ReadMemStats(&after)
				if err != nil {
					t.Fatal(err)
				}
				bytes[i] = after.TotalAlloc - before.TotalAlloc
			}
			if ratio := float64(bytes[1]) / float64(bytes[0]); ratio > 6 {
				t.Errorf("four times the schema takes %.1f times the memory (%d and %d bytes)", ratio, bytes[0], bytes[1])
			}
		})
	}
}

// TestLintOfDeepSchemaIsCut: a finding at each of many levels has paths of the square of their number.
func TestLintOfDeepSchemaIsCut(t *testing.T) {
	s := chained(func(s *spec.Schema) *spec.Schema { return object(map[string]spec.Schema{"a": *s}) })(5_000)
	found := immutability.Lint(s)
	size, cut := 0, 0
	for _, f := range found {
		size += len(f.Path) + len(f.SchemaPath)
		if strings.HasSuffix(f.Message, "(further findings are left out)") {
			cut++
		}
	}
	if cut != 1 || len(found) < 50 || size > 20_000_000 {
		t.Errorf("%d findings with %d bytes of paths, %d say that there are more", len(found), size, cut)
	}
}

// TestLocksOfSharedDefinitions: every field that refers to a definition is listed, and no more where that doubles at
// each level.
func TestLocksOfSharedDefinitions(t *testing.T) {
	shared := object(map[string]spec.Schema{"class": *mark(&spec.Schema{}, "x-kubernetes-immutable", true), "self": refTo("d")})
	root := object(map[string]spec.Schema{"a": refTo("d"), "b": refTo("d"), "c": refTo("d")})
	root.Definitions = spec.Definitions{"d": *shared}
	var paths []string
	for _, f := range immutability.MustCompile(root).Locks() {
		paths = append(paths, f.Path)
		if f.SchemaPath != "#/definitions/d/properties/class" {
			t.Errorf("%s is locked at %s", f.Path, f.SchemaPath)
		}
	}
	if got := strings.Join(paths, " "); got != "a.class b.class c.class" {
		t.Errorf("locked are %s", got)
	}
	wide := object(map[string]spec.Schema{"a": refTo("0")})
	wide.Definitions = spec.Definitions{}
	for i := range 60 {
		next := refTo(fmt.Sprint(i + 1))
		wide.Definitions[fmt.Sprint(i)] = *object(map[string]spec.Schema{"a": next, "b": next})
	}
	wide.Definitions["60"] = *mark(&spec.Schema{}, "x-kubernetes-immutable", true)
	if n := len(immutability.MustCompile(wide).Locks()); n < 100 || n > 20_000 {
		t.Errorf("%d of 2^60 locked fields are listed", n)
	}
}
