package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// inPlace is export cel with -w or --check: into the files themselves.
type inPlace struct {
	check, strict bool
	output        string
	again         string // the command that writes the files
}

// run exports the files that paths name. Of a directory, files without a CRD are skipped. A file that cannot be read does not
// keep the others from being written.
func (x inPlace) run(s streams, paths []string) error {
	result := report.InPlace{UpToDate: true, Files: []report.InPlaceFile{}}
	var errs []error
	for _, path := range paths {
		if path == "-" {
			return errors.New("-w and --check are for files and directories: without them, export cel takes - for standard input")
		}
		names, err := manifest.List(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, name := range names {
			file, err := x.file(name, path)
			if err != nil {
				errs = append(errs, err)
			} else if file != nil {
				result.Files = append(result.Files, *file)
			}
		}
	}
	refused := x.print(s, &result)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return refused
}

// file exports one file below path; nil if it has no CRD.
func (x inPlace) file(name, path string) (*report.InPlaceFile, error) {
	_, data, err := (&manifest.Reader{}).Bytes(name)
	if err != nil {
		return nil, err
	}
	if name != path {
		if crds, err := crd.Read(name, data); err == nil && len(crds) == 0 {
			return nil, nil
		}
	}
	file, err := toCEL(name, data)
	if err != nil {
		return nil, err
	}
	if file.Changed && !x.check {
		dir := ""
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dir = path
		}
		if err := manifest.WriteFile(name, file.Is, dir); err != nil {
			return nil, err
		}
		file.Written = true
	}
	return file, nil
}

// toCEL exports the CRDs in data.
func toCEL(name string, data []byte) (*report.InPlaceFile, error) {
	file, err := convert.Read(name, data)
	if err != nil {
		return nil, err
	}
	exported, err := convert.ToCEL(file, nil)
	if err != nil {
		return nil, err
	}
	text, err := file.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &report.InPlaceFile{File: name, Changed: !bytes.Equal(data, text), Exported: exported.Exported, Rest: exported.Rest, Was: data, Is: text}, nil
}

// print prints the report, and returns errRefused where files are out of date or, with strict, locks have no rule.
func (x inPlace) print(s streams, result *report.InPlace) error {
	rest := 0
	for _, f := range result.Files {
		result.UpToDate = result.UpToDate && (!f.Changed || f.Written)
		rest += len(f.Rest)
	}
	if x.output == asJSON {
		if err := report.WriteJSON(s.out, result); err != nil {
			return err
		}
	} else {
		report.WriteInPlace(s.out, result, x.again)
	}
	if !result.UpToDate || x.strict && rest > 0 {
		return errRefused
	}
	return nil
}

// writeAgain spells the command that writes paths.
func writeAgain(paths []string) string {
	return "fieldlock export cel -w " + strings.Join(paths, " ")
}
