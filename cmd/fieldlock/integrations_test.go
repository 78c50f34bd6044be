package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/testing/page"
)

func readYAML(t *testing.T, name string, into any) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(data)
}

// The action declares the inputs that it uses and uses those that it declares; they reach the script as environment
// variables only, so that no text from a pull request becomes part of a script.
func TestAction(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Using string
			Steps []struct {
				Uses, Shell, Run string
				Env              map[string]string
			}
		}
	}
	text := readYAML(t, "action.yml", &action)
	if action.Runs.Using != "composite" {
		t.Errorf("the action runs using %q", action.Runs.Using)
	}
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$\{\{ inputs\.([\w-]+) \}\}`).FindAllStringSubmatch(text, -1) {
		used[match[1]] = true
		if _, ok := action.Inputs[match[1]]; !ok {
			t.Errorf("the input %s is not declared", match[1])
		}
	}
	for name, input := range action.Inputs {
		if !used[name] || input.Description == "" {
			t.Errorf("the input %s is not used, or has no description", name)
		}
	}
	script, err := os.ReadFile("../../hack/action")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range action.Runs.Steps {
		if strings.Contains(step.Run, "${{") || step.Run != "" && step.Shell == "" {
			t.Errorf("the step %q has an expression in its script, or no shell", step.Run)
		}
		for name := range step.Env {
			if name != "ACTION_PATH" && !strings.Contains(string(script), "${"+name+":-") {
				t.Errorf("hack/action does not read %s", name)
			}
		}
	}
}

// TestActionCheck runs the step of the action in repositories like those of a runner.
func TestActionCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the action in repositories")
	}
	binary := commandProgram(t)
	script := actionScript(t)
	const manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: APP}}\n" +
		"  template: {metadata: {labels: {app: APP}}, spec: {containers: [{name: c, image: i}]}}\n"
	origin := t.TempDir()
	run := func(dir string, args ...string) string {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main",
			"-c", "protocol.file.allow=always", "-c", "uploadpack.allowAnySHA1InWant=true"}, args...)...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		writeFile(t, filepath.Join(origin, name), text)
	}
	run(origin, "init", "--quiet")
	run(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
	write("deploy/web app.yaml", strings.ReplaceAll(manifest, "APP", "web"))
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: dbs.example.com}\nspec:\n" +
		"  group: example.com\n  scope: Namespaced\n  names: {kind: Db, plural: dbs, singular: db, listKind: DbList}\n  versions:\n" +
		"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, required: [class], " +
		"properties: {class: {type: string, x-kubernetes-immutable: true}}}}}}}\n"
	write("crds/db.yaml", crd)
	run(origin, "add", "-A")
	run(origin, "commit", "--quiet", "-m", "base")
	base := run(origin, "rev-parse", "HEAD")
	write("deploy/web app.yaml", strings.ReplaceAll(manifest, "APP", "other"))
	write("crds/db.yaml", strings.ReplaceAll(crd, ", x-kubernetes-immutable: true", ""))
	run(origin, "commit", "--quiet", "-am", "a selector changes, and a lock goes")
	shallow := filepath.Join(t.TempDir(), "shallow")
	run(origin, "clone", "--quiet", "--depth=1", "file://"+origin, shallow)

	// A pull request whose target has moved on: it changes another object than the target does. The merge commit is
	// GitHub's.
	head := run(origin, "rev-parse", "HEAD")
	run(origin, "checkout", "--quiet", "-b", "target", base)
	write("other/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: b}\n")
	run(origin, "add", "-A")
	run(origin, "commit", "--quiet", "-m", "the target has an object")
	event := run(origin, "rev-parse", "HEAD") // base.sha of the event
	write("other/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nimmutable: true\ndata: {a: c}\n")
	run(origin, "commit", "--quiet", "-am", "the target changes it")
	target := run(origin, "rev-parse", "HEAD")
	run(origin, "merge", "--quiet", "-m", "merge", head)
	merge := run(origin, "rev-parse", "HEAD")
	checkout := func(revision string, depth ...string) string { // as actions/checkout does it
		t.Helper()
		dir := t.TempDir()
		run(dir, "init", "--quiet")
		run(dir, "remote", "add", "origin", "file://"+origin)
		run(dir, append(append([]string{"fetch", "--quiet"}, depth...), "origin", revision)...)
		run(dir, "checkout", "--quiet", "FETCH_HEAD")
		return dir
	}
	run(origin, "checkout", "--quiet", "main")
	pull := []string{"PULL_REQUEST_BASE=" + event, "PULL_REQUEST_HEAD=" + head}

	for _, test := range []struct {
		name, dir  string
		env        []string
		status     int
		out        string
		noSummary  bool
		withReport bool
		not        string // in the output
	}{
		{name: "merge commit", dir: checkout(merge), env: pull, status: 1, out: "::error file=deploy/web app.yaml", not: "map.yaml"},
		{name: "shallow merge commit", dir: checkout(merge, "--depth=1"), env: pull, status: 1, out: "::error file=deploy/web app.yaml", not: "map.yaml"},
		{name: "head of a pull request", dir: checkout(head), env: pull, status: 1, out: "::error file=deploy/web app.yaml", not: "map.yaml"},
		{name: "shallow head of a pull request", dir: checkout(head, "--depth=1"), env: pull, status: 1, out: "::error file=deploy/web app.yaml"},
		{name: "target of a pull request", dir: checkout(event), env: pull, status: 2, out: "not its change", noSummary: true},
		{name: "merge group", dir: checkout(merge), env: []string{"MERGE_GROUP_BASE=" + target}, status: 1, out: "::error file=deploy/web app.yaml", not: "map.yaml"},
		{name: "shallow merge group", dir: checkout(merge, "--depth=1"), env: []string{"MERGE_GROUP_BASE=" + target}, status: 1, out: "::error file=deploy/web app.yaml", not: "map.yaml"},
		{name: "pull request", dir: origin, env: []string{"PULL_REQUEST_BASE=" + base}, status: 1, out: "::error file=deploy/web app.yaml"},
		{name: "shallow checkout", dir: shallow, env: []string{"PULL_REQUEST_BASE=" + base, "PATHS=deploy"}, status: 1, out: "::error file=deploy/web app.yaml"},
		{name: "push", dir: origin, env: []string{"PUSH_BASE=" + base}, status: 1, out: "::error"},
		{name: "the input base goes before the event", dir: origin, env: []string{"BASE=HEAD", "PULL_REQUEST_BASE=" + base}, status: 0},
		{name: "SARIF, flags and several paths", dir: origin, env: []string{"BASE=" + base, "PATHS=deploy\n  .", "ARGS=--strict --kubernetes-version 1.36", "SARIF=report.sarif"},
			status: 1, out: "::error", withReport: true},
		{name: "lint compares with the base too", dir: origin, env: []string{"BASE=" + base, "PATHS=crds", "LINT=crds/db.yaml"}, status: 1, out: "lock-dropped"},
		{name: "a new branch has no base", dir: origin, env: []string{"PUSH_BASE=0000000000000000000000000000000000000000"}, status: 2, out: "set the input base", noSummary: true},
		{name: "inputs are not expanded", dir: origin, env: []string{"BASE=HEAD", "PATHS=$(touch pwned) `touch pwned` *"}, status: 2, noSummary: true},
		{name: "a base that looks like a flag", dir: origin, env: []string{"BASE=--upload-pack=touch pwned"}, status: 2, noSummary: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			temp := t.TempDir()
			if err := os.Mkdir(filepath.Join(temp, "fieldlock-bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(binary, filepath.Join(temp, "fieldlock-bin", "fieldlock")); err != nil {
				t.Fatal(err)
			}
			summary, output := filepath.Join(temp, "summary.md"), filepath.Join(temp, "output")
			writeFile(t, summary, "# another step\n")
			command := exec.Command("bash", script, "check")
			command.Dir = test.dir
			command.Env = append(command.Environ(), append([]string{"RUNNER_TEMP=" + temp, "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_OUTPUT=" + output,
				"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always"}, test.env...)...)
			out, _ := command.CombinedOutput()
			if got := command.ProcessState.ExitCode(); got != test.status || !strings.Contains(string(out), test.out) || test.not != "" && strings.Contains(string(out), test.not) {
				t.Errorf("got status %d, want %d, and\n%s", got, test.status, out)
			}
			if text, _ := os.ReadFile(output); !strings.Contains(string(text), "status=") && test.status != 2 {
				t.Errorf("the output is %q", text)
			}
			text, _ := os.ReadFile(summary)
			if !strings.HasPrefix(string(text), "# another step\n") || test.noSummary != (string(text) == "# another step\n") {
				t.Errorf("the summary is %q", text)
			}
			if _, err := os.Stat(filepath.Join(test.dir, "report.sarif")); (err == nil) != test.withReport {
				t.Errorf("the SARIF report: %v", err)
			}
			_ = os.Remove(filepath.Join(test.dir, "report.sarif"))
			if _, err := os.Stat(filepath.Join(test.dir, "pwned")); err == nil {
				t.Error("an input became a command")
			}
		})
	}
}

// actionScript returns the path of the action's script. It skips a test where the programs that the script calls are
// missing.
func actionScript(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	script, err := filepath.Abs("../../hack/action")
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// TestActionFetch: the input fetch passes --fetch, and nothing else does.
func TestActionFetch(t *testing.T) {
	script := actionScript(t)
	repositoryOf(t, map[string]string{"web.yaml": deployment}, nil)
	temp := t.TempDir()
	program := filepath.Join(temp, "fieldlock-bin", "fieldlock")
	writeFile(t, program, "#!/bin/sh\necho \"$@\"\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{"true": true, "false": false, "": false, "--fetch": false} {
		command := exec.Command("bash", script, "check")
		command.Env = append(command.Environ(), "RUNNER_TEMP="+temp, "BASE=HEAD", "FETCH="+value)
		out, err := command.CombinedOutput()
		if err != nil || strings.Contains(string(out), " --fetch ") != want {
			t.Errorf("fetch: %q: %v, want --fetch %t:\n%s", value, err, want, out)
		}
	}
}

// TestActionDownload: the action downloads the command from a release. It fails if the checksum is wrong. Without a
// release for the version or the machine, it builds the command.
func TestActionDownload(t *testing.T) {
	for _, program := range []string{"bash", "curl", "tar", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s", program)
		}
	}
	script, err := filepath.Abs("../../hack/action")
	if err != nil {
		t.Fatal(err)
	}
	name := "fieldlock_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	packed := tar.NewWriter(zipped)
	const program = "#!/bin/sh\necho the release\n"
	if err := packed.WriteHeader(&tar.Header{Name: "fieldlock", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(packed.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	right := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sums := map[string]string{"v1.0.0": right, "v2.0.0": strings.Repeat("0", 64) + "  " + name + "\n", "v3.0.0": "", "v4.0.0": right}
		version, file := path.Split(strings.TrimPrefix(r.URL.Path, "/"))
		version = strings.TrimSuffix(version, "/")
		text, ok := sums[version]
		switch {
		case ok && file == "checksums.txt":
			_, _ = w.Write([]byte(text))
		case ok && file == name && version != "v4.0.0":
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		name, version, ref string
		status             int
		found              string
	}{
		{"the version of the input", "v1.0.0", "main", 0, "true"},
		{"the version of the action", "", "v1.0.0", 0, "true"},
		{"a wrong checksum", "v2.0.0", "", 2, ""},
		{"no checksum of the archive", "v3.0.0", "", 2, ""},
		{"no archive for the machine", "v4.0.0", "", 0, "false"},
		{"no such release", "v5.0.0", "", 0, "false"},
		{"a branch", "", "main", 0, "false"},
		{"a version that leads elsewhere", "v1.0.0/../../other", "", 0, "false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			output := filepath.Join(temp, "output")
			command := exec.Command("bash", script, "download")
			command.Env = append(command.Environ(), "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output, "FIELDLOCK_RELEASES="+server.URL, "VERSION="+c.version, "ACTION_REF="+c.ref)
			out, _ := command.CombinedOutput()
			text, _ := os.ReadFile(output)
			found := strings.TrimSpace(strings.TrimPrefix(string(text), "found="))
			if got := command.ProcessState.ExitCode(); got != c.status || found != c.found {
				t.Errorf("got status %d and found=%s, want %d and %q\n%s", got, found, c.status, c.found, out)
			}
			if _, err := os.Stat(filepath.Join(temp, "fieldlock-bin", "fieldlock")); (err == nil) != (c.found == "true") {
				t.Errorf("the command: %v", err)
			}
		})
	}
}

// pipelines is a repository in which others merge changes while a change is reviewed, as CI systems check it out.
type pipelines struct {
	t                           *testing.T
	dir                         string
	base, source, target, train string
}

// newPipelines makes the repository. The branch change alters a selector, the target another immutable object; train is
// the target with the change that a merge train has before this one.
func newPipelines(t *testing.T) *pipelines {
	p := &pipelines{t: t}
	others := func(value string) map[string]string {
		return map[string]string{"other/map.yaml": strings.ReplaceAll(immutableMap, "a: b", "a: "+value)}
	}
	repositoryOf(t, map[string]string{"web.yaml": deployment, "other/map.yaml": immutableMap, "README.md": "a\n"}, nil)
	p.dir, _ = os.Getwd()
	p.base = p.commit("", nil)
	p.source = p.commit(p.base, map[string]string{"web.yaml": strings.ReplaceAll(deployment, "app: web", "app: shop")})
	p.target = p.commit(p.base, others("c"))
	p.train = p.commit(p.target, others("d"))
	runGit(t, "branch", "--force", "main", p.target)
	return p
}

// commit makes a commit with files on top of another one, and returns its ID.
func (p *pipelines) commit(on string, files map[string]string) string {
	if on != "" {
		runGit(p.t, "checkout", "--quiet", "--detach", on)
		for name, text := range files {
			writeFile(p.t, name, text)
		}
		runGit(p.t, "commit", "--quiet", "--all", "--message", "a change")
	}
	return strings.TrimSpace(runGit(p.t, "rev-parse", "HEAD"))
}

// merged merges a commit into another one, or puts it on top of that, and returns the new commit.
func (p *pipelines) merged(into, what string, rebase bool) string {
	runGit(p.t, "checkout", "--quiet", "--detach", into)
	if rebase {
		runGit(p.t, "cherry-pick", what)
	} else {
		runGit(p.t, "merge", "--quiet", "--no-ff", "--message", "merge", what)
	}
	return p.commit("", nil)
}

// checkout clones a commit with refs, and runs a script there. It returns the exit status and the output.
func (p *pipelines) checkout(commit, refs, script string, env ...string) (int, string) {
	dir := p.t.TempDir()
	p.t.Chdir(dir)
	runGit(p.t, "init", "--quiet")
	runGit(p.t, "remote", "add", "origin", p.dir)
	runGit(p.t, "-c", "protocol.file.allow=always", "fetch", "--quiet", "origin", "+"+commit+":refs/ci/head", refs)
	runGit(p.t, "checkout", "--quiet", "--detach", commit)
	bin := p.t.TempDir()
	if err := os.Symlink(commandProgram(p.t), filepath.Join(bin, "fieldlock")); err != nil {
		p.t.Fatal(err)
	}
	shell := exec.Command("bash", "-e", "-c", script)
	shell.Env = append(os.Environ(), append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))...)
	out, _ := shell.CombinedOutput()
	p.t.Chdir(p.dir)
	return shell.ProcessState.ExitCode(), string(out)
}

// pageScript returns the commands of the block of docs/ci.md that has a text, without installs.
func pageScript(t *testing.T, with string) string {
	t.Helper()
	for _, b := range readPages(t) {
		if commands := b.Commands(); b.File == "docs/ci.md" && b.Language != page.Span && strings.Contains(b.Text, with) {
			return strings.Join(slices.DeleteFunc(commands, func(c string) bool { return strings.HasPrefix(c, "go install ") }), "\n")
		}
	}
	t.Fatalf("docs/ci.md has no block with %s", with)
	return ""
}

// TestPipelines: the scripts for GitLab and Jenkins report what a change breaks, and nothing that others merged. GitLab
// sets CI_MERGE_REQUEST_TARGET_BRANCH_SHA where it tests merged results, also rebased ones: what the change was merged
// into, in a train with the changes before it. Its runner fetches all branches where GIT_DEPTH is 0; Jenkins may fetch
// the change alone.
func TestPipelines(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	gitlab, jenkins := pageScript(t, "merge_request_event"), pageScript(t, "CHANGE_TARGET")
	p := newPipelines(t)
	const all, alone = "+refs/heads/*:refs/remotes/origin/*", "+refs/heads/main:refs/other/main"
	updated := p.merged(p.source, p.target, false) // the target is merged into the branch
	for _, c := range []struct {
		name, script, commit, refs string
		targetSHA, diffBase        string
		clean                      bool
	}{
		{"GitLab: merge request", gitlab, p.source, all, "", p.base, false},
		{"GitLab: merge request that has the target", gitlab, updated, all, "", p.target, false},
		{"GitLab: merge request, if it were told the target", gitlab, p.source, all, p.target, p.base, false},
		{"GitLab: merged results", gitlab, p.merged(p.target, p.source, false), all, p.target, p.base, false},
		{"GitLab: merged results, rebased", gitlab, p.merged(p.target, p.source, true), all, p.target, p.base, false},
		{"GitLab: merge train", gitlab, p.merged(p.train, p.source, false), all, p.train, p.base, false},
		{"GitLab: merge train, rebased", gitlab, p.merged(p.train, p.source, true), all, p.train, p.base, false},
		{"GitLab: default branch", gitlab, p.target, all, "", "", true},
		{"Jenkins: head", jenkins, p.source, alone, "", "", false},
		{"Jenkins: merged with the target", jenkins, p.merged(p.target, p.source, false), alone, "", "", false},
		{"Jenkins: merged with an older target", jenkins, p.merged(p.base, p.source, false), alone, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *p
			p.t = t
			status, out := p.checkout(c.commit, c.refs, c.script, "CHANGE_TARGET=main",
				"CI_MERGE_REQUEST_TARGET_BRANCH_SHA="+c.targetSHA, "CI_MERGE_REQUEST_DIFF_BASE_SHA="+c.diffBase)
			want := exitRefused
			if c.clean {
				want = exitClean
			}
			if status != want || strings.Contains(out, "spec.selector") == c.clean || strings.Contains(out, "map.yaml") {
				t.Errorf("status %d\n%s", status, out)
			}
		})
	}
}

// The hooks of pre-commit call commands and flags that exist, and find a refused change among staged files.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct{ ID, Name, Description, Entry, Language string }
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	if len(hooks) == 0 {
		t.Error("there are no hooks")
	}
	for _, hook := range hooks {
		words := strings.Fields(hook.Entry)
		if hook.ID == "" || hook.Name == "" || hook.Description == "" || hook.Language != "golang" || len(words) < 2 || words[0] != "fieldlock" {
			t.Errorf("got %+v", hook)
			continue
		}
		root := newRoot(streams{in: strings.NewReader("")})
		command, rest, err := root.Find(words[1:])
		if err != nil || command == root {
			t.Errorf("%s: there is no command for %q", hook.ID, hook.Entry)
			continue
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", hook.ID, err)
		}
	}
}

// preCommitHook is a hook as pre-commit reads it, with its defaults.
type preCommitHook struct {
	ID, Entry, Files string
	AlwaysRun        bool  `yaml:"always_run"`
	PassFilenames    *bool `yaml:"pass_filenames"`
}

// call returns the arguments of the command that pre-commit runs for the staged files; nil if it skips the hook
// (pre_commit/commands/run.py: _run_single_hook; pre_commit/git.py: get_staged_files, which leaves out files that are
// gone).
func (h preCommitHook) call(t *testing.T) []string {
	t.Helper()
	names := strings.Split(strings.TrimSuffix(runGit(t, "diff", "--staged", "--name-only", "--no-ext-diff", "-z", "--diff-filter=ACMRTUXB"), "\x00"), "\x00")
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || !regexp.MustCompile(h.Files).MatchString(name) })
	args := strings.Fields(h.Entry)[1:]
	switch {
	case len(names) == 0 && !h.AlwaysRun:
		return nil
	case h.PassFilenames == nil || *h.PassFilenames:
		args = append(args, names...)
	}
	return args
}

// TestPreCommitCheck: the hook finds what a commit breaks by whichever file: one without an extension, one of a
// generator or a chart, one that moves, one that goes.
func TestPreCommitCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	var hooks []preCommitHook
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	const generator = "resources: [web.yaml]\nconfigMapGenerator:\n" +
		"- {name: settings, envs: [app.env], files: [notes.txt], options: {disableNameSuffixHash: true, immutable: true}}\n"
	old := map[string]string{
		"prod/Kustomization": generator, "prod/app.env": "A=1\n", "prod/notes.txt": "a\n", "prod/web.yaml": deployment,
		"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "chart/files/x.conf": "a\n", "chart/templates/_x.txt": `{{ define "x" }}a{{ end }}`,
		"chart/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: chart}\nimmutable: true\n" +
			"data: {x: {{ include \"x\" . }}, y: {{ .Files.Get \"files/x.conf\" | trim | quote }}}\n",
		"a/r.yaml": strings.ReplaceAll(deployment, "name: web", "name: moves"), "b/z.yaml": "# z\n", "README.md": "# a\n",
		"data/claim.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		".fieldlock.yaml": "refuse-deletions: [data]\n",
	}
	for _, c := range []struct {
		name, file, text string // text is what the file becomes, "" if it goes
		refused          string
	}{
		{"a kustomization without extension", "prod/Kustomization", generator + "labels: [{pairs: {tier: web}, includeSelectors: true}]\n", "spec.selector"},
		{"variables of a generator", "prod/app.env", "A=2\n", "ConfigMap settings"},
		{"a file of a generator", "prod/notes.txt", "b\n", "ConfigMap settings"},
		{"a template of another extension", "chart/templates/_x.txt", `{{ define "x" }}b{{ end }}`, "ConfigMap chart"},
		{"a file of a chart", "chart/files/x.conf", "b\n", "ConfigMap chart"},
		{"a file of a chart that goes", "chart/files/x.conf", "", "ConfigMap chart"},
		{"a manifest that goes", "data/claim.yaml", "", "PersistentVolumeClaim data"},
		{"a manifest that moves and changes", "a/r.yaml", "", "spec.selector"},
		{"a page", "README.md", "# b\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			repositoryOf(t, old, nil)
			switch {
			case c.text != "":
				writeFile(t, c.file, c.text)
			default:
				runGit(t, "rm", "--quiet", c.file)
			}
			if strings.Contains(c.name, "moves") {
				writeFile(t, "b/r.yaml", strings.ReplaceAll(old[c.file], "app: web", "app: shop"))
			}
			runGit(t, "add", "--all")
			args := hooks[0].call(t)
			if args == nil {
				t.Fatal("pre-commit skips the hook")
			}
			want := exitClean
			if c.refused != "" {
				want = exitRefused
			}
			if got := runCommand("", args...); got.status != want || !strings.Contains(got.out, c.refused) {
				t.Errorf("%q: status %d\n%s%s", args, got.status, got.out, got.err)
			}
		})
	}
}

// The release packs files that exist.
func TestRelease(t *testing.T) {
	var release struct {
		Builds   []struct{ Main string }
		Archives []struct{ Files []string }
		Dockers  []struct{ Dockerfile string } `yaml:"dockers_v2"`
	}
	readYAML(t, ".goreleaser.yaml", &release)
	var files []string
	for _, build := range release.Builds {
		files = append(files, build.Main)
	}
	for _, archive := range release.Archives {
		files = append(files, archive.Files...)
	}
	for _, docker := range release.Dockers {
		files = append(files, docker.Dockerfile)
	}
	if len(files) < 4 || !slices.Contains(files, "LICENSE") {
		t.Errorf("the release has %v", files)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
			t.Error(err)
		}
	}
}
