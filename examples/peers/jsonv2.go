//go:build goexperiment.jsonv2

package main

import "encoding/json/v2"

// jsonv2Codec returns encoding/json/v2. Without options it is fastest: one that makes it accept what API servers accept
// (names that occur twice, invalid UTF-8) puts it on another path, which takes nearly twice the time.
func jsonv2Codec() (codec, bool) {
	return codec{
		name: "encoding/json/v2",
		object: func(data []byte) (obj object, err error) {
			err = json.Unmarshal(data, &obj)
			return obj, err
		},
		unmarshal: func(data []byte, into any) error { return json.Unmarshal(data, into) },
		marshal:   func(from any) ([]byte, error) { return json.Marshal(from) },
	}, true
}
