package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// readCRDs reads the CRDs that args name, each file once. Every arg has to have at least one.
func readCRDs(in *inputs, args []string) ([]*crd.CRD, error) {
	var crds []*crd.CRD
	found := map[string]int{} // CRDs by file
	for _, arg := range args {
		files, err := in.files([]string{arg})
		if err != nil {
			return nil, err
		}
		total := 0
		for _, f := range files {
			key := filepath.Clean(f.path)
			n, known := found[key]
			if !known || f.path == "-" {
				list, err := readFile(in, f)
				if err != nil {
					return nil, err
				}
				crds, n = append(crds, list...), len(list)
				found[key] = n
			}
			total += n
		}
		if total == 0 {
			if arg == "-" {
				arg = stdin
			}
			return nil, fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the YAML or JSON of a CRD, or a directory of CRDs", arg)
		}
	}
	return crds, nil
}

// readFile reads the CRDs of one file.
func readFile(in *inputs, f file) ([]*crd.CRD, error) {
	documents, err := in.documents(f)
	if err != nil {
		return nil, err
	}
	var crds []*crd.CRD
	for _, d := range documents {
		if f.found && isPatch(d) {
			continue
		}
		c, err := crd.FromDocument(d)
		if err != nil {
			return nil, err
		}
		if c != nil {
			crds = append(crds, c)
		}
	}
	return crds, nil
}

// isPatch reports whether d changes a CRD and is none: what kubebuilder puts beside CRDs for kustomize. No API server
// takes a CRD without group, names and versions, so no lock is lost with it.
func isPatch(d *crd.Document) bool {
	if d.Object["kind"] != "CustomResourceDefinition" {
		return false
	}
	spec, isObject := d.Object["spec"].(map[string]any)
	if d.Object["spec"] != nil && !isObject {
		return false
	}
	for _, field := range [...]string{"group", "names", "version", "versions", "validation"} {
		if _, ok := spec[field]; ok {
			return false
		}
	}
	return true
}

// compile compiles every version of every CRD. The error names each mistake with its file and line.
func compile(crds []*crd.CRD) (map[*crd.Version]*immutability.Validator, error) {
	validators := map[*crd.Version]*immutability.Validator{}
	var errs []error
	for _, c := range crds {
		for _, v := range c.Versions {
			validator, err := v.Compile()
			var schema *immutability.SchemaError
			switch {
			case errors.As(err, &schema):
				for _, f := range schema.Findings {
					errs = append(errs, &crd.Error{
						File: c.File, Line: v.Position(f.SchemaPath).Line, Object: "CustomResourceDefinition " + c.Name + ", version " + v.Name,
						Path: f.Path, Message: f.Message,
					})
				}
			case err != nil:
				errs = append(errs, err)
			}
			validators[v] = validator
		}
	}
	return validators, joined(errs)
}

// joined is errors.Join that says how many there are and shows the first of them.
func joined(errs []error) error {
	const limit = 20
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	lines := []string{count(len(errs), "mistake") + ":"}
	for i, err := range errs {
		if i == limit {
			lines = append(lines, fmt.Sprintf("and %d more", len(errs)-limit))
			break
		}
		lines = append(lines, err.Error())
	}
	return errors.New(strings.Join(lines, "\n  "))
}
