package markers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// TestVocabulary: what each comment line means: nothing, a key with its value, or a mistake.
func TestVocabulary(t *testing.T) {
	for _, row := range []struct{ line, reason, want string }{
		{" +immutable", "a lock", `0 x-kubernetes-immutable true`},
		{"+immutable", "without a blank", `0 x-kubernetes-immutable true`},
		{" immutable", "no marker", ""},
		{" + immutable", "no marker's name has a blank before it", "error: write +immutable or +immutable=keys"},
		{" +immutable=keys", "keys", `0 x-kubernetes-immutable-keys true`},
		{" +immutable:=keys", "controller-gen takes := too", `0 x-kubernetes-immutable-keys true`},
		{` +immutable="keys"`, "quoted", `0 x-kubernetes-immutable-keys true`},
		{" +immutable=`keys`", "quoted", `0 x-kubernetes-immutable-keys true`},
		{" +immutable= keys ", "blanks", `0 x-kubernetes-immutable-keys true`},
		{" +immutable=", "no value is not no value", `error: "" is not one of its values: write +immutable or +immutable=keys`},
		{" +immutable=true", "not one of its values", `error: "true" is not one of its values: write +immutable or +immutable=keys`},
		{" +kubebuilder:immutable", "controller-gen's prefix", `0 x-kubernetes-immutable true`},
		{" +k8s:immutable", "locked from creation", `0 x-kubernetes-immutable true`},
		{" +k8s:immutable=keys", "it takes no value", "error: it takes no value: write +k8s:immutable"},
		{" +k8s:update=NoSet", "a word", `0 x-fieldlock-update ["NoSet"]`},
		{" +k8s:update=NoRemoveItem", "the last word", `0 x-fieldlock-update ["NoRemoveItem"]`},
		{" +k8s:update=NoSett", "an unknown word", `error: "NoSett" is not one of its words: write one marker for each, +k8s:update=NoSet or +k8s:update=NoUnset`},
		{" +k8s:update", "no word", `error: "" is not one of its words`},
		{" +normalize=undefined", "a mode", `0 x-kubernetes-normalize "undefined"`},
		{" +normalize=zero", "a mode", `0 x-kubernetes-normalize "zero"`},
		{" +normalize=none", "no mode", `error: "none" is not one of its values: write +normalize=undefined or +normalize=zero`},
		{" +normalize", "no mode", `error: "" is not one of its values`},
		{" +listType=set", "topology", `0 x-kubernetes-list-type "set"`},
		{" +listType=map", "topology", `0 x-kubernetes-list-type "map"`},
		{" +k8s:listType=atomic", "declarative validation's", `0 x-kubernetes-list-type "atomic"`},
		{" +kubebuilder:listType=set", "controller-gen's", `0 x-kubernetes-list-type "set"`},
		{" +listType=bag", "not one of its values", `error: "bag" is not one of its values: write +listType=atomic or +listType=set or +listType=map`},
		{" +listType", "it needs one", `error: "" is not one of its values`},
		{" +listMapKey=name", "a key field", `0 x-kubernetes-list-map-keys ["name"]`},
		{" +listMapKey=", "it needs one", "error: it needs the name of a property of the items: +listMapKey=name"},
		{" +mapType=atomic", "topology", `0 x-kubernetes-map-type "atomic"`},
		{" +structType=granular", "the same for a struct", `0 x-kubernetes-map-type "granular"`},
		{" +structType=bag", "not one of its values", `error: "bag" is not one of its values: write +structType=atomic or +structType=granular`},
		{" +k8s:eachVal=+immutable", "the items", `1 x-kubernetes-immutable true`},
		{" +k8s:eachVal=+k8s:eachVal=+k8s:update=NoSet", "the items of the items", `2 x-fieldlock-update ["NoSet"]`},
		{" +k8s:eachVal=immutable", "no marker", ""},
		{` +k8s:alpha(since: "1.35")=+k8s:immutable`, "a stage", `0 x-kubernetes-immutable true`},
		{` +k8s:beta(since: "1.35")=+k8s:eachVal=+immutable`, "a stage and the items", `1 x-kubernetes-immutable true`},
		{` +k8s:alpha(since: "1.35")=k8s:immutable`, "no marker", ""},
		{" +k8s:ifEnabled(X)=+k8s:immutable", "a condition", "error: a marker inside +k8s:ifEnabled(X) cannot be written into a schema: put +k8s:immutable on the field or type itself"},
		{" +k8s:subfield(x)=+k8s:required", "nothing of fieldlock's", ""},
		{" +k8s:subfield(x)=+listType=set", "topology may be conditional: other tools read it", ""},
		{" +k8s:subfield(x)=+immutable=key", "a mistake inside is one too", "error: a marker inside +k8s:subfield(x)"},
		{" +other=+immutable", "a marker that takes a marker", "error: a marker inside +other cannot be written"},
		{" +imutable", "misspelled", "error: unknown marker: write +immutable or +immutable=keys, alone on its line"},
		{" +Immutable", "the letter case", "error: unknown marker: write +immutable"},
		{" +immutabl", "misspelled", "error: unknown marker: write +immutable"},
		{" +imutabel", "three letters differ", ""},
		{" +imutabl", "two letters are missing", "error: unknown marker: write +immutable"},
		{" +mutable", "a word of its own", ""},
		{" +immutable please", "more on the line", "error: unknown marker: write +immutable or +immutable=keys, alone on its line"},
		{" +k8s:imutable", "misspelled", "error: unknown marker: write +k8s:immutable, alone on its line"},
		{" +k8s:updat=NoSet", "misspelled", "error: unknown marker: write +k8s:update=NoModify, or another of its words, alone on its line"},
		{" +updat=NoSet", "not a marker without the prefix", ""},
		{" +k8s:updates=NoSet", "misspelled", "error: unknown marker: write +k8s:update=NoModify"},
		{" +normalise=zero", "misspelled", "error: unknown marker: write +normalize=undefined or +normalize=zero"},
		{" +listTyp=set", "misspelled", "error: unknown marker: write +listType=atomic or +listType=set or +listType=map, alone on its line"},
		{" +k8s:listMapKeys=a", "misspelled", "error: unknown marker: write +k8s:listMapKey=name, alone on its line"},
		{" +kubebuilder:mapTyp=atomic", "misspelled", "error: unknown marker: write +kubebuilder:mapType=atomic or +kubebuilder:mapType=granular"},
		{" +lstTyp=set", "two letters are missing", ""},
		{" +other:listTyp=set", "another program's", ""},
		{" +other:imutable", "another program's may lock too", "error: unknown marker: write +immutable or +immutable=keys"},
		{" +optional", "another program's", ""},
		{" +kubebuilder:validation:Required", "controller-gen's", ""},
		{" +", "nothing", ""},
		{" +=x", "nothing", ""},
		{" +k8s:kubebuilder:immutable", "both prefixes", "error: unknown marker: write +immutable"},
		{" +kubebuilder:k8s:listType=set", "both prefixes", ""},
	} {
		got := read(row.line, K8sImmutableLocked)
		text := ""
		switch {
		case got.err != "":
			text = "error: " + got.err
		case got.ours:
			value, _ := json.Marshal(got.value)
			text = fmt.Sprintf("%d %s %s", got.depth, got.key, value)
		}
		if got.ours != (text != "") || (row.want == "") != (text == "") || !strings.Contains(text, strings.TrimPrefix(row.want, "error: ")) || strings.HasPrefix(row.want, "error: ") != strings.HasPrefix(text, "error: ") {
			t.Errorf("%q: %s, want %s: %s", row.line, text, row.want, row.reason)
		}
	}
	if got := read(" +k8s:immutable", K8sImmutableSetOnce); got.key != schema.KeyUpdate || !slices.Equal(got.value.([]string), []string{"NoUnset", "NoModify"}) {
		t.Errorf("set-once: %+v", got)
	}
	if got := read(" +immutable", K8sImmutableSetOnce); got.key != schema.KeyImmutable {
		t.Errorf("+immutable is not controller-gen's: %+v", got)
	}
}

