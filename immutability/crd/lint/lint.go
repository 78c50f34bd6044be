// Package lint is the lint of CustomResourceDefinitions: it finds what the command fieldlock lint finds, mistakes, and
// ways around locks and CEL transition rules.
//
//	findings, err := lint.CRD(newCRD, oldCRD) // nil for a CRD that is new
//
// It links CEL, and package crd, which reads locks, does not. So crd.Lint there judges locks alone, and says so in a
// note about a CRD that has CEL rules. Results have one type, crd.Finding.
package lint

import (
	"errors"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
)

// CRD returns the findings about newCRD, and about the update of oldCRD to it unless oldCRD is nil: errors first, then
// in the order of the file. Nil means that there is nothing to say. The rules and their words are on the page of
// findings.
//
// It returns an error if newCRD is nil or was not read. Cost: up to some seconds for a large CRD; the work is bounded,
// and a note says what was left out.
func CRD(newCRD, oldCRD *crd.CRD) ([]crd.Finding, error) {
	if newCRD == nil || len(newCRD.Versions) == 0 {
		return nil, errors.New("there is no CRD: get one from crd.Read or crd.FromObject")
	}
	var olds []*crd.CRD
	if oldCRD != nil && len(oldCRD.Versions) > 0 {
		olds = []*crd.CRD{oldCRD}
	}
	report, err := audit.CRDs([]*crd.CRD{newCRD}, olds, audit.Options{})
	if err != nil {
		return nil, err
	}
	var findings []crd.Finding
	for _, f := range report.Findings {
		findings = append(findings, f.Finding)
	}
	return findings, nil
}
