package main

import (
	"encoding/json"
	"slices"

	"github.com/bytedance/sonic"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// codec is a package that decodes and encodes JSON, set up to be as fast as it can be.
type codec struct {
	name      string
	object    func(data []byte) (object, error)
	unmarshal func(data []byte, into any) error
	marshal   func(from any) ([]byte, error)
}

// serverCodec is what API servers and controller-runtime decode objects with. The targets are about it.
func serverCodec() codec {
	return codec{
		name: "util/json",
		object: func(data []byte) (obj object, err error) {
			err = utiljson.Unmarshal(data, &obj)
			return obj, err
		},
		unmarshal: json.Unmarshal,
		marshal:   json.Marshal,
	}
}

// codecs returns serverCodec first, and then the packages that a programmer who wants speed would use instead. They are
// not drop-in replacements: encoding/json/v2 decodes integers as float64, and sonic checks neither UTF-8 nor what it
// skips.
func codecs() []codec {
	all := []codec{serverCodec()}
	if sonic.APIKind == sonic.UseSonicJSON {
		all = append(all, sonicCodec())
	}
	if v2, ok := jsonv2Codec(); ok {
		all = append(all, v2)
	}
	return all
}

func sonicCodec() codec {
	fast := sonic.Config{NoValidateJSONMarshaler: true, NoValidateJSONSkip: true, UseInt64: true}.Froze()
	return codec{
		name: "sonic",
		object: func(data []byte) (obj object, err error) {
			err = fast.Unmarshal(data, &obj)
			return obj, err
		},
		unmarshal: fast.Unmarshal,
		marshal:   fast.Marshal,
	}
}

// leftOut returns what to print about packages that codecs does not have in this build.
func leftOut() []string {
	var lines []string
	has := func(name string) bool {
		return slices.ContainsFunc(codecs(), func(c codec) bool { return c.name == name })
	}
	if !has("encoding/json/v2") {
		lines = append(lines, "encoding/json/v2 is left out: set GOEXPERIMENT=jsonv2 to measure it")
	}
	if !has("sonic") {
		lines = append(lines, "sonic is left out: it does not support this processor or version of Go")
	}
	return lines
}

// againstDecoding returns a row for each codec that compares part, which checks two texts as they are, with decoding
// them and calling check. The target is about serverCodec.
func againstDecoding(part *subject, newJSON, oldJSON []byte, target float64,
	check func(newObj, oldObj object) bool) []row {
	var rows []row
	for _, c := range codecs() {
		peer := must(c.name+" and check", func() bool {
			newObj, newErr := c.object(newJSON)
			oldObj, oldErr := c.object(oldJSON)
			return newErr == nil && oldErr == nil && check(newObj, oldObj)
		})
		rows = append(rows, row{part: part, peer: peer, target: target, atLeast: true})
		target = 0
	}
	return rows
}
