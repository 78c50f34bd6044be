package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/tool"
)

// TestPrintable: what a terminal or the log of a CI system would act on is escaped; JSON keeps its value.
func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want, json string }{
		{"plain ä 世", "plain ä 世", `"plain ä 世"`},
		{"\x1b[31mred", `\x1b[31mred`, `"\u001b[31mred"`},
		{"a\nb\tc", `a\nb\tc`, `"a\nb\tc"`},
		{"::error::a", `\x3a:error::a`, `"::error::a"`},
		{"  ::error::a", `  \x3a:error::a`, `"  ::error::a"`},
		{":a", `\x3aa`, `":a"`},
		{"a ::b", "a ::b", `"a ::b"`},
		{"##[error]a ##[x", `#\x23[error]a #\x23[x`, `"#\u0023[error]a #\u0023[x"`},
		{"a ##vso[task.prependpath]x", `a #\x23vso[task.prependpath]x`, `"a #\u0023vso[task.prependpath]x"`},
		{"##teamcity[x]", `#\x23teamcity[x]`, `"#\u0023teamcity[x]"`},
		{"a\u202eb", `a\u202eb`, `"a\u202eb"`},
		{"a\U000e0001b", `a\U000e0001b`, `"a\udb40\udc01b"`},
		{"a\u3164b\u2800\ufe00", `a\u3164b\u2800\ufe00`, `"a\u3164b\u2800\ufe00"`},
		{"\xff", "\ufffd", `"` + "\ufffd" + `"`},
		{"\u00a0", `\u00a0`, `"\u00a0"`},
		{"<a>&", "<a>&", `"<a>&"`},
	} {
		if got := Printable(c.text); got != c.want {
			t.Errorf("%q is printed as %q, want %q", c.text, got, c.want)
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, c.text); err != nil {
			t.Fatal(err)
		}
		got := strings.TrimSuffix(b.String(), "\n")
		if got != c.json && got != strings.ReplaceAll(c.json, "\ufffd", `\ufffd`) {
			t.Errorf("%q is the JSON %s, want %s", c.text, got, c.json)
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != strings.ToValidUTF8(c.text, "\ufffd") {
			t.Errorf("%s is the value %q, %v", got, back, err)
		}
		if got := quoted(c.text); got != strings.TrimSuffix(b.String(), "\n") {
			t.Errorf("%q is quoted as %s", c.text, got)
		}
	}
	if got := PrintableLines("a\n::b\nc\x07"); got != "a\n\\x3a:b\nc\\a" {
		t.Errorf("lines are printed as %q", got)
	}
	if err := WriteJSON(io.Discard, func() {}); err == nil {
		t.Error("a function has no JSON")
	}
	if err := WriteJSON(broken{}, 1); err == nil {
		t.Error("an error of the writer is lost")
	}
	for n, want := range map[int]string{71: strings.Repeat("ä", 71), 72: strings.Repeat("ä", 72), 73: strings.Repeat("ä", 71) + "…"} {
		if got := Shorten(strings.Repeat("ä", n)); got != want {
			t.Errorf("%d characters are shortened to %d", n, len([]rune(got)))
		}
	}
	for _, c := range []struct {
		n          int
		noun, want string
	}{{0, "object", "0 objects"}, {1, "object", "1 object"}, {2, "entry", "2 entries"}, {2, "key", "2 keys"}, {1, "entry", "1 entry"}} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q", c.n, c.noun, got)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

// TestBrokenOutput: an error of the writer is not lost, so that the command fails.
func TestBrokenOutput(t *testing.T) {
	for _, f := range Formats() {
		if f.Name != "github" && f.Name != "sarif" && f.Name != "json" {
			continue // the command looks at the error of its output once for the others
		}
		if f.Check(broken{}, checkReport()) == nil || f.Lint(broken{}, lintReport()) == nil {
			t.Errorf("%s: the error is lost", f.Name)
		}
	}
}

// TestPalette: colours are for terminals.
func TestPalette(t *testing.T) {
	if bool(PaletteFor(&bytes.Buffer{})) || IsTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if bool(PaletteFor(file)) || IsTerminal(file) {
		t.Error("a file is no terminal")
	}
	if terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil { // a machine without one cannot tell
		defer terminal.Close()
		for _, c := range []struct {
			noColor, term string
			want          Palette
		}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
			t.Setenv("NO_COLOR", c.noColor)
			t.Setenv("TERM", c.term)
			if got := PaletteFor(terminal); IsTerminal(terminal) && got != c.want {
				t.Errorf("a terminal with NO_COLOR=%q and TERM=%s has colours: %v", c.noColor, c.term, got)
			}
		}
	}
	p := Palette(true)
	if got := p.Bold("a") + p.Dim("b") + p.Red("c") + p.Green("d") + p.Yellow("e") + p.Red(""); got != "\x1b[1ma\x1b[0m\x1b[2mb\x1b[0m\x1b[31mc\x1b[0m\x1b[32md\x1b[0m\x1b[33me\x1b[0m" {
		t.Errorf("colours %q", got)
	}
	if got := Palette(false).Red("a"); got != "a" {
		t.Errorf("without colours %q", got)
	}
}

