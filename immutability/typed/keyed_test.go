package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
)

// holding is an object with the lists that have ways of their own to be compared.
type holding struct {
	Plain    []plainItem    `json:"plain,omitempty"`
	Pointers []*plainItem   `json:"pointers,omitempty"`
	Pairs    []pairItem     `json:"pairs,omitempty"`
	Tags     []string       `json:"tags,omitempty"`
	Ports    []int16        `json:"ports,omitempty"`
	Labels   map[string]int `json:"labels,omitempty"`
}

type plainItem struct {
	Name string `json:"name"`
	Zone string `json:"zone,omitempty"`
	Size int    `json:"size"`
	Note string `json:"note,omitempty"`
}

type pairItem struct {
	Name *string `json:"name,omitempty"`
	Port int8    `json:"port,omitempty"`
	Zone string  `json:"zone,omitempty"`
	Note string  `json:"note,omitempty"`
}

// keyTexts are keys that are easily taken for each other: with the same ending and length, not ASCII, and not UTF-8,
// which encoding/json writes alike.
var keyTexts = []string{"", "a", "b", "ab", "abcd", "abce", "abcdefg", "bbcdefg", "one-same-ending", "two-same-ending", "a-long-name-with-an-ending", "b-long-name-with-an-ending", "ä", "\xff", "\xfe", "node-9", "node-10", "node-11"}

// holdingSchemas lock these lists, each in several ways.
var holdingSchemas = []string{
	`{"plain":{%[1]s "items":{"properties":{"name":{"type":"string"},"zone":{"x-kubernetes-immutable":true}}}}, "pairs":{%[2]s "items":{"properties":{"name":{"type":"string","default":"a"},"port":{"type":"integer","default":1},"zone":{"x-kubernetes-immutable":true}}}},
	  "pointers":{%[1]s "items":{"properties":{"name":{"type":"string"},"zone":{"x-fieldlock-update":["NoUnset"]}}}}, "tags":{%[3]s "x-kubernetes-immutable":true}, "ports":{%[3]s "x-kubernetes-immutable":true}, "labels":{"additionalProperties":{"x-kubernetes-immutable":true}}}`,
	`{"plain":{%[1]s "x-fieldlock-update":["NoAddItem"],"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true},"size":{"x-kubernetes-immutable":true}}}}, "pairs":{%[2]s "x-kubernetes-addition-only":true,"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true},"port":{"type":"integer","x-kubernetes-immutable":true}}}},
	  "pointers":{%[1]s "x-kubernetes-immutable-keys":true,"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true}}}}, "tags":{%[3]s "x-kubernetes-addition-only":true}, "ports":{%[3]s "x-kubernetes-deletion-only":true}, "labels":{"x-kubernetes-immutable-keys":true,"additionalProperties":{}}}`,
	`{"plain":{%[1]s "items":{"x-kubernetes-immutable":true,"properties":{"name":{"type":"string"}}}}, "pairs":{%[2]s "items":{"x-kubernetes-immutable":true,"properties":{"name":{"type":"string"},"port":{"type":"integer"}}}},
	  "pointers":{%[1]s "x-kubernetes-immutable":true,"items":{"properties":{"name":{"type":"string"}}}}, "tags":{%[3]s "x-kubernetes-deletion-only":true}, "ports":{%[3]s "x-kubernetes-addition-only":true}, "labels":{"x-kubernetes-deletion-only":true,"additionalProperties":{"x-fieldlock-update":["NoModify"]}}}`,
	`{"plain":{%[1]s "x-fieldlock-update":["NoRemoveItem"],"items":{"properties":{"name":{"type":"string","x-kubernetes-immutable":true},"note":{"x-kubernetes-immutable":true},"zone":{"x-kubernetes-immutable":true}}}}, "labels":{"x-fieldlock-update":["NoRemoveItem","NoSet"],"additionalProperties":{"x-kubernetes-immutable":true}}}`,
}

// TestListsAgreeWithJSON: lists by key, sets and maps in every order, with keys that are alike, repeated or missing.
func TestListsAgreeWithJSON(t *testing.T) {
	const (
		byName = `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],`
		byBoth = `"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],`
		set    = `"type":"array","x-kubernetes-list-type":"set","items":{},`
	)
	rounds := uint64(1_500)
	if testing.Short() {
		rounds = 300
	}
	for i, text := range holdingSchemas {
		var s spec.Schema
		document := fmt.Sprintf(`{"type":"object","properties":`+text+`}%.0[1]s%.0[2]s%.0[3]s`, byName, byBoth, set)
		if err := json.Unmarshal([]byte(document), &s); err != nil {
			t.Fatalf("%v: %s", err, document)
		}
		v, err := immutability.Compile(&s)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := CompileType(v, reflect.TypeFor[holding]())
		if err != nil {
			t.Fatal(err)
		}
		var o outcome
		for seed := range rounds {
			m := newMaker(seed)
			oldObj := m.holding()
			newObj := m.changed(oldObj)
			compareUpdate(t, plan, v, reflect.ValueOf(newObj), reflect.ValueOf(oldObj), &o)
			if t.Failed() {
				t.Fatalf("schema %d, seed %d", i, seed)
			}
		}
		if refused := o.updates - o.allowed; refused < int(rounds)/20 || o.allowed < int(rounds)/20 || o.proved*100 < o.allowed*40 {
			t.Errorf("schema %d: %+v", i, o)
		}
	}
}

