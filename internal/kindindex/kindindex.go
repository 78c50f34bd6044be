// Package kindindex finds kinds of objects by apiVersion and kind, and by the names that people use.
package kindindex

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Index holds what is known of kinds. The zero Index is empty.
type Index[K any] struct {
	all   []entry[K]
	byGVK map[schema.GroupVersionKind]K
	names map[string][]entry[K] // by kind, plural and short name, in lower case
}

type entry[K any] struct {
	group, kind string
	of          K
}

// Add adds a kind with its plural and short names.
func (x *Index[K]) Add(of K, group, kind, plural string, short []string) {
	e := entry[K]{group, kind, of}
	x.all = append(x.all, e)
	if x.names == nil {
		x.names = map[string][]entry[K]{}
	}
	for _, name := range slices.Compact(append([]string{strings.ToLower(kind), plural}, short...)) {
		x.names[name] = append(x.names[name], e)
	}
}

// Serve makes Find return of for the objects of gvk. It reports whether gvk had no kind before.
func (x *Index[K]) Serve(gvk schema.GroupVersionKind, of K) bool {
	if x.byGVK == nil {
		x.byGVK = map[schema.GroupVersionKind]K{}
	}
	_, had := x.byGVK[gvk]
	x.byGVK[gvk] = of
	return !had
}

// All returns the kinds of Add, sorted by group and kind.
func (x *Index[K]) All() []K {
	return values(slices.SortedStableFunc(slices.Values(x.all), func(a, b entry[K]) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.kind, b.kind))
	}))
}

// Served returns the kinds of Serve.
func (x *Index[K]) Served() map[schema.GroupVersionKind]K { return maps.Clone(x.byGVK) }

// Find returns the kind of an object.
func (x *Index[K]) Find(apiVersion, kind string) (found K, ok bool) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return found, false
	}
	found, ok = x.byGVK[gv.WithKind(kind)]
	return found, ok
}

// Lookup returns the kinds with a name: a kind, plural or short name in any case, with ".group" where needed, such as "sts",
// "StatefulSet" or "events.events.k8s.io". It returns nil when there is none.
func (x *Index[K]) Lookup(name string) []K {
	name = strings.ToLower(name)
	if found, ok := x.names[name]; ok {
		return values(found)
	}
	short, group, _ := strings.Cut(name, ".")
	return values(slices.DeleteFunc(slices.Clone(x.names[short]), func(e entry[K]) bool { return e.group != group }))
}

// Map returns the index with other values; x stays as it is.
func (x *Index[K]) Map(of func(K) K) Index[K] {
	each := func(list []entry[K]) []entry[K] {
		out := slices.Clone(list)
		for i := range out {
			out[i].of = of(out[i].of)
		}
		return out
	}
	out := Index[K]{each(x.all), maps.Clone(x.byGVK), maps.Clone(x.names)}
	for gvk, k := range out.byGVK {
		out.byGVK[gvk] = of(k)
	}
	for name, list := range out.names {
		out.names[name] = each(list)
	}
	return out
}

func values[K any](list []entry[K]) []K {
	var all []K
	for _, e := range list {
		all = append(all, e.of)
	}
	return all
}
