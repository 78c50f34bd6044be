package accept

import (
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Add returns the text of a file with entries added. What the file has stays as it is, comments included; an empty file
// becomes a list.
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
