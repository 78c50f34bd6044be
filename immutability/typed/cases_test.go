package typed

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	locked       = `"x-kubernetes-immutable":true`
	byName       = `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","properties":{"name":{"type":"string"},"zone":{"x-kubernetes-immutable":true}}}`
	byLockedName = `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","properties":{"name":{"type":"string","x-kubernetes-immutable":true}}}`
	setOfTexts   = `"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}`
	valueLocked  = `"type":"object","additionalProperties":{"x-kubernetes-immutable":true}`
	freeValues   = `"type":"object","additionalProperties":{}`
)

func byNumber(fallback string) string {
	return `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],"items":{"type":"object","properties":{"port":{"type":"integer","default":` + fallback + `},"zone":{"x-kubernetes-immutable":true}}}`
}

func to[T any](v T) *T { return &v }

// remembering is a quantity that remembers its text.
func remembering(text string) resource.Quantity {
	q := resource.MustParse(text)
	_ = q.String()
	return q
}

// decimal is a quantity that holds an inf.Dec, as one does that was added up.
func decimal(text string) resource.Quantity {
	q := resource.MustParse(text)
	q.AsDec()
	return q
}

// decoded is a value of every kind of JSON.
func decoded() any {
	return map[string]any{"a": []any{nil, true, "x", int64(1), 1.5, map[string]any{}}, "b": nil}
}

