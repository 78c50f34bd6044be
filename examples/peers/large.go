package main

import (
	"fmt"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/listindex"
)

// joinedTags compares two sets of strings as a programmer writes it: by counting.
func joinedTags(newObj, oldObj object) bool {
	newTags, oldTags := newObj["spec"].(object)["tags"].([]any), oldObj["spec"].(object)["tags"].([]any)
	counts := make(map[string]int, len(oldTags))
	for _, tag := range oldTags {
		counts[tag.(string)]++
	}
	for _, tag := range newTags {
		if counts[tag.(string)]--; counts[tag.(string)] < 0 {
			return false
		}
	}
	return len(newTags) == len(oldTags)
}

// joinedZones compares a field of the items of two lists by key as a programmer writes it: with a map.
func joinedZones(newObj, oldObj object) bool {
	newNodes, oldNodes := newObj["spec"].(object)["nodes"].([]any), oldObj["spec"].(object)["nodes"].([]any)
	byName := make(map[string]object, len(oldNodes))
	for _, node := range oldNodes {
		node := node.(object)
		byName[node["name"].(string)] = node
	}
	for _, node := range newNodes {
		node := node.(object)
		if was, ok := byName[node["name"].(string)]; ok && was["zone"] != node["zone"] {
			return false
		}
	}
	return true
}

// largeLists measures long lists in another order.
func largeLists() ([]group, error) {
	const n = 16_000
	tags, err := validator(map[string]object{"tags": immutable})
	if err != nil {
		return nil, err
	}
	zones, err := validator(map[string]object{"nodes.zone": immutable})
	if err != nil {
		return nil, err
	}
	parts, err := validator(map[string]object{"tags": immutable, "nodes.zone": immutable})
	if err != nil {
		return nil, err
	}
	oldObj, moved := decoded(encoded(cluster(n))), decoded(encoded(shuffled(cluster(n))))
	check := func(name string, v *immutability.Validator) *subject {
		return must(name, func() bool { return v.ValidateUpdate(moved, oldObj) == nil })
	}
	joinTags := must("a hash join by hand", func() bool { return joinedTags(moved, oldObj) })
	joinZones := must("a hash join by hand", func() bool { return joinedZones(moved, oldObj) })
	joinBoth := must("a hash join by hand", func() bool {
		return joinedTags(moved, oldObj) && joinedZones(moved, oldObj)
	})
	index := &subject{name: "an index of each", do: func() {
		spec := oldObj["spec"].(object)
		listindex.NewIndex(spec["tags"].([]any), listindex.JSON{})
		listindex.NewIndex(spec["nodes"].([]any), listindex.Keys{{Name: "name"}})
	}}
	both := check("a set and a list by key", parts)
	rows := []row{
		{part: both, peer: joinBoth, target: 1},
		{part: check("the set alone", tags), peer: joinTags},
		{part: check("the list alone", zones), peer: joinZones},
		{part: both, peer: index, target: 2, unit: inBytes},
	}
	for _, n := range []int{4_000, 64_000} {
		newTags := decoded(encoded(shuffled(cluster(n))))["spec"].(object)["tags"].([]any)
		oldTags := decoded(encoded(cluster(n)))["spec"].(object)["tags"].([]any)
		newTags[n/2] = "another"
		newObj, oldObj := object{"spec": object{"tags": newTags}}, object{"spec": object{"tags": oldTags}}
		rows = append(rows, row{
			part: must(fmt.Sprintf("one of %d in the set changed", n), func() bool {
				return len(tags.ValidateUpdate(newObj, oldObj)) == 1
			}),
			peer: must("a hash join by hand", func() bool { return !joinedTags(newObj, oldObj) }), target: 6,
		})
	}
	return []group{{
		"Decoded lists of 16,000 items in another order",
		"An accepted update costs less than a hash join written by hand.",
		rows,
	}}, nil
}
