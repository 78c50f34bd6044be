package markers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// File is a file with CRD documents, YAML or JSON; it may have other documents too.
type File struct {
	Name string // for messages
	Data []byte
}

// Written is a file after WriteCRDs.
type Written struct {
	File             // Data is the very input if Keys is 0
	CRDs    int      // documents in it that belong to the packages
	Keys    int      // keys that were written, the annotation counts as one
	Notices []string // fieldlock's keys in the file that no marker asks for, sorted; they are kept
}

// CRDOption changes what WriteCRDs writes.
type CRDOption interface{ applyCRD(*crdOptions) }

type crdOptionFunc func(*crdOptions)

func (f crdOptionFunc) applyCRD(o *crdOptions) { f(o) }

// WithAnnotation writes the annotation fieldlock.dev/locks too, which a stock API server keeps.
func WithAnnotation() CRDOption {
	return crdOptionFunc(func(o *crdOptions) { o.annotation = true })
}

// WithAnnotationOnly writes the locks and normalizations into the annotation fieldlock.dev/locks and takes fieldlock's
// keys out of the schemas. A stock API server accepts such a CRD in every validation mode. Topology, which it knows,
// stays in the schemas.
func WithAnnotationOnly() CRDOption {
	return crdOptionFunc(func(o *crdOptions) { o.annotation, o.only = true, true })
}

// WriteCRDs writes what the markers ask for into the CRDs of files, every version of them, and returns the files in the
// same order. It finds the Go type of a version by group, version and kind, and leaves CRDs of other groups alone. Only
// missing keys are written, as lines of their own in the order of the names; every other byte stays, and a second run
// changes nothing. The input is not changed. An *Error holds what cannot be written: a mark for which the schema has no
// node, a key that has another value in the file, a version without a Go type.
// Cost: three parses of a file that changes, otherwise one.
func (s *Source) WriteCRDs(files []File, opts ...CRDOption) ([]Written, error) {
	var o crdOptions
	for _, opt := range opts {
		opt.applyCRD(&o)
	}
	p := &problems{dir: s.dir}
	all := make([]Written, 0, len(files))
	for _, file := range files {
		written, err := s.writeFile(file, o, p)
		if err != nil {
			return nil, err
		}
		all = append(all, written)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return all, nil
}

// writeFile writes the keys of one file.
func (s *Source) writeFile(file File, o crdOptions, p *problems) (Written, error) {
	parsed, err := yamldoc.Parse(file.Name, file.Data)
	if err != nil {
		return Written{}, err
	}
	written := Written{File: file}
	for _, d := range parsed.Documents {
		if !s.owns(d) {
			continue
		}
		written.CRDs++
		w := crdWriter{source: s, options: o, problems: p, file: file.Name, document: d}
		w.crd()
		if o.annotation && len(p.list) == 0 {
			if err := w.annotate(); err != nil {
				return Written{}, fmt.Errorf("%s: %w", file.Name, err)
			}
		}
		written.Keys += w.written
		written.Notices = append(written.Notices, w.notices...)
	}
	slices.Sort(written.Notices)
	if written.Keys > 0 && len(p.list) == 0 {
		written.Data, err = parsed.Bytes()
	}
	return written, err
}

// owns reports whether d is a CRD of one of the source's groups.
func (s *Source) owns(d *yamldoc.Document) bool {
	apiVersion, _ := d.Object["apiVersion"].(string)
	group, isText := yamldoc.At(d.Object, "spec", "group").(string)
	return d.Object["kind"] == "CustomResourceDefinition" && strings.HasPrefix(apiVersion, "apiextensions.k8s.io/") && isText && s.groups[group]
}
