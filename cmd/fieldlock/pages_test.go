package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/internal/testing/page"
)

// runsAsCommand makes the test's program the command itself, for tests that need it as a program.
const runsAsCommand = "FIELDLOCK_TEST_RUNS_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(runsAsCommand) != "" || worker.Asked(os.Args) || asVettool(os.Args[1:]) {
		main()
	}
	os.Exit(m.Run())
}

// readPages returns the code of the README and the pages in docs. The page docs/commands.md has the examples of the
// help.
func readPages(t *testing.T) []page.Block {
	t.Helper()
	blocks, err := page.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestPageSessions runs the commands that the README and the pages in docs show with their output, and compares what
// they print; a line "…" stands for any lines.
func TestPageSessions(t *testing.T) {
	blocks := readPages(t)
	t.Chdir("../..")
	pages := map[string]bool{}
	for _, b := range blocks {
		command, shown, ok := b.Session()
		if !ok {
			continue
		}
		pages[b.File] = true
		command = strings.TrimPrefix(strings.TrimPrefix(command, "go run ./cmd/"), "fieldlock ")
		t.Run(b.File+" "+command, func(t *testing.T) { checkSession(t, strings.Fields(command), strings.TrimSuffix(shown, "\n")) })
	}
	if !pages["README.md"] || !pages["docs/index.md"] {
		t.Errorf("there are sessions in %v", pages)
	}
}

// checkSession runs a command and compares its output with what a page shows.
func checkSession(t *testing.T, args []string, shown string) {
	ran := runCommand("", args...)
	rest := strings.TrimSuffix(ran.out, "\n")
	for i, part := range strings.Split(shown, "\n…\n") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			t.Fatalf("the page shows\n%s\nand the command prints\n%s%s", shown, ran.out, ran.err)
		}
		rest = rest[at+len(part):]
	}
	if rest != "" {
		t.Errorf("the page leaves out the end:\n%s", rest)
	}
}

// TestPageCommands runs every command of the README and the pages in docs that needs neither a cluster nor a release;
// examples/e2e and install_test.go run those. The commands of a block run one after the other in one folder, which has
// the files that they name. fieldlock may refuse, and nothing else may fail.
func TestPageCommands(t *testing.T) {
	onlyInCI(t)
	p := newPageRunner(t)
	ran := map[string]bool{} // by commands: pages have some in common
	for _, b := range readPages(t) {
		commands := b.Commands()
		if b.Language == "make" {
			commands = []string{"make manifests"}
		}
		commands = slices.DeleteFunc(commands, func(command string) bool {
			return !slices.Contains([]page.Place{page.PlaceFolder, page.PlaceProject, page.PlaceRepository}, page.PlaceOf(command))
		})
		if len(commands) == 0 || strings.HasPrefix(b.File, "docs/fields/") || ran[strings.Join(commands, "\n")] {
			continue
		}
		ran[strings.Join(commands, "\n")] = true
		t.Run(b.File+" "+commands[0], func(t *testing.T) {
			t.Parallel()
			p.run(t, b, commands)
		})
	}
	if len(ran) < 30 {
		t.Errorf("only %d blocks have commands", len(ran))
	}
}

// pageRunner runs the commands of pages.
type pageRunner struct {
	folder string // made by page.Folder
	bin    string // fieldlock and controller-gen
}

func newPageRunner(t *testing.T) pageRunner {
	t.Helper()
	p := pageRunner{t.TempDir(), t.TempDir()}
	if err := page.Folder("../..", p.folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(commandProgram(t), filepath.Join(p.bin, "fieldlock")); err != nil {
		t.Fatal(err)
	}
	install := exec.CommandContext(t.Context(), "go", "install", controllerGen)
	install.Env = append(os.Environ(), "GOBIN="+p.bin)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", p.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, value := range map[string]string{
		"GITHUB_STEP_SUMMARY": filepath.Join(t.TempDir(), "summary.md"), "CHANGE_TARGET": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main",
		"CONTROLLER_GEN": filepath.Join(p.bin, "controller-gen"), "GOBIN": t.TempDir(), "GOFLAGS": "-mod=mod", "GOWORK": "off",
	} {
		t.Setenv(name, value)
	}
	return p
}

