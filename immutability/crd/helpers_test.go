package crd_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	openapi "k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// kubeOpenAPI decodes a schema as kube-openapi does: right but for large integers, which it rounds.
func kubeOpenAPI(t testing.TB, raw any) *openapi.Schema {
	t.Helper()
	data, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	s := new(openapi.Schema)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// at returns the value that steps lead to.
func at(t testing.TB, value any, steps ...any) any {
	t.Helper()
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

// jsonValue writes and decodes a value, so that values of different Go types compare; numbers stay text.
func jsonValue(t testing.TB, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// diff is cmp.Diff, which takes long over large values, after a quick look whether there is a difference.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// objectOf reads an object in YAML.
func objectOf(t testing.TB, text string) map[string]any {
	t.Helper()
	documents, err := yamldoc.Read("object", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, error %v", len(documents), err)
	}
	return documents[0].Object
}
