package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/playground"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// TestPlaygroundSuites runs every case of testdata/suites through the command and through the playground, which have to
// print the same JSON and the same text.
func TestPlaygroundSuites(t *testing.T) {
	suites, err := suite.Load(os.DirFS("../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	t.Chdir(t.TempDir())
	for _, s := range suites {
		crd, err := yaml.Marshal(s.CRD())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Cases {
			ran++
			t.Run(s.String()+"/"+c.Name, func(t *testing.T) {
				samePlayground(t, playground.Input{CRD: string(crd), Old: string(whole(t, c.OldDocument())), New: string(whole(t, c.NewDocument()))})
			})
		}
	}
	if ran < 100 {
		t.Errorf("only %d cases ran", ran)
	}
}

// samePlayground runs check on the texts of the editors, in the playground and as files of the current folder.
func samePlayground(t *testing.T, in playground.Input) playground.Answer {
	t.Helper()
	args := append([]string{"check"}, playgroundFiles(t, in)...)
	if in.Applier != "" {
		args = slices.Insert(args, 1, "--applier", string(in.Applier))
	}
	answer := playground.Run("check", in)
	printed, ran := runCommand("", slices.Insert(slices.Clone(args), 1, "-o", "json")...), runCommand("", args...)
	if answer.Error != "" {
		if ran.status != exitUnread || ran.out != "" || !strings.Contains(ran.err, answer.Error) {
			t.Fatalf("the playground prints %s, and the command %d %s%s", answer.Error, ran.status, ran.out, ran.err)
		}
		return answer
	}
	var text_ bytes.Buffer
	if err := report.WriteJSON(&text_, answer.Report); err != nil {
		t.Fatal(err)
	}
	if got, want := text_.String(), withControls(printed.out); got != want {
		t.Errorf("the playground has\n%s\nand the command\n%s", got, want)
	}
	headline, text := uncoloured(answer.Headline), uncoloured(answer.Text)
	shown := strings.TrimSuffix(strings.TrimPrefix(withControls(ran.out), headline+"\n"), headline+"\n")
	if !strings.HasPrefix(ran.out, headline+"\n") || !strings.HasPrefix(text, strings.Trim(shown, "\n")) {
		t.Errorf("the playground shows\n%s\n\n%s\nand the command\n%s", headline, text, ran.out)
	}
	for _, e := range answer.Report.Errors {
		if !strings.Contains(text, "error: "+e.Text) {
			t.Errorf("the playground does not show the error %q", e.Text)
		}
	}
	for _, warning := range answer.Report.Warnings {
		if !strings.Contains(text, "warning: "+warning) {
			t.Errorf("the playground does not show the warning %q", warning)
		}
	}
	return answer
}

// withControls is what the command prints in the words of the playground, of those that the cases need.
func withControls(text string) string {
	return strings.NewReplacer("--live asks", "fieldlock check --live asks", "--applier says who applies", "choose above who applies it", " with --schema", " in the editor below").Replace(text)
}

// playgroundFiles writes the editors into files of the current folder, and returns the arguments that name them.
func playgroundFiles(t *testing.T, in playground.Input) (args []string) {
	t.Helper()
	if strings.TrimSpace(in.CRD) != "" {
		args = []string{"--schema", write(t, "", "CRD", []byte(in.CRD))}
	}
	return append(args, write(t, "", "old", []byte(in.Old)), write(t, "", "new", []byte(in.New)))
}

func uncoloured(text string) string {
	return regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(text, "")
}

const (
	volumeClaim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`

	webApp = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}`
)

// cacheCRD has one lock, a CEL rule.
var cacheCRD = caches("", `
              engine:
                type: string
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: engine is immutable}
`, "            required: [engine]\n")

// TestPlayground: what the page says where the answer is more than allowed or refused.
func TestPlayground(t *testing.T) {
	t.Chdir(t.TempDir())
	recreate := strings.Replace(webApp, "spec: {selector", "spec: {strategy: {type: Recreate}, selector", 1)
	forced := strings.NewReplacer("app: web", "app: shop", "metadata: {name: web}",
		"metadata: {name: web, annotations: {argocd.argoproj.io/sync-options: 'Force=true,Replace=true'}}").Replace(webApp)
	for _, row := range []struct {
		name  string
		in    playground.Input
		head  string
		texts []string
		marks string // editor:line severity
	}{
		{"a lost claim has no tick", playground.Input{Old: volumeClaim}, "! deleted: 1 PersistentVolumeClaim (data)", []string{"(cost: data): the volume"}, "old:1 warning"},
		{"a requested replacement is not refused", playground.Input{Old: webApp, New: forced}, "✓ no refused change", []string{"not counted: the object asks its tool to replace it"}, "new:1 info"},
		{"a rule that is not CEL is an error", playground.Input{CRD: strings.Replace(cacheCRD, "self == oldSelf", "self = oldSelf", 1), Old: cacheOf("a"), New: cacheOf("b")},
			"✗ 1 error", []string{"error: new:1: document 1, Cache sessions: the CEL rules of its CRD cannot be run"}, "new:1 error"},
		{"Recreate depends on who applies", playground.Input{Old: webApp, New: recreate}, "? not checked: 1 unknown verdict", []string{"choose above who applies it"}, "new:1 warning"},
		{"Recreate by a client-side apply", playground.Input{Old: webApp, New: recreate, Applier: tool.ClientSide}, "✓ no refused change", nil, ""},
		{"a kind without a schema", playground.Input{Old: cacheOf("a"), New: cacheOf("b")}, "? not checked: 1 Cache without a schema", []string{"in the editor below"}, ""},
		{"a rule that refuses", playground.Input{CRD: cacheCRD, Old: cacheOf("a"), New: cacheOf("b")}, "✗ 1 object refused", []string{"engine is immutable"}, "new:1 error"},
		{"text that is not YAML", playground.Input{Old: webApp, New: "a: [\n"}, "✗ 1 error", []string{"error: new:"}, "new:1 error"},
		{"nothing", playground.Input{}, "", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := samePlayground(t, row.in)
			if head := uncoloured(answer.Headline); !strings.HasPrefix(head, row.head) {
				t.Errorf("the headline is %q, want %q", head, row.head)
			}
			for _, want := range row.texts {
				if !strings.Contains(uncoloured(answer.Text), want) {
					t.Errorf("the text lacks %q:\n%s", want, answer.Text)
				}
			}
			var marks []string
			for _, m := range answer.Marks {
				marks = append(marks, m.Editor+":"+string(rune('0'+m.Line/10))+string(rune('0'+m.Line%10))+" "+m.Severity)
			}
			if got := strings.ReplaceAll(strings.Join(marks, ", "), ":0", ":"); got != row.marks {
				t.Errorf("the marks are %q, want %q", got, row.marks)
			}
			namesNoFlag(t, answer)
		})
	}
}

func cacheOf(engine string) string {
	return `{apiVersion: example.com/v1, kind: Cache, metadata: {name: sessions}, spec: {engine: ` + engine + `}}`
}

// namesNoFlag looks for flags of the command outside of commands to copy.
func namesNoFlag(t *testing.T, answer playground.Answer) {
	t.Helper()
	for line := range strings.Lines(uncoloured(answer.Text + "\n" + answer.Error)) {
		if regexp.MustCompile(` --[a-z]`).MatchString(line) && !regexp.MustCompile(`kubectl |--cascade=orphan`).MatchString(line) {
			t.Errorf("a flag of the command: %s", line)
		}
	}
}

// TestPlaygroundVerbs runs the other verbs on the schemas of testdata/lint, and on a kind, in the playground and in the
// command.
func TestPlaygroundVerbs(t *testing.T) {
	t.Chdir(t.TempDir())
	commands := map[string][]string{"lint": {"lint", "--explain"}, "locks": {"locks"}, "cel": {"export", "cel"}}
	same := func(t *testing.T, verb string, in playground.Input, file string) {
		answer, ran := playground.Run(verb, in), runCommand("", append(slices.Clone(commands[verb]), file)...)
		namesNoFlag(t, answer)
		text := uncoloured(answer.Text)
		switch {
		case answer.Error != "" && !strings.Contains(ran.err, answer.Error):
			t.Errorf("%s: the playground prints %s, and the command %s%s", verb, answer.Error, ran.out, ran.err)
		case answer.Error != "":
		case verb == "cel" && (answer.Document != ran.out || !strings.Contains(ran.err, text)):
			t.Errorf("cel: the playground prints\n%s\n%s\nand the command\n%s\n%s", answer.Document, text, ran.out, ran.err)
		case verb != "cel" && !strings.HasPrefix(text, strings.TrimRight(ran.out, "\n")):
			t.Errorf("%s: the playground prints\n%s\nand the command\n%s", verb, text, ran.out)
		}
	}
	rows := map[string]string{"a CRD with CEL rules": cacheCRD, "a rule that is not CEL": strings.Replace(cacheCRD, "self == oldSelf", "self = oldSelf", 1), "not a CRD": webApp}
	for name, crd := range rows {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"lint", "locks", "cel"} {
				same(t, verb, playground.Input{CRD: crd}, write(t, "", "CRD", []byte(crd)))
			}
		})
	}
	if answer := playground.Run("locks", playground.Input{CRD: cacheCRD}); !strings.Contains(answer.Text, "engine") {
		t.Errorf("the locks of a CRD with a CEL rule: %s", answer.Text)
	}
	same(t, "locks", playground.Input{New: webApp}, "deployment")
	same(t, "locks", playground.Input{New: `{apiVersion: cert-manager.io/v1, kind: CertificateRequest, metadata: {name: a}}`}, "certificaterequest")
	if answer := playground.Run("lint", playground.Input{}); answer.Error == "" || strings.HasSuffix(filepath.Base(answer.Error), ".") {
		t.Errorf("lint without a CRD: %q", answer.Error)
	}
}
