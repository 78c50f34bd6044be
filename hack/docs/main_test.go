package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPagesAreUpToDate compares the pages in docs with the data that they are made from.
func TestPagesAreUpToDate(t *testing.T) {
	for name, want := range pages() {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/%s is stale: run go run ./hack/docs", name)
		}
	}
}
