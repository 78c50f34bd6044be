package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// canonicalizer rewrites values as the API server stores them: it knows the Go type of each field. Two values that
// the server's comparison (equality.Semantic) holds equal get one form:
//   - null, and the zero value, an empty list or an empty map of a field that is not a pointer, are absent, but null in a
//     map of texts or amounts is the empty one;
//   - quantities, durations, times and base64 are written in one way.
//
// Malformed values stay as they are. So do fields that the type does not have, unless prune is set.
type canonicalizer struct {
	types *structTypes
	prune bool // drop fields that the type does not have: it is the type of the manifest's own version
}

// structTypes knows the fields of structs in a minor. The zero value knows those of the linked Go types.
type structTypes struct {
	minor   int
	structs sync.Map // reflect.Type → structFields
}

// structFields is what is known of the fields of a struct.
type structFields struct {
	types  map[string]reflect.Type // by JSON name; nil for a field that the linked type lacks
	always []string                // the fields that the server writes, empty or not
	gated  map[string]string       // the features of fields that a server drops by default; nil for most structs
}

var (
	quantityType     = reflect.TypeFor[resource.Quantity]()
	resourceListType = reflect.TypeFor[corev1.ResourceList]()
	timeType         = reflect.TypeFor[metav1.Time]()
	microTimeType    = reflect.TypeFor[metav1.MicroTime]()
	durationType     = reflect.TypeFor[metav1.Duration]()
	intOrStringType  = reflect.TypeFor[intstr.IntOrString]()
	rawType          = reflect.TypeFor[runtime.RawExtension]()
	bytesType        = reflect.TypeFor[[]byte]()
	unmarshalerType  = reflect.TypeFor[json.Unmarshaler]()
)

// fields returns the fields of a struct; their types are nil if it has a form of its own.
func (c *structTypes) fields(t reflect.Type) structFields {
	if known, ok := c.structs.Load(t); ok {
		return known.(structFields)
	}
	if reflect.PointerTo(t).Implements(unmarshalerType) {
		c.structs.Store(t, structFields{})
		return structFields{}
	}
	fields := structFields{types: map[string]reflect.Type{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if name == "" && (f.Anonymous || strings.Contains(options, "inline")) && inner.Kind() == reflect.Struct {
			known := c.fields(inner)
			maps.Copy(fields.types, known.types)
			fields.always = append(fields.always, known.always...)
			continue
		}
		if name != "" && name != "-" {
			fields.types[name] = f.Type
			if omits := strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Struct; !omits &&
				!strings.Contains(options, "omitzero") {
				fields.always = append(fields.always, name)
			}
		}
	}
	typeName := path.Base(path.Dir(t.PkgPath())) + "." + t.Name()
	for _, text := range gatedFields()[typeName] {
		full, minors, err := parseVersion(text)
		if feature, name, ok := strings.Cut(full, ":"); ok && err == nil && minors.has(c.minor) {
			if fields.gated == nil {
				fields.gated = map[string]string{}
			}
			fields.gated[name] = feature
		}
	}
	for _, text := range laterFields()[typeName] {
		name, minors, err := parseVersion(text)
		switch _, linked := fields.types[name]; {
		case err != nil || !minors.has(c.minor):
			delete(fields.types, name)
		case !linked:
			fields.types[name] = nil
		}
	}
	c.structs.Store(t, fields)
	return fields
}

// value returns the canonical form of a value of type t; it does not change v.
func (c *canonicalizer) value(v any, t reflect.Type) any {
	if t == nil {
		return withoutNull(v)
	}
	if t.Kind() == reflect.Pointer {
		return c.value(v, t.Elem())
	}
	if scalar, ok := scalarOf(v, t); ok {
		return scalar
	}
	switch v := v.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return c.object(v, t)
		case reflect.Map:
			out := make(map[string]any, len(v))
			for key, member := range v {
				if member == nil {
					member = zeroOf(t.Elem())
				}
				if member != nil {
					out[key] = c.value(member, t.Elem())
				}
			}
			if t == resourceListType {
				roundUp(out)
			}
			return out
		}
		return withoutNull(v)
	case []any:
		if t.Kind() != reflect.Slice {
			return withoutNull(v)
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.value(item, t.Elem())
		}
		return out
	}
	return canonical.Whole(v)
}

// object is value for structs.
func (c *canonicalizer) object(v map[string]any, t reflect.Type) any {
	if t == rawType {
		return canonical.Whole(jsonvalue.Clone(v)) // the server stores the text
	}
	fields := c.types.fields(t).types
	if fields == nil {
		return withoutNull(v)
	}
	out := make(map[string]any, len(v))
	for name, member := range v {
		ft, known := fields[name]
		if member == nil || c.prune && !known {
			continue
		}
		member = c.value(member, ft)
		if ft != nil && absent(member, ft) {
			continue
		}
		out[name] = member
	}
	return out
}

