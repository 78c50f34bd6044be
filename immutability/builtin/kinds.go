package builtin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds is the built-in kinds as one Kubernetes minor has them. It is safe for concurrent use.
type Kinds struct {
	minor int
	all   []*Kind                           // of the minor, sorted by group and kind
	byGVK map[schema.GroupVersionKind]*Kind // also versions that other minors serve, and those that are gone
	names map[string][]*Kind                // by kind, plural and short name, in lower case
}

// For returns the built-in kinds of a Kubernetes minor, such as "1.36"; "" is the newest known one. It returns an error
// that names the known minors for any other text. The first call reads about 20 small files; the checks of a kind are
// compiled when the kind is first used.
func For(minor string) (*Kinds, error) {
	number, err := parseMinor(minor)
	if err != nil {
		return nil, err
	}
	sources, err := groups()
	if err != nil {
		return nil, err
	}
	k := &Kinds{minor: number, byGVK: map[schema.GroupVersionKind]*Kind{}, names: map[string][]*Kind{}}
	shared := &canonicalizer{}
	for _, group := range sources {
		for i := range group.Kinds {
			if err := k.add(group.Group, &group.Kinds[i], shared); err != nil {
				return nil, fmt.Errorf("%s: %w", group.Kinds[i].Kind, err)
			}
		}
	}
	slices.SortFunc(k.all, func(a, b *Kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return k, nil
}

// add adds a kind: once as the minor has it, and once for each other minor that is needed for a version.
func (k *Kinds) add(group string, source *kindSource, shared *canonicalizer) error {
	byMinor := map[int]*Kind{}
	at := func(minor int) *Kind {
		if byMinor[minor] == nil {
			byMinor[minor] = newKind(group, source, minor, shared)
		}
		return byMinor[minor]
	}
	served := false
	for _, version := range source.Versions {
		name, s, err := parseVersion(version)
		if err != nil {
			return err
		}
		minor := k.minor
		if !s.has(minor) {
			minor = s.newest()
		}
		kind := at(minor)
		kind.Versions = append(kind.Versions, name)
		k.byGVK[schema.GroupVersionKind{Group: group, Version: name, Kind: source.Kind}] = kind
		served = served || minor == k.minor
	}
	for _, apiVersion := range source.Formerly {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return err
		}
		k.byGVK[gv.WithKind(source.Kind)] = at(k.minor)
	}
	if !served {
		return nil
	}
	kind := at(k.minor)
	k.all = append(k.all, kind)
	for _, name := range slices.Compact(append([]string{strings.ToLower(source.Kind), source.Plural}, source.Short...)) {
		k.names[name] = append(k.names[name], kind)
	}
	return nil
}

// Minor returns the minor, such as "1.36".
func (k *Kinds) Minor() string { return minorName(k.minor) }

// All returns the kinds that the minor serves, sorted by group and kind.
func (k *Kinds) All() []*Kind { return slices.Clone(k.all) }

// Find returns the kind of an object, nil for one that is not built in. A version that the minor does not serve is
// found as the newest known minor has it, one that is gone as the version that replaced it.
func (k *Kinds) Find(apiVersion, kind string) *Kind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil
	}
	return k.byGVK[gv.WithKind(kind)]
}

// Lookup returns the kinds with a name: a kind, plural or short name in any case, with ".group" where needed, such as
// "sts", "StatefulSet" or "events.events.k8s.io". It returns nil when there is none.
func (k *Kinds) Lookup(name string) []*Kind {
	name = strings.ToLower(name)
	if found, ok := k.names[name]; ok {
		return slices.Clone(found)
	}
	short, group, _ := strings.Cut(name, ".")
	var found []*Kind
	for _, kind := range k.names[short] {
		if kind.Group == group {
			found = append(found, kind)
		}
	}
	return found
}
