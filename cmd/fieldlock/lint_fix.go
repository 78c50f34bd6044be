package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// fix writes the safe fixes of findings into the files of their CRDs, and returns how many findings it closed. It leaves out
// a fix that an API server would refuse because its rule costs too much.
func fix(stderr io.Writer, findings []audit.Finding) (closed int, err error) {
	byFile := map[string][]*audit.Finding{}
	var files []string
	for i := range findings {
		f := &findings[i]
		if f.Accepted || f.Change == nil || !f.Change.Safe {
			continue
		}
		if byFile[f.File] == nil {
			files = append(files, f.File)
		}
		byFile[f.File] = append(byFile[f.File], f)
	}
	for _, file := range files {
		n, err := fixFile(stderr, file, byFile[file])
		if err != nil {
			return closed, err
		}
		closed += n
	}
	return closed, nil
}

// fixFile makes the fixes of one file: all at once, or where an API server would refuse the result one after the other, so
// that one that is refused does not stop the others.
func fixFile(stderr io.Writer, name string, findings []*audit.Finding) (closed int, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	before := refusals(data)
	fixed, err := withFixes(name, data, findings...)
	if err != nil {
		return 0, err
	}
	if refusals(fixed) <= before {
		closed, findings = len(findings), nil
	} else {
		fixed = data
	}
	for _, f := range findings {
		next, err := withFixes(name, fixed, f)
		if err != nil {
			return 0, err
		}
		if refusals(next) > before {
			fmt.Fprintf(stderr, "warning: %s: the fix of %s at %s is left out: an API server would refuse the CRD with it\n",
				report.Printable(name), f.Rule, report.Printable(f.Path))
			continue
		}
		fixed = next
		closed++
	}
	if bytes.Equal(fixed, data) {
		return closed, nil
	}
	if err := manifest.WriteFile(name, fixed, ""); err != nil {
		return 0, err
	}
	fmt.Fprintf(stderr, "fixed: %s (%s)\n", report.Printable(name), report.Count(closed, "finding"))
	return closed, nil
}

// withFixes returns the text of a file with the fixes of findings.
func withFixes(name string, data []byte, findings ...*audit.Finding) ([]byte, error) {
	for _, f := range findings {
		file, err := convert.Read(name, data)
		if err != nil {
			return nil, err
		}
		if err := file.Fix(f.CRD, f.Version, f.Change); err != nil {
			return nil, err
		}
		if data, err = file.Bytes(); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// refusals returns how many mistakes an API server finds in the CRDs of a file.
func refusals(data []byte) (n int) {
	file := manifest.File{Name: "crd"}
	file.Parse(data)
	for _, d := range file.Documents {
		text, err := yaml.Marshal(d.Object)
		if err != nil {
			n++
			continue
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		if yaml.Unmarshal(text, &v1) != nil || v1.Kind != "CustomResourceDefinition" {
			continue
		}
		n += len(apiServerErrors(&v1))
	}
	return n
}

// apiServerErrors validates a CRD as an API server does when it is created.
func apiServerErrors(v1 *apiextensionsv1.CustomResourceDefinition) []error {
	apiextensionsv1.SetDefaults_CustomResourceDefinition(v1)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&v1.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(v1, &internal, nil); err != nil {
		return []error{err}
	}
	for _, v := range v1.Spec.Versions {
		if v.Storage {
			internal.Status.StoredVersions = []string{v.Name}
		}
	}
	var errs []error
	for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
		errs = append(errs, err)
	}
	return errs
}
