package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunsAsPlugin(t *testing.T) {
	for program, want := range map[string]bool{
		"fieldlock": false, "kubectl-fieldlock": true, "/usr/local/bin/kubectl-fieldlock": true, "kubectl-fieldlock.exe": true,
		"/opt/kubectl-fieldlock/fieldlock": false,
	} {
		if got := runsAsPlugin(program); got != want {
			t.Errorf("%s: got %t, want %t", program, got, want)
		}
	}
}

// As a plugin of kubectl, help and examples show what the user types.
func TestPluginHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"check", "--help"}, {"export", "cel", "--help"}, {"params", "update", "--help"}} {
		var out, errOut bytes.Buffer
		s := streams{in: strings.NewReader(""), out: &out, err: &errOut}
		root := newRoot(s)
		asPlugin(root)
		if status := execute(root, args, s); status != exitClean {
			t.Fatalf("%v: got status %d and %s", args, status, errOut.String())
		}
		for _, line := range strings.Split(out.String(), "\n") {
			for _, command := range root.Commands() {
				before, _, called := strings.Cut(line, "fieldlock "+command.Name())
				if called && !strings.HasSuffix(before, "kubectl ") {
					t.Errorf("%v: the help says %q", args, line)
				}
			}
		}
		if !strings.Contains(out.String(), "kubectl fieldlock") {
			t.Errorf("%v: the help does not say kubectl fieldlock:\n%s", args, out.String())
		}
	}
}

// kubectl finds the plugin by its name. Skipped without kubectl.
func TestKubectl(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("needs kubectl")
	}
	dir := t.TempDir()
	if err := os.Symlink(commandProgram(t), filepath.Join(dir, pluginName)); err != nil { // as krew does
		t.Fatal(err)
	}
	run := exec.Command(kubectl, "fieldlock", "params", "list", "--help")
	run.Env = append(run.Environ(), "PATH="+dir)
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "kubectl fieldlock params list --definitions") {
		t.Errorf("got %v and\n%s", err, out)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if c := runCommand("", "completion", shell); c.status != exitClean || !strings.Contains(c.out, "fieldlock") {
			t.Errorf("%s: got status %d and %d bytes", shell, c.status, len(c.out))
		}
	}
	for line, want := range map[string]string{
		"par":                          "params",
		"params up":                    "upgrade",
		"params update --dialect ":     "heat",
		"params update --mode p":       "patch",
		"params list -o ":              "json",
		"check -o ":                    "junit",
		"check -o g":                   "gitlab",
		"check --kubernetes-version ":  "1.37\n1.36\n1.35\n:",
		"locks --kubernetes-version ":  "1.36",
		"locks statef":                 "statefulset\n:0",
		"locks Statef":                 "StatefulSet\n:0",
		"locks deploy/":                ":0", // files
		"lint -o ":                     "sarif",
		"export ":                      "policy",
		"params enhance --plan-uid x ": ":",
	} {
		c := runCommand("", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if c.status != exitClean || !strings.Contains(c.out, want) {
			t.Errorf("%s: got status %d and %q, want %q", line, c.status, c.out, want)
		}
	}
}
