package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repositoryOf makes a repository in the working directory of the test: a commit with the files of base, and the files
// of change in the work tree. A text that begins with "-> " is a link.
func repositoryOf(t *testing.T, base, change map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Chdir(t.TempDir())
	write := func(files map[string]string) {
		for name, text := range files {
			if target, isLink := strings.CutPrefix(text, "-> "); isLink {
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(target, name)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			writeFile(t, name, text)
		}
	}
	write(base)
	runGit(t, "init", "--quiet")
	runGit(t, "add", "--all")
	runGit(t, "commit", "--quiet", "--allow-empty", "-m", "base")
	write(change)
}

// runGit runs git and returns what it prints. The working directory must be one of the test: it may not change another
// repository.
func runGit(t *testing.T, args ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if temp := filepath.Dir(t.TempDir()); !strings.HasPrefix(dir, temp+string(filepath.Separator)) {
		t.Fatalf("git %v: %s is not a directory of this test", args, dir)
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

const (
	immutableMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: b}\n"
	changedMap   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: c}\n"
)

// TestAcceptedByTheChange: a change that accepts what it breaks passes, and every output says so.
func TestAcceptedByTheChange(t *testing.T) {
	const accepted = "accept:\n- {object: x, kind: ConfigMap, reason: trust me}\n"
	for _, test := range []struct {
		name, reason string
		base, change map[string]string
		isNew        bool
		status       int
	}{
		{"added", "reviewers have to see it", map[string]string{"x.yaml": immutableMap}, map[string]string{"x.yaml": changedMap, ".fieldlock.yaml": accepted}, true, exitClean},
		{"was there", "somebody has reviewed it before", map[string]string{"x.yaml": immutableMap, ".fieldlock.yaml": accepted}, map[string]string{"x.yaml": changedMap}, false, exitClean},
		{"widened", "an entry that says less accepts more", map[string]string{"x.yaml": immutableMap, ".fieldlock.yaml": strings.Replace(accepted, "object: x", "path: spec", 1)},
			map[string]string{"x.yaml": changedMap, ".fieldlock.yaml": accepted}, true, exitClean},
		{"a link", "its owner would not see what changes", map[string]string{"x.yaml": immutableMap}, map[string]string{"x.yaml": changedMap, "list": accepted, ".fieldlock.yaml": "-> list"}, false, exitUnread},
		{"below", "only the list here or at the root counts", map[string]string{"x.yaml": immutableMap}, map[string]string{"x.yaml": changedMap, "deploy/.fieldlock.yaml": accepted}, false, exitRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			repositoryOf(t, test.base, test.change)
			for format, marks := range map[string][2]string{ // of an accepted violation, and of one that the change accepts
				"text":     {"accepted", "this change adds"},
				"json":     {`"accepted": true`, `"acceptedNew": true`},
				"github":   {"(accepted", "this change adds"},
				"sarif":    {`"suppressions"`, "this change adds"},
				"markdown": {"accepted", "this change adds"},
			} {
				c := runCommand("", "check", "--git", "HEAD", "-o", format)
				if c.status != test.status || !strings.Contains(c.out, "data") {
					t.Errorf("%s: %s: got status %d, want %d, and\n%s%s", format, test.reason, c.status, test.status, c.out, c.err)
				}
				if test.status == exitClean && format != "json" && !strings.Contains(c.out, "trust me") {
					t.Errorf("%s: the reason is missing:\n%s", format, c.out)
				}
				if test.status == exitClean && (!strings.Contains(c.out, marks[0]) || strings.Contains(c.out, marks[1]) != test.isNew) {
					t.Errorf("%s: the acceptance is not marked as new: %t, and should be; got\n%s", format, test.isNew, c.out)
				}
			}
		})
	}
}

