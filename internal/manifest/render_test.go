package manifest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // nil for an error
	}{
		{"helm template charts/shop -f prod.yaml", []string{"helm", "template", "charts/shop", "-f", "prod.yaml"}},
		{`a 'b c' "d 'e" f\ g`, []string{"a", "b c", "d 'e", "f g"}},
		{`a "$HOME" '' *.yaml; rm -rf ~`, []string{"a", "$HOME", "", "*.yaml;", "rm", "-rf", "~"}},
		{`a "b\"c\d"`, []string{"a", `b"c\d`}},
		{"  a\n b\t", []string{"a", "b"}},
		{`a "b`, nil},
		{`a'b'c"d"e`, []string{"abcde"}},
		{`'a'b 'c d'e`, []string{"ab", "c de"}},
		{`a 'b\'`, []string{"a", `b\`}},
		{`"\\ \$ \` + "`" + `" \ä`, []string{"\\ $ `", "ä"}},
		{`a \`, nil},
		{" ", nil},
	} {
		got, err := splitWords(c.text)
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v", c.text, got, err)
		}
	}
}

func TestRender(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte("kind: A\n---\nkind: B\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	r := &Renderer{Timeout: time.Minute, Stderr: &stderr}
	f, err := r.Render(t.Context(), `sh -c 'cat x.yaml; echo careful >&2'`, dir)
	if name := "$(sh -c 'cat x.yaml; echo careful >&2')"; f.Name != name || f.Path != name || !f.Found {
		t.Errorf("the output is the file %q, %q, found %v", f.Name, f.Path, f.Found)
	}
	if err != nil || f.Err != nil || len(f.Documents) != 2 || stderr.String() != "careful\n" {
		t.Errorf("got %v, %v, %d documents, %q", err, f.Err, len(f.Documents), stderr.String())
	}
	if _, err := r.Render(t.Context(), `sh -c 'exit 3'`, dir); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a failing command: %v", err)
	}
	if _, err := r.Render(t.Context(), "cat 'x.yaml", dir); err == nil || err.Error() != `--render "cat 'x.yaml": a quote is not closed` {
		t.Errorf("an open quote: %v", err)
	}
	if f, err := (&Renderer{Timeout: time.Minute}).Render(t.Context(), "cat x.yaml", dir); err != nil || len(f.Documents) != 2 {
		t.Errorf("nobody reads what the command says: %v, %d documents", err, len(f.Documents))
	}
	r.Timeout = 10 * time.Millisecond
	if _, err := r.Render(t.Context(), "sleep 60", dir); err == nil || !strings.Contains(err.Error(), "longer than 10ms") {
		t.Errorf("a slow command: %v", err)
	}
}

// TestRenderTooMuch: an output that is too large is an error, not an empty file.
func TestRenderTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a quarter of a gigabyte")
	}
	command := fmt.Sprintf("head -c %d /dev/zero", maxRendered+1)
	if _, err := (&Renderer{Timeout: time.Minute}).Render(t.Context(), command, t.TempDir()); err == nil || !strings.Contains(err.Error(), "prints more than 268435456 bytes") {
		t.Errorf("got %v", err)
	}
}

// TestLimited: a command that prints too much fails, at once.
func TestLimited(t *testing.T) {
	l := &limited{left: 4}
	for i, c := range []struct {
		text string
		ok   bool
	}{{"ab", true}, {"cd", true}, {"e", false}, {"", false}} {
		if n, err := l.Write([]byte(c.text)); (err == nil) != c.ok || c.ok && n != len(c.text) {
			t.Errorf("write %d: %d, %v", i, n, err)
		}
	}
	if text := l.buffer.String(); text != "abcd" || l.left >= 0 {
		t.Errorf("%q was kept, %d left", text, l.left)
	}
	// As os/exec copies the output of a command.
	if n, err := io.Copy(&limited{left: 4}, iotest.OneByteReader(strings.NewReader("abcdef"))); n != 4 || err == nil {
		t.Errorf("%d bytes were copied, %v", n, err)
	}
}
