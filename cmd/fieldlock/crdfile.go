package main

import (
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// readCRDFile reads a file of CRDs that is printed again with changes.
func readCRDFile(s streams, path string) (*convert.File, error) {
	name, data, err := (&manifest.Reader{Stdin: s.in}).Bytes(path)
	if err != nil {
		return nil, err
	}
	return convert.Read(name, data)
}
