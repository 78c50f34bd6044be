package builtin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/spelling"
)

// WithLock returns the kinds with locks added to a field of one of them, in all its versions; k keeps what it has. The path is
// as in immutability.ExternalLock. It returns an error if the kind is nil or has no such field, if locks are empty, or if a lock cannot be on
// the field.
func (k *Kinds) WithLock(kind *Kind, path string, locks ...immutability.Lock) (*Kinds, error) {
	if k == nil || kind.undefined() {
		return nil, errors.New("there is no kind to lock: get one from Find")
	}
	t := goType(schema.GroupVersionKind{Group: kind.Group, Version: kind.Versions[0], Kind: kind.Kind})
	if t == nil {
		return nil, fmt.Errorf("the fields of %s are not known here, so no lock can be added", kind.Kind)
	}
	if path == "metadata" || strings.HasPrefix(path, "metadata.") {
		return nil, fmt.Errorf("metadata cannot be locked, because API machinery changes it on every update")
	}
	steps, isMap, err := walkType(t, path)
	if err != nil {
		return nil, err
	}
	if len(locks) == 0 {
		return nil, fmt.Errorf("no lock is named for %s; name at least one, such as immutable", path)
	}
	for _, l := range locks {
		if err := lockschema.CheckLocks([]lockschema.Lock{lockschema.Lock(l)}); err != nil {
			return nil, err
		}
	}
	source := kind.source.with(steps, isMap, locks)
	changed := map[*Kind]*Kind{}
	with := &Kinds{Minor: k.Minor, minor: k.minor}
	with.index = k.index.Map(func(old *Kind) *Kind {
		if old.Group != kind.Group || old.Kind != kind.Kind {
			return old
		}
		if changed[old] == nil {
			changed[old] = newKind(old.Group, source, old.minor, old.types)
			changed[old].Versions, changed[old].APIVersion = old.Versions, old.APIVersion
		}
		return changed[old]
	})
	for _, is := range changed {
		if err := is.compile(); err != nil {
			return nil, err
		}
	}
	return with, nil
}

// with returns a copy of the source of a kind with rows for locks at the end of steps.
func (s *kindSource) with(steps fieldpath.Path, isMap bool, locks []immutability.Lock) *kindSource {
	out := *s
	out.Rows = slices.Clone(s.Rows)
	path := steps.String()
	if isMap {
		out.Fields = maps.Clone(s.Fields)
		if out.Fields == nil {
			out.Fields = map[string]kind.FieldData{}
		}
		if _, known := out.Fields[path+string(fieldpath.EachValue)]; !known {
			out.Fields[path+string(fieldpath.EachValue)] = kind.FieldData{}
		}
	}
	var words []string
	for _, l := range locks {
		if lock := lockschema.Lock(l); lock.Key() == lockschema.KeyUpdate {
			words = append(words, string(lock))
		} else {
			out.Rows = append(out.Rows, kind.Row{Field: path, Lock: string(lock), Says: lock.Refusal(), Ordered: true})
		}
	}
	if words != nil {
		says := lockschema.Refused
		if len(words) == 1 {
			says = lockschema.Lock(words[0]).Refusal()
		}
		out.Rows = append(out.Rows, kind.Row{Field: path, Update: words, Says: says, Ordered: true})
	}
	return &out
}

// walkType returns the steps that a path takes through a Go type, and whether it leads to a map. The error names the nearest
// path.
func walkType(t reflect.Type, path string) (steps fieldpath.Path, isMap bool, err error) {
	var types structTypes
	missing := func(nearest fieldpath.Path) error {
		text := strings.ReplaceAll(nearest.String(), string(fieldpath.EachValue), string(fieldpath.EachItem))
		if text == "" {
			text = "the root"
		}
		return &lockschema.NoPath{Path: path, Nearest: text}
	}
	if path == "" {
		return nil, false, missing(nil)
	}
	rest := path
	for rest != "" {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if below, ok := strings.CutPrefix(rest, string(fieldpath.EachItem)); ok {
			switch {
			case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
				steps = append(steps, fieldpath.EachItem)
			case t.Kind() == reflect.Map:
				steps = append(steps, fieldpath.EachValue)
			default:
				return nil, false, missing(steps)
			}
			t, rest = t.Elem(), below
			continue
		}
		name, below, _ := lockschema.FirstName(rest)
		var known map[string]reflect.Type
		if t.Kind() == reflect.Struct {
			known = types.fields(t).types
		}
		next := known[name]
		if next == nil {
			nearest := steps
			least := len(name) + 1
			for _, other := range slices.Sorted(maps.Keys(known)) {
				if d := spelling.Distance(strings.ToLower(other), strings.ToLower(name)); d < least {
					nearest, least = append(slices.Clone(steps), other), d
				}
			}
			return nil, false, missing(nearest)
		}
		steps, t, rest = append(steps, name), next, below
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return steps, t.Kind() == reflect.Map, nil
}
