package convert

import (
	"fmt"
	"slices"

	"github.com/fieldlock/fieldlock/immutability/celrule"
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
	Rule       string `json:"rule"`
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
func taken(rest []celrule.Unexported, policy celrule.Policy) int {
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
			r.Exported = append(r.Exported, ExportedLock{name, version, lock.Path, lock.Lock, rule.SchemaPath, rule.Rule})
		}
	}
	r.addRest(name, version, exported.Rest)
}

func (r *Export) addRest(name, version string, rest []celrule.Unexported) {
	for _, lock := range rest {
		r.Rest = append(r.Rest, UnexportedLock{name, version, lock.Path, lock.Lock, lock.Reason, lock.Remedy})
	}
}
