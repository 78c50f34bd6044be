package witness

import (
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// smallest returns a small value for s: of an object the required properties, of a list as many items as it needs. What
// only anyOf, oneOf, not or a rule ask for is left to the search.
func smallest(s *node) any { return valuesTo(s, 0)[0] }

// values returns different values for s, the smallest first; at least one.
func values(s *node) []any { return valuesTo(s, 2) }

// manyValues bounds how many values are tried for one schema.
const manyValues = 24

// valuesTo varies what is at most depth levels below s; the rest is as small as can be. The bound keeps the cost linear
// in the schema.
func valuesTo(s *node, depth int) []any {
	if s == nil {
		return []any{map[string]any{}, map[string]any{"a": int64(1)}, map[string]any{"b": int64(1)}}
	}
	if s.values[depth] == nil {
		s.values[depth] = madeTo(s, depth)
	}
	return s.values[depth]
}

// madeTo makes what valuesTo returns.
func madeTo(s *node, depth int) []any {
	if len(s.Enum) > 0 {
		var list []any
		for _, v := range s.Enum[:min(len(s.Enum), manyEdits)] {
			list = append(list, plain(v))
		}
		return list
	}
	switch {
	case s.Extensions[schema.KeyIntOrString] == true:
		return []any{int64(1), int64(2), "1", "50%"}
	case s.Type.Contains("object"), len(s.Type) == 0 && len(s.Properties) > 0:
		return objects(s, depth)
	case s.Type.Contains("array"):
		return lists(s, depth)
	case s.Type.Contains("string"):
		var list []any
		limit := manyValues
		if depth == 0 {
			limit = 2 // so that items and values can differ
		}
		for _, text := range texts(s.Schema, limit) {
			list = append(list, text)
		}
		return orAny(list, "a")
	case s.Type.Contains("integer"):
		return numbers(s.Schema, func(f float64) any { return int64(f) })
	case s.Type.Contains("number"):
		return numbers(s.Schema, func(f float64) any { return plain(f) })
	case s.Type.Contains("boolean"):
		return []any{true, false}
	}
	return []any{map[string]any{}, map[string]any{"a": int64(1)}, "a", int64(1)}
}

func orAny(list []any, otherwise any) []any {
	if len(list) == 0 {
		return []any{otherwise}
	}
	return list[:min(len(list), manyValues)]
}

// plain is a number of a schema as objects have it.
func plain(v any) any {
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return v
}

// numbers returns numbers within the bounds of s.
func numbers(s *spec.Schema, of func(float64) any) []any {
	unit := 1.0
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		unit = *s.MultipleOf
	}
	candidates := []float64{unit, 2 * unit, 0, 3 * unit, 10 * unit, 100 * unit, -unit}
	if s.Minimum != nil {
		least := math.Ceil(*s.Minimum/unit) * unit
		candidates = append([]float64{least, least + unit, least + 2*unit}, candidates...)
	}
	if s.Maximum != nil {
		most := math.Floor(*s.Maximum/unit) * unit
		candidates = append(candidates, most, most-unit)
	}
	var list []any
	for _, f := range candidates {
		low := s.Minimum != nil && (f < *s.Minimum || s.ExclusiveMinimum && f == *s.Minimum)
		high := s.Maximum != nil && (f > *s.Maximum || s.ExclusiveMaximum && f == *s.Maximum)
		if v := of(f); !low && !high && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return orAny(list, of(0))
}

// objects returns objects of s: the smallest one, then ones that differ in one property or key.
func objects(s *node, depth int) []any {
	least := map[string]any{}
	if s.Extensions[schema.KeyEmbedded] == true {
		least["apiVersion"], least["kind"] = "v1", "ConfigMap"
	}
	for _, name := range s.Required {
		least[name] = smallest(s.below(name))
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	keyed := s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil
	for i := 0; s.MinProperties != nil && int64(len(least)) < *s.MinProperties && i < manyValues; i++ {
		switch {
		case keyed:
			least[key(i)] = smallest(&node{Schema: s.AdditionalProperties.Schema})
		case i < len(names) && least[names[i]] == nil:
			least[names[i]] = smallest(s.below(names[i]))
		}
	}
	list := []any{least}
	if depth == 0 {
		return list
	}
	with := func(name string, v any) {
		if len(list) < manyValues && (s.MaxProperties == nil || int64(len(least)) < *s.MaxProperties ||
			least[name] != nil) {
			other := maps.Clone(least)
			other[name] = v
			list = append(list, other)
		}
	}
	for _, name := range names {
		choices := valuesTo(s.below(name), depth-1)
		if _, there := least[name]; !there {
			with(name, choices[0])
		}
		if len(choices) > 1 {
			with(name, choices[1])
		}
	}
	open := s.Extensions[schema.KeyPreserveUnknown] == true ||
		s.AdditionalProperties != nil && s.AdditionalProperties.Allows
	if len(s.Properties) == 0 && (keyed || open) {
		of := []any{int64(1), int64(2)}
		if keyed {
			of = valuesTo(&node{Schema: s.AdditionalProperties.Schema}, depth-1)
		}
		for i := range 2 {
			with(key(i), of[0])
			with(key(i), of[len(of)-1])
		}
	}
	return list
}

// lists returns lists of s: the shortest, then one item more, and then ones with other items.
func lists(s *node, depth int) []any {
	least := 0
	if s.MinItems != nil {
		least = int(min(*s.MinItems, manyValues))
	}
	pool := distinct(s, s.below(0), least+2, depth)
	of := func(from, n int) []any {
		list := []any{}
		for i := range n {
			list = append(list, pool[(from+i)%len(pool)])
		}
		return list
	}
	most := manyValues
	if s.MaxItems != nil {
		most = int(min(*s.MaxItems, manyValues))
	}
	var found []any
	for _, n := range []int{least, least + 1, least + 2} {
		if n <= most && n <= len(pool) || n == least {
			found = append(found, of(0, n))
			if n > 0 && len(pool) > n {
				found = append(found, of(1, n))
			}
		}
	}
	return found
}

// distinct returns at least n items for a list of s, with different keys where it is a list-type map.
func distinct(s, items *node, n, depth int) []any {
	choices := valuesTo(items, max(depth-1, 0))
	keys, _ := schema.ReadMarks(s.Extensions)
	if keys.ListType != schema.ListMap || items == nil || len(keys.ListMapKeys) == 0 {
		return choices
	}
	var pool []any
	name := keys.ListMapKeys[0]
	for _, v := range valuesTo(items.below(name), 1) {
		item, ok := choices[0].(map[string]any)
		if !ok || len(pool) == n {
			break
		}
		item = maps.Clone(item)
		item[name] = v
		for _, other := range keys.ListMapKeys[1:] {
			if item[other] == nil {
				item[other] = smallest(items.below(other))
			}
		}
		pool = append(pool, item)
	}
	if len(pool) == 0 {
		return choices
	}
	return pool
}

// texts returns about limit strings for s, the simplest first, that keep its format, pattern and lengths where that is
// possible.
func texts(s *spec.Schema, limit int) []string {
	least, most := 0, longest
	if s.MinLength != nil {
		least = int(min(*s.MinLength, longest))
	}
	if s.MaxLength != nil {
		most = int(min(*s.MaxLength, longest))
	}
	var found []string
	seen := map[string]bool{}
	add := func(text string) {
		if n := len([]rune(text)); n >= least && n <= most && !seen[text] {
			seen[text] = true
			found = append(found, text)
		}
	}
	if s.Pattern != "" {
		for _, text := range matching(s.Pattern, least, limit) {
			add(text)
		}
	}
	for _, text := range formatted[s.Format] {
		add(text)
	}
	if s.Pattern == "" && (s.Format == "" || formatted[s.Format] == nil) {
		for _, text := range []string{"a", "b", "c"} {
			if pad := least - len(text); pad > 0 {
				text += strings.Repeat(text, pad)
			}
			add(text)
		}
		if least == 0 {
			add("")
		}
	}
	return found
}

// formatted has strings for the formats that the API server checks.
var formatted = map[string][]string{
	"date-time":    {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"datetime":     {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"date":         {"2024-01-01", "2025-01-01"},
	"duration":     {"1s", "2s", "1h"},
	"byte":         {"YQ==", "Yg=="},
	"uri":          {"https://a.example", "https://b.example"},
	"uuid":         {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid3":        {"00000000-0000-3000-8000-000000000000", "00000000-0000-3000-8000-000000000001"},
	"uuid4":        {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid5":        {"00000000-0000-5000-8000-000000000000", "00000000-0000-5000-8000-000000000001"},
	"ipv4":         {"10.0.0.1", "10.0.0.2"},
	"ipv6":         {"2001:db8::1", "2001:db8::2"},
	"cidr":         {"10.0.0.0/8", "10.0.0.0/16"},
	"mac":          {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"email":        {"a@example.com", "b@example.com"},
	"hostname":     {"a.example", "b.example"},
	"bsonobjectid": {"507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"},
	"isbn":         {"9780306406157", "0306406152"},
	"isbn10":       {"0306406152", "0198526636"},
	"isbn13":       {"9780306406157", "9780198526636"},
	"creditcard":   {"4111111111111111", "5555555555554444"},
	"ssn":          {"111-11-1111", "222-22-2222"},
	"hexcolor":     {"#000000", "#ffffff"},
	"rgbcolor":     {"rgb(0,0,0)", "rgb(1,1,1)"},

	"k8s-short-name":  {"a", "b"},
	"k8s-long-name":   {"a.example", "b.example"},
	"k8s-label-value": {"a", "b"},
	"k8s-uuid": {"00000000-0000-4000-8000-000000000000",
		"00000000-0000-4000-8000-000000000001"},
	"k8s-resource-fully-qualified-name": {"a.example/a", "b.example/b"},
}

// usual are strings of the forms that rules most often ask for.
var usual = []string{
	"1", "0", "1Gi", "2Gi", "100m", "1s", "10m", "1h", "v1", "1.0.0", "v1.0.0", "v1.30.0", "a/b", "*", "Always",
	"example.com", "a.example.com", "https://a.example", "http://a.example",
	"oci://a.example/b", "10.0.0.1", "10.0.0.0/8", "192.168.0.0/16", "2001:db8::1", "2001:db8::/32",
	"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z",
	"arn:aws:iam::123456789012:role/a", "ami-0123456789abcdef0",
	"00000000-0000-4000-8000-000000000000", "aGVsbG8=", "a@example.com", "example.com/a", "50%",
}
