package celrule

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Way is how a detour gets around a rule.
type Way string

const (
	// RemoveField removes the field at SchemaPath, or sets it to null, and adds it again.
	RemoveField Way = "remove field"
	// RemoveKey removes a key of the map or list at SchemaPath and adds it again.
	RemoveKey Way = "remove key"
	// SwapUnknown replaces unknown fields of the object at SchemaPath in one update.
	SwapUnknown Way = "swap unknown fields"
	// OtherVersion writes through a version that lacks the rule.
	OtherVersion Way = "other version"
	// DropField writes through a version that lacks the field at SchemaPath, and adds it again.
	DropField Way = "drop field"
)

// Hole is a detour around transition rules: a first, a second and a third object such that every rule accepts going from
// the first to the second and from the second to the third, and one of Rules refuses going from the first to the third.
// SwapUnknown and OtherVersion have no second object.
type Hole struct {
	immutability.Finding
	Way   Way
	Rules []RuleRef // that the detour gets around
	// Changed are the schema paths of the fields whose value differs between the first and the third object.
	Changed []string
	// Version is the lax version, for OtherVersion and DropField.
	Version string
	// Sure is set if the hole follows from the rules and the schema. Otherwise some rule is not understood, and only
	// objects can tell whether the hole exists.
	Sure bool
}

// RuleRef names a rule of a schema.
type RuleRef struct {
	SchemaPath string
	Index      int
}

// add adds a rule that the detour gets around, and the fields that it guards.
func (h *Hole) add(r *readRule, guards []*schema.Location, sure bool) {
	h.Sure = h.Sure && sure
	if ref := (RuleRef{r.SchemaPath, r.Index}); !slices.Contains(h.Rules, ref) {
		h.Rules = append(h.Rules, ref)
	}
	for _, l := range guards {
		if path := l.Path.Pointer(); !slices.Contains(h.Changed, path) {
			h.Changed = append(h.Changed, path)
			h.Fields = append(h.Fields, displayPath(l))
		}
	}
	slices.Sort(h.Changed)
	slices.Sort(h.Fields)
}

// name makes h a finding at l.
func (h *Hole) name(id string, l *schema.Location) {
	h.Rule, h.Severity = id, immutability.SeverityWarning
	h.Path, h.SchemaPath = l.Path.String(), l.Path.Pointer()
}