// TestWayOut: a way to replace an object is a sentence, a command, or a command with a sentence.
func TestWayOut(t *testing.T) {
	for how, want := range map[string][2]string{
		"keep the old value": {"keep the old value", ""}, "kubectl patch a": {"", "kubectl patch a"}, "argocd app sync a   # again": {"again", "argocd app sync a"},
		"run kubectl delete": {"run kubectl delete", ""}, "kubectl delete a": {"delete it", "kubectl delete a"},
		"kubectl delete a   # it comes back":                             {"delete it (it comes back)", "kubectl delete a"},
		"kubectl delete a && b   # it is gone":                           {"replace it (it is gone)", "kubectl delete a && b"},
		"kubectl delete a && b   # " + tool.AfterMerge + " (it is gone)": {"after the merge, when the refusal is reported, replace it (it is gone)", "kubectl delete a && b"},
		"kubectl delete a --all --cascade=orphan   # b":                  {"delete the objects (b)", "kubectl delete a --all --cascade=orphan"},
		"kubectl delete a --cascade=orphan && b   # then stop":           {"replace it and keep its pods running (then stop)", "kubectl delete a --cascade=orphan && b"},
	} {
		if text, command := WayOut(how); text != want[0] || command != want[1] {
			t.Errorf("%s: %q and %q", how, text, command)
		}
	}
}

// TestPlaces: files as seen from the working directory, where they are below it; standard input is no file.
func TestPlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, relative, uri string }{
		{"a/b.yaml", "a/b.yaml", "a/b.yaml"}, {"./a/../b c.yaml", "b c.yaml", "b%20c.yaml"}, {filepath.Join(dir, "a.yaml"), "a.yaml", "a.yaml"}, {"/elsewhere/a.yaml", "/elsewhere/a.yaml", "file:///elsewhere/a.yaml"}, {"../a.yaml", "../a.yaml", "../a.yaml"},
	} {
		if got := relative(c.file); got != c.relative {
			t.Errorf("%s is %s, want %s", c.file, got, c.relative)
		}
		p := physical(token.Position{Filename: c.file, Line: 3, Column: 4})
		if p.Artifact.URI != c.uri || p.Region.StartLine != 3 || p.Region.StartColumn != 4 {
			t.Errorf("%s is the artifact %+v", c.file, p)
		}
	}
	if p := physical(token.Position{Filename: "a.yaml"}); p.Region != nil {
		t.Error("a place without a line is the whole file")
	}
	if physical(token.Position{Filename: "stdin", Line: 1, Column: 1}) != nil || physical(token.Position{}) != nil {
		t.Error("standard input is an artifact")
	}
}

