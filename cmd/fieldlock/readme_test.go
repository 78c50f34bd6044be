package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// session is a fenced block of the README that begins with a command line of fieldlock.
var session = regexp.MustCompile("(?m)^```\n\\$ (?:go run ./cmd/)?fieldlock ((?:[^\n]*\\\\\n)*[^\n]*)\n((?s:.*?))\n```$")

// TestReadme runs the commands of the README and compares what they print; a line "…" stands for any lines.
func TestReadme(t *testing.T) {
	t.Chdir("../..")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sessions := session.FindAllStringSubmatch(string(readme), -1)
	if len(sessions) < 3 {
		t.Fatalf("the README shows %d sessions", len(sessions))
	}
	for _, s := range sessions {
		args := strings.Fields(strings.ReplaceAll(s[1], "\\\n", " "))
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			ran := runCommand("", args...)
			rest := strings.TrimSuffix(ran.out, "\n")
			for i, part := range strings.Split(s[2], "\n…\n") {
				at := strings.Index(rest, part)
				if at < 0 || i == 0 && at > 0 {
					t.Fatalf("the README shows\n%s\nand the command prints\n%s%s", s[2], ran.out, ran.err)
				}
				rest = rest[at+len(part):]
			}
			if rest != "" {
				t.Errorf("the README leaves out the end:\n%s", rest)
			}
		})
	}
}
