package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// session is a fenced block of a page that begins with a command line of fieldlock.
var session = regexp.MustCompile("(?m)^```\n\\$ (?:go run ./cmd/)?fieldlock ((?:[^\n]*\\\\\n)*[^\n]*)\n((?s:.*?))\n```$")

// TestPages runs the commands that the README and the pages in docs show with their output, and compares what they
// print; a line "…" stands for any lines.
func TestPages(t *testing.T) {
	t.Chdir("../..")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		sessions := session.FindAllStringSubmatch(string(text), -1)
		if page == "README.md" && len(sessions) == 0 {
			t.Error("the README shows no command with its output")
		}
		for _, s := range sessions {
			args := strings.Fields(strings.ReplaceAll(s[1], "\\\n", " "))
			t.Run(page+" "+strings.Join(args[:2], " "), func(t *testing.T) { checkSession(t, args, s[2]) })
		}
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
