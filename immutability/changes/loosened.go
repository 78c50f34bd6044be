package changes

import (
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
)

// Loosening is one thing that may change after an update of a CRD and could not before.
type Loosening struct {
	// Finding names the fields. Its Rule is "lock-dropped" for a lock or CEL transition rule that is gone or weaker; the Rule of
	// a way around one that still exists is that of fieldlock lint, such as "cel-unset-then-set".
	crd.Finding
	// Objects show it, in the order of writing: the new CRD accepts each update, and the old one does not accept all of them and
	// refuses an update from the first to the last. Nil if none were found within a bounded effort.
	Objects []map[string]any
	// Refused is why the old CRD refuses the update from the first object to the last.
	Refused []string
}

// Loosened returns what may change with newCRD that could not with oldCRD, for tools that judge updates of CRDs: first the locks
// and CEL transition rules that are dropped or weaker, by version, then the ways around others that did not exist. The severity of
// a finding that does not follow from the rules is a warning. Nil means that nothing was found.
//
// The error is about CRDs of different kinds. Cost: up to some seconds for a large CRD, as fieldlock lint --explain; the work is
// bounded.
func Loosened(newCRD, oldCRD *crd.CRD) ([]Loosening, error) {
	findings, err := audit.Loosened(newCRD, oldCRD)
	if err != nil {
		return nil, err
	}
	var list []Loosening
	for _, f := range findings {
		l := Loosening{Finding: f.Finding}
		if f.Witness != nil {
			l.Objects = f.Witness.Objects
			for _, r := range f.Witness.Refused {
				l.Refused = append(l.Refused, r.String())
			}
		}
		list = append(list, l)
	}
	return list, nil
}
