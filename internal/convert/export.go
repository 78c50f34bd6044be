package convert

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Export is the result of an export.
type Export struct {
	Documents []any            `json:"documents"`
	Exported  []ExportedLock   `json:"exported"`
	Rest      []UnexportedLock `json:"notExported"`
	Remaining []string         `json:"todo,omitempty"` // before the webhook works
	// ByPolicy is how many of Rest `export policy` takes.
	ByPolicy int `json:"byPolicy,omitempty"`
}

// ExportedLock is a lock and the rule that enforces it.
type ExportedLock struct {
	CRD        string `json:"crd,omitempty"`
	Version    string `json:"version"`
	Path       string `json:"path"`
	Lock       string `json:"lock"`
	SchemaPath string `json:"schemaPath,omitempty"` // of the rule
	Rule       string `json:"rule"`                 // "" for a lock that no update can break
}

// UnexportedLock is a lock without a rule.
type UnexportedLock struct {
	CRD     string `json:"crd,omitempty"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Lock    string `json:"lock"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy,omitempty"`
}

// ToCEL replaces the locks in a file by CEL rules, and adds the configuration of webhook, unless nil, for the locks
// that have no exact rule.
func ToCEL(file *File, webhook *Webhook) (*Export, error) {
	if err := file.requireV1(); err != nil {
		return nil, err
	}
	if err := file.compile(); err != nil {
		return nil, err
	}
	report := &Export{Exported: []ExportedLock{}, Rest: []UnexportedLock{}}
	for i := range file.crds {
		c := &file.crds[i]
		annotation, err := c.Annotation()
		if err != nil {
			return nil, err
		}
		var rest []string
		for _, v := range c.Versions {
			exported, err := celrule.Export(v.Schema)
			if err != nil {
				return nil, fmt.Errorf("%s: version %s of the CRD %s: %w", c.File, v.Name, c.Name, err)
			}
			if err := c.change(v.Name, exported.Changes); err != nil {
				return nil, err
			}
			report.add(c.Name, v.Name, exported)
			if len(exported.Rest) > 0 {
				rest = append(rest, v.Name)
				policy, err := celrule.ExportPolicy(v.Schema)
				if err != nil {
					return nil, err
				}
				report.ByPolicy += taken(exported.Rest, policy)
			}
		}
		c.setAnnotation(annotation)
		if webhook != nil && len(rest) > 0 {
			report.Documents = append(report.Documents, webhook.configuration(c.CRD, rest))
			report.Remaining = webhook.remaining()
		}
	}
	return report, nil
}

// taken counts the locks of rest that a policy enforces.
func taken(rest []celrule.Unexported, policy celrule.Exported) int {
	n := 0
	for _, u := range rest {
		if !slices.ContainsFunc(policy.Rest, func(left celrule.Unexported) bool { return left.LockAt == u.LockAt }) {
			n++
		}
	}
	return n
}

func (r *Export) add(name, version string, exported celrule.Exported) {
	for _, rule := range exported.Rules {
		for _, lock := range rule.Locks {
			r.Exported = append(r.Exported,
				ExportedLock{name, version, lock.Path, lock.Lock, rule.SchemaPath, rule.Rule})
		}
	}
	r.addNeedless(name, version, exported.Needless)
	r.addRest(name, version, exported.Rest)
}

// addNeedless adds locks that count as exported without a rule.
func (r *Export) addNeedless(name, version string, locks []celrule.LockAt) {
	for _, lock := range locks {
		r.Exported = append(r.Exported, ExportedLock{CRD: name, Version: version, Path: lock.Path, Lock: lock.Lock})
	}
}

func (r *Export) addRest(name, version string, rest []celrule.Unexported) {
	for _, lock := range rest {
		r.Rest = append(r.Rest, UnexportedLock{name, version, lock.Path, lock.Lock, lock.Reason, lock.Remedy})
	}
}

// ToAnnotation moves the locks of each CRD in a file from its schemas into the annotation, which is the form that a
// stock API server accepts, in every validation mode, and keeps. It returns how many keys it took out of the schemas.
func ToAnnotation(file *File) (moved int, err error) {
	if err := file.compile(); err != nil {
		return 0, err
	}
	for i := range file.crds {
		c := &file.crds[i]
		annotation, err := c.Annotation()
		if err != nil {
			return 0, err
		}
		for _, s := range c.schemas() {
			rawschema.Walk(s, func(_ string, node map[string]any) {
				for _, key := range schema.OwnKeys() {
					if _, ok := node[key]; ok {
						delete(node, key)
						moved++
					}
				}
			})
		}
		c.setAnnotation(annotation)
	}
	return moved, nil
}

// schemas returns the schemas of all versions, and in v1beta1 the one that they share.
func (c *document) schemas() []map[string]any {
	var all []map[string]any
	if s, ok := fieldpath.Value(c.object, "spec", "validation", "openAPIV3Schema").(map[string]any); ok {
		all = append(all, s)
	}
	for _, v := range c.Versions {
		if s := c.schema(v.Name); s != nil {
			all = append(all, s)
		}
	}
	return all
}