// run runs the commands of a block in a copy of the folder.
func (p pageRunner) run(t *testing.T, b page.Block, commands []string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.folder)); err != nil {
		t.Fatal(err)
	}
	if b.File == "docs/crds.md" && (b.Language == "make" || strings.Contains(b.Text, "controller-gen")) {
		kubebuilderProject(t, dir)
		// The target controller-gen of a kubebuilder project installs it.
		writeFile(t, filepath.Join(dir, "Makefile"), strings.ReplaceAll(b.Text, "controller-gen\n", "\n"))
	}
	for _, command := range commands {
		shell := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", command)
		shell.Dir = dir
		if page.PlaceOf(command) == page.PlaceRepository {
			shell.Dir, shell.Env = "../..", append(os.Environ(), "GOWORK=", "GOFLAGS=-buildvcs=false -run=^$ -benchtime=1x") // benchmarks alone, once
		}
		out, err := shell.CombinedOutput()
		refused := strings.Contains(command, "fieldlock ") && shell.ProcessState.ExitCode() == exitRefused && !strings.HasPrefix(command, "go ")
		if err != nil && !refused {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		p.verify(t, dir, command)
	}
}

var writtenReport = regexp.MustCompile(`-o (?:gitlab|junit|sarif)=(\S+)`)

// verify looks for the files that a command writes, which the rest of a pipeline reads.
func (p pageRunner) verify(t *testing.T, dir, command string) {
	t.Helper()
	for _, report := range writtenReport.FindAllStringSubmatch(command, -1) {
		if data, err := os.ReadFile(filepath.Join(dir, report[1])); err != nil || len(data) == 0 {
			t.Errorf("%s writes no %s: %v", command, report[1], err)
		}
	}
}

// kubebuilderProject makes dir a Go module with the API of testdata/kubebuilder.
func kubebuilderProject(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "api")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/kubebuilder")); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	machinery := regexp.MustCompile(`k8s\.io/apimachinery v\S+`).Find(mod)
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com/shop\n\ngo 1.26\n\nrequire "+string(machinery)+"\n")
	writeFile(t, filepath.Join(dir, "go.sum"), string(sum))
}

// TestFieldPages runs the command that the page of each kind names, which lists the kind's locks.
func TestFieldPages(t *testing.T) {
	files, err := filepath.Glob("../../docs/fields/*.md")
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d pages, %v", len(files), err)
	}
	named := regexp.MustCompile("`fieldlock locks ([^`]+)`")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		command := named.FindSubmatch(text)
		if command == nil {
			t.Errorf("%s names no command", file)
			continue
		}
		kind := regexp.MustCompile(`of an? (\S+)`).FindSubmatch(text)[1]
		if c := runCommand("", "locks", string(command[1])); c.status != 0 || !strings.Contains(c.out, string(kind)) {
			t.Errorf("%s: locks %s: %d %s", file, command[1], c.status, c.err)
		}
	}
}

// commandProgram returns a program that is the command for the rest of a test.
func commandProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(runsAsCommand, "1")
	return self
}

// TestPageBlocks: each block of code on a page is read or run by a test, which judges names, or shows something that
// cannot run. Only blocks without language have commands.
func TestPageBlocks(t *testing.T) {
	commands := regexp.MustCompile(`(?m)^(fieldlock|kubectl|helm|go|git|flux|argocd|npm|curl) `)
	took := map[string]int{}
	for _, b := range readPages(t) {
		if b.Language == page.Span {
			continue
		}
		name := judgeOf(b)
		took[name]++
		if name == "" {
			t.Errorf("%s:%d: no test reads this block (%s); judges has those that do", b.File, b.Line, cmp.Or(b.Language, "commands"))
		}
		if b.Language == "text" && b.File != "docs/commands.md" && commands.MatchString(b.Text) {
			t.Errorf("%s:%d: a command in a block of text", b.File, b.Line)
		}
	}
	for _, j := range judges {
		if took[j.name] == 0 {
			t.Errorf("no block is for %s", j.name)
		}
	}
}

// judge is a test, and the blocks that it reads or runs.
type judge struct {
	name  string
	takes func(b page.Block) bool
}

