// Package crjudge writes custom resources as an API server does, by its own code and without a server: strict decoding,
// defaults, the strategies of create, update and status, and the version that objects are stored in.
package crjudge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/yaml"
)

// Server serves the kind of one CRD, and stores one object of it.
type Server struct {
	group, kind string
	preserve    bool // unknown fields
	namespaced  bool
	storage     string // version
	versions    map[string]*version
	stored      *unstructured.Unstructured
}

// version is one version of the kind.
type version struct {
	structural *structuralschema.Structural
	object     strategy
	status     rest.RESTUpdateStrategy // nil without the subresource
}

type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// New returns a server for the CRD in a YAML document.
func New(document []byte) (*Server, error) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(document, v1); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	s := &Server{
		group: v1.Spec.Group, kind: v1.Spec.Names.Kind, preserve: v1.Spec.PreserveUnknownFields,
		namespaced: v1.Spec.Scope == apiextensionsv1.NamespaceScoped, versions: map[string]*version{},
	}
	for _, v := range v1.Spec.Versions {
		if v.Storage {
			s.storage = v.Name
		}
		made, err := s.version(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
		s.versions[v.Name] = made
	}
	return s, nil
}

func (s *Server) version(v apiextensionsv1.CustomResourceDefinitionVersion) (*version, error) {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("no schema")
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema,
		props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	var status *apiextensions.CustomResourceSubresourceStatus
	var statusValidator validation.SchemaValidator
	if v.Subresources != nil && v.Subresources.Status != nil {
		status = &apiextensions.CustomResourceSubresourceStatus{}
		if below, ok := props.Properties["status"]; ok {
			if statusValidator, _, err = validation.NewSchemaValidator(&below); err != nil {
				return nil, err
			}
		}
	}
	gvk := schema.GroupVersionKind{Group: s.group, Version: v.Name, Kind: s.kind}
	object := customresource.NewStrategy(typer{}, s.namespaced, gvk, validator, statusValidator,
		structural, status, nil, nil)
	made := &version{structural: structural, object: object}
	if status != nil {
		made.status = customresource.NewStatusStrategy(object)
	}
	return made, nil
}

// Create stores obj as a new object. The error is the server's answer, of a client that is strict about unknown fields.
func (s *Server) Create(obj map[string]any) error {
	s.stored = nil
	created, v, err := s.decode(obj)
	if err != nil {
		return err
	}
	sent := created.DeepCopy()
	rest.FillObjectMetaSystemFields(created)
	if err := rest.BeforeCreate(v.object, s.context(), created); err != nil {
		return err
	}
	if err := s.store(created); err != nil {
		return err
	}
	return s.updateStatus(sent, v)
}

// Update writes obj over the object that is stored. The error is the server's answer; nothing is stored then.
func (s *Server) Update(obj map[string]any) error {
	updated, v, err := s.decode(obj)
	if err != nil {
		return err
	}
	before := s.stored
	if err := s.update(updated.DeepCopy(), v, v.object); err != nil {
		return err
	}
	if err := s.updateStatus(updated, v); err != nil {
		s.stored = before
		return err
	}
	return nil
}

// updateStatus writes the status of sent, if the kind has the subresource and the status changes.
func (s *Server) updateStatus(sent *unstructured.Unstructured, v *version) error {
	if v.status == nil {
		return nil
	}
	old, err := s.read(sent.GroupVersionKind().Version)
	if err != nil || reflect.DeepEqual(old.Object["status"], sent.Object["status"]) {
		return err
	}
	return s.update(sent, v, v.status)
}

func (s *Server) update(obj *unstructured.Unstructured, v *version, strategy rest.RESTUpdateStrategy) error {
	old, err := s.read(obj.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	obj.SetUID(old.GetUID())
	obj.SetResourceVersion("1")
	old.SetResourceVersion("1")
	if err := rest.BeforeUpdate(strategy, s.context(), obj, old); err != nil {
		return err
	}
	return s.store(obj)
}

func (s *Server) context() context.Context {
	namespace := ""
	if s.namespaced {
		namespace = "default"
	}
	ctx := request.WithNamespace(request.NewContext(), namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, APIGroup: s.group})
}

// decode reads what a client sends.
func (s *Server) decode(obj map[string]any) (*unstructured.Unstructured, *version, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, nil, err
	}
	gvk := u.GroupVersionKind()
	v, ok := s.versions[gvk.Version]
	if !ok || gvk.Group != s.group || gvk.Kind != s.kind {
		return nil, nil, fmt.Errorf("%s is not served", gvk)
	}
	unknown, err := s.coerce(u, false)
	if err != nil {
		return nil, nil, err
	}
	if len(unknown) > 0 {
		return nil, nil, fmt.Errorf("strict decoding error: unknown field %q", strings.Join(unknown, ", "))
	}
	defaulting.Default(u.Object, v.structural)
	if s.namespaced {
		u.SetNamespace("default")
	}
	return u, v, nil
}

// coerce prunes an object as the server does where it decodes or converts one, and returns the fields that it drops.
func (s *Server) coerce(u *unstructured.Unstructured, lenient bool) ([]string, error) {
	kind, apiVersion := u.GetKind(), u.GetAPIVersion()
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object, objectmeta.ObjectMetaOptions{
		DropMalformedFields: lenient, ReturnUnknownFieldPaths: true,
	})
	if err != nil {
		return nil, err
	}
	structural := s.versions[u.GroupVersionKind().Version].structural
	if !s.preserve {
		unknown = append(unknown, pruning.PruneWithOptions(u.Object, structural, true,
			structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
		defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, structural)
	}
	invalid, more := objectmeta.CoerceWithOptions(nil, u.Object, structural, false, objectmeta.CoerceOptions{
		DropInvalidFields: lenient, ReturnUnknownFieldPaths: true,
	})
	if invalid != nil {
		return nil, invalid
	}
	u.SetKind(kind)
	u.SetAPIVersion(apiVersion)
	if found {
		err = objectmeta.SetObjectMeta(u.Object, meta)
	}
	return append(unknown, more...), err
}

// store keeps an object in the version of the storage.
func (s *Server) store(obj *unstructured.Unstructured) error {
	converted, err := s.convert(obj, s.storage)
	if err == nil {
		s.stored = converted
	}
	return err
}

// read returns the object that is stored, in a version.
func (s *Server) read(name string) (*unstructured.Unstructured, error) {
	if s.stored == nil {
		return nil, errors.New("nothing is stored")
	}
	u := s.stored.DeepCopy()
	if _, err := s.coerce(u, true); err != nil {
		return nil, err
	}
	defaulting.Default(u.Object, s.versions[s.storage].structural)
	return s.convert(u, name)
}

// convert converts as the strategy None does.
func (s *Server) convert(obj *unstructured.Unstructured, name string) (*unstructured.Unstructured, error) {
	u := obj.DeepCopy()
	if u.GroupVersionKind().Version == name {
		return u, nil
	}
	u.SetAPIVersion(schema.GroupVersion{Group: s.group, Version: name}.String())
	_, err := s.coerce(u, true)
	return u, err
}

// Invalid reports whether an error is that an object or update is refused, and not one of the judge.
func Invalid(err error) bool { return apierrors.IsInvalid(err) }

// typer knows the kinds of unstructured objects.
type typer struct{}

func (typer) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}, false, nil
}

func (typer) Recognizes(schema.GroupVersionKind) bool { return true }