// TestPlacesInRepository: code review tools name files from the root of the repository, wherever the command runs.
func TestPlacesInRepository(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".git", "infra/prod"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ dir, file, want string }{
		{".", "infra/a.yaml", "infra/a.yaml"}, {".", "./a.yaml", "a.yaml"}, {"infra", "a.yaml", "infra/a.yaml"}, {"infra/prod", "../a.yaml", "infra/a.yaml"},
		{"infra/prod", filepath.Join(root, "infra/prod/a.yaml"), "infra/prod/a.yaml"}, {"infra", filepath.Join(root, "a.yaml"), "a.yaml"}, {"infra", ".fieldlock.yaml", ".fieldlock.yaml"}, {"infra", "../../a.yaml", "../../a.yaml"}, {"infra", "/elsewhere/a.yaml", "/elsewhere/a.yaml"},
	} {
		t.Chdir(filepath.Join(root, c.dir))
		if got := inRepository(c.file); got != c.want {
			t.Errorf("in %s, %s is %s, want %s", c.dir, c.file, got, c.want)
		}
	}
	t.Chdir(filepath.Join(root, "infra"))
	for _, f := range []Format{githubFormat, gitlabFormat, sarifFormat} {
		var b bytes.Buffer
		if err := f.Check(&b, checkReport()); err != nil || !strings.Contains(b.String(), "infra/deploy/x.yaml") || strings.Count(b.String(), "deploy/x.yaml") != strings.Count(b.String(), "infra/deploy/x.yaml") {
			t.Errorf("%s: %v\n%.300s", f.Name, err, &b)
		}
	}
}

// TestOutputs: one format goes to standard output, others to files.
func TestOutputs(t *testing.T) {
	all := func(Format) bool { return true }
	for _, c := range []struct {
		name, set string
		text, err string
	}{
		{"none", "", "text", ""}, {"one", "json", "json", ""}, {"a file", "json=a.json", "json=a.json", ""}, {"both", "text json=a.json", "text,json=a.json", ""}, {"two files", "text=a json=b", "text=a,json=b", ""},
		{"unknown", "xml", "text", "the formats are text, json, github, gitlab, junit, sarif, markdown"}, {"no file", "json=", "text", "json= needs the name of a file"}, {"two for standard output", "json text", "json", "two formats for standard output; write all but one to files, as in text=FILE"},
	} {
		o := OutputsFor(all)
		var err error
		for _, text := range strings.Fields(c.set) {
			if err = o.Set(text); err != nil {
				break
			}
		}
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err || o.String() != c.text {
			t.Errorf("%s: %v, %s", c.name, err, o)
		}
	}
	if got := OutputsFor(func(f Format) bool { return f.Locks != nil }).Names(); strings.Join(got, " ") != "text json markdown" {
		t.Errorf("the formats of locks are %s", got)
	}
	o := OutputsFor(all)
	file := filepath.Join(t.TempDir(), "a")
	for _, text := range []string{"json", "text=" + file} {
		if err := o.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	print := func(f Format, w io.Writer) error { _, err := io.WriteString(w, f.Name); return err }
	var stdout bytes.Buffer
	if err := o.Write(&stdout, print); err != nil || stdout.String() != "json" {
		t.Errorf("standard output has %q, %v", &stdout, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("the file has %q, %v", text, err)
	}
	stdout.Reset()
	if err := OutputsFor(all).Write(&stdout, print); err != nil || stdout.String() != "text" {
		t.Errorf("without a format, standard output has %q, %v", &stdout, err)
	}
	fails := func(Format, io.Writer) error { return errors.New("broken") }
	if err := o.Write(&stdout, fails); err == nil {
		t.Error("an error is lost")
	}
	o = OutputsFor(all)
	if err := o.Set("json=" + filepath.Join(file, "b")); err != nil {
		t.Fatal(err)
	}
	if err := o.Write(&stdout, print); err == nil || !strings.Contains(err.Error(), "the report cannot be written") {
		t.Errorf("a file that cannot be made: %v", err)
	}
}

// TestMeanings: every lock that a report can name has a text, in Markdown and in SARIF.
func TestMeanings(t *testing.T) {
	var b strings.Builder
	if err := sarifFormat.Check(&b, checkReport()); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(b.String()), &log); err != nil {
		t.Fatal(err)
	}
	rules := log.Runs[0].Tool.Driver.Rules
	for i, r := range rules {
		if r.ShortDescription.Text == "" {
			t.Errorf("%s has no text", r.ID)
		}
		if i > 0 && rules[i-1].ID >= r.ID {
			t.Errorf("%s is after %s", r.ID, rules[i-1].ID)
		}
	}
	for _, result := range log.Runs[0].Results {
		if rules[result.RuleIndex].ID != result.RuleID {
			t.Errorf("the rule %s has the index of %s", result.RuleID, rules[result.RuleIndex].ID)
		}
	}
}
