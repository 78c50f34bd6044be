package markers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleBelow: packages of a module below are not found from above, and the error says where to run the command.
func TestModuleBelow(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n\ngo 1.25\n", "api/go.mod": "module example.com/a/api\n\ngo 1.25\n", "api/v1/types.go": "package v1\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ dir, pattern, want string }{
		{"", "./api/...", "api is a module of its own: run the command in that directory"},
		{"api", "./...", ""},
	} {
		_, err := load(t.Context(), filepath.Join(dir, row.dir), []string{row.pattern})
		if (err != nil) != (row.want != "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s in %q: %v, want %q", row.pattern, row.dir, err, row.want)
		}
	}
}
