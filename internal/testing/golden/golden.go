// Package golden reads and writes the files that hold what a test expects.
package golden

import (
	"os"
	"testing"
)

// Want returns what file holds. With update it first writes got there.
func Want(t testing.TB, update bool, file, got string) string {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}
