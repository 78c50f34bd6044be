package page

import (
	"slices"
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

// Each command that does not run is on a page, and each page's commands have a place.
func TestNotRun(t *testing.T) {
	blocks, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	on, places := map[string]bool{}, map[Place]int{}
	for _, b := range blocks {
		for _, command := range b.Commands() {
			on[command] = true
			places[PlaceOf(command)]++
		}
	}
	for command := range NotRun() {
		if !on[command] {
			t.Errorf("no page has %s", command)
		}
	}
	if places[PlaceFolder] < 50 || places[PlaceCluster] < 15 || places[PlaceNone] < len(NotRun()) {
		t.Errorf("the pages have %v commands", places)
	}
}
