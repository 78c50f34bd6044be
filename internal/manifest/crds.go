package manifest

import (
	"fmt"
)

// CRDsOf returns the CRDs in files, one list for each of args, which has to have at least one. Errors about single files or
// CRDs are in errs.
func CRDsOf(args []string, all [][]File) (crds []CRD, errs []error, err error) {
	seen := map[string]bool{}
	for i, files := range all {
		set := Objects(files)
		if len(set.CRDs)+len(set.Errs) == 0 {
			name := args[i]
			if name == "-" {
				name = Stdin
			}
			return nil, nil, fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the YAML or JSON of a CRD, or a directory of CRDs", name)
		}
		errs = append(errs, set.Errs...)
		for _, c := range set.CRDs {
			if c.File == Stdin || !seen[c.File] {
				crds = append(crds, c)
			}
		}
		for _, f := range files {
			seen[f.Name] = true
		}
	}
	return crds, errs, nil
}
