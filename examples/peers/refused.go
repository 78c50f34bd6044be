package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
)

// levels returns an object with others in each other, depth levels of them, and a leaf in each.
func levels(depth int, leaf string) object {
	obj := object{"leaf": leaf}
	for range depth {
		obj = object{"leaf": "same", "child": obj}
	}
	return obj
}

// lockedLevels returns the validator of such objects, in which no child may be modified.
func lockedLevels(normalized bool) (*immutability.Validator, error) {
	schema := object{}
	if err := yaml.Unmarshal([]byte(`
$ref: '#/definitions/level'
definitions:
  level:
    type: object
    properties:
      leaf: {type: string}
      child: {$ref: '#/definitions/level', x-fieldlock-update: [NoModify]}
`), &schema); err != nil {
		return nil, err
	}
	if normalized {
		level := schema["definitions"].(object)["level"].(object)
		level["properties"].(object)["child"].(object)["x-kubernetes-normalize"] = "undefined"
	}
	return compile(schema)
}

// collect is what a programmer writes where no level may be modified: it looks at each level once, and adds an error
// for each that differs. It reports whether the two objects differ.
func collect(errs *field.ErrorList, path *field.Path, newObj, oldObj object) bool {
	newChild, _ := newObj["child"].(object)
	oldChild, _ := oldObj["child"].(object)
	differs := newObj["leaf"] != oldObj["leaf"] || len(newObj) != len(oldObj) || (newChild == nil) != (oldChild == nil)
	if newChild != nil && oldChild != nil {
		at := path.Child("child")
		if collect(errs, at, newChild, oldChild) {
			*errs = append(*errs, field.Invalid(at, newChild,
				"field is immutable: it may not be modified once set").WithOrigin("NoModify"))
			differs = true
		}
	}
	return differs
}

// refusedUpdates measures updates that break the lock of every level, and a set of which one item changes.
func refusedUpdates() ([]group, error) {
	var groups []group
	for _, normalized := range []bool{false, true} {
		locks, err := lockedLevels(normalized)
		if err != nil {
			return nil, err
		}
		g := group{
			title: map[bool]string{false: "Refused at every level",
				true: "Refused at every level, normalized"}[normalized],
			conclusion: "An error for each level costs at most five times what a loop written by hand takes.",
		}
		for _, depth := range []int{100, 200, 400} {
			g.rows = append(g.rows, refusedAt(locks, depth)...)
		}
		groups = append(groups, g)
	}
	set, err := changedSet()
	return append(groups, set), err
}

// refusedAt returns the rows of one depth: of decoded objects, and of texts for each codec. The targets are about
// serverCodec.
func refusedAt(locks *immutability.Validator, depth int) []row {
	newJSON, oldJSON := encoded(levels(depth, "new")), encoded(levels(depth, "old"))
	newObj, oldObj := decoded(newJSON), decoded(oldJSON)
	byHand := func(newObj, oldObj object) bool {
		var errs field.ErrorList
		collect(&errs, nil, newObj, oldObj)
		return len(errs) == depth
	}
	rows := []row{{
		part: must(fmt.Sprintf("depth %d, decoded", depth), func() bool {
			return len(locks.ValidateUpdate(newObj, oldObj)) == depth
		}),
		peer:   must("by hand", func() bool { return byHand(newObj, oldObj) }),
		target: 5,
	}}
	raw := must(fmt.Sprintf("depth %d, raw", depth), func() bool {
		errs, err := locks.ValidateUpdateJSON(newJSON, oldJSON)
		return err == nil && len(errs) == depth
	})
	for i, c := range codecs() {
		peer := must(c.name+" and by hand", func() bool {
			newObj, newErr := c.object(newJSON)
			oldObj, oldErr := c.object(oldJSON)
			return newErr == nil && oldErr == nil && byHand(newObj, oldObj)
		})
		r := row{part: raw, peer: peer}
		if i == 0 {
			r.target = 5
		}
		rows = append(rows, r)
	}
	return rows
}

// changedSet compares a set in another order of which one item has changed with one of which none has.
func changedSet() (group, error) {
	tags, err := validator(map[string]object{"tags": immutable})
	if err != nil {
		return group{}, err
	}
	const n = 20_000
	tagsOf := func(obj object) []any { return decoded(encoded(obj))["spec"].(object)["tags"].([]any) }
	oldTags, moved, changed := tagsOf(cluster(n)), tagsOf(shuffled(cluster(n))), tagsOf(shuffled(cluster(n)))
	changed[n/2] = "another"
	check := func(name string, newTags []any, errors int) *subject {
		newObj, oldObj := object{"spec": object{"tags": newTags}}, object{"spec": object{"tags": oldTags}}
		return must(name, func() bool { return len(tags.ValidateUpdate(newObj, oldObj)) == errors })
	}
	return group{
		"A set of 20,000 items in another order",
		"Naming the item that changed costs less than two more checks.",
		[]row{{part: check("one item changed, refused", changed, 1), peer: check("none changed", moved, 0), target: 3}},
	}, nil
}