// TestNothingRuns: whatever the repository configures and the change brings along, no command of theirs runs, with
// --render only the one that the user names, and no copy of the tree is left behind.
func TestNothingRuns(t *testing.T) {
	repositoryOf(t, map[string]string{
		"x.yaml": immutableMap, ".gitattributes": "*.yaml filter=evil diff=evil merge=evil ident export-ignore\n",
	}, map[string]string{"x.yaml": changedMap, "sub/.gitattributes": "* working-tree-encoding=UTF-16\n", "sub/y.yaml": changedMap})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	evil := "touch '" + ran + "'"
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "post-merge"} {
		writeFile(t, filepath.Join(".git", "hooks", hook), "#!/bin/sh\n"+evil+"\n")
		if err := os.Chmod(filepath.Join(".git", "hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver", "core.fsmonitor",
		"core.pager", "core.editor", "core.sshCommand", "core.alternateRefsCommand", "diff.external", "credential.helper", "gpg.program", "uploadpack.packObjectsHook",
	} {
		runGit(t, "config", key, evil)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, args := range [][]string{{"--git", "HEAD"}, {"--git", "HEAD..."}, {"--git", "HEAD", "--render", "cat x.yaml"}, {"--git", "HEAD..HEAD", "--render", "cat x.yaml"}} {
		c := runCommand("", append([]string{"check"}, args...)...)
		status := exitRefused
		if strings.HasPrefix(args[1], "HEAD..H") {
			status = exitClean
		}
		if c.status != status {
			t.Errorf("%q: got status %d and\n%s%s", args, c.status, c.out, c.err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command of the repository ran")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind in the temporary folder: %v, %v", left, err)
	}
	// A list of accepted violations names no command.
	writeFile(t, filepath.Join(dir, ".fieldlock.yaml"), "render: "+evil+"\naccept: []\n")
	c := runCommand("", "check", "--git", "HEAD")
	if c.status != exitUnread || !strings.Contains(c.err, "the key is not known; the file has the keys accept, locks, aliases") {
		t.Errorf("got status %d and\n%s%s", c.status, c.out, c.err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command of the list ran")
	}
}

// TestTreesAsTheyAre: what repositories have beside manifests does not make a check fail, and nothing is hidden by it.
// What is there before and after the change is never told; what the change brings is.
func TestTreesAsTheyAre(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	for _, test := range []struct {
		name, reason string
		files        map[string]string
		status       int
		err          string
	}{
		{"JSON with comments", "settings of editors are skipped", map[string]string{"tsconfig.json": "{\n  // strict\n  \"strict\": true,\n}\n"}, exitClean, ""},
		{"a malformed file without an object", "no client could apply it", map[string]string{"mkdocs.yaml": "a: b: c\n"}, exitClean, ""},
		{"a malformed object", "a client's parser may be more lenient", map[string]string{"y.yaml": "apiVersion: v1\nkind: ConfigMap\na: b: c\n"}, exitUnread, "the YAML is malformed"},
		{"a key twice in an object", "kubectl takes the last one, as before", map[string]string{"y.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\ndata: {a: b, a: c}\n"}, exitClean, ""},
		{"a malformed object in escapes", "escapes could stand for the names of fields", map[string]string{"y.yaml": "\"api\\u0056ersion\": v1\n\"k\\u0069nd\": a\na: b: c\n"}, exitUnread, "the YAML is malformed"},
		{"UTF-16", "nobody knows what it holds", map[string]string{"y.yaml": "\xff\xfea\x00:\x00"}, exitUnread, "the text is not UTF-8"},
		{"a chart", "one error says why it cannot be rendered",
			map[string]string{"c/Chart.yaml": "name: c\n", "c/templates/a.yaml": "kind: {{ .Values.a }}\napiVersion: {{ .x }}\n", "c/templates/b.yaml": "apiVersion: {{ .Values.a }}\nkind: {{ .x }}\n"},
			exitUnread, "fieldlock: c/Chart.yaml: chart c cannot be rendered: "},
		{"an old CRD without a schema", "only v1 requires one",
			map[string]string{"crd.yaml": "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\nspec: {group: b.c, version: v1, names: {kind: A, plural: as}}\n"}, exitClean, ""},
		{"a file of 33 MB", "a limit keeps the memory free", map[string]string{"y.yaml": strings.Repeat("# a comment that is long enough\n", 33<<15)}, exitUnread, "it has more than 33554432 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			repositoryOf(t, test.files, nil)
			for _, args := range [][]string{{"check", "--git", "HEAD"}, {"check", "--git", "HEAD", "--strict"}, {"check", "--git", "HEAD", "--plain"}} {
				if c := runCommand("", args...); c.status != exitClean || strings.Count(c.out, "\n") != 1 || c.err != "" {
					t.Errorf("nothing changed: got status %d and\n%s%s", c.status, c.out, c.err)
				}
			}
			writeFile(t, "x.yaml", object)
			if c := runCommand("", "check", "--git", "HEAD"); c.status != exitClean || c.err != "" {
				t.Errorf("an object is added: got status %d and\n%s%s", c.status, c.out, c.err)
			}

			repositoryOf(t, nil, test.files)
			c := runCommand("", "check", "--git", "HEAD")
			if c.status != test.status || !strings.Contains(c.err, test.err) {
				t.Errorf("%s: got status %d and\n%s%s\nwant %d and %q", test.reason, c.status, c.out, c.err, test.status, test.err)
			}
		})
	}
}

// TestSeveralMergeBases: of branches that were merged into each other, each merge base is OLD in turn, and a refusal
// counts if all show it.
func TestSeveralMergeBases(t *testing.T) {
	repositoryOf(t, map[string]string{"a.yaml": claim("a", "one"), "b.yaml": claim("b", "one")}, nil)
	commit := func(name, text string) string {
		writeFile(t, name, text)
		runGit(t, "add", "--all")
		runGit(t, "commit", "--quiet", "-m", name)
		return strings.TrimSpace(runGit(t, "rev-parse", "HEAD"))
	}
	runGit(t, "checkout", "--quiet", "-b", "target")
	target := commit("b.yaml", claim("b", "two"))
	runGit(t, "checkout", "--quiet", "-b", "feature", "HEAD~1")
	feature := commit("a.yaml", claim("a", "two"))
	runGit(t, "merge", "--quiet", "-m", "merge", target)
	runGit(t, "checkout", "--quiet", "target")
	runGit(t, "merge", "--quiet", "-m", "merge", feature)
	runGit(t, "checkout", "--quiet", "feature")
	commit("c.yaml", claim("c", "one"))
	c := runCommand("", "check", "--git", "target...feature")
	named := strings.Contains(c.err, target[:7]) || strings.Contains(c.err, feature[:7])
	if c.status != exitClean || !strings.Contains(c.err, "there are 2 merge bases") || !named {
		t.Errorf("merged changes: status %d, want %d\n%s%s", c.status, exitClean, c.out, c.err)
	}
	commit("a.yaml", claim("a", "three"))
	c = runCommand("", "check", "--git", "target...feature")
	if c.status != exitRefused || !strings.Contains(c.out, "PersistentVolumeClaim a") || strings.Contains(c.out, "PersistentVolumeClaim b") {
		t.Errorf("a change of its own: status %d, want %d\n%s%s", c.status, exitRefused, c.out, c.err)
	}
}
