package heat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
)

// realTemplates names a folder of public templates, such as a checkout of github.com/openstack/heat-templates.
const realTemplates = "FIELDLOCK_TEMPLATES"

var isTemplate = regexp.MustCompile(`(?m)^heat_template_version:`)

// TestRealTemplates reads every Heat Orchestration Template in a given folder, previews a stack of each, and repeats
// each value in a patch, which changes nothing.
func TestRealTemplates(t *testing.T) {
	dir := os.Getenv(realTemplates)
	if dir == "" {
		t.Skipf("%s does not name a folder", realTemplates)
	}
	templates, parameters, refused := 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !isTemplate.Match(data) {
			return err
		}
		template, err := heat.ReadTemplate(data)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		templates++
		requested := parameter.Values{}
		for _, p := range template.Parameters() {
			if p.Default.IsNull() {
				requested[p.Name] = sample[p.Type]
			}
		}
		create := template.Create(requested)
		if !create.Allowed() { // a constraint allows other values
			refused++
			t.Logf("%s: %v", path, create.Err())
			return nil
		}
		for _, p := range template.Parameters() {
			parameters++
			same := template.Patch(parameter.Values{p.Name: create.Resulting[p.Name]}, template, create.Resulting)
			if !same.Allowed() || len(same.Changes) > 0 {
				t.Errorf("%s: repeating %s changes %v: %v", path, p.Name, same.Changes, same.Err())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d templates, %d parameters, %d templates whose constraints refuse the sample values", templates, parameters, refused)
	if templates == 0 {
		t.Errorf("%s has no Heat Orchestration Template", dir)
	}
}

var sample = map[heat.Type]parameter.Value{
	"string":               parameter.Text("a-text"),
	"number":               parameter.Text("8"),
	"comma_delimited_list": parameter.Text("a,b"),
	"json":                 parameter.Text("{}"),
	"boolean":              parameter.Text("true"),
}
