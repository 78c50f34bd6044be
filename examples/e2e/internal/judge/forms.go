package judge

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

//go:embed manifests.yaml
var manifestsYAML []byte

// ownCases returns the manifests of this package as cases without a change.
func ownCases() ([]kindcase.Case, error) {
	var manifests []map[string]any
	if err := yaml.UnmarshalStrict(manifestsYAML, &manifests); err != nil {
		return nil, err
	}
	cases := make([]kindcase.Case, len(manifests))
	for i, m := range manifests {
		m, _ = kindcase.Clone(m).(map[string]any)
		cases[i] = kindcase.Case{Name: "manifests.yaml " + strconv.Itoa(i), Old: m, New: m}
	}
	return cases, nil
}

// respell writes one value of a manifest in another form, which the server may or may not take for the same value.
func (c *changer) respell(manifest map[string]any) {
	var all []func()
	var visit func(parent string, value any)
	visit = func(parent string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				for _, form := range forms(parent, name, value[name]) {
					all = append(all, func() { value[name] = form })
				}
				switch text, _ := value[name].(string); {
				case name == "serviceAccountName" && text != "":
					all = append(all, func() { value["serviceAccount"] = text }, func() {
						rename(value, name, "serviceAccount")
					})
				case name == "serviceAccount" && text != "":
					all = append(all, func() { value["serviceAccountName"] = text }, func() {
						rename(value, name, "serviceAccountName")
					})
				case name == "clusterIP" && text != "":
					all = append(all, func() { value["clusterIPs"] = []any{text} })
				}
				visit(name, value[name])
			}
		case []any:
			for _, item := range value {
				visit(parent, item)
			}
		}
	}
	visit("", manifest)
	if text(manifest, "kind") == "Secret" {
		all = append(all, func() { asText(manifest) })
	}
	if len(all) > 0 {
		all[c.rand.IntN(len(all))]()
	}
}

func rename(object map[string]any, from, to string) {
	object[to] = object[from]
	delete(object, from)
}

// forms returns other forms of a value that has a name below a parent.
func forms(parent, name string, value any) []any {
	text := fmt.Sprint(value)
	switch parent {
	case "limits", "requests", "hard", "capacity", "podFixed", "default", "defaultRequest", "max":
		if q, err := resource.ParseQuantity(text); err == nil {
			return amounts(q)
		}
	}
	switch name {
	case "sizeLimit", "divisor":
		if q, err := resource.ParseQuantity(text); err == nil {
			return amounts(q)
		}
	case "targetPort", "port", "maxSurge", "maxUnavailable", "minAvailable":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if _, isText := value.(string); isText {
				return []any{n}
			}
			return []any{text}
		}
	case "acquireTime", "renewTime":
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return []any{at.UTC().Format(time.RFC3339), at.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano),
				at.UTC().Format("2006-01-02T15:04:05.000000Z07:00")}
		}
	case "apiGroup":
		return []any{"", nil}
	}
	return nil
}

// amounts returns the forms of a quantity: in thousandths, as a number, in binary units, and with an exponent.
func amounts(q resource.Quantity) []any {
	all := []any{strconv.FormatInt(q.MilliValue(), 10) + "m", q.AsDec().String()}
	if whole := q.Value(); q.Cmp(*resource.NewQuantity(whole, resource.DecimalSI)) == 0 {
		all = append(all, whole, strconv.FormatInt(whole, 10)+"e0", strconv.FormatInt(whole/1024, 10)+"Ki")
	}
	return all
}

// asText moves the data of a Secret to stringData.
func asText(secret map[string]any) {
	data, _ := secret["data"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(data)) {
		encoded, ok := data[name].(string) // an immutable Secret tells null from ""
		if decoded, err := base64.StdEncoding.DecodeString(encoded); ok && err == nil {
			plain, ok := secret["stringData"].(map[string]any)
			if !ok {
				plain = map[string]any{}
				secret["stringData"] = plain
			}
			plain[name] = string(decoded)
			delete(data, name)
		}
	}
}

// withDefaults returns a manifest with every default that the API server fills in, nil for one that it cannot read.
func withDefaults(manifest map[string]any) map[string]any {
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil
	}
	object, err := runtime.Decode(legacyscheme.Codecs.UniversalDeserializer(), data)
	if err != nil {
		return nil
	}
	legacyscheme.Scheme.Default(object)
	if data, err = json.Marshal(object); err != nil {
		return nil
	}
	var defaulted map[string]any
	if json.Unmarshal(data, &defaulted) != nil {
		return nil
	}
	delete(defaulted, "status") // a subresource
	written, _ := filled(copyOf(manifest), kindcase.Clone(defaulted)).(map[string]any)
	return written
}

// filled adds to an object what only the other one has, at any depth. Null and what is empty, which Go's types write,
// are no defaults.
func filled(value, defaulted any) any {
	switch value := value.(type) {
	case map[string]any:
		other, _ := defaulted.(map[string]any)
		for name, member := range other {
			is, ok := value[name]
			switch {
			case ok:
				value[name] = filled(is, member)
			case !empty(member):
				value[name] = member
			}
		}
	case []any:
		other, _ := defaulted.([]any)
		for i := range min(len(value), len(other)) {
			value[i] = filled(value[i], other[i])
		}
	}
	return value
}

func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}
