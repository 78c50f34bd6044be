package policy_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/policy"
)

const e2eData = "../../examples/e2e/testdata/"

// read returns a file of the end-to-end tests, with names.
func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(e2eData + file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("GROUP"), []byte("example.test")), []byte("NAME"), []byte("x"))
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// exported returns the documents that `export policy` writes for a CRD, and the paths of the locks that it leaves out.
func exported(t *testing.T, data []byte) (documents []policy.Document, rest []string) {
	t.Helper()
	file, err := convert.Read("widgets.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	export, err := convert.ToPolicies(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range export.Documents {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, policy.Document{Object: decode(t, text), InNew: true, InOld: true})
	}
	for _, lock := range export.Rest {
		rest = append(rest, lock.Path)
	}
	return documents, rest
}

// TestExported: the policies that `export policy` writes refuse what the locks refuse, but for the locks that it names
// as left out. What the lock below the status does is unknown.
func TestExported(t *testing.T) {
	documents, rest := exported(t, read(t, "widgets.yaml"))
	if len(documents) == 0 {
		t.Fatal("no policy is written")
	}
	file := t.TempDir() + "/widgets.yaml"
	if err := os.WriteFile(file, read(t, "widgets.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := kindsOf(t, file)
	set := policy.NewSet(documents, kinds.Scope)
	var changes []struct {
		Name, Reason, JSON, Merge string
		Paths                     []string
	}
	if err := yaml.UnmarshalStrict(read(t, "changes.yaml"), &changes); err != nil {
		t.Fatal(err)
	}
	widget := decode(t, read(t, "widget.yaml"))
	widget["metadata"].(map[string]any)["namespace"] = "default"
	refused := 0
	for _, c := range changes {
		u, err := kinds.Update(merge(widget, decode(t, []byte(c.Merge))), widget)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(c.Paths), func(path string) bool {
			return slices.ContainsFunc(rest, func(left string) bool { return strings.HasPrefix(path, strings.TrimSuffix(left, "[*]")) })
		})
		v := set.Check(u)
		unknown := slices.DeleteFunc(v.Unknown, func(text string) bool { return strings.HasSuffix(text, "object.status, which only the cluster knows") })
		if len(unknown) > 0 || (len(v.Refused) > 0) != (len(want) > 0) {
			t.Errorf("%s: got %+v, want %q refused: %s", c.Name, v, want, c.Reason)
		}
		for _, r := range v.Refused {
			refused++
			if !slices.ContainsFunc(want, func(path string) bool { return strings.Contains(r.Message, strings.SplitN(path, "[", 2)[0]) }) {
				t.Errorf("%s: %s; want a refusal of %q", c.Name, r.Message, want)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d refusals", refused)
	}
}

// merge applies a JSON merge patch (RFC 7386).
func merge(old, patch map[string]any) map[string]any {
	merged := map[string]any{}
	for name, value := range old {
		merged[name] = value
	}
	for name, value := range patch {
		if below, ok := value.(map[string]any); ok {
			before, _ := merged[name].(map[string]any)
			merged[name] = merge(before, below)
			continue
		}
		if merged[name] = value; value == nil {
			delete(merged, name)
		}
	}
	return merged
}
