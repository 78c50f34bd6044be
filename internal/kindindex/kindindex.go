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
}

type entry[K any] struct {
	group, kind string
	of          K
}

// Add adds a kind.
func (x *Index[K]) Add(of K, group, kind string) { x.all = append(x.all, entry[K]{group, kind, of}) }

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

// GroupVersion splits an apiVersion; the group of "v1" is "".
func GroupVersion(apiVersion string) (group, version string) {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		return "", apiVersion
	}
	return group, version
}

// Find returns the kind of an object.
func (x *Index[K]) Find(apiVersion, kind string) (found K, ok bool) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return found, false
	}
	found, ok = x.byGVK[gv.WithKind(kind)]
	return found, ok
}

// Map returns the index with other values; x stays as it is.
func (x *Index[K]) Map(of func(K) K) Index[K] {
	out := Index[K]{slices.Clone(x.all), maps.Clone(x.byGVK)}
	for i := range out.all {
		out.all[i].of = of(out.all[i].of)
	}
	for gvk, k := range out.byGVK {
		out.byGVK[gvk] = of(k)
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

// Names are the names of a kind.
type Names struct {
	Group, Kind, Plural string
	Short               []string
}

// Has reports whether name, in any case, is the kind, its plural or a short name, with ".group" where wanted, such as
// "sts", "StatefulSet" or "events.events.k8s.io".
func (n Names) Has(name string) bool {
	name = strings.ToLower(name)
	own := append([]string{strings.ToLower(n.Kind), n.Plural}, n.Short...)
	name, group, qualified := strings.Cut(name, ".")
	return slices.Contains(own, name) && (!qualified || group == n.Group)
}
