package convert

import (
	"github.com/fieldlock/fieldlock/immutability/celrule"
)

// Import is the result of importing CEL rules.
type Import struct {
	Documents  []any          `json:"documents"`
	Recognized []ImportedRule `json:"recognized"`
	Left       []ImportedRule `json:"left"`
}

// ImportedRule is one transition rule of a report.
type ImportedRule struct {
	CRD        string         `json:"crd"`
	Version    string         `json:"version"`
	Path       string         `json:"path"`
	SchemaPath string         `json:"schemaPath"`
	Rule       string         `json:"rule"`
	Locks      []ImportedLock `json:"locks,omitempty"`
	// Rest is the rule that stays next to the locks, for values that have no old value.
	Rest string `json:"rest,omitempty"`
	// Message is the rule's own message, which goes with the rule: a lock has its own words.
	Message string `json:"message,omitempty"`
	// Reason says why the rule stays; of a rule that became locks, what else refuses what it refuses.
	Reason string `json:"reason,omitempty"`
}

// ImportedLock is a lock that replaces a rule.
type ImportedLock struct {
	Path string `json:"path"`
	Lock string `json:"lock"`
}

// FromCEL replaces rules in the file by locks. Locks that an annotation carried move to their place in the schema.
func FromCEL(file *File) (*Import, error) {
	if err := file.requireV1(); err != nil {
		return nil, err
	}
	if err := file.compile(); err != nil {
		return nil, err
	}
	report := &Import{Recognized: []ImportedRule{}, Left: []ImportedRule{}}
	for i := range file.crds {
		c := &file.crds[i]
		if err := c.restore(); err != nil {
			return nil, err
		}
		for _, v := range c.Versions {
			imported := celrule.Import(v.Schema)
			if err := c.change(v.Name, imported.Changes); err != nil {
				return nil, err
			}
			report.add(c.Name, v.Name, imported)
		}
		c.setAnnotation("")
	}
	return report, nil
}

func (r *Import) add(name, version string, imported celrule.Imported) {
	rule := func(rule celrule.Rule) ImportedRule {
		return ImportedRule{CRD: name, Version: version, Path: rule.Path, SchemaPath: rule.SchemaPath, Rule: rule.Text}
	}
	for _, recognized := range imported.Recognized {
		row := rule(recognized.Rule)
		row.Rest, row.Reason = recognized.Rest, recognized.Cover
		if recognized.Rest == "" {
			row.Message = recognized.Message()
		}
		for _, lock := range recognized.Locks {
			row.Locks = append(row.Locks, ImportedLock{lock.Path, lock.Lock})
		}
		r.Recognized = append(r.Recognized, row)
	}
	for _, left := range imported.Left {
		row := rule(left.Rule)
		row.Reason = left.Reason
		r.Left = append(r.Left, row)
	}
}
