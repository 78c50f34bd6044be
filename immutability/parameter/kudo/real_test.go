package kudo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// realFiles names a folder of public operators, such as a checkout of github.com/kudobuilder/operators.
const realFiles = "FIELDLOCK_PARAMS"

// TestRealOperators reads every params.yaml and operator.yaml, OperatorVersion and Instance in a given folder, and
// evaluates an install, an update of each parameter and an upgrade between versions of each operator.
func TestRealOperators(t *testing.T) {
	dir := os.Getenv(realFiles)
	if dir == "" {
		t.Skipf("%s does not name a folder", realFiles)
	}
	versions := map[string][]*kudo.OperatorVersion{}
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch {
		case entry.Name() == "params.yaml" && hasOperator(path):
			files++
			t.Run(path, func(t *testing.T) {
				version := tryPackage(t, path, data)
				name := operatorName(path)
				versions[name] = append(versions[name], version)
			})
		case objectOfKUDO.Match(data):
			for i, document := range strings.Split(string(data), "\n---") {
				if kind := objectOfKUDO.FindStringSubmatch(document); kind != nil {
					files++
					tryObject(t, path, i, kind[1], []byte(document))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	upgrades := 0
	for name, list := range versions {
		for _, old := range list {
			for _, version := range list {
				upgrades++
				tryUpgrade(t, name, version, old)
			}
		}
	}
	t.Logf("%d files, %d operators, %d upgrades", files, len(versions), upgrades)
	if files == 0 {
		t.Errorf("%s has no params.yaml beside an operator.yaml", dir)
	}
}

var objectOfKUDO = regexp.MustCompile(`(?m)^apiVersion: kudo\.dev/v1beta1\nkind: (OperatorVersion|Instance)$`)

func hasOperator(params string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(params), "operator.yaml"))
	return err == nil
}

var nameOfOperator = regexp.MustCompile(`(?m)^name: *"?([^"\s]+)`)

func operatorName(params string) string {
	data, _ := os.ReadFile(filepath.Join(filepath.Dir(params), "operator.yaml"))
	if match := nameOfOperator.FindSubmatch(data); match != nil {
		return string(match[1])
	}
	return params
}

func tryObject(t *testing.T, path string, i int, kind string, data []byte) {
	var err error
	if kind == "Instance" {
		_, err = kudo.ReadInstance(data)
	} else {
		_, err = kudo.ReadOperatorVersion(data)
	}
	if err != nil {
		t.Errorf("%s, document %d: %v", path, i+1, err)
	}
}

// tryPackage reads a package and updates each of its parameters by itself.
func tryPackage(t *testing.T, path string, data []byte) *kudo.OperatorVersion {
	version, err := kudo.ReadOperatorVersion(data)
	if err != nil {
		t.Fatal(err)
	}
	operator, err := os.ReadFile(filepath.Join(filepath.Dir(path), "operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := version.ReadTasks(operator); err != nil {
		t.Fatal(err)
	}
	if refusals := version.Validate(); len(refusals) > 0 {
		t.Logf("not valid: %v", refusals)
		return version
	}
	tryTemplates(t, filepath.Join(filepath.Dir(path), "templates"))
	install := version.Install(valuesFor(version))
	if !install.Allowed() {
		t.Errorf("install: %v", install.Err())
		return version
	}
	for i := range version.Parameters {
		p := &version.Parameters[i]
		requested := parameter.Values{p.Name: another(p, install.Resulting)}
		update := version.Update(requested, install.Resulting)
		if update.Allowed() == p.Immutable {
			t.Errorf("%s, immutable %t, to %q: allowed is %t: %v", p.Name, p.Immutable, requested[p.Name].Text, update.Allowed(), update.Err())
		}
		if restarts := len(update.Restarts) > 0; update.Allowed() && restarts == p.NoRestart {
			t.Errorf("%s, forcePodRestart %t: restarts is %t", p.Name, !p.NoRestart, restarts)
		}
	}
	return version
}

var (
	controlLine = regexp.MustCompile(`(?m)^\s*\{\{.*\}\}\s*$`)
	action      = regexp.MustCompile(`\{\{.*?\}\}`)
)

// tryTemplates marks the manifests of a package, as far as they are YAML once every template action is a word. A second
// plan without restart must leave the nested templates as they are.
func tryTemplates(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents, _ := yamldoc.Read(file, action.ReplaceAll(controlLine.ReplaceAll(text, nil), []byte("x")))
		for _, document := range documents {
			first, err := enhancement(true).Apply(document.Object, nil)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			next := enhancement(false)
			next.Plan, next.PlanUID = "update", "another"
			second, err := next.Apply(document.Object, first)
			if err != nil || !cmp.Equal(first["spec"], second["spec"]) || cmp.Equal(first["metadata"], second["metadata"]) {
				t.Errorf("%s: a plan without restart changes the templates, or does not mark the object: %v", file, err)
			}
		}
	}
}

// tryUpgrade upgrades with every parameter that has to be set explicitly, and without.
func tryUpgrade(t *testing.T, name string, version, old *kudo.OperatorVersion) {
	if len(version.Validate())+len(old.Validate()) > 0 {
		return
	}
	install := old.Install(valuesFor(old))
	wasImmutable := map[string]bool{}
	for _, p := range old.Parameters {
		wasImmutable[p.Name] = p.Immutable
	}
	requested := parameter.Values{}
	needed := false
	for i := range version.Parameters {
		p := &version.Parameters[i]
		newlyLocked := p.Immutable && !wasImmutable[p.Name]
		needed = needed || newlyLocked
		if stored := install.Resulting[p.Name]; newlyLocked && !stored.IsNull() {
			requested[p.Name] = stored
		} else if stored.IsNull() && (newlyLocked || p.Default.IsNull()) && !wasImmutable[p.Name] {
			requested[p.Name] = valuesFor(version)[p.Name]
		}
	}
	if upgrade := version.Upgrade(requested, old, install.Resulting); !upgrade.Allowed() {
		t.Logf("%s: upgrade with %v: %v", name, requested.Texts(), upgrade.Refusals)
	}
	if upgrade := version.Upgrade(nil, old, install.Resulting); needed && upgrade.Allowed() {
		t.Errorf("%s: an upgrade that locks a parameter passes without consent", name)
	}
}

// valuesFor returns a value for each parameter that needs one.
func valuesFor(version *kudo.OperatorVersion) parameter.Values {
	values := parameter.Values{}
	for i := range version.Parameters {
		if p := &version.Parameters[i]; !p.Optional && p.Default.IsNull() {
			values[p.Name] = another(p, nil)
		}
	}
	return values
}

// another returns a value that the parameter allows and that it does not have yet.
func another(p *kudo.Parameter, stored parameter.Values) parameter.Value {
	was := stored[p.Name]
	if was.IsNull() {
		was = p.Default
	}
	choices := map[kudo.Type][]string{
		"boolean": {"true", "false"}, "integer": {"1", "2"}, "number": {"1", "2"},
		"array": {"- a\n", "- b\n"}, "map": {"a: b\n", "b: c\n"},
	}[p.Type]
	if choices == nil {
		choices = []string{"true", "false"} // a string may enable a task
	}
	if p.Enum != nil {
		choices = p.Enum
	}
	for _, choice := range choices {
		if choice != was.Text {
			return parameter.Text(choice)
		}
	}
	return was
}
