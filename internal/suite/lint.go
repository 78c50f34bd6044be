package suite

import (
	"encoding/json"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"
)

// LintRow is one schema and what lint finds in it.
type LintRow struct {
	Name, Reason string
	// Schema is the root schema. Instead, Fields are the properties of a required object spec, of which Required are
	// required.
	Schema   json.RawMessage
	Fields   map[string]json.RawMessage
	Required []string
	// Redact are schema paths whose values a validator is to redact.
	Redact   []string
	Findings []Finding
}

// Finding is what a row expects; Fields, and how the message ends, are compared where they are given.
type Finding struct {
	Rule, Path, Ends string
	Fields           []string
}

// LoadLint reads the rows of a file.
func LoadLint(files fs.FS, name string) ([]LintRow, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var rows []LintRow
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i := range rows {
		r := &rows[i]
		if r.Name == "" || r.Reason == "" || r.Findings == nil || (r.Schema == nil) == (r.Fields == nil) {
			return nil, fmt.Errorf("%s: row %q needs a name, a reason, findings, and a schema or fields", name, r.Name)
		}
		if r.Fields == nil {
			continue
		}
		spec := map[string]any{"type": "object", "properties": r.Fields}
		if r.Required != nil {
			spec["required"] = r.Required
		}
		if r.Schema, err = json.Marshal(map[string]any{
			"type": "object", "required": []string{"spec"}, "properties": map[string]any{"spec": spec},
		}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
