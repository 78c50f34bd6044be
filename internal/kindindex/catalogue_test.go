package kindindex

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/fstest"
)

// TestCatalogue: a file is read when a kind of one of its groups is asked for, and once.
func TestCatalogue(t *testing.T) {
	files := fstest.MapFS{
		"data/a.yaml": {Data: []byte("kinds:\n- group: a.example.com\n  kind: A\n- kind: Both\n  group: both.example.com\n")},
		"data/b.yaml": {Data: []byte("kinds:\n- group: b.example.com\n- group: both.example.com\n")},
	}
	var read []string
	c, err := NewCatalogue(files, func(text []byte) ([]Entry[string], error) {
		name := "b"
		if bytes.Contains(text, []byte("kind: A")) {
			name = "a"
		}
		read = append(read, name)
		return []Entry[string]{{name, name + ".example.com", "Kind", []string{"v1", "v2"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		apiVersion, want string
		read             []string
	}{
		{"c.example.com/v1", "", nil},
		{"a.example.com/v2", "a", []string{"a"}},
		{"a.example.com/v3", "", []string{"a"}},
		{"both.example.com/v1", "", []string{"a", "b"}},
		{"b.example.com/v1", "b", []string{"a", "b"}},
	} {
		if got, ok := c.Find(row.apiVersion, "Kind"); got != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q %t, want %q", row.apiVersion, got, ok, row.want)
		}
		if !slices.Equal(read, row.read) {
			t.Errorf("%s: read %q, want %q", row.apiVersion, read, row.read)
		}
	}
	if got := c.All(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("All: %q", got)
	}
}

// TestMistakesInData: mistakes in the data are not overlooked.
func TestMistakesInData(t *testing.T) {
	files := fstest.MapFS{"data/a.yaml": {Data: []byte("- group: a.example.com\n")}}
	for name, read := range map[string]func([]byte) ([]Entry[int], error){
		"a file that cannot be read": func([]byte) ([]Entry[int], error) { return nil, errors.New("no YAML") },
		"two entries for a version": func([]byte) ([]Entry[int], error) {
			return []Entry[int]{{1, "a.example.com", "A", []string{"v1"}}, {2, "a.example.com", "A", []string{"v1"}}}, nil
		},
	} {
		c, err := NewCatalogue(files, read)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is no mistake", name)
				}
			}()
			c.All()
		}()
	}
}

// TestNoCatalogue: nil has no kinds.
func TestNoCatalogue(t *testing.T) {
	var none *Catalogue[int]
	if _, ok := none.Find("v1", "A"); ok || len(none.All()) > 0 {
		t.Error("nil has a kind")
	}
}
