// Package policycase reads the cases of package policy: policies, an update, and what a real API server says about it.
// The unit tests and the end-to-end tests share them.
package policycase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/policy"
)

// Case is an update and the policies that see it. In all texts, NAME is the name of the case's namespace, policy and
// binding.
type Case struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Policy and Binding are the specs of a policy and its binding, over what all cases have in common.
	Policy  map[string]any `json:"policy"`
	Binding map[string]any `json:"binding"`
	// PolicyIn and BindingIn are the sides that have them: "old" or "new", otherwise both.
	PolicyIn  string `json:"policyIn"`
	BindingIn string `json:"bindingIn"`
	// NewPolicy is the spec of the policy in NEW, where it differs.
	NewPolicy map[string]any `json:"newPolicy"`
	// OldManifests and NewManifests are further documents of one side.
	OldManifests []map[string]any `json:"oldManifests"`
	NewManifests []map[string]any `json:"newManifests"`
	// Manifests are further documents of both sides. The cluster has them, and those of Cluster too.
	Manifests []map[string]any `json:"manifests"`
	Cluster   []map[string]any `json:"cluster"`
	Old       map[string]any   `json:"old"`
	New       map[string]any   `json:"new"`
	// Refused is the end of the server's message, "" where it allows the update; Code is 422 unless given. Warning is
	// the end of its warning.
	Refused string `json:"refused"`
	Code    int32  `json:"code"`
	Warning string `json:"warning"`
	// Unknown is part of the reason why only the cluster can decide; it says Refused.
	Unknown string `json:"unknown"`
	// OnlyOld is set where only OLD has what refuses. ManifestsOnly is set for a case that no one state of a cluster
	// can answer.
	OnlyOld       bool `json:"onlyOld"`
	ManifestsOnly bool `json:"manifestsOnly"`

	ID string `json:"-"` // what NAME stands for
}

// Read reads the cases of a file.
func Read(file string) ([]Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var count []map[string]any
	if err := yaml.Unmarshal(data, &count); err != nil {
		return nil, err
	}
	cases := make([]Case, len(count))
	for i := range count {
		one, err := json.Marshal(count[i])
		if err != nil {
			return nil, err
		}
		id := fmt.Sprintf("policy-%d", i)
		decoder := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(one, []byte("NAME"), []byte(id))))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&cases[i]); err != nil {
			return nil, fmt.Errorf("%v: %w", count[i]["name"], err)
		}
		c := &cases[i]
		c.ID = id
		if c.Old, err = integers(c.Old); err != nil {
			return nil, err
		}
		if c.New, err = integers(c.New); err != nil {
			return nil, err
		}
		if c.Code == 0 {
			c.Code = 422
		}
	}
	return cases, nil
}

// integers decodes obj again, as the API machinery does it.
func integers(obj map[string]any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	return decoded, utiljson.Unmarshal(data, &decoded)
}

// Installed returns the policy and the binding as a cluster has them.
func (c *Case) Installed() []map[string]any { return []map[string]any{c.policy(c.Policy), c.binding()} }

func (c *Case) policy(spec map[string]any) map[string]any {
	all := map[string]any{"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
		"apiGroups": []any{"policies.test"}, "apiVersions": []any{"v1"}, "operations": []any{"UPDATE"},
		"resources": []any{"gadgets"},
	}}}}
	maps.Copy(all, spec)
	return document("ValidatingAdmissionPolicy", c.ID, all)
}

func (c *Case) binding() map[string]any {
	all := map[string]any{
		"policyName": c.ID, "validationActions": []any{"Deny"},
		"matchResources": map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": c.ID}}},
	}
	maps.Copy(all, c.Binding)
	return document("ValidatingAdmissionPolicyBinding", c.ID, all)
}

func document(kind, name string, spec map[string]any) map[string]any {
	apiVersion := "admissionregistration.k8s.io/v1"
	if version, ok := spec["apiVersion"].(string); ok {
		apiVersion = version
		spec = maps.Clone(spec)
		delete(spec, "apiVersion")
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name}, "spec": spec}
}

// Documents returns what the manifests of both sides have.
func (c *Case) Documents() []policy.Document {
	var news, olds []policy.Document
	add := func(obj map[string]any, side string) {
		d := policy.Document{Object: obj, File: "policies.yaml", Line: 1}
		if side != "old" {
			news = append(news, d)
		}
		if side != "new" {
			olds = append(olds, d)
		}
	}
	if c.NewPolicy != nil {
		add(c.policy(c.NewPolicy), "new")
		add(c.policy(c.Policy), "old")
	} else {
		add(c.policy(c.Policy), c.PolicyIn)
	}
	add(c.binding(), c.BindingIn)
	for _, obj := range c.Manifests {
		add(obj, "")
	}
	for _, obj := range c.OldManifests {
		add(obj, "old")
	}
	for _, obj := range c.NewManifests {
		add(obj, "new")
	}
	return policy.Sides(news, olds)
}

// Kinds are those of the cases: the built-in ones, and CRDs.
type Kinds struct {
	Builtin *builtin.Kinds
	CRDs    []*crd.CRD
}

// Scope tells whether a kind has a namespace.
func (k *Kinds) Scope(apiVersion, kind string) (namespaced, known bool) {
	if found, ok := k.Builtin.Find(apiVersion, kind); ok {
		return found.Namespaced, true
	}
	if c := k.crd(apiVersion, kind); c != nil {
		return c.Scope == "Namespaced", true
	}
	return false, false
}

func (k *Kinds) crd(apiVersion, kind string) *crd.CRD {
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, c := range k.CRDs {
		if c.Group == group && c.Kind == kind {
			return c
		}
	}
	return nil
}

// Update returns the update of a case. Both objects are of the version of newObj.
func (k *Kinds) Update(newObj, oldObj map[string]any) (*policy.Update, error) {
	apiVersion, _ := newObj["apiVersion"].(string)
	kind, _ := newObj["kind"].(string)
	if found, ok := k.Builtin.Find(apiVersion, kind); ok {
		return policy.BuiltinUpdate(found, apiVersion, newObj, oldObj), nil
	}
	c := k.crd(apiVersion, kind)
	if c == nil {
		return nil, fmt.Errorf("nobody knows %s %s", apiVersion, kind)
	}
	_, version, _ := strings.Cut(apiVersion, "/")
	return policy.UpdateOf(c, version, func(version string) (newAs, oldAs map[string]any, err error) {
		v, _ := c.Version(version)
		p := prepare.New(v)
		if newAs, err = p.Prepare(newObj); err != nil {
			return nil, nil, err
		}
		oldAs, err = p.Prepare(oldObj)
		return newAs, oldAs, err
	})
}