// TestUpdates: what Go tells apart and JSON does not, and the other way round. Proved is an update that is allowed
// without writing JSON.
func TestUpdates(t *testing.T) {
	const refused, allowed, proved = "refused", "allowed", "proved"
	type row struct {
		name, reason   string
		schema         string // of the member
		newObj, oldObj any
		want           string
	}
	rows := []row{
		{"text under a set name", "no name of the old map is this one, but it is written alike", valueLocked, &one[map[string]string]{map[string]string{"\ufffd": "b"}}, &one[map[string]string]{map[string]string{"\xff": "a", "c": "", "d": "", "e": ""}}, refused},
		{"the same the other way", "the new name is written like the old one", valueLocked, &one[map[string]string]{map[string]string{"\xff": "b"}}, &one[map[string]string]{map[string]string{"\ufffd": "a"}}, refused},
		{"structs under names written alike", "their maps are read by reflection", valueLocked, &one[map[string]plainItem]{map[string]plainItem{"\ufffd": {Size: 2}}}, &one[map[string]plainItem]{map[string]plainItem{"\xff": {Size: 1}}}, refused},
		{"a key renamed", "keys are free, and these are two", valueLocked, &one[map[string]string]{map[string]string{"b": "b"}}, &one[map[string]string]{map[string]string{"a": "a"}}, proved},
		{"a key of a struct renamed", "the same by reflection", valueLocked, &one[map[string]plainItem]{map[string]plainItem{"b": {Size: 2}}}, &one[map[string]plainItem]{map[string]plainItem{"a": {Size: 1}}}, proved},
		{"a key of a struct added", "its values have no locks", freeValues + `,"x-kubernetes-immutable-keys":true`, &one[map[string]plainItem]{map[string]plainItem{"a": {}, "b": {}}}, &one[map[string]plainItem]{map[string]plainItem{"a": {}}}, refused},
		{"a key added", "the same, read in place", freeValues + `,"x-kubernetes-immutable-keys":true`, &one[map[string]string]{map[string]string{"a": "", "b": ""}}, &one[map[string]string]{map[string]string{"a": ""}}, refused},
		{"values under locked keys", "only the keys are locked", freeValues + `,"x-kubernetes-immutable-keys":true`, &one[map[string]string]{map[string]string{"a": "1"}}, &one[map[string]string]{map[string]string{"a": "2"}}, proved},
		{"a key removed that may go", "only additions are refused", freeValues + `,"x-kubernetes-deletion-only":true`, &one[map[string]string]{}, &one[map[string]string]{map[string]string{"a": "2"}}, proved},
		{"a key of a struct removed", "it may only be added", freeValues + `,"x-kubernetes-addition-only":true`, &one[map[string]plainItem]{}, &one[map[string]plainItem]{map[string]plainItem{"a": {}}}, refused},
		{"a key of a struct removed that may go", "its values have no locks", freeValues + `,"x-kubernetes-deletion-only":true`, &one[map[string]plainItem]{map[string]plainItem{"a": {}}}, &one[map[string]plainItem]{map[string]plainItem{"a": {}, "b": {}}}, proved},
		{"numbers as keys", "they are written as text, and differ", valueLocked + `,` + locked, &one[map[int]string]{map[int]string{1: "a"}}, &one[map[int]string]{map[int]string{2: "a"}}, refused},
		{"numbers as keys, unchanged", "the same map", valueLocked + `,` + locked, &one[map[int]string]{map[int]string{1: "a"}}, &one[map[int]string]{map[int]string{1: "a"}}, proved},
		{"a property of a map", "the schema locks one name of the Go map", `"type":"object","properties":{"a":{"x-kubernetes-immutable":true}},"additionalProperties":{"type":"string"}`, &one[map[string]string]{map[string]string{"a": "2"}}, &one[map[string]string]{map[string]string{"a": "1"}}, refused},
		{"a free property of a map", "a lock on keys does not cover named properties", `"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"},"x-kubernetes-immutable-keys":true`, &one[map[string]string]{map[string]string{"a": "2"}}, &one[map[string]string]{}, allowed},
		{"a null name", "it is given, so no default takes its place", strings.Replace(byName, `"string"`, `"string","default":"a"`, 1), &one[[]named]{[]named{{nil, "y"}}}, &one[[]named]{[]named{{to("a"), "x"}}}, proved},
		{"pointers with locked names only", "what is in them is free", strings.Replace(byName, `"zone":{"x-kubernetes-immutable":true}`, `"zone":{}`, 1) + `,"x-fieldlock-update":["NoAddItem"]`,
			&one[[]*plainItem]{[]*plainItem{{Name: "a", Zone: "y"}}}, &one[[]*plainItem]{[]*plainItem{{Name: "a", Zone: "x"}}}, proved},
		{"a null name twice", "it is the same item", byName, &one[[]named]{[]named{{nil, "y"}}}, &one[[]named]{[]named{{nil, "x"}}}, refused},
		{"the default of an int8 key", "a key that is left out is the one with its default", byNumber("-1"), &one[[]numbered[int8]]{[]numbered[int8]{{-1, "y"}}}, &one[[]numbered[int8]]{[]numbered[int8]{{0, "x"}}}, refused},
		{"the default of an int16 key", "the same", byNumber("-1"), &one[[]numbered[int16]]{[]numbered[int16]{{-1, "y"}}}, &one[[]numbered[int16]]{[]numbered[int16]{{0, "x"}}}, refused},
		{"the default of an int32 key", "the same", byNumber("-1"), &one[[]numbered[int32]]{[]numbered[int32]{{-1, "y"}}}, &one[[]numbered[int32]]{[]numbered[int32]{{0, "x"}}}, refused},
		{"the default of an int64 key", "the same", byNumber("-1"), &one[[]numbered[int64]]{[]numbered[int64]{{-1, "y"}}}, &one[[]numbered[int64]]{[]numbered[int64]{{0, "x"}}}, refused},
		{"the default of a uint8 key", "it is not read as -1", byNumber("255"), &one[[]numbered[uint8]]{[]numbered[uint8]{{255, "y"}}}, &one[[]numbered[uint8]]{[]numbered[uint8]{{0, "x"}}}, refused},
		{"the default of a uint16 key", "the same", byNumber("65535"), &one[[]numbered[uint16]]{[]numbered[uint16]{{65535, "y"}}}, &one[[]numbered[uint16]]{[]numbered[uint16]{{0, "x"}}}, refused},
		{"the default of a uint32 key", "the same", byNumber("4294967295"), &one[[]numbered[uint32]]{[]numbered[uint32]{{math.MaxUint32, "y"}}}, &one[[]numbered[uint32]]{[]numbered[uint32]{{0, "x"}}}, refused},
		{"a uint64 key beyond int64", "it is not the number -1", byNumber("-1"), &one[[]numbered[uint64]]{[]numbered[uint64]{{math.MaxUint64, "y"}}}, &one[[]numbered[uint64]]{[]numbered[uint64]{{0, "x"}}}, allowed},
		{"the default of a boolean key", "the same", byNumber("true"), &one[[]numbered[bool]]{[]numbered[bool]{{true, "y"}}}, &one[[]numbered[bool]]{[]numbered[bool]{{false, "x"}}}, refused},
		{"the default of a text key", "the same", byNumber(`"a"`), &one[[]numbered[string]]{[]numbered[string]{{"a", "y"}}}, &one[[]numbered[string]]{[]numbered[string]{{"", "x"}}}, refused},
		{"a default between two keys", "1.5 is not 1", byNumber("1.5") + `,"x-fieldlock-update":["NoAddItem"]`, &one[[]numbered[int]]{[]numbered[int]{{0, "x"}}}, &one[[]numbered[int]]{[]numbered[int]{{1, "x"}}}, refused},
		{"a zero key that is written", "no default takes its place", byNumber("5") + `,"x-fieldlock-update":["NoAddItem"]`, &one[[]given]{[]given{{0, "x"}}}, &one[[]given]{[]given{{5, "x"}}}, refused},
		{"a key in an embedded pointer", "without the pointer the default takes its place", strings.Replace(byName, `"string"`, `"string","default":"a"`, 1), &one[[]struct {
			*embedded
			Zone string `json:"zone"`
		}]{[]struct {
			*embedded
			Zone string `json:"zone"`
		}{{nil, "y"}}}, &one[[]struct {
			*embedded
			Zone string `json:"zone"`
		}]{[]struct {
			*embedded
			Zone string `json:"zone"`
		}{{&embedded{"a"}, "x"}}}, refused},
		{"an empty list by a name that is not the first field", "nothing is read of it", `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["zone"],"items":{"type":"object","properties":{"zone":{"type":"string"},"port":{"x-kubernetes-immutable":true}}}`, &one[[]given]{[]given{{1, "x"}}}, &one[[]given]{}, proved},
		{"two texts as a key", "both of them count", strings.NewReplacer(`["name"]`, `["name","part"]`, `"zone"`, `"part":{"type":"string"},"zone"`).Replace(byName) + `,"x-fieldlock-update":["NoAddItem"]`, &one[[]pair]{[]pair{{"a", "2", "x"}}}, &one[[]pair]{[]pair{{"a", "1", "x"}}}, refused},
		{"names with one ending", "they are two", byName + `,"x-fieldlock-update":["NoAddItem"]`, &one[[]plainItem]{[]plainItem{{Name: "one-same-ending"}}}, &one[[]plainItem]{[]plainItem{{Name: "two-same-ending"}}}, refused},
		{"texts with one ending", "they are two", setOfTexts + `,` + locked, &one[[]string]{[]string{"one-same-ending"}}, &one[[]string]{[]string{"two-same-ending"}}, refused},
		{"two locks on keys", "each of them counts", freeValues + `,"x-fieldlock-update":["NoAddItem","NoRemoveItem"]`, &one[map[string]string]{map[string]string{"a": ""}}, &one[map[string]string]{map[string]string{}}, refused},
		{"two locks on keys, the other one", "each of them counts", freeValues + `,"x-fieldlock-update":["NoAddItem","NoRemoveItem"]`, &one[map[string]string]{map[string]string{}}, &one[map[string]string]{map[string]string{"a": ""}}, refused},
		{"a word and a lock on keys", "each of them counts", freeValues + `,"x-kubernetes-addition-only":true,"x-fieldlock-update":["NoAddItem"]`, &one[map[string]string]{map[string]string{"a": ""}}, &one[map[string]string]{map[string]string{}}, refused},
		{"a word and a lock on keys, the other one", "each of them counts", freeValues + `,"x-kubernetes-addition-only":true,"x-fieldlock-update":["NoAddItem"]`, &one[map[string]string]{map[string]string{}}, &one[map[string]string]{map[string]string{"a": ""}}, refused},
		{"a key with a zero value renamed", "an absent value is not zero", freeValues + `,` + locked, &one[map[string]int]{map[string]int{"b": 0}}, &one[map[string]int]{map[string]int{"a": 0}}, refused},
		{"keys that are written alike", "they are one name, and its value changes", valueLocked, &one[map[alike]string]{map[alike]string{2: "b"}}, &one[map[alike]string]{map[alike]string{1: "a"}}, refused},
		{"keys that write themselves", "they are the same", freeValues + `,` + locked, &one[map[netip.Addr]string]{map[netip.Addr]string{netip.IPv6Loopback(): "a"}}, &one[map[netip.Addr]string]{map[netip.Addr]string{netip.IPv6Loopback(): "a"}}, proved},
		{"a member of an embedded pointer", "it comes with the struct", `"type":"string","x-fieldlock-update":["NoSet"]`, &embeds[string]{&one[string]{"a"}}, &embeds[string]{}, refused},
		{"a locked member of an embedded pointer that goes", "it goes with it", `"type":"string",` + locked, &embeds[string]{}, &embeds[string]{&one[string]{"a"}}, refused},
		{"a locked member of an embedded pointer that comes", "it comes with it", `"type":"string",` + locked, &embeds[string]{&one[string]{"a"}}, &embeds[string]{}, refused},
		{"a lock below an embedded pointer", "it is found through the pointer", `"type":"object","properties":{"v":{"x-kubernetes-immutable":true}}`, &embeds[one[string]]{&one[one[string]]{one[string]{"b"}}}, &embeds[one[string]]{&one[one[string]]{one[string]{"a"}}}, refused},
		{"a lock in a struct below an embedded pointer, before an empty field", "it is not read from beside the pointer", `"type":"object","properties":{"v":{"x-kubernetes-immutable":true}}`, &embedsBefore[one[string]]{&one[one[string]]{one[string]{"b"}}, 0}, &embedsBefore[one[string]]{&one[one[string]]{one[string]{"a"}}, 0}, refused},
		{"a locked text below an embedded pointer, before an empty field", "the same", `"type":"string",` + locked, &embedsBefore[string]{&one[string]{"b"}, 0}, &embedsBefore[string]{&one[string]{"a"}, 0}, refused},
		{"two bytes, the first one equal", "both count", locked, &one[int16]{257}, &one[int16]{1}, refused},
		{"numbers as keys that share their lower bits", "they are two", byNumber("1") + `,"x-fieldlock-update":["NoAddItem"]`, &one[[]given]{[]given{{5 | 1<<62, "x"}}}, &one[[]given]{[]given{{5, "x"}}}, refused},
		{"a list of bytes that write themselves", "it is written as a list, and an empty one counts as absent", `"type":"array","x-kubernetes-normalize":"undefined","x-fieldlock-update":["NoUnset"],"items":{"type":"string"}`, &one[[]level]{[]level{}}, &one[[]level]{[]level{1}}, refused},
		{"an item of a list of bytes that write themselves", "locks on the items are found", `"type":"array","items":{"type":"string",` + locked + `}`, &one[[]level]{[]level{1, 2}}, &one[[]level]{[]level{1, 3}}, refused},
		{"an array of structs with a zero field of their own", "omitzero looks at what is not written, too", `"type":"array","items":{"type":"object"},` + locked, &zeroOut[[1]half]{}, &zeroOut[[1]half]{[1]half{{Own: 1}}}, refused},
		{"items of an array that omitzero leaves out", "there was none", byName + `,"x-fieldlock-update":["NoAddItem"]`, &zeroOut[[1]plainItem]{[1]plainItem{{Note: "x"}}}, &zeroOut[[1]plainItem]{}, refused},
		{"a set in an array that omitzero leaves out", "it had no items", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"},"x-fieldlock-update":["NoAddItem"]`, &zeroOut[[1]half]{[1]half{{Own: 1}}}, &zeroOut[[1]half]{}, refused},
		{"keys of a struct that omitzero leaves out", "it had none", freeValues + `,"x-fieldlock-update":["NoAddItem"]`, &zeroOut[half]{half{Own: 1}}, &zeroOut[half]{}, refused},
		{"a property of a map that has its own equality", "the order of its list counts, in the sets beside it the order does not", `"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"additionalProperties":{` + setOfTexts + `},` + locked,
			&one[map[string][]string]{map[string][]string{"a": {"x", "y"}}}, &one[map[string][]string]{map[string][]string{"a": {"y", "x"}}}, refused},
		{"four bytes before a field that is not written", "only they are compared", `"type":"object",` + locked, &one[halfWritten]{halfWritten{A: 1, B: 2}}, &one[halfWritten]{halfWritten{A: 1, B: 3}}, proved},
		{"one moment in two time zones", "the text that is written differs", `"type":"string",` + locked, &one[time.Time]{time.Unix(1, 0).UTC()}, &one[time.Time]{time.Unix(1, 0).In(time.FixedZone("", 7200))}, refused},
		{"an interface with methods", "it is not laid out as any is", locked, &one[fmt.Stringer]{time.UTC}, &one[fmt.Stringer]{time.UTC}, proved},
		{"another value in an interface with methods", "the same", locked, &one[fmt.Stringer]{time.Duration(2)}, &one[fmt.Stringer]{time.Duration(1)}, refused},
		{"a set that is left out by its order", "omitzero looks at the order, which no set has", setOfTexts + `,` + locked, &zeroOut[quietList]{quietList{"quiet", "x"}}, &zeroOut[quietList]{quietList{"x", "quiet"}}, refused},
		{"a quoted text", "the empty one is written with its quotes, so it is not absent", `"type":"string","x-kubernetes-normalize":"zero","x-fieldlock-update":["NoModify"]`, &struct {
			V string `json:"v,string"`
		}{"a"}, &struct {
			V string `json:"v,string"`
		}{}, refused},
		{"a map whose members count as absent", "so it does, too", `"type":"object","properties":{"a":{"type":"string","x-kubernetes-normalize":"undefined"}},"x-kubernetes-normalize":"undefined","x-fieldlock-update":["NoUnset"]`,
			&one[map[string]*string]{map[string]*string{"a": nil}}, &one[map[string]*string]{map[string]*string{"a": to("x")}}, refused},
		{"a set in the items of what is locked", "its order does not matter there either", `"type":"array","items":{"type":"object","properties":{"v":{` + setOfTexts + `}}},` + locked, &one[[]one[[]string]]{[]one[[]string]{{[]string{"a", "b"}}}}, &one[[]one[[]string]]{[]one[[]string]{{[]string{"b", "a"}}}}, proved},
		{"a set of numbers", "the same", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"},` + locked, &one[[]int16]{[]int16{1, 2}}, &one[[]int16]{[]int16{2, 1}}, proved},
		{"a set of addresses", "the last type of whole numbers", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"},` + locked, &one[[]uintptr]{[]uintptr{1, 2}}, &one[[]uintptr]{[]uintptr{2, 1}}, proved},
		{"names out of order, one twice", "its items belong together by index, and differ", byName, &one[[]plainItem]{[]plainItem{{Name: "b"}, {Name: "a"}, {Name: "b", Note: "y"}}}, &one[[]plainItem]{[]plainItem{{Name: "b"}, {Name: "a"}, {Name: "b"}}}, refused},
		{"a name twice, one of them removed", "its items belong together by index", byName, &one[[]plainItem]{[]plainItem{{Name: "a"}}}, &one[[]plainItem]{[]plainItem{{Name: "a"}, {Name: "a", Note: "y"}}}, refused},
		{"names written alike", "they are one key twice", byName, &one[[]plainItem]{[]plainItem{{Name: "\xfe"}, {Name: "\xff", Note: "y"}}}, &one[[]plainItem]{[]plainItem{{Name: "\xfe"}, {Name: "\xff"}}}, refused},
		{"a set inside what is locked", "the order of a set does not matter there either", `"type":"object","properties":{"v":{` + setOfTexts + `}},` + locked, &one[one[[]string]]{one[[]string]{[]string{"a", "b"}}}, &one[one[[]string]]{one[[]string]{[]string{"b", "a"}}}, proved},
		{"a set of objects", "the same in the same order", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"},"x-kubernetes-addition-only":true`, &one[[]named]{[]named{{nil, "a"}}}, &one[[]named]{[]named{{nil, "a"}}}, proved},
		{"an item added to a set", "that is what its lock allows, in any order", setOfTexts + `,"x-kubernetes-addition-only":true`, &one[[]string]{[]string{"c", "b", "a"}}, &one[[]string]{[]string{"a", "b"}}, proved},
		{"an item removed from a set", "it may only be added", setOfTexts + `,"x-kubernetes-addition-only":true`, &one[[]string]{[]string{"c", "b"}}, &one[[]string]{[]string{"a", "b"}}, refused},
		{"an item removed that may go", "that is what its lock allows", setOfTexts + `,"x-kubernetes-deletion-only":true`, &one[[]string]{[]string{"b"}}, &one[[]string]{[]string{"a", "b"}}, proved},
		{"a set of a byte kind in another order", "it is written as one text, in base64", `"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"},` + locked, &one[[]day]{[]day{1, 2}}, &one[[]day]{[]day{2, 1}}, refused},
		{"bytes of an array", "an array of bytes is written as numbers", `"type":"array","items":{"x-kubernetes-immutable":true}`, &one[[2]uint8]{[2]uint8{1, 3}}, &one[[2]uint8]{[2]uint8{1, 2}}, refused},
		{"bytes of an array, unchanged", "the same", `"type":"array","items":{"x-kubernetes-immutable":true}`, &one[[2]uint8]{[2]uint8{1, 2}}, &one[[2]uint8]{[2]uint8{1, 2}}, proved},
		{"nil that is written as text", "and empty is normalized away: only one is absent", `"x-kubernetes-normalize":"undefined","x-kubernetes-preserve-unknown-fields":true,` + locked, &one[nilIsNone]{}, &one[nilIsNone]{nilIsNone{}}, refused},
		{"a nil map that is written as text", "the same", `"x-kubernetes-normalize":"undefined","x-kubernetes-preserve-unknown-fields":true,` + locked, &one[nilMapIsNone]{}, &one[nilMapIsNone]{nilMapIsNone{}}, refused},
		{"nil and empty that are left out", "nothing is written", `"type":"array","items":{},` + locked, &leftOut[[]string]{}, &leftOut[[]string]{[]string{}}, proved},
		{"nil and empty that count as absent", "both are normalized away", `"type":"array","items":{},"x-kubernetes-normalize":"undefined",` + locked, &one[[]string]{}, &one[[]string]{[]string{}}, proved},
		{"nil and empty maps that count as absent", "the same", freeValues + `,"x-kubernetes-normalize":"undefined",` + locked, &one[map[string]string]{}, &one[map[string]string]{map[string]string{}}, proved},
		{"nil and empty", "null is not []", `"type":"array","items":{},` + locked, &one[[]string]{}, &one[[]string]{[]string{}}, refused},
		{"an empty map that counts as absent", "it is the zero value of its type", freeValues + `,"x-kubernetes-normalize":"zero","x-fieldlock-update":["NoUnset"]`, &one[map[string]string]{map[string]string{}}, &one[map[string]string]{map[string]string{"a": ""}}, refused},
		{"a struct that counts as absent", "its members do", `"type":"object","properties":{"v":{"type":"string","x-kubernetes-normalize":"zero"}},"x-kubernetes-normalize":"undefined","x-fieldlock-update":["NoUnset"]`, &one[one[string]]{}, &one[one[string]]{one[string]{"a"}}, refused},
		{"a fraction that is left out", "it is zero", `"type":"number","x-fieldlock-update":["NoUnset"]`, &leftOut[float64]{}, &leftOut[float64]{1.5}, refused},
		{"a pointer that omitzero leaves out", "its method says so, though what it writes is the same", `"type":"object",` + locked, &zeroOut[*quiet]{&quiet{"a", true}}, &zeroOut[*quiet]{&quiet{"a", false}}, refused},
		{"the same under NoUnset", "it is there in Go only", `"type":"object","x-fieldlock-update":["NoUnset"]`, &zeroOut[*quiet]{&quiet{"a", true}}, &zeroOut[*quiet]{&quiet{"a", false}}, refused},
		{"a field that is not written", "it does not count", `"type":"object",` + locked, &one[quiet]{quiet{"a", true}}, &one[quiet]{quiet{"a", false}}, proved},
		{"a field of a field that a method writes", "it counts, although it is not exported", `"x-kubernetes-preserve-unknown-fields":true,` + locked, &one[masked]{masked{inner{"b"}}}, &one[masked]{masked{inner{"a"}}}, refused},
		{"a field in a map that a method writes", "the same", `"x-kubernetes-preserve-unknown-fields":true,` + locked, &one[maskedMap]{maskedMap{in: map[string]inner{"a": {"b"}}}}, &one[maskedMap]{maskedMap{in: map[string]inner{"a": {"a"}}}}, refused},
		{"a struct that omitzero leaves out", "its method says so", `"type":"object",` + locked, &zeroOut[quiet]{quiet{"a", true}}, &zeroOut[quiet]{quiet{"a", false}}, refused},
		{"a map that omitzero leaves out", "its keys go with it", freeValues + `,"x-kubernetes-immutable-keys":true`, &zeroOut[quietMap]{quietMap{"quiet": "yes"}}, &zeroOut[quietMap]{quietMap{"quiet": ""}}, refused},
		{"a text that omitzero leaves out", "it is not empty in Go", `"type":"string","x-fieldlock-update":["NoUnset"]`, &zeroOut[quietText]{"quiet"}, &zeroOut[quietText]{"a"}, refused},
		{"a list that omitzero leaves out", "the same", `"type":"array","items":{},"x-fieldlock-update":["NoUnset"]`, &zeroOut[quietList]{quietList{"quiet"}}, &zeroOut[quietList]{quietList{"a"}}, refused},
		{"a quantity that omitzero leaves out", "a zero one", `"x-fieldlock-update":["NoUnset"]`, &zeroOut[resource.Quantity]{}, &zeroOut[resource.Quantity]{resource.MustParse("1")}, refused},
		{"a struct with a zero field of its own", "omitzero looks at what is not written, too", `"type":"object",` + locked, &zeroOut[struct {
			Text string `json:"text"`
			Own  int    `json:"-"`
		}]{}, &zeroOut[struct {
			Text string `json:"text"`
			Own  int    `json:"-"`
		}]{struct {
			Text string `json:"text"`
			Own  int    `json:"-"`
		}{Own: 1}}, refused},
		{"a number that changes", "it stays set", `"type":"integer","x-fieldlock-update":["NoUnset"]`, &leftOut[int]{2}, &leftOut[int]{1}, proved},
		{"a zero that is not normalized away", "it is set, so it may not change", `"type":"integer","x-kubernetes-normalize":"undefined","x-fieldlock-update":["NoModify"]`, &one[int]{5}, &one[int]{0}, refused},
		{"an empty text that is not normalized away", "the same", `"type":"string","x-kubernetes-normalize":"undefined","x-fieldlock-update":["NoModify"]`, &one[string]{"a"}, &one[string]{""}, refused},
		{"a text that changes", "it stays set", `"type":"string","x-fieldlock-update":["NoUnset"]`, &one[string]{"b"}, &one[string]{"a"}, proved},
		{"a list that changes", "it stays set", `"type":"array","items":{},"x-fieldlock-update":["NoUnset"]`, &one[[]string]{[]string{"b"}}, &one[[]string]{[]string{"a"}}, proved},
		{"a list that was empty", "an empty list is set", `"type":"array","items":{},"x-fieldlock-update":["NoSet"]`, &one[[]string]{[]string{"b"}}, &one[[]string]{[]string{}}, proved},
		{"a quantity that changes", "it stays set", `"x-fieldlock-update":["NoUnset"]`, &one[resource.Quantity]{resource.MustParse("2")}, &one[resource.Quantity]{resource.MustParse("1")}, proved},
		{"a quantity that is written alike", "1000m and 1 are the same text", locked, &one[resource.Quantity]{resource.MustParse("1000m")}, &one[resource.Quantity]{resource.MustParse("1")}, proved},
		{"a large quantity that is written alike", "one of them remembers its text", locked, &one[resource.Quantity]{resource.MustParse("100000000000000000000")}, &one[resource.Quantity]{remembering("100000000000000000000")}, proved},
		{"a quantity that was added up", "it holds another kind of number", `"type":"object","additionalProperties":{},` + locked, &one[map[string]resource.Quantity]{map[string]resource.Quantity{"a": resource.MustParse("1")}}, &one[map[string]resource.Quantity]{map[string]resource.Quantity{"a": decimal("1")}}, proved},
		{"a quantity that was added up, alone", "the same, read in place", locked, &one[resource.Quantity]{resource.MustParse("1000m")}, &one[resource.Quantity]{decimal("1000m")}, proved},
		{"a quantity with a sign", "it is equal, and is written as it was read", locked, &one[resource.Quantity]{resource.MustParse("+1")}, &one[resource.Quantity]{resource.MustParse("1")}, refused},
		{"a quantity with zeros", "the same", locked, &one[resource.Quantity]{resource.MustParse("1.500")}, &one[resource.Quantity]{resource.MustParse("1500m")}, refused},
		{"a quantity with an exponent", "the same", locked, &one[map[string]resource.Quantity]{map[string]resource.Quantity{"a": resource.MustParse("1E3")}}, &one[map[string]resource.Quantity]{map[string]resource.Quantity{"a": resource.MustParse("1e3")}}, refused},
		{"a format that a method writes", "the quantities are written alike", `"type":"string",` + locked, &one[formatted]{formatted{resource.MustParse("1")}}, &one[formatted]{formatted{*resource.NewQuantity(1, resource.BinarySI)}}, refused},
		{"a float32 in any", "it is written with fewer digits", locked, &one[any]{float32(0.1)}, &one[any]{float64(float32(0.1))}, refused},
		{"a float32 in any that is written alike", "the two types have one text for it", locked, &one[any]{float32(0.1)}, &one[any]{0.1}, allowed},
		{"-0 in any", "it is the number 0", locked, &leftOut[any]{math.Copysign(0, -1)}, &leftOut[any]{0.0}, proved},
		{"a sign in any", "Go calls 0 and -0 equal, and the method does not", `"type":"string",` + locked, &one[any]{signed(math.Copysign(0, -1))}, &one[any]{signed(0)}, refused},
		{"a nil list in any", "it is written as null, and nothing is left out", locked, &leftOut[any]{[]any(nil)}, &leftOut[any]{}, refused},
		{"a nil map in any", "the same", locked, &leftOut[any]{}, &leftOut[any]{map[string]any(nil)}, refused},
		{"a nil map in any, in place of a text", "the one is written as null", locked, &one[any]{map[string]any(nil)}, &one[any]{"a"}, refused},
		{"a text in any, in place of a nil map", "the same", locked, &one[any]{"a"}, &one[any]{map[string]any(nil)}, refused},
		{"a map in any that loses a key", "what is left of it is the same", locked, &one[any]{map[string]any{"a": "x"}}, &one[any]{map[string]any{"a": "x", "b": "y"}}, refused},
		{"a list in any that loses an item", "the same", locked, &one[any]{[]any{"a"}}, &one[any]{[]any{"a", "b"}}, refused},
		{"decoded JSON in any", "nothing changes", `"x-kubernetes-preserve-unknown-fields":true,` + locked, &one[any]{decoded()}, &one[any]{decoded()}, proved},
		{"a number that becomes zero", "it is left out", `"type":"integer","x-fieldlock-update":["NoUnset"]`, &leftOut[int]{0}, &leftOut[int]{1}, refused},
		{"a pointer to another number", "it stays set", `"type":"integer","x-fieldlock-update":["NoUnset"]`, &one[*int]{to(2)}, &one[*int]{to(1)}, proved},
		{"a pointer to a zero time", "it is written as null", `"type":"string","x-fieldlock-update":["NoUnset"]`, &one[*metav1.Time]{&metav1.Time{}}, &one[*metav1.Time]{&metav1.Time{Time: time.Unix(1, 0)}}, refused},
		{"a pointer to a nil pointer", "it is written as null", `"type":"string","x-fieldlock-update":["NoUnset"]`, &one[**string]{to[*string](nil)}, &one[**string]{to(to("a"))}, refused},
		{"a pointer to a nil list", "it is written as null", `"type":"array","items":{},"x-fieldlock-update":["NoUnset"]`, &one[*[]string]{to[[]string](nil)}, &one[*[]string]{to([]string{"a"})}, refused},
		{"a pointer to a nil map", "it is written as null", `"type":"object","x-fieldlock-update":["NoUnset"]`, &one[*map[string]string]{to[map[string]string](nil)}, &one[*map[string]string]{to(map[string]string{"a": ""})}, refused},
		{"a pointer to nothing", "it is written as null", `"x-kubernetes-preserve-unknown-fields":true,"x-fieldlock-update":["NoUnset"]`, &one[*any]{to[any](nil)}, &one[*any]{to[any]("a")}, refused},
		{"a pointer to a text that counts as absent", "it is normalized", `"type":"string","x-kubernetes-normalize":"zero","x-fieldlock-update":["NoUnset"]`, &one[*string]{to("")}, &one[*string]{to("a")}, refused},
	}
	many := []plainItem{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g"}, {Name: "h"}, {Name: "i"}}
	for _, list := range [][]plainItem{many[:2], many} {
		size := fmt.Sprintf(" of %d", len(list))
		other := func(edit func(l []plainItem) []plainItem) *one[[]plainItem] {
			c := slices.Clone(list)
			slices.Reverse(c)
			return &one[[]plainItem]{edit(c)}
		}
		same := other(func(l []plainItem) []plainItem { return l })
		changed := other(func(l []plainItem) []plainItem { l[1].Zone = "y"; return l })
		added := other(func(l []plainItem) []plainItem { return append(l, plainItem{Name: "new"}) })
		removed := other(func(l []plainItem) []plainItem { return l[1:] })
		old := &one[[]plainItem]{list}
		rows = append(rows,
			row{"another order" + size, "names say which items belong together", byName, same, old, proved},
			row{"another order and a lock broken" + size, "the items with that name differ", byName, changed, old, refused},
			row{"another order and an item added" + size, "keys are free", byName, added, old, proved},
			row{"another order and an item removed" + size, "keys are free", byName, removed, old, proved},
			row{"another order of locked names" + size, "the names are the same", byLockedName + `,"x-kubernetes-immutable-keys":true`, same, old, proved},
			row{"a locked name added" + size, "keys are locked", byLockedName + `,"x-kubernetes-immutable-keys":true`, added, old, refused},
			row{"a locked name removed" + size, "keys are locked", byLockedName + `,"x-kubernetes-immutable-keys":true`, removed, old, refused},
			row{"a name added that may come" + size, "none goes", byLockedName + `,"x-kubernetes-addition-only":true`, added, old, proved},
			row{"a name removed that may go" + size, "none comes", byLockedName + `,"x-kubernetes-deletion-only":true`, removed, old, proved},
		)
		texts := func(list []plainItem) *one[[]string] {
			var names []string
			for _, i := range list {
				names = append(names, i.Name)
			}
			return &one[[]string]{names}
		}
		rows = append(rows,
			row{"a set in another order" + size, "it is the same set", setOfTexts + `,` + locked, texts(same.V), texts(list), proved},
			row{"a set with another text" + size, "it is another set", setOfTexts + `,` + locked, texts(append(same.V[1:], plainItem{Name: "new"})), texts(list), refused},
			row{"a set that grows" + size, "nothing goes", setOfTexts + `,"x-kubernetes-addition-only":true`, texts(added.V), texts(list), proved},
			row{"a set with a text twice" + size, "one of the others is gone", setOfTexts + `,"x-kubernetes-addition-only":true`, texts(append(same.V[1:], same.V[1])), texts(list), refused},
		)
	}
	for _, name := range []string{"a", "abcd", "abcdefgh", "a-name-of-more-than-16"} {
		rows = append(rows, row{"a name twice: " + name, "its items belong together by index, and differ", byName,
			&one[[]plainItem]{[]plainItem{{Name: name, Note: "y"}, {Name: name}}}, &one[[]plainItem]{[]plainItem{{Name: name}, {Name: name}}}, refused})
	}
	reordered := func(newObj, oldObj any) {
		schema := byNumber("1")
		rows = append(rows, row{fmt.Sprintf("another order, %T", newObj), "the numbers are keys", schema, newObj, oldObj, proved})
	}
	reordered(inOtherOrder[int8](-100, 100))
	reordered(inOtherOrder[int16](-1000, 1000))
	reordered(inOtherOrder[int32](-100_000, 100_000))
	reordered(inOtherOrder(math.MinInt64, math.MaxInt64))
	reordered(inOtherOrder[uint8](5, 200))
	reordered(inOtherOrder[uint16](5, 50_000))
	reordered(inOtherOrder[uint32](5, math.MaxUint32))
	reordered(inOtherOrder[uint64](5, math.MaxInt64))
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v := compileText(t, `{"type":"object","properties":{"v":{`+row.schema+`}}}`)
			plan, err := CompileType(v, reflect.TypeOf(row.newObj).Elem())
			if err != nil {
				t.Fatal(err)
			}
			var o outcome
			compareUpdate(t, plan, v, reflect.ValueOf(row.newObj), reflect.ValueOf(row.oldObj), &o)
			got := map[outcome]string{{updates: 1}: refused, {updates: 1, allowed: 1}: allowed, {updates: 1, allowed: 1, proved: 1}: proved}[o]
			if got != row.want {
				t.Errorf("%q, want %q: %s", got, row.want, row.reason)
			}
		})
	}
}
