package crd_test

import (
	"bytes"
	"encoding/json"
	"testing"
)

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
