package report

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/audit"
)

// TestLocksSchema: docs/locks.schema.json describes every field that locks -o json can print, and no other.
func TestLocksSchema(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/locks.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Type        string
		Description string
	}
	var schema struct {
		Properties struct {
			Version struct{ Const int }
			Fields  struct {
				Items struct {
					Required   []string
					Properties map[string]property
				}
			}
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Properties.Version.Const != LocksVersion {
		t.Errorf("the schema is of version %d, the form of %d", schema.Properties.Version.Const, LocksVersion)
	}
	types := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean", reflect.Slice: "array"}
	described := schema.Properties.Fields.Items.Properties
	fields := reflect.TypeFor[audit.Field]()
	for i := range fields.NumField() {
		name, options, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		p, ok := described[name]
		if !ok || p.Description == "" || p.Type != types[fields.Field(i).Type.Kind()] {
			t.Errorf("%s: the schema says %+v", name, p)
		}
		delete(described, name)
		required := false
		for _, r := range schema.Properties.Fields.Items.Required {
			required = required || r == name
		}
		if required == (options == "omitempty") {
			t.Errorf("%s: required is %t, but the field is printed with %q", name, required, options)
		}
	}
	for name := range described {
		t.Errorf("%s is in the schema and never printed", name)
	}
}