// written returns a canonical value of type t with null for what the server writes in it though it is empty. It does
// not change v.
func (c *structTypes) written(v any, t reflect.Type) any {
	return c.rewritten(v, t, func(object map[string]any, fields structFields) {
		for _, name := range fields.always {
			if _, ok := object[name]; !ok {
				object[name] = nil
			}
		}
	})
}

// withoutGated returns v, of type t, without the fields of features that are off by default, and adds those features to
// off. It does not change v.
func (c *structTypes) withoutGated(v any, t reflect.Type, off map[string]bool) any {
	return c.rewritten(v, t, func(object map[string]any, fields structFields) {
		for name, feature := range fields.gated {
			if _, ok := object[name]; ok {
				off[feature] = true
				delete(object, name)
			}
		}
	})
}

// rewritten returns a copy of v, of type t, in which change has been called for each object that is a struct, from the
// outermost to the innermost.
func (c *structTypes) rewritten(v any, t reflect.Type, change func(object map[string]any, fields structFields)) any {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case map[string]any:
		if t == nil || t.Kind() != reflect.Struct {
			return v // a map of texts or amounts
		}
		fields, out := c.fields(t), make(map[string]any, len(v))
		maps.Copy(out, v)
		change(out, fields)
		for name, member := range out {
			out[name] = c.rewritten(member, fields.types[name], change)
		}
		return out
	case []any:
		if t == nil || t.Kind() != reflect.Slice {
			return v
		}
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.rewritten(item, t.Elem(), change)
		}
		return out
	}
	return v
}

// zeroOf returns what null is as the value of a map; nil where it is nothing.
func zeroOf(t reflect.Type) any {
	switch {
	case t == quantityType:
		return "0"
	case t == bytesType || t.Kind() == reflect.String:
		return ""
	}
	return nil
}

// absent reports whether a canonical value of a field of type t counts as absent.
func absent(v any, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return false
	}
	switch v := v.(type) {
	case string:
		return v == "" || t == quantityType && v == "0"
	case bool:
		return !v
	case int64:
		return v == 0 && t != intOrStringType
	case float64:
		return v == 0
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// scalarOf returns the canonical form of a value whose type is written as text, and whether t is such a type.
func scalarOf(v any, t reflect.Type) (any, bool) {
	switch t {
	case quantityType:
		return canonical.Quantity(v), true
	case timeType, microTimeType:
		layout := time.RFC3339
		if t == microTimeType {
			layout = metav1.RFC3339Micro
		}
		if s, ok := v.(string); ok {
			if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
				return at.UTC().Format(layout), true
			}
		}
		return v, true
	case durationType:
		return canonical.Duration(v), true
	case intOrStringType:
		return canonical.Whole(v), true
	case bytesType:
		return canonical.Base64(v), true
	}
	return nil, false
}

// roundUp rounds the amounts of a resource list up to thousandths, as the server's defaults do.
func roundUp(list map[string]any) {
	for name, v := range list {
		s, _ := v.(string)
		if q, err := canonical.ParseQuantity(s); err == nil {
			q.RoundUp(resource.Milli)
			list[name] = canonical.Amount(q)
		}
	}
}

// withoutNull copies a value of unknown type, without the members that are null.
func withoutNull(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				out[name] = withoutNull(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutNull(item)
		}
		return out
	}
	return canonical.Whole(v)
}

// unknown returns the fields of an object that its type does not have, sorted by path.
func (c *structTypes) unknown(object map[string]any, t reflect.Type) []unknownField {
	var found []unknownField
	c.addUnknown(&found, object, t, nil)
	step := func(x, y any) int {
		if i, ok := x.(int); ok {
			return cmp.Compare(i, y.(int))
		}
		return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
	}
	slices.SortFunc(found, func(a, b unknownField) int { return slices.CompareFunc(a.path, b.path, step) })
	return found
}

// addUnknown adds the fields in v that its type does not have. It overwrites what is behind at.
func (c *structTypes) addUnknown(found *[]unknownField, v any, t reflect.Type, at fieldpath.Path) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		var fields map[string]reflect.Type
		switch t.Kind() {
		case reflect.Struct:
			if fields = c.fields(t).types; fields == nil {
				return
			}
		case reflect.Map:
			t = t.Elem()
		default:
			return
		}
		for name, member := range v {
			if ft, known := fields[name]; known {
				t = ft
			} else if fields != nil {
				if member != nil {
					*found = append(*found, unknownField{append(slices.Clone(at), name), member})
				}
				continue
			}
			if holdsFields(member) {
				c.addUnknown(found, member, t, append(at, name))
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				if holdsFields(item) {
					c.addUnknown(found, item, t.Elem(), append(at, i))
				}
			}
		}
	}
}

