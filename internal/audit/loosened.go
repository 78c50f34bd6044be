package audit

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Loosened returns what may change with newCRD that could not with oldCRD: the locks and transition rules that the update of the
// CRD drops or weakens, then the holes that it opens. A dropped lock or rule has a witness of two objects if one is found: newCRD
// accepts the update from the first to the second, and oldCRD refuses it. The witness of a hole is one of newCRD that oldCRD does
// not accept, and oldCRD refuses the direct way. The error is about CRDs of different kinds.
func Loosened(newCRD, oldCRD *crd.CRD) ([]Finding, error) {
	is, was := schema.GroupKind{Group: newCRD.Group, Kind: newCRD.Kind}, schema.GroupKind{Group: oldCRD.Group, Kind: oldCRD.Kind}
	if is != was {
		return nil, fmt.Errorf("the new CRD defines %s and the old one %s: compare a CRD with its own old version", is, was)
	}
	u := update{newCRD, oldCRD}
	suspects := u.droppedRules(&celrule.Audit{Ceiling: usual().rules})
	for _, f := range crd.Lint(newCRD, oldCRD) {
		if f.Rule == rule.LockDropped {
			suspects = append(suspects, suspect{Finding: Finding{Finding: f}})
		}
	}
	before := witness.FromCRD(oldCRD)
	var findings []Finding
	for _, s := range withoutCopies(suspects) {
		if w, ok := witness.ShowDropped(witness.FromCRD(newCRD), before, s.Finding.Finding); ok {
			s.Finding.Witness = &w
		}
		findings = append(findings, s.Finding)
	}
	return append(findings, opened(newCRD, before, findings)...), nil
}

// Holes returns the ways around the locks and rules of a CRD that lint is sure of, each with its witness.
func Holes(c *crd.CRD) []Finding {
	findings := update{new: c}.audit(Options{Explain: true}, usual()).findings
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Witness == nil || f.Severity == immutability.SeverityNote })
}

// opened returns the holes of a CRD that were none before: the old CRD refuses the direct way, and does not accept the way around.
// Holes in a version that has dropped the same rules are left out.
func opened(newCRD *crd.CRD, before *witness.Kind, dropped []Finding) []Finding {
	var holes []Finding
	for _, f := range Holes(newCRD) {
		if slices.ContainsFunc(dropped, func(d Finding) bool {
			return d.Version == f.Version && slices.ContainsFunc(d.Fields, func(field string) bool { return slices.Contains(f.Fields, field) })
		}) {
			continue
		}
		w := *f.Witness
		direct, err := before.Update(w.Objects[len(w.Objects)-1], w.Objects[0])
		if err == nil && len(direct.Invalid) == 0 && len(direct.Refused) > 0 && !before.Replays(w) {
			w.Refused = direct.Refused
			f.Witness = &w
			holes = append(holes, f)
		}
	}
	return holes
}
