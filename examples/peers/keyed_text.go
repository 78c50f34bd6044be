package main

import "fmt"

// inKeyedLists measures checks of encoded objects where something differs inside a list by key that has locks in its
// items, as in most updates.
func inKeyedLists() ([]group, error) {
	locks, err := validator(map[string]object{"class": immutable, "nodes.name": immutable, "nodes.zone": immutable})
	if err != nil {
		return nil, err
	}
	const n = 1_000
	oldJSON := encoded(cluster(n))
	nodes := func(obj object) []any { return obj["spec"].(object)["nodes"].([]any) }
	changed := func(every int) object {
		obj := cluster(n)
		for i := every / 2; i < n; i += every {
			nodes(obj)[i].(object)["image"] = "registry.example.com/team/agent:v2.0.0"
		}
		return obj
	}
	appended := cluster(n)
	appended["spec"].(object)["nodes"] = append(nodes(appended), object{"name": "added", "zone": "europe-west1-a"})
	removed := cluster(n)
	removed["spec"].(object)["nodes"] = nodes(removed)[1:]
	rotated := cluster(n)
	rotated["spec"].(object)["nodes"] = append(append([]any{}, nodes(rotated)[1:]...), nodes(rotated)[0])
	refused := cluster(n)
	nodes(refused)[n/2].(object)["zone"] = "elsewhere"

	var rows []row
	for _, r := range []struct {
		name    string
		newObj  object
		target  float64
		refused bool
	}{
		{"one unlocked field", changed(n), 10, false},
		{"ten unlocked fields", changed(n / 10), 8, false},
		{"an item appended", appended, 5, false},
		{"an item removed", removed, 5, false},
		{"in another order", rotated, 3, false},
		{"a locked field, refused", refused, 20, true},
	} {
		text := encoded(r.newObj)
		part := must(r.name, func() bool {
			errs, err := locks.ValidateUpdateJSON(text, oldJSON)
			return err == nil && (len(errs) == 1) == r.refused
		})
		rows = append(rows, againstDecoding(part, text, oldJSON, r.target, func(newObj, oldObj object) bool {
			return (len(locks.ValidateUpdate(newObj, oldObj)) == 1) == r.refused
		})...)
	}
	title := fmt.Sprintf("JSON texts, changes in a list by key, %d KB", len(oldJSON)/1000)
	return []group{{title, "A change inside a long list does not force decoding it.", rows}}, nil
}
