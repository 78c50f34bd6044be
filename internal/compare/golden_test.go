package compare

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

var update = flag.Bool("update", false, "write the reports of testdata/reports anew")

// TestReports holds whole reports against testdata/reports. A file has the objects of both sides below new/ and old/,
// the schemas below schema/ (both sides have them), new-schema/ and old-schema/, the values.yaml of a chart as
// new-defaults and old-defaults, the list of accepted violations as accept and old-accept, and the report. Its comment
// says what the case shows.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("testdata/reports/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, o := inputOf(t, archive)
			report, err := Check(in, o)
			got := ""
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				got = everything(t, report)
			}
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "report" })
			if i < 0 {
				i, archive.Files = len(archive.Files), append(archive.Files, txtar.File{Name: "report"})
			}
			if want := string(archive.Files[i].Data); got == want {
				return
			} else if !*update {
				t.Errorf("%s(-want +got):\n%s", archive.Comment, cmp.Diff(want, got))
				return
			}
			archive.Files[i].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// inputOf reads the input of a case.
func inputOf(t *testing.T, archive *txtar.Archive) (Input, Options) {
	t.Helper()
	in, o := Input{KnownOld: true}, Options{Now: testDay}
	schemas := func(name string, data []byte) manifest.Schemas {
		f := manifest.File{Name: name}
		f.Parse(data)
		s, errs, err := manifest.SchemasOf(name, []manifest.File{f})
		if err != nil || len(errs) > 0 {
			t.Fatal(err, errs)
		}
		return s
	}
	values := func(data []byte) (object map[string]any) {
		if err := yaml.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	accepted := func(name string, data []byte) *accept.List {
		list, err := accept.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, f := range archive.Files {
		side, path, _ := strings.Cut(f.Name, "/")
		file := manifest.File{Name: path, Path: path, Found: true}
		if name, ok := strings.CutPrefix(path, "named/"); ok {
			file = manifest.File{Name: name}
		}
		switch side {
		case "new":
			file.Parse(f.Data)
			in.New = append(in.New, file)
		case "old":
			file.Parse(f.Data)
			in.Old = append(in.Old, file)
		case "schema":
			s := schemas(f.Name, f.Data)
			in.NewSchemas.Add(s)
			in.OldSchemas.Add(s)
		case "new-schema":
			in.NewSchemas.Add(schemas(f.Name, f.Data))
		case "old-schema":
			in.OldSchemas.Add(schemas(f.Name, f.Data))
		case "new-defaults":
			in.NewDefaults = values(f.Data)
		case "old-defaults":
			in.OldDefaults = values(f.Data)
		case "accept":
			in.Accepted = accepted("new/accept", f.Data)
		case "old-accept":
			in.OldAccepted = accepted("old/accept", f.Data)
		case "options":
			for _, option := range strings.Fields(string(f.Data)) {
				switch option {
				case "strict":
					o.Strict = true
				case "no-defaults":
					o.NoDefaults = true
				case "builtin":
					kinds, err := builtin.For("1.36")
					if err != nil {
						t.Fatal(err)
					}
					o.Builtin = kinds
				default:
					t.Fatalf("there is no option %s", option)
				}
			}
		case "report":
		default:
			t.Fatalf("what is %s?", f.Name)
		}
	}
	return in, o
}

// everything prints all that a report holds, also what its JSON form leaves out.
func everything(t *testing.T, r *Report) string {
	t.Helper()
	text, err := yaml.Marshal(fields(reflect.ValueOf(r).Elem()))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fields returns the exported fields of a struct that are not zero, by name.
func fields(v reflect.Value) any {
	if value, ok := v.Interface().(result.Value); ok {
		return value.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "Steps" {
				continue // the path says it, too
			}
			if f := v.Field(i); v.Type().Field(i).IsExported() && !f.IsZero() && !(f.Kind() == reflect.Slice && f.Len() == 0) {
				out[name] = fields(f)
			}
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, fields(v.Index(i)))
		}
		return out
	}
	return v.Interface()
}
