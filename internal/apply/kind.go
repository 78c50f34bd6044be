package apply

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Kind knows how the objects of a kind merge: by the extensions of schemas, as an API server publishes them. What a
// schema does not have is merged if it is an object, and replaced otherwise. The zero Kind knows no schema. A Kind is
// safe for concurrent use.
type Kind struct {
	// Types are the types of the objects, for server-side applies.
	Types *Types
	// Strategic is the schema of a built-in kind, which takes strategic merge patches. Custom resources take JSON merge
	// patches; for them it is nil.
	Strategic *spec.Schema
}

// Types are the schemas of several kinds. A nil *Types knows no schema: objects are merged, and everything else is
// replaced.
type Types struct {
	models    map[string]*spec.Schema
	converter func() (managedfields.TypeConverter, error)
}

// NewTypes returns the types of models, by the names that their references have. Models of kinds name them in the
// extension x-kubernetes-group-version-kind. Fields that a model does not have are merged, too: the server refuses them
// in new objects.
func NewTypes(models map[string]*spec.Schema) *Types {
	return &Types{models, sync.OnceValues(func() (managedfields.TypeConverter,
		error) {
		return managedfields.NewTypeConverter(models, true)
	})}
}

// Converter returns the code that reads objects for server-side applies.
func (t *Types) Converter() (managedfields.TypeConverter, error) {
	if t == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	return t.converter()
}

// Model returns a copy of the schema of a kind that names the kind, for NewTypes. In metadata, it has any fields.
func Model(kind schema.GroupVersionKind, s *spec.Schema) *spec.Schema {
	model := spec.Schema{}
	if s != nil {
		model = *s
	}
	model.Properties = maps.Clone(model.Properties)
	delete(model.Properties, "metadata")
	model.Extensions = maps.Clone(model.Extensions)
	model.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}})
	return &model
}

func (k *Kind) patchMeta() patchMeta {
	m := patchMeta{schema: k.Strategic}
	if k.Types != nil {
		m.models = k.Types.models
	}
	return m
}

// patchMeta says how strategic merge patches merge what a schema describes. Unlike PatchMetaFromOpenAPIV3, it has an
// answer for each field: one that the schema lacks, since it is older than the server or not complete, is merged as an
// object or replaced as a list.
type patchMeta struct {
	schema *spec.Schema // nil for one that is not known
	models map[string]*spec.Schema
}

var _ strategicpatch.LookupPatchMeta = patchMeta{}

func (m patchMeta) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta,
	strategicpatch.PatchMeta, error) {
	member, meta := m.member(key)
	return patchMeta{m.resolved(member), m.models}, meta, nil
}

func (m patchMeta) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta,
	strategicpatch.PatchMeta, error) {
	member, meta := m.member(key)
	if list := m.resolved(member); list != nil && list.Items != nil && list.Items.Schema != nil {
		return patchMeta{m.resolved(list.Items.Schema), m.models}, meta, nil
	}
	return patchMeta{}, meta, nil
}

func (m patchMeta) Name() string { return "object" }

// member returns the schema of a member of an object, and how patches treat it.
func (m patchMeta) member(key string) (*spec.Schema, strategicpatch.PatchMeta) {
	var meta strategicpatch.PatchMeta
	if m.schema == nil {
		return nil, meta
	}
	member, ok := m.schema.Properties[key]
	if !ok {
		if values := m.schema.AdditionalProperties; values != nil && values.Schema != nil {
			member = *values.Schema
		} else {
			return nil, meta
		}
	}
	if strategy, ok := member.Extensions["x-kubernetes-patch-strategy"].(string); ok {
		meta.SetPatchStrategies(strings.Split(strategy, ","))
	}
	if key, ok := member.Extensions["x-kubernetes-patch-merge-key"].(string); ok {
		meta.SetPatchMergeKey(key)
	}
	return &member, meta
}

// resolved returns what the reference of a schema leads to.
func (m patchMeta) resolved(s *spec.Schema) *spec.Schema {
	if s == nil {
		return nil
	}
	if len(s.AllOf) > 0 {
		s = &s.AllOf[0]
	}
	if ref := s.Ref.String(); ref != "" {
		return m.models[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return s
}

// Applier is a way to apply a manifest to an object that was made with it before.
type Applier string

// The appliers.
const (
	ServerSide Applier = "server-side"
	// ClientSide is kubectl's: a patch of what differs from the stored object, and of what the manifest has lost since
	// the last one.
	ClientSide Applier = "client-side"
	// ThreeWay is the merge of Helm 3, and of Helm 4 for releases of Helm 3. It treats built-in kinds as kubectl does;
	// of custom resources, it does not look at the stored object.
	ThreeWay Applier = "three-way"
	// Replace is a PUT of the manifest.
	Replace Applier = "replace"
)

// What package builtin tells apart beside them. A Request has one of those above.
const (
	// Flux is a server-side apply of normalized manifests: without null and empty values, and with stringData as data.
	Flux Applier = "flux"
	// Live is an apply of any kind over the object that a cluster has: its status counts.
	Live Applier = "live"
)

// Request is a manifest that is applied over an object.
type Request struct {
	By Applier
	// Manager makes a server-side apply. "" is the one who applied Last.
	Manager string
	// Stored is the object as the server has it. For a server-side apply with a Manager, its managedFields say who owns
	// what.
	Stored map[string]any
	// Last is the manifest that was applied last; nil if there was none.
	Last map[string]any
	// LastKind is the kind as it was when Last was applied; nil if it is the same.
	LastKind *Kind
	// Manifest is what is applied.
	Manifest map[string]any
}

// recovered makes an error of a panic in the code of others.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the objects cannot be merged: %v", r)
	}
}
