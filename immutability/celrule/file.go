package celrule

import (
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/convert"
)

// ExportedFile is a file of CRDs as a stock API server accepts and enforces it.
type ExportedFile struct {
	// Data is the file with CEL rules in place of locks. The locks are in the annotation fieldlock.dev/locks too, so
	// that nothing is lost. Every byte that is not part of a change is as it was.
	Data []byte
	// Rest are the locks that no rule enforces, in the order of the file.
	Rest []UnexportedLock
}

// UnexportedLock is a lock of a CRD that has no rule.
type UnexportedLock struct {
	CRD, Version string // by name
	Path         string // of the field
	Lock         immutability.Lock
	Reason       string
	Remedy       string // what would make it exportable, "" for nothing
}

// ExportFile writes the CRDs of a file, YAML or JSON, as fieldlock export cel does: with CEL rules for their locks. A
// rule that the CRD already has is not added again, so a second export changes nothing. The name is for messages.
// Documents of other kinds stay.
//
// It returns an error if the file has no CRD or cannot be read, if a CRD is not of apiextensions.k8s.io/v1, or if its
// locks are wrong.
func ExportFile(name string, data []byte) (ExportedFile, error) {
	file, err := convert.Read(name, data)
	if err != nil {
		return ExportedFile{}, err
	}
	made, err := convert.ToCEL(file, nil)
	if err != nil {
		return ExportedFile{}, err
	}
	out := ExportedFile{}
	if out.Data, err = file.Bytes(); err != nil {
		return ExportedFile{}, err
	}
	for _, r := range made.Rest {
		out.Rest = append(out.Rest, UnexportedLock{r.CRD, r.Version, r.Path, immutability.Lock(r.Lock),
			r.Reason, r.Remedy})
	}
	return out, nil
}

// AnnotateFile writes the CRDs of a file, YAML or JSON, as fieldlock export annotation does: their locks move from the
// schemas into the annotation fieldlock.dev/locks, which a stock API server keeps and package admission/loader reads.
// Errors are as for ExportFile.
func AnnotateFile(name string, data []byte) ([]byte, error) {
	file, err := convert.Read(name, data)
	if err != nil {
		return nil, err
	}
	if _, err := convert.ToAnnotation(file); err != nil {
		return nil, err
	}
	return file.Bytes()
}
