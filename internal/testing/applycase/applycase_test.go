package applycase

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// What Write prints, Read reads.
func TestWriteRead(t *testing.T) {
	want := map[string]Answer{
		"apps/deployment/a":  {"flux": "spec: \"<x>\" is refused", "helm 3": "spec: \"<x>\" is refused", "kubectl apply": "", "kubectl replace": "other words: # no comment"},
		"apps/deployment/b'": {"flux": ""},
	}
	var text bytes.Buffer
	if err := Write(&text, want); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "answers.yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