// judges are asked in this order: the first that takes a block has it. The names of tests outside of this file have
// their folder; a reason in place of a test begins with "none".
var judges = []judge{
	{"TestPageSessions", func(b page.Block) bool { _, _, ok := b.Session(); return ok }},
	{"TestPageCommands, examples/e2e TestPageCommands, TestPageReleases, .ci/run", func(b page.Block) bool { return len(b.Commands()) > 0 || b.Language == "make" }},
	{"examples/e2e TestClaims", func(b page.Block) bool {
		return b.File == "docs/recipes.md" && (b.Language == "sh" || b.Language == "yaml" && strings.Contains(b.Text, "data-copy"))
	}},
	{"examples/validator TestPage", func(b page.Block) bool { return b.Language == "go" && strings.HasPrefix(b.Text, "package validator\n") }},
	{"TestPageGo", func(b page.Block) bool { return b.Language == "go" }},
	{"TestReference", func(b page.Block) bool {
		return b.File == "docs/commands.md" && b.Language == "text" || b.File == "docs/reports.md"
	}},
	{"TestPageMessages", func(b page.Block) bool { return b.Language == "text" && b.File != "docs/design.md" && !isKindPage(b) }},
	{"examples/e2e TestFieldPages", func(b page.Block) bool { return b.Language == "text" && isKindPage(b) }},
	{"none: a picture", func(b page.Block) bool { return b.Language == "text" && b.File == "docs/design.md" }},
	{"none: a finding of Go options, or of a schema with hundreds of rules", func(b page.Block) bool {
		return b.File == "docs/findings.md" && (strings.HasPrefix(b.Text, "# With") || strings.Contains(b.Text, "and 400 more"))
	}},
	{"TestPageFindings", func(b page.Block) bool { return b.File == "docs/findings.md" }},
	{"TestPageParameters", func(b page.Block) bool { return b.File == "docs/parameters.md" && b.Language == "yaml" }},
	{"TestPageMarks", isMark},
	{"TestPageWorkflows", func(b page.Block) bool { return b.Language == "yaml" && (has(b, "jobs", "repos") || isSteps(b)) }},
	{"TestPageSettings", func(b page.Block) bool {
		return b.Language == "yaml" && has(b, "accept", "mode", "exclude", "charts", "locks", "aliases")
	}},
	{"TestPageSchemas", func(b page.Block) bool {
		return b.Language == "yaml" && has(b, "openAPIV3Schema", "spec", "region", "engine")
	}},
}

// judgeOf returns the name of the test that takes a block, and "" if none does.
func judgeOf(b page.Block) string {
	i := slices.IndexFunc(judges, func(j judge) bool { return j.takes(b) })
	if i < 0 {
		return ""
	}
	return judges[i].name
}

// blocksFor returns the blocks that judges has for a test.
func blocksFor(t *testing.T, name string) []page.Block {
	t.Helper()
	blocks := slices.DeleteFunc(readPages(t), func(b page.Block) bool { return b.Language == page.Span || judgeOf(b) != name })
	if len(blocks) == 0 {
		t.Fatalf("no page has blocks for %s", name)
	}
	return blocks
}

func isKindPage(b page.Block) bool { return strings.HasPrefix(b.File, "docs/fields/") }

// isSteps reports whether a block has steps of a GitHub workflow, or the inputs of one.
func isSteps(b page.Block) bool {
	return strings.HasPrefix(b.Text, "- uses: ") || strings.HasPrefix(strings.TrimSpace(b.Text), "with: ")
}

// isMark reports whether a block has a mark for a tool that deploys: an annotation, or a field of a kustomization.
func isMark(b page.Block) bool {
	return b.Language == "yaml" && has(b, "metadata", "labels") && (b.File == "docs/argo-cd.md" || b.File == "docs/flux.md" || b.File == "docs/kustomize.md")
}

// has reports whether a block of YAML has one of these keys.
func has(b page.Block, keys ...string) bool {
	var parsed map[string]any
	if yaml.Unmarshal([]byte(b.Text), &parsed) != nil {
		return false
	}
	return slices.ContainsFunc(keys, func(key string) bool { return parsed[key] != nil })
}

