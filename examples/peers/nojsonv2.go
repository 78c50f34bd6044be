//go:build !goexperiment.jsonv2

package main

// jsonv2Codec returns false: this build has no encoding/json/v2.
func jsonv2Codec() (codec, bool) { return codec{}, false }
