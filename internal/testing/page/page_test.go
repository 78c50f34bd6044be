package page

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	blocks := blocksOf("a.md", "Run `go install ./x` or `kubectl apply`.\n```\na b \\\n   c   # why\n# alone\nd && e\n```\n\n```\n$ f \\\n  g\nh\n```\n```text\ni\n```\n"+
		"```yaml\njob: {script: [j, k]}\n```\n```groovy\nsh 'l'\n```\n")
	want := []struct {
		line     int
		language string
		commands []string
	}{
		{1, Span, []string{"go install ./x"}},
		{1, Span, nil},
		{2, "", []string{"a b c", "d", "e"}},
		{9, "", nil},
		{14, "text", nil},
		{17, "yaml", []string{"j", "k"}},
		{20, "groovy", []string{"l"}},
	}
	if len(blocks) != len(want) {
		t.Fatalf("got %+v", blocks)
	}
	for i, w := range want {
		if b := blocks[i]; b.Line != w.line || b.Language != w.language || !slices.Equal(b.Commands(), w.commands) {
			t.Errorf("got %+v with the commands %q, want %+v", b, b.Commands(), w)
		}
	}
	if command, output, ok := blocks[3].Session(); !ok || command != "f g" || output != "h\n" {
		t.Errorf("got the session %q, %q, %t", command, output, ok)
	}
}

// TestPlaces: the pages have commands for each place, and the command of .ci/run is a step of it.
func TestPlaces(t *testing.T) {
	blocks, err := Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	places := map[Place]int{}
	for _, b := range blocks {
		for _, command := range b.Commands() {
			place := PlaceOf(command)
			places[place]++
			if place == PlaceCI && !strings.Contains(string(script), "\n"+command+"\n") {
				t.Errorf("%s:%d: .ci/run does not run %s", b.File, b.Line, command)
			}
		}
	}
	if places[PlaceFolder] < 50 || places[PlaceCluster] < 15 || places[PlaceRelease] < 3 || places[PlaceFlux] < 2 || places[PlaceCI] < 1 {
		t.Errorf("the pages have %v commands", places)
	}
}

var (
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unsaid  = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinks: what pages link to in this repository is there, headings included.
func TestLinks(t *testing.T) {
	files := []string{"../../../README.md", "../../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../../docs/*.md", "../../../docs/fields/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	headings := func(file string) (slugs []string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		for _, h := range heading.FindAllStringSubmatch(string(data), -1) {
			slugs = append(slugs, strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
		}
		return slugs
	}
	links := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(data), ""), -1) {
			target, anchor, _ := strings.Cut(strings.TrimPrefix(m[1], "https://github.com/fieldlock/fieldlock/tree/main/"), "#")
			base := filepath.Dir(file)
			if target != m[1] && strings.HasPrefix(m[1], "https:") {
				base = "../../.."
			}
			if strings.Contains(target, ":") || anchor == "" && target == "" {
				continue
			}
			links++
			to := filepath.Join(base, target)
			if target == "" {
				to = file
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			} else if anchor != "" && !slices.Contains(headings(to), anchor) {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
	if links < 400 {
		t.Errorf("found only %d links", links)
	}
}
