package celrule

import "testing"

// TestRemedy: the bounds that are named bring the rule under the budget, and none of them can be left out.
func TestRemedy(t *testing.T) {
	for _, c := range []struct{ name, spec, path, want string }{
		{"a list of strings", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "items": {"type": "object", "properties":
			{"s": {"type": "string"}}}, "x-kubernetes-immutable": true}}}`, "/properties/spec/properties/l", "maxLength: 4096 at spec.l[*].s"},
		{"a list in a list", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "x-kubernetes-immutable": true}}}`,
			"/properties/spec/properties/l", "maxLength: 4096 at spec.l[*][*]"},
		{"a map below a list", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
			"items": {"type": "object", "required": ["n", "m"], "properties": {"n": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}`,
			"/properties/spec/properties/l/items/properties/m", "maxItems: 4096 at spec.l, maxProperties: 4096 at spec.l[*].m"},
		{"limits that are too high", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "maxItems": 5000, "items": {"type": "array", "maxItems": 5000, "items": {"type": "string", "maxLength": 5000}}}}}`,
			"/properties/spec/properties/l/items", "maxLength: 4096 at spec.l[*][*] (now 5000)"},
		{"a limit that lacks, beside high ones", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "maxItems": 100, "items": {"type": "array", "items": {"type": "string", "maxLength": 5000}}}}}`,
			"/properties/spec/properties/l/items", "maxItems: 4096 at spec.l[*]"},
		{"a limit of one, which stays", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "maxItems": 1, "items": {"type": "array", "maxItems": 90000,
			"items": {"type": "array", "maxItems": 5000, "items": {"type": "string", "maxLength": 5000}}}}}}`, "/properties/spec/properties/l/items/items", "maxItems: 4096 at spec.l[*] (now 90000)"},
		{"nothing to bound", `{"type": "object", "required": ["s"], "properties": {"s": {"type": "integer"}}}`, "/properties/spec/properties/s", ""},
		{"bounded already", `{"type": "object", "required": ["l"], "properties": {"l": {"type": "array", "maxItems": 9, "items": {"type": "string", "enum": ["a"]}}}}`, "/properties/spec/properties/l", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := version(t, c.name, []byte(c.spec))
			tree := readTree(v.schema)
			costs, err := newCosts(v.schema, tree)
			if err != nil {
				t.Fatal(err)
			}
			at := tree.Find(c.path)
			bounds := missing(boundsOf(at))
			for limit := int64(4096); limit >= 1; limit /= 2 {
				if !costs.affordable(at, "self == oldSelf", bounds, limit) {
					continue
				}
				if len(bounds) == 0 {
					break
				}
				fewest := costs.fewest(at, "self == oldSelf", bounds, limit)
				if len(fewest) == 0 || !costs.affordable(at, "self == oldSelf", fewest, limit) {
					t.Errorf("%v with limit %d do not help", fewest, limit)
				}
				for i := range fewest {
					fewer := append(append([]bound{}, fewest[:i]...), fewest[i+1:]...)
					if len(fewer) > 0 && costs.affordable(at, "self == oldSelf", fewer, limit) {
						t.Errorf("%v can be left out of %v", fewest[i], fewest)
					}
				}
				break
			}
			if got := costs.remedy(at, "self == oldSelf", at); got != c.want {
				t.Errorf("the remedy is %q, want %q", got, c.want)
			}
		})
	}
}

// TestCostOfAllRules: a rule whose cost is within the limit of one rule is refused where it exceeds that of the CRD.
func TestCostOfAllRules(t *testing.T) {
	v := version(t, "total", []byte(`{"type": "object", "required": ["s"], "properties": {"s": {"type": "string", "maxLength": 9}}}`))
	tree := readTree(v.schema)
	costs, err := newCosts(v.schema, tree)
	if err != nil {
		t.Fatal(err)
	}
	at := tree.Find("/properties/spec/properties/s")
	if r := costs.add(at, "self == oldSelf", at); r != nil {
		t.Errorf("refused: %s", r.reason)
	}
	if costs.total == 0 {
		t.Error("the rule costs nothing")
	}
	costs.total = staticCRDCostLimit
	if r := costs.add(at, "self == oldSelf", at); r == nil {
		t.Error("accepted beyond the limit of the CRD")
	}
	if r := costs.add(at, "self ==", at); r == nil {
		t.Error("accepted although it does not compile")
	}
}

// TestCostOfExistingRules: the rules that a schema has count from the start; one that does not compile costs nothing.
func TestCostOfExistingRules(t *testing.T) {
	total := func(rules string) uint64 {
		v := version(t, "existing", []byte(`{"type": "object", "required": ["s"], "properties": {"s": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [`+rules+`]}}}`))
		costs, err := newCosts(v.schema, readTree(v.schema))
		if err != nil {
			t.Fatal(err)
		}
		return costs.total
	}
	one := total(`{"rule": "self == oldSelf"}`)
	if one == 0 || total("") != 0 {
		t.Errorf("a rule costs %d, none %d", one, total(""))
	}
	if two := total(`{"rule": "self == oldSelf"}, {"rule": "self =="}, {"rule": "oldSelf == self"}`); two != 2*one {
		t.Errorf("two rules and a broken one cost %d, one rule %d", two, one)
	}
	if optional := total(`{"rule": "self == oldSelf.orValue('a')", "optionalOldSelf": true}`); optional == 0 {
		t.Error("a rule with optionalOldSelf costs nothing")
	}
}