func (m maker) holding() *holding {
	// Keys that differ, mostly: a list with a repeated one is not compared by key.
	names := slices.Clone(keyTexts)
	if m.chance(80) {
		names = slices.DeleteFunc(names, func(s string) bool { return s == "\xfe" || s == "\xff" || s == "ä" })
	}
	m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if m.chance(40) {
		slices.Sort(names)
	}
	n := m.IntN(len(names))
	if m.chance(60) {
		n = m.IntN(9)
	}
	var h holding
	for i, name := range names[:n] {
		item := plainItem{Name: name, Zone: pick(m, "", "x", "y"), Size: m.IntN(3)}
		h.Plain = append(h.Plain, item)
		h.Pointers = append(h.Pointers, &item)
		pair := pairItem{Name: &names[i], Port: int8(m.IntN(4) - 1), Zone: pick(m, "", "x")}
		if m.chance(10) {
			pair.Name = nil
		}
		h.Pairs = append(h.Pairs, pair, pairItem{Name: &names[i], Port: 7})
		h.Tags = append(h.Tags, name)
		h.Ports = append(h.Ports, int16(m.IntN(5)))
		if h.Labels == nil {
			h.Labels = map[string]int{}
		}
		h.Labels[name] = m.IntN(2)
	}
	if n > 1 && m.chance(15) { // a key twice, in both objects
		i, j := m.IntN(n), m.IntN(n)
		h.Plain[i].Name, h.Pairs[2*i].Name, h.Pairs[2*i].Port = h.Plain[j].Name, h.Pairs[2*j].Name, h.Pairs[2*j].Port
		h.Pointers[i] = &plainItem{Name: h.Pointers[j].Name, Zone: "x"}
		h.Tags[i] = h.Tags[j]
	}
	return &h
}

// changed returns a copy of h with some changes in one of its lists.
func (m maker) changed(h *holding) *holding {
	c := &holding{slices.Clone(h.Plain), slices.Clone(h.Pointers), slices.Clone(h.Pairs), slices.Clone(h.Tags), slices.Clone(h.Ports), map[string]int{}}
	for key, value := range h.Labels {
		c.Labels[key] = value
	}
	for range 1 + m.IntN(2) {
		at := m.IntN(1 + len(c.Plain))
		switch m.IntN(8) {
		case 0:
			c.Plain = edited(m, c.Plain, func(i *plainItem) {
				*i = pick(m, plainItem{Name: pick(m, keyTexts...)}, plainItem{i.Name, "z", i.Size, ""}, plainItem{i.Name, i.Zone, 9, ""}, plainItem{i.Name, i.Zone, i.Size, "n"})
			})
		case 1:
			c.Pointers = edited(m, c.Pointers, func(i **plainItem) {
				*i = pick(m, nil, &plainItem{Name: pick(m, keyTexts...)}, &plainItem{Name: "a", Size: 8})
			})
		case 2:
			c.Pairs = edited(m, c.Pairs, func(i *pairItem) {
				*i = pick(m, pairItem{}, pairItem{i.Name, i.Port, "z", ""}, pairItem{i.Name, i.Port, i.Zone, "n"}, pairItem{i.Name, 5, i.Zone, ""}, pairItem{&keyTexts[at%len(keyTexts)], i.Port, i.Zone, ""})
			})
		case 3:
			c.Tags = edited(m, c.Tags, func(i *string) { *i = pick(m, keyTexts...) })
		case 4:
			c.Ports = edited(m, c.Ports, func(i *int16) { *i = int16(m.IntN(300)) })
		case 5:
			c.Labels[pick(m, keyTexts...)] = m.IntN(3)
		case 6:
			delete(c.Labels, pick(m, keyTexts...))
		}
	}
	return c
}

// edited returns list in another order, or with an item added, removed, repeated or edited.
func edited[T any](m maker, list []T, edit func(*T)) []T {
	if len(list) == 0 {
		var item T
		edit(&item)
		return []T{item}
	}
	i, j := m.IntN(len(list)), m.IntN(len(list))
	switch m.IntN(6) {
	case 0:
		m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case 1:
		list = slices.Delete(list, i, i+1)
	case 2:
		list = append(list, list[i])
	case 3:
		list[i] = list[j]
	default:
		var item T
		if m.chance(70) {
			item = list[i]
		}
		if reflect.TypeFor[T]().Kind() == reflect.Pointer || m.chance(90) {
			edit(&item)
		}
		list[i] = item
	}
	return list
}

