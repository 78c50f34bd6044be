package accept

import (
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Add returns the text of a file with entries added. They take the place of entries for other changes of the same fields;
// what else the file has stays as it is, comments included. An empty file becomes a list.
func Add(name string, data []byte, entries []Entry) ([]byte, error) {
	if strings.TrimSpace(string(data)) == "" {
		data = []byte("accept: []\n")
	}
	file, err := yamldoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Documents {
		items, _ := d.Object["accept"].([]any)
		items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
			return slices.ContainsFunc(entries, func(e Entry) bool { return e.replaces(item) })
		})
		for i := range entries {
			item := map[string]any{}
			for _, key := range keys {
				if text := *entries[i].field(key); text != "" {
					item[key] = text
				}
			}
			items = append(items, item)
		}
		d.Object["accept"] = items
	}
	return file.Bytes()
}

// replaces reports whether item is an entry for another change of the very field that e is about.
func (e *Entry) replaces(item any) bool {
	object, _ := item.(map[string]any)
	for _, key := range [...]string{"object", "kind", "crd", "path", "rule"} {
		if text, _ := object[key].(string); text != *e.field(key) {
			return false
		}
	}
	return e.Change != "" && object["change"] != nil && object["change"] != e.Change
}
