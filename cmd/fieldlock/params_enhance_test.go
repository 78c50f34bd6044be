package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

const enhanceFlags = " --instance ring --operator cassandra --operator-version 1.0.0 --plan deploy --phase nodes --step rack --plan-uid 4f9a"

// TestParamsEnhance runs the shared cases through the command, as YAML and as JSON.
func TestParamsEnhance(t *testing.T) {
	cases, err := paramcase.LoadEnhance("../../testdata/params/enhance/enhance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := t.TempDir()
			line := "params enhance --templates templates.yaml" + enhanceFlags
			files := map[string]string{"templates.yaml": c.Templates}
			if c.Live != "" {
				files["live.yaml"] = c.Live
				line += " --live live.yaml"
			}
			if c.Restart {
				line += " --restart"
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := c.Objects(t, c.Want)
			status, out, errOut := runParamsCommand(inFolder(dir, line))
			if status != exitClean || errOut != "" {
				t.Fatalf("got status %d and error %q", status, errOut)
			}
			if diff := cmp.Diff(want, c.Objects(t, out)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", c.Reason, diff)
			}
			_, out, _ = runParamsCommand(inFolder(dir, line+" -o json"))
			if !json.Valid([]byte(out)) || !strings.Contains(out, `"kind": "List"`) {
				t.Errorf("as JSON: got %s", out)
			}
			if diff := cmp.Diff(want, c.Objects(t, out)); diff != "" {
				t.Errorf("as JSON: (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParamsEnhanceUsage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"deployment.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {}}}",
		"two.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a}}\n---\n" +
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: b}}",
		"values.yaml": "replicas: 3",
		"bad.yaml":    "{apiVersion: v1, kind: ConfigMap, metadata: []}",
		"broken.yaml": "a: [",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ line, want string }{
		{"params enhance", "--templates is missing"},
		{"params enhance --templates deployment.yaml --instance ring", "--operator is missing"},
		{"params enhance --templates deployment.yaml -o yaml" + enhanceFlags, `"yaml" for "-o, --output" flag: the formats are text, json`},
		{"params enhance --templates nowhere.yaml" + enhanceFlags, "nowhere.yaml"},
		{"params enhance --templates values.yaml" + enhanceFlags, "it should be a Kubernetes object"},
		{"params enhance --templates bad.yaml" + enhanceFlags, "metadata is a list: it should be a mapping"},
		{"params enhance --templates broken.yaml" + enhanceFlags, "broken.yaml"},
		{"params enhance --templates deployment.yaml --live two.yaml" + enhanceFlags, "several live objects"},
	} {
		status, out, errOut := runParamsCommand(inFolder(dir, test.line))
		if status != exitUnread || out != "" || !strings.Contains(errOut, test.want) {
			t.Errorf("%s: got status %d, output %q and error %q, want status 2 and %q", test.line, status, out, errOut, test.want)
		}
	}
}

// TestLiveOf: a rendered object without a namespace has the one live object of its group, kind and name.
func TestLiveOf(t *testing.T) {
	object := func(apiVersion, namespace string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": namespace}}
	}
	live := []map[string]any{object("apps/v1", "a"), object("apps/v1", "b")}
	if _, err := liveOf(object("apps/v1", ""), live); err == nil {
		t.Error("of two live objects one is taken")
	}
	for _, row := range []struct {
		reason   string
		rendered map[string]any
		live     []map[string]any
		want     map[string]any
	}{
		{"it is the only one", object("apps/v1", ""), live[:1], live[0]},
		{"another version of the API", object("apps/v1beta1", ""), live[:1], live[0]},
		{"the namespace says which", object("apps/v1", "b"), live, live[1]},
		{"another group", object("v1", ""), live[:1], nil},
		{"another namespace", object("apps/v1", "c"), live, nil},
	} {
		if found, err := liveOf(row.rendered, row.live); err != nil || !reflect.DeepEqual(found, row.want) {
			t.Errorf("%s: %v, %v", row.reason, found, err)
		}
	}
}