// TestRecursiveType: a type that contains itself, under a schema that does, is compared at every depth.
func TestRecursiveType(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"tree":{"$ref":"#/definitions/t"}},"definitions":{"t":{"type":"object","properties":{
		"name":{"type":"string"},"value":{"type":"integer","x-kubernetes-immutable":true},
		"children":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"$ref":"#/definitions/t"}},
		"named":{"type":"object","additionalProperties":{"$ref":"#/definitions/t"}}}}}}`), &s); err != nil {
		t.Fatal(err)
	}
	v := immutability.MustCompile(&s)
	type holder struct {
		Tree Tree `json:"tree"`
	}
	plan, err := CompileType(v, reflect.TypeFor[holder]())
	if err != nil {
		t.Fatal(err)
	}
	one, two := int32(1), int32(2)
	deep := func(value *int32, note string) *holder {
		leaf := Tree{Name: "leaf", Value: value}
		return &holder{Tree{Name: note, Children: []Tree{{Name: "a", Named: map[string]*Tree{"b": {Children: []Tree{leaf}}}}, {Name: "c", Value: &one}}}}
	}
	var o outcome
	for _, pair := range [][2]*holder{{deep(&one, "x"), deep(&one, "x")}, {deep(&one, "x"), deep(&one, "y")}, {deep(&two, "x"), deep(&one, "x")}, {deep(nil, "x"), deep(&one, "x")}} {
		compareUpdate(t, plan, v, reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1]), &o)
	}
	if o.allowed != 2 || o.proved != 2 || o.updates != 4 {
		t.Errorf("%+v: two of four updates are allowed, and proved to be", o)
	}
}

type loud string

func (l loud) MarshalText() ([]byte, error) { return []byte("loud"), nil }

// TestKeysThatWriteThemselves: two keys that differ in Go may be written alike, so they are no keys.
func TestKeysThatWriteThemselves(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"x-kubernetes-immutable-keys":true,"items":{"type":"object","properties":{"k":{"type":"string","x-kubernetes-immutable":true}}}}}}`), &s); err != nil {
		t.Fatal(err)
	}
	v := immutability.MustCompile(&s)
	for name, typ := range map[string]reflect.Type{
		"a type with a method": reflect.TypeFor[struct {
			L []struct {
				K loud `json:"k"`
			} `json:"l"`
		}](),
		"a quoted number": reflect.TypeFor[struct {
			L []struct {
				K int `json:"k,string"`
			} `json:"l"`
		}](),
		"a quoted text": reflect.TypeFor[struct {
			L []struct {
				K string `json:"k,string"`
			} `json:"l"`
		}](),
		"a quoted boolean": reflect.TypeFor[struct {
			L []struct {
				K bool `json:"k,string"`
			} `json:"l"`
		}](),
		"a number that says whether it is left out": reflect.TypeFor[struct {
			L []struct {
				K quietNumber `json:"k,omitzero"`
			} `json:"l"`
		}](),
		"a float": reflect.TypeFor[struct {
			L []struct {
				K float64 `json:"k"`
			} `json:"l"`
		}](),
	} {
		if _, err := CompileType(v, typ); err == nil || !strings.Contains(err.Error(), `cannot be the list-map key "k"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWholeDefault: a default of a key may be an int64, as it is in a schema that is written in Go.
func TestWholeDefault(t *testing.T) {
	var s spec.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"pairs":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],"items":{"type":"object","properties":{"name":{"type":"string"},"port":{"type":"integer"},"zone":{"x-kubernetes-immutable":true}}}}}}`), &s); err != nil {
		t.Fatal(err)
	}
	item := s.Properties["pairs"].Items.Schema
	for _, value := range []any{int64(5), 5.0} {
		port := item.Properties["port"]
		port.Default = value
		item.Properties["port"] = port
		v := immutability.MustCompile(&s)
		plan, err := CompileType(v, reflect.TypeFor[holding]())
		if err != nil {
			t.Fatal(err)
		}
		a, b := "a", "b"
		old := &holding{Pairs: []pairItem{{Name: &a, Zone: "x"}, {Name: &b, Port: 6}}}
		var o outcome
		for _, pairs := range [][]pairItem{old.Pairs, {{Name: &a, Port: 5, Zone: "x"}, {Name: &b, Port: 6}}, {{Name: &b, Port: 6}, {Name: &a, Port: 5, Zone: "x"}}, {{Name: &a, Port: 5, Zone: "y"}}, {{Name: &a, Port: 6, Zone: "y"}}} {
			compareUpdate(t, plan, v, reflect.ValueOf(&holding{Pairs: pairs}), reflect.ValueOf(old), &o)
		}
		if o.allowed != 4 || o.proved != 4 {
			t.Errorf("default %v: %+v", value, o)
		}
	}
}
