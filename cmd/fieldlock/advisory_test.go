package main

import (
	"strings"
	"testing"
)

const (
	selectorOf    = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: APP}}\n  template: {metadata: {labels: {app: APP}}, spec: {containers: [{name: a, image: a}]}}\n"
	takesEffect   = "the change of mode takes effect after the merge"
	advisoryState = "the exit status is 0 instead of 1"
)

// TestAdvisory: in advisory mode everything is printed and refusals exit with 0; what cannot be read still exits with
// 2. With --git the mode of OLD counts, so that a pull request cannot excuse itself.
func TestAdvisory(t *testing.T) {
	web := func(app string) string { return strings.ReplaceAll(selectorOf, "APP", app) }
	with := func(settings, app string) map[string]string {
		files := map[string]string{"web.yaml": web(app)}
		if settings != "" {
			files[".fieldlock.yaml"] = settings
		}
		return files
	}
	for _, c := range []struct {
		name     string
		old, new string // settings
		args     string
		status   int
		says     []string // on standard error
	}{
		{"no mode", "", "", "--git HEAD", exitRefused, nil},
		{"the flag", "", "", "--git HEAD --advisory", exitClean, []string{advisoryState}},
		{"in both", "mode: advisory\n", "mode: advisory\n", "--git HEAD", exitClean, []string{advisoryState}},
		{"the change adds it", "", "mode: advisory\n", "--git HEAD", exitRefused, []string{takesEffect}},
		{"the change turns it on", "mode: enforcing\n", "mode: advisory\n", "--git HEAD", exitRefused, []string{takesEffect}},
		{"the change turns it off", "mode: advisory\n", "mode: enforcing\n", "--git HEAD", exitClean, []string{takesEffect, advisoryState}},
		{"OLD cannot be read", "mode: advisory\nmod: x\n", "mode: advisory\n", "--git HEAD", exitRefused, []string{"the settings of OLD do not count, except for locks and refused deletions: ", ".fieldlock.yaml:2", "did you mean mode?", takesEffect}},
		{"NEW cannot be read", "mode: advisory\n", "mode: advise\n", "--git HEAD", exitUnread, []string{"the mode is advisory or enforcing"}},
		{"another list of acceptances", "mode: advisory\n", "mode: advisory\n", "--git HEAD --accept other.yaml", exitClean, []string{advisoryState}},
		{"the mode in another list", "", "", "--git HEAD --accept advisory.yaml", exitRefused, nil},
		{"files", "", "mode: advisory\n", "old.yaml web.yaml", exitClean, []string{advisoryState}},
		{"files, unreadable", "", "mode: advisory\n", "old.yaml broken.yaml", exitUnread, nil},
		{"files, the flag", "", "", "old.yaml web.yaml --advisory", exitClean, []string{advisoryState}},
		{"nothing is refused", "", "mode: advisory\n", "web.yaml web.yaml", exitClean, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, with(c.old, "a"), with(c.new, "b"))
			writeFile(t, "old.yaml", web("a"))
			writeFile(t, "broken.yaml", "a: [\n")
			writeFile(t, "other.yaml", "accept: []\n")
			writeFile(t, "advisory.yaml", "mode: advisory\n")
			args := append([]string{"check"}, strings.Fields(c.args)...)
			if strings.HasPrefix(c.args, "--git") {
				args = append(args, "web.yaml")
			}
			got := runCommand("", args...)
			if got.status != c.status {
				t.Errorf("status %d, want %d\n%s%s", got.status, c.status, got.out, got.err)
			}
			if refused := strings.Contains(got.out, "1 object refused"); refused != (c.name != "files, unreadable" && c.name != "nothing is refused") {
				t.Errorf("the refusal is printed: %v\n%s%s", refused, got.out, got.err)
			}
			for _, part := range []string{takesEffect, advisoryState} {
				if !strings.Contains(strings.Join(c.says, "\n"), part) && strings.Contains(got.err, part) {
					t.Errorf("it should not say %q:\n%s", part, got.err)
				}
			}
			for _, part := range c.says {
				if !strings.Contains(got.err, part) {
					t.Errorf("it does not say %q:\n%s", part, got.err)
				}
			}
		})
	}
}

// TestAdvisoryLint: errors of lint do not fail in advisory mode, neither with the flag nor with the setting.
func TestAdvisoryLint(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"crd.yaml": widgets("None", "class: {type: string, x-kubernetes-immutable: 5}", "")}))
	if c := runCommand("", "lint", "crd.yaml"); c.status != exitRefused {
		t.Fatalf("status %d\n%s%s", c.status, c.out, c.err)
	}
	if c := runCommand("", "lint", "--advisory", "crd.yaml"); c.status != exitClean || !strings.Contains(c.out, "1 error") || !strings.Contains(c.err, advisoryState) {
		t.Errorf("the flag: status %d\n%s%s", c.status, c.out, c.err)
	}
	writeFile(t, ".fieldlock.yaml", "mode: advisory\n")
	if c := runCommand("", "lint", "crd.yaml"); c.status != exitClean || !strings.Contains(c.out, "1 error") {
		t.Errorf("the setting: status %d\n%s%s", c.status, c.out, c.err)
	}
}