// TestPageMessages: the pages on tools begin with messages of the server that the page of the kind has.
func TestPageMessages(t *testing.T) {
	named := regexp.MustCompile(`(?:The (\w+)|(\w+)\.apps) "\w+" is invalid: (.*)`)
	found := 0
	for _, b := range blocksFor(t, "TestPageMessages") {
		for _, m := range named.FindAllStringSubmatch(b.Text, -1) {
			found++
			text, err := os.ReadFile("../../docs/fields/" + strings.ToLower(m[1]+m[2]) + ".md")
			if err != nil {
				t.Fatal(err)
			}
			if message := strings.TrimSuffix(m[3], ", …"); !strings.Contains(string(text), message) {
				t.Errorf("%s:%d: the page of the kind does not have %s", b.File, b.Line, message)
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d messages", found)
	}
}

// TestPageMarks: the marks that the pages of Argo CD, Flux and kustomize name do what they say.
func TestPageMarks(t *testing.T) {
	old := strings.NewReplacer("app: web", "app: old").Replace(deployment)
	for _, b := range blocksFor(t, "TestPageMarks") {
		t.Run(b.File, func(t *testing.T) {
			if b.File == "docs/kustomize.md" { // a label in templates, and not in selectors
				dir := writeFiles(t, map[string]string{"kustomization.yaml": b.Text + "resources: [a.yaml]\n", "a.yaml": deployment})
				if c := runCommand("", "render", dir); c.status != exitClean || strings.Count(c.out, "env: prod") != 2 {
					t.Errorf("status %d\n%s%s", c.status, c.out, c.err)
				}
				return
			}
			var object, mark map[string]any
			if err := errors.Join(yaml.Unmarshal([]byte(deployment), &object), yaml.Unmarshal([]byte(b.Text), &mark)); err != nil {
				t.Fatal(err)
			}
			object["metadata"].(map[string]any)["annotations"] = mark["metadata"].(map[string]any)["annotations"]
			marked, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			dir := writeFiles(t, map[string]string{"old.yaml": old, "new.yaml": deployment, "marked.yaml": string(marked)})
			t.Chdir(dir)
			if c := runCommand("", "check", "old.yaml", "new.yaml"); c.status != exitRefused {
				t.Errorf("without the mark: status %d\n%s%s", c.status, c.out, c.err)
			}
			if c := runCommand("", "check", "old.yaml", "marked.yaml"); c.status != exitClean {
				t.Errorf("status %d\n%s%s", c.status, c.out, c.err)
			}
		})
	}
}

// TestPageParameters: the params.yaml and the operator.yaml that docs/parameters.md begins with are valid, and they are
// about the words that KUDO authors look for.
func TestPageParameters(t *testing.T) {
	blocks := blocksFor(t, "TestPageParameters")
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of YAML", len(blocks))
	}
	t.Chdir(t.TempDir())
	params, operator := write(t, "", "params.yaml", []byte(blocks[0].Text)), write(t, "", "operator.yaml", []byte("apiVersion: kudo.dev/v1beta1\nname: ring\n"+blocks[1].Text))
	if ran := runCommand("", "params", "validate", "--definitions", params, "--task", operator); ran.status != exitClean {
		t.Errorf("%s%s", ran.out, ran.err)
	}
	stored := write(t, "", "stored.yaml", []byte("NUM_TOKENS: \"256\"\n"))
	if ran := runCommand("", "params", "update", "--definitions", params, "--current", stored, "--set", "NUM_TOKENS=16"); ran.status != exitRefused {
		t.Errorf("NUM_TOKENS may change: %s%s", ran.out, ran.err)
	}
	ran := runCommand("", "params", "toggle", "--definitions", params, "--current", stored, "--task", operator, "--set", "MONITORING=true")
	if ran.status != exitClean || !strings.Contains(ran.out, "prometheus") {
		t.Errorf("MONITORING adds no child: %s%s", ran.out, ran.err)
	}
}

// TestPageGo vets the Go of the pages and runs it in a fresh module that uses this tree as a release. It uses snippets
// that are whole files unchanged, and completes the others with the text in goParts. The programs on the page for
// servers are run by the tests in testdata/servers, one for each package; the one that needs controller-runtime is
// tested in examples/validator.
func TestPageGo(t *testing.T) {
	onlyInCI(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, number, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	port := ":" + number
	files, drivers := map[string]string{"config/crd/example.com_databases.yaml": databases}, 0
	for i, b := range blocksFor(t, "TestPageGo") {
		around, isPart := goParts[b.File]
		if whole := strings.HasPrefix(b.Text, "package "); whole == isPart {
			t.Errorf("%s:%d: a snippet that is a whole file: %t; that goParts has: %t", b.File, b.Line, whole, isPart)
		}
		name := "page.go"
		if strings.Contains(b.Text, "*testing.T") {
			name = "page_test.go"
		}
		dir := fmt.Sprintf("%s-%d/", strings.TrimSuffix(filepath.Base(b.File), ".md"), i)
		files[dir+name] = around[0] + b.Text + around[1]
		if of, _, _ := strings.Cut(strings.TrimPrefix(b.Text, "package "), "\n"); b.File == "docs/servers.md" && name == "page.go" {
			drivers++
			data, err := os.ReadFile("testdata/servers/" + of + "_test.go.txt")
			if err != nil {
				t.Fatal(err)
			}
			files[dir+"page_test.go"] = string(data)
			for file := range files { // the port of the page may be taken
				if strings.HasPrefix(file, dir) {
					files[file] = strings.ReplaceAll(files[file], ":8443", port)
				}
			}
		}
	}
	if drivers != 3 {
		t.Errorf("%d programs of the page for servers are run, want 3", drivers)
	}
	const snippets = 6
	if len(files) != snippets+drivers+1 {
		t.Errorf("the pages have %d snippets, want %d", len(files)-drivers-1, snippets)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = strings.Replace(string(data), "module "+libraryPath+"/cmd/fieldlock\n", "module example.com/shop\n\nreplace "+libraryPath+" => "+root+"\n", 1)
	}
	dir := writeFiles(t, files)
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir, command.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// goParts are the snippets that are parts of a file, by page, with what stands before and after them.
var goParts = map[string][2]string{
	"README.md": {"package shop\n\nimport (\n\t\"k8s.io/kube-openapi/pkg/validation/spec\"\n\n\t\"" + libraryPath + "/immutability\"\n)\n\n" +
		"func check(schema *spec.Schema, newJSON, oldJSON []byte) error {\n", "}\n"},
	"docs/crds.md": {"package shop\n\ntype Database struct {\n", "}\n"},
}

// databases is the CRD that the test on the page for servers is about.
const databases = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Database, plural: databases}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [engine]
            properties:
              engine: {type: string, enum: [postgres, mysql], x-kubernetes-immutable: true}
              replicas: {type: integer}
`

// TestPageSchemas: lint warns about no schema that the README and the page for CRDs show, and about the classic hole on
// the page of CEL.
func TestPageSchemas(t *testing.T) {
	for _, b := range blocksFor(t, "TestPageSchemas") {
		want := exitClean
		if b.File == "docs/cel.md" {
			want = exitRefused
		}
		crd := crdOf(t, parseBlock(t, b.Text))
		if c := runCommand(crd, "lint", "--strict", "-"); c.status != want {
			t.Errorf("%s:%d: status %d, want %d\n%s%s", b.File, b.Line, c.status, want, c.out, c.err)
		}
	}
}

// TestPageFindings: lint reports each finding about its example, which may show in a comment what was before.
func TestPageFindings(t *testing.T) {
	headings := regexp.MustCompile("(?m)^## ([a-z0-9-]+)$")
	page, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksFor(t, "TestPageFindings") {
		before := strings.Join(strings.SplitAfter(string(page), "\n")[:b.Line], "")
		found := headings.FindAllStringSubmatch(before, -1)
		id := found[len(found)-1][1]
		args := []string{"lint", "-"}
		if old, ok := strings.CutPrefix(b.Text, "# before: "); ok {
			old, _, _ = strings.Cut(old, "\n")
			dir := writeFiles(t, map[string]string{"old.yaml": crdOf(t, parseBlock(t, old))})
			args = []string{"lint", "--old", filepath.Join(dir, "old.yaml"), "-"}
		}
		if c := runCommand(crdOf(t, parseBlock(t, b.Text)), args...); !strings.Contains(c.out+c.err, id) {
			t.Errorf("%s:%d: lint does not report %s\n%s%s", b.File, b.Line, id, c.out, c.err)
		}
	}
}

// parseBlock parses a block of YAML.
func parseBlock(t *testing.T, text string) map[string]any {
	t.Helper()
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return parsed
}

// crdOf returns a CRD with what a page shows of one: the document, versions, names, a schema, the properties of an
// object, or those of its spec.
func crdOf(t *testing.T, shown map[string]any) string {
	t.Helper()
	type object = map[string]any
	has := func(key string) bool { return shown[key] != nil }
	schema := object{"type": "object"}
	version := object{"name": "v1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": schema}}
	spec := object{"group": "example.com", "scope": "Namespaced", "names": object{"kind": "Database", "plural": "databases"}, "versions": []any{version}}
	crd := object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "databases.example.com"}, "spec": spec}
	switch {
	case has("kind"):
		delete(spec, "versions")
		spec["version"] = "v1"
		maps.Copy(spec, shown["spec"].(object))
		crd["apiVersion"] = shown["apiVersion"]
	case has("versions"):
		spec["versions"] = shown["versions"]
		for i, v := range shown["versions"].([]any) {
			v.(object)["served"], v.(object)["storage"] = true, i == 0
		}
	case has("names"):
		maps.Copy(spec["names"].(object), shown["names"].(object))
	case has("openAPIV3Schema"):
		version["schema"] = shown
	case has("spec"), has("metadata"):
		if inner, ok := shown["spec"].(object); ok {
			inner["type"] = "object"
		}
		schema["properties"] = shown
		if has("spec") {
			schema["required"] = []string{"spec"}
		}
	default:
		required := []string{}
		if shown["region"] != nil || shown["engine"] != nil { // the page says that the field is required
			required = slices.Collect(maps.Keys(shown))
		}
		schema["required"] = []string{"spec"}
		schema["properties"] = object{"spec": object{"type": "object", "required": required, "properties": shown}}
	}
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageSettings reads the settings that pages show as .fieldlock.yaml.
func TestPageSettings(t *testing.T) {
	for _, b := range blocksFor(t, "TestPageSettings") {
		dir := writeFiles(t, map[string]string{".fieldlock.yaml": b.Text, "charts/shop/prod.yaml": "", "a.yaml": deployment})
		t.Run(b.File, func(t *testing.T) {
			t.Chdir(dir)
			if c := runCommand("", "check", "a.yaml", "a.yaml"); c.status != exitClean {
				t.Errorf("status %d\n%s%s", c.status, c.out, c.err)
			}
		})
	}
}

// TestPageWorkflows: GitHub's workflows pass actionlint, and give the action inputs that it has; the hooks of
// pre-commit are those of this repository. GitLab's and Jenkins' scripts run in TestPageCommands.
func TestPageWorkflows(t *testing.T) {
	onlyInCI(t)
	var action struct{ Inputs map[string]any }
	readYAML(t, "action.yml", &action)
	var hooks []struct{ ID string }
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	workflows, configured := 0, 0
	for _, b := range blocksFor(t, "TestPageWorkflows") {
		text := b.Text
		if inputs, ok := strings.CutPrefix(strings.TrimSpace(text), "with: "); ok { // the inputs of a step alone
			text = "- uses: fieldlock/fieldlock@v1\n  with: " + inputs
		}
		if strings.HasPrefix(text, "- uses: ") { // the steps alone
			text = "on: pull_request\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
		}
		var parsed struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]any
				}
			}
			Repos []struct{ Hooks []struct{ ID string } }
		}
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			t.Fatalf("%s:%d: %v", b.File, b.Line, err)
		}
		for _, job := range parsed.Jobs {
			workflows++
			lint := exec.CommandContext(t.Context(), "go", "run", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12", "-")
			lint.Stdin = bytes.NewBufferString(text)
			if out, err := lint.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s", b.File, b.Line, err, out)
			}
			for _, step := range job.Steps {
				for input := range step.With {
					if strings.HasPrefix(step.Uses, "fieldlock/") && action.Inputs[input] == nil {
						t.Errorf("%s:%d: the action has no input %s", b.File, b.Line, input)
					}
				}
			}
		}
		for _, repo := range parsed.Repos {
			for _, hook := range repo.Hooks {
				configured++
				if !slices.ContainsFunc(hooks, func(h struct{ ID string }) bool { return h.ID == hook.ID }) {
					t.Errorf("%s:%d: .pre-commit-hooks.yaml does not define the hook %s", b.File, b.Line, hook.ID)
				}
			}
		}
	}
	if workflows < 3 || configured < 2 {
		t.Errorf("found %d workflows and %d hooks", workflows, configured)
	}
}
