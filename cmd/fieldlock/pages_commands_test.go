package main

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
)

// runsAsCommand makes the test's program the command itself, for tests that need it as a program.
const runsAsCommand = "FIELDLOCK_TEST_RUNS_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(runsAsCommand) != "" || worker.Asked(os.Args) || asVettool(os.Args[1:]) {
		main()
	}
	os.Exit(m.Run())
}

// TestPageCommands runs every command that the README, the pages in docs and the help give without its output, in a
// folder that has the files they name. None may end with exit status 2. Of commands that need a cluster or another
// program only the flags are checked.
func TestPageCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs 60 commands as programs")
	}
	commands := commandsOfHelp(newRoot(streams{strings.NewReader(""), io.Discard, io.Discard}))
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fenced(string(text)) {
			commands = append(commands, commandLines(block)...)
		}
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	if len(commands) < 30 {
		t.Fatalf("found only %d commands: %q", len(commands), commands)
	}
	checkCommands(t, commandProgram(t), commands)
}

// TestFieldPages runs the command that the page of each kind names, which lists the kind's locks.
func TestFieldPages(t *testing.T) {
	files, err := filepath.Glob("../../docs/fields/*.md")
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d pages, %v", len(files), err)
	}
	named := regexp.MustCompile("`fieldlock locks ([^`]+)`")
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		command := named.FindSubmatch(page)
		if command == nil {
			t.Errorf("%s names no command", file)
			continue
		}
		kind := regexp.MustCompile(`of an? (\S+)`).FindSubmatch(page)[1]
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

// checkCommands runs shell commands with program as fieldlock.
func checkCommands(t *testing.T, program string, commands []string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "fieldlock")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(t.TempDir(), "summary.md"))
	t.Setenv("BASE", "origin/main")
	folder := os.DirFS(newPageFolder(t))
	for _, line := range commands {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			shell := exec.Command("bash", "-o", "pipefail", "-c", runnable(line))
			shell.Dir = t.TempDir()
			if err := os.CopyFS(shell.Dir, folder); err != nil {
				t.Fatal(err)
			}
			if out, err := shell.CombinedOutput(); err != nil && shell.ProcessState.ExitCode() != exitRefused {
				t.Errorf("%s: %v\n%s", shell.Args[4], err, out)
			}
		})
	}
}

// runnable is the part of a command that runs without a cluster and without the programs that --render names.
func runnable(line string) string {
	line = strings.Replace(line, "| kubectl apply -f -", ">applied.yaml", 1)
	line = strings.Replace(line, "kubectl get crds -o yaml |", "cat config/crd/bases/*.yaml |", 1)
	if strings.Contains(line, "--live") || strings.Contains(line, "--render") {
		line = line[strings.Index(line, "fieldlock"):] + " --help"
	}
	return line
}

// fenced returns the blocks of a page that have no language, and that do not show a command with its output.
func fenced(page string) []string {
	var blocks []string
	open, language, block := false, "", ""
	for line := range strings.Lines(page) {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !open:
			open, language, block = true, strings.TrimSpace(fence), ""
		case isFence:
			if open = false; language == "" && !strings.HasPrefix(block, "$") {
				blocks = append(blocks, block)
			}
		default:
			block += line
		}
	}
	return blocks
}

// commandLines are the commands in a block of text: lines with fieldlock and what continues them, without comments.
func commandLines(block string) []string {
	var commands []string
	block = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(block, "")
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		if strings.HasPrefix(line, "fieldlock ") || strings.Contains(line, "| fieldlock ") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}

// commandsOfHelp are the examples of a command and of those below it.
func commandsOfHelp(c *cobra.Command) []string {
	commands := commandLines(c.Example)
	for _, child := range c.Commands() {
		commands = append(commands, commandsOfHelp(child)...)
	}
	return commands
}

// newPageFolder is a repository with the files that the pages name: its first commit is origin/main and the releases, its
// work tree differs.
func newPageFolder(t *testing.T) string {
	t.Helper()
	world, err := txtar.ParseFile("testdata/pages/world.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range world.Files {
		writeFile(t, filepath.Join(dir, file.Name), string(file.Data))
	}
	copies := map[string]string{
		"crd.yaml": "crd.yaml", "widgets.yaml": "crd.yaml", "vendor-crd.yaml": "crd.yaml", "config/crd/databases.yaml": "crd.yaml",
		"old.yaml": "old.yaml", "new.yaml": "new.yaml", "orders.yaml": "old.yaml",
		"old/orders.yaml": "shop/old/orders.yaml", "new/orders.yaml": "shop/new/orders.yaml", "deploy/orders.yaml": "shop/old/orders.yaml",
		"params.yaml": "params/v1.yaml", "v1/params.yaml": "params/v1.yaml", "v2/params.yaml": "params/v2.yaml", "instance.yaml": "params/stored.yaml",
	}
	place := func(target, source string) {
		data, err := os.ReadFile(filepath.Join("../../testdata/examples", source))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, target), string(data))
	}
	for _, target := range slices.Sorted(maps.Keys(copies)) {
		place(target, copies[target])
	}
	for _, args := range [][]string{
		{"init", "-q", "--template="}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "base"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"}, {"tag", "v1.0.0"}, {"tag", "v1.2.0"},
	} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	place("deploy/orders.yaml", "shop/new/orders.yaml")
	place("orders.yaml", "new.yaml")
	return dir
}
