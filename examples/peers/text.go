package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// spaced returns a text with white space between all tokens.
func spaced(text []byte) []byte {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		panic(err) // only for what is not JSON
	}
	return out.Bytes()
}

// onText measures checks of encoded objects against decoding them first.
func onText() ([]group, error) {
	parts, err := validator(map[string]object{"class": immutable, "tags": immutable, "node": immutable})
	if err != nil {
		return nil, err
	}
	var groups []group
	for _, n := range []int{5, 1_000} {
		oldJSON := encoded(cluster(n))
		var rows []row
		for _, r := range []struct {
			name    string
			newJSON []byte
			target  float64
		}{
			{"what is not locked differs", encoded(updated(cluster(n))), 20},
			{"locked lists in another order", encoded(shuffled(updated(cluster(n)))), 1},
			{"white space everywhere", spaced(oldJSON), 1},
		} {
			text := must(r.name, func() bool {
				errs, err := parts.ValidateUpdateJSON(r.newJSON, oldJSON)
				return err == nil && errs == nil
			})
			rows = append(rows, againstDecoding(text, r.newJSON, oldJSON, r.target, func(newObj, oldObj object) bool {
				return parts.ValidateUpdate(newObj, oldObj) == nil
			})...)
		}
		title := fmt.Sprintf("JSON texts, %d nodes, %d KB", n, len(oldJSON)/1000)
		groups = append(groups, group{title, "Checking texts as they are beats decoding them first.", rows})
	}
	return groups, nil
}