// holdsFields reports whether there may be fields in a value.
func holdsFields(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// unknownField is a field that a kind does not have, and its value.
type unknownField struct {
	path  fieldpath.Path
	value any
}

// key is the same for an equal field of another object, in any item of the lists on the way.
func (u unknownField) key() string {
	var b strings.Builder
	for _, step := range u.path {
		if _, index := step.(int); index {
			step = fieldpath.EachItem
		}
		fmt.Fprintf(&b, "%q", step)
	}
	value, err := json.Marshal(u.value)
	if err != nil {
		return b.String()
	}
	return b.String() + string(value)
}

// laterFields lists the fields that the linked Go types, those of 1.35, lack, and those that later minors lack, by
// type. Status is left out: no manifest sets it.
func laterFields() map[string][]string {
	owner, owners, derived := []string{"user since 1.37"}, []string{"defaultUser since 1.37"},
		[]string{"derivedAttributes since 1.37"}
	device := []string{"nodeAllocatableResourceMappings since 1.36 until 1.36", "nodeAllocatableResources since 1.37"}
	return map[string][]string{
		"batch.JobSpec":                          {"scheduling since 1.37"},
		"certificates.PodCertificateRequestSpec": {"stubPKCS10Request since 1.36"},
		"core.PodSpec": {"workloadRef until 1.35", "schedulingGroup since 1.36",
			"evictionResponders since 1.37"},
		"core.NodeSpec":                      {"podPreemptionPolicy since 1.37"},
		"core.VolumeMount":                   {"bindMountOptions since 1.37"},
		"core.EmptyDirVolumeSource":          {"mode since 1.37"},
		"core.GRPCAction":                    {"mode since 1.37"},
		"core.HTTPGetAction":                 {"protocol since 1.37"},
		"core.KeyToPath":                     owner,
		"core.DownwardAPIVolumeFile":         owner,
		"core.ClusterTrustBundleProjection":  owner,
		"core.PodCertificateProjection":      owner,
		"core.ServiceAccountTokenProjection": owner,
		"core.ConfigMapVolumeSource":         owners,
		"core.SecretVolumeSource":            owners,
		"core.DownwardAPIVolumeSource":       owners,
		"core.ProjectedVolumeSource":         owners,
		"resource.Device":                    device,
		"resource.BasicDevice":               device,
		"resource.DeviceAttribute": {"bools since 1.36", "ints since 1.36", "strings since 1.36",
			"versions since 1.36"},
		"resource.DeviceCounterConsumption": {"compatibilityGroups since 1.37"},
		"resource.DeviceRequest":            derived,
		"resource.DeviceSubRequest":         derived,
		"resource.ExactDeviceRequest":       derived,
		"resource.ResourceSliceSpec": {"partitionTypeAttribute since 1.37",
			"skipNodeOperations since 1.37"},
		"storage.CSIDriverSpec": {"preventPodSchedulingIfMissing since 1.36"},
	}
}

// gatedFields lists the fields of pods, Jobs and claims of devices that a server drops by default, each with the
// feature that keeps it, by type.
func gatedFields() map[string][]string {
	user, users := []string{"AtomicWriteVolumeUserFields:user since 1.37"},
		[]string{"AtomicWriteVolumeUserFields:defaultUser since 1.37"}
	request := []string{"DRADeviceTaints:tolerations until 1.35", "DRAConsumableCapacity:capacity until 1.35",
		"DRADerivedAttributes:derivedAttributes since 1.37"}
	return map[string][]string{
		"batch.JobSpec": {"WorkloadWithJob:scheduling since 1.37"},
		"core.PodSpec": {"GenericWorkload:workloadRef until 1.35",
			"GenericWorkload:schedulingGroup since 1.36", "EvictionRequestAPI:evictionResponders since 1.37"},
		"core.EmptyDirVolumeSource":          {"EmptyDirVolumeMode:mode since 1.37"},
		"core.VolumeMount":                   {"VolumeBindMountOptions:bindMountOptions since 1.37"},
		"core.HTTPGetAction":                 {"H2CContainerProbe:protocol since 1.37"},
		"core.GRPCAction":                    {"GRPCContainerProbeTLS:mode since 1.37"},
		"core.KeyToPath":                     user,
		"core.DownwardAPIVolumeFile":         user,
		"core.ClusterTrustBundleProjection":  user,
		"core.PodCertificateProjection":      user,
		"core.ServiceAccountTokenProjection": user,
		"core.ConfigMapVolumeSource":         users,
		"core.SecretVolumeSource":            users,
		"core.DownwardAPIVolumeSource":       users,
		"core.ProjectedVolumeSource":         users,
		"resource.DeviceRequest":             request,
		"resource.ExactDeviceRequest":        request,
		"resource.DeviceSubRequest":          request,
		"resource.DeviceConstraint":          {"DRAConsumableCapacity:distinctAttribute until 1.35"},
	}
}