// TestMerge: the marks of a field and of its type add up; a field's topology overrides the one of the type.
func TestMerge(t *testing.T) {
	at := func(lines ...string) levels {
		var l levels
		var p problems
		for _, line := range lines {
			got := read(line, K8sImmutableLocked)
			if !got.ours || got.err != "" {
				t.Fatalf("%s: %+v", line, got)
			}
			l = l.with(got.depth, mark{key: got.key, value: got.value, text: line}, &p)
		}
		return l
	}
	for _, row := range []struct {
		reason    string
		typ       []string
		field     []string
		want      string
		conflicts bool
	}{
		{"words add up, in their order", []string{"+k8s:update=NoModify"}, []string{"+k8s:update=NoSet", "+k8s:update=NoModify"}, `[{"x-fieldlock-update":["NoSet","NoModify"]}]`, false},
		{"map keys add up", nil, []string{"+listMapKey=b", "+listMapKey=a", "+listMapKey=b"}, `[{"x-kubernetes-list-map-keys":["b","a"]}]`, false},
		{"a field's map keys replace those of the type", []string{"+listMapKey=a"}, []string{"+listMapKey=b"}, `[{"x-kubernetes-list-map-keys":["b"]}]`, false},
		{"a field's list-type replaces the one of the type", []string{"+listType=set", "+immutable"}, []string{"+listType=atomic"}, `[{"x-kubernetes-immutable":true,"x-kubernetes-list-type":"atomic"}]`, false},
		{"the same lock twice is one", []string{"+immutable"}, []string{"+immutable"}, `[{"x-kubernetes-immutable":true}]`, false},
		{"two modes are one too many", []string{"+normalize=zero"}, []string{"+normalize=undefined"}, `[{"x-kubernetes-normalize":"zero"}]`, true},
		{"levels are apart", []string{"+immutable"}, []string{"+k8s:eachVal=+k8s:eachVal=+listType=set"}, `[{"x-kubernetes-immutable":true},null,{"x-kubernetes-list-type":"set"}]`, false},
		{"each at its level", []string{"+k8s:eachVal=+listType=set"}, []string{"+listType=map", "+k8s:eachVal=+listType=atomic"}, `[{"x-kubernetes-list-type":"map"},{"x-kubernetes-list-type":"atomic"}]`, false},
	} {
		var p problems
		typ, field := at(row.typ...), at(row.field...)
		before := fmt.Sprint(typ, field)
		merged := typ.merge(field, &p)
		var all []map[string]any
		for depth := range merged {
			all = append(all, merged.at(depth).extensions())
		}
		text, _ := json.Marshal(all)
		if string(text) != row.want {
			t.Errorf("%s: %s, want %s", row.reason, text, row.want)
		}
		if conflicts := p.err() != nil; conflicts != row.conflicts {
			t.Errorf("%s: %v", row.reason, p.err())
		}
		if fmt.Sprint(typ, field) != before {
			t.Errorf("%s: merging changes what it merges", row.reason)
		}
		if len(merged) > 1 && fmt.Sprint(merged.below()) != fmt.Sprint(merged[1:]) || len(merged) == 1 && merged.below() != nil || merged.at(9) != nil {
			t.Errorf("%s: below is %v", row.reason, merged.below())
		}
	}
	marked := at("+listType=set", "+immutable", "+normalize=zero")[0]
	if lock, ok := marked.lock(); !ok || lock.key != schema.KeyImmutable {
		t.Errorf("the lock is %v", lock)
	}
	if own, ok := marked.own(); !ok || own.key != schema.KeyImmutable {
		t.Errorf("the first key that is fieldlock's own is %v", own)
	}
	plain := at("+listType=set")[0]
	if _, ok := plain.lock(); ok {
		t.Error("a list-type is no lock")
	}
	if _, ok := plain.own(); ok {
		t.Error("a list-type is Kubernetes' key")
	}
	if _, ok := plain.get(schema.KeyImmutable); ok || marks(nil).extensions() != nil {
		t.Error("there is no such key")
	}
}
