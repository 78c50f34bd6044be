// Package markers reads immutability markers from Go types and writes them into schemas.
//
//	source, err := markers.Load(ctx, ".", []string{"./api/..."})
//	files, err := source.WriteCRDs([]markers.File{{Name: "crd.yaml", Data: data}})
//
// # The markers
//
// A marker is a comment line above a struct field or a type, as controller-gen and openapi-gen read it: in the doc
// comment, or in the group of comments right above it. On a type it counts wherever the type is used.
//
//	+immutable                    x-kubernetes-immutable: locked from creation, set and unset included
//	+immutable=keys               x-kubernetes-immutable-keys: no key added, none removed
//	+k8s:immutable                the same as +immutable, or set-once where the CRD has controller-gen's rules: see K8sImmutable
//	+k8s:update=WORD              x-fieldlock-update: NoSet, NoUnset, NoModify, NoAddItem, NoRemoveItem; repeated, they add up
//	+k8s:eachVal=+k8s:update=WORD the same on each item of a list or value of a map; it takes every marker but +normalize
//	+k8s:alpha(since: "1.36")=+MARKER and +k8s:beta: the marker itself; a stage of the rollout changes no meaning
//	+normalize=undefined|zero     x-kubernetes-normalize: see package normalize for which Go field needs which
//	+listType=, +listMapKey=, +mapType=, +structType=
//	                              the topology, where controller-gen has not written it already
//
// +kubebuilder: may precede immutable, normalize and the topology markers, and +k8s: the topology markers.
//
// What cannot do what it says is an error with file and line, never dropped: a lock that silently does not lock is
// worse than none. So are a marker that is above nothing, in the wrong letter case, on a field whose Go type cannot
// have it, on a field that the schema does not have, and a normalization that is not what the field's Go type, json tag
// and protobuf tag do.
//
// # What it is not for
//
// It does not check the resulting schema as a whole, which the lint of package immutability does, and it takes nothing
// away: controller-gen writes its files anew, without fieldlock's keys.
//
// The package is v0: names may still change.
package markers

import (
	"context"
	"errors"
	"strings"

	"github.com/fieldlock/fieldlock/internal/markers"
	"github.com/fieldlock/fieldlock/markers/openapigen"
)

// Source is a set of Go packages with the markers of their types. It is immutable and safe for concurrent use. The zero
// Source and nil have no definitions, and WriteCRDs returns an error.
type Source struct{ source *markers.Source }

// Load reads the packages that patterns, as the go command takes them, name in dir, and from other packages the types
// that they use, except those of k8s.io/apimachinery/pkg/apis/meta/v1, below which no field can be locked. It runs the
// go command, which ends with ctx.
//
// A package that cannot be found or parsed is an error; one that does not type-check, for instance as its deep copies
// are still to be generated, is read as far as it does. Markers that cannot do what they say are an *Error with all of
// them. Cost: two runs of go list, and type-checking the packages that have the types.
func Load(ctx context.Context, dir string, patterns []string, opts ...Option) (*Source, error) {
	var o markers.Options
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&o)
		}
	}
	source, err := markers.Load(ctx, dir, patterns, o)
	if err != nil {
		return nil, public(err)
	}
	return &Source{source}, nil
}

// Option changes how Load reads markers. A nil Option changes nothing.
type Option interface{ apply(*markers.Options) }

type option func(*markers.Options)

func (f option) apply(o *markers.Options) { f(o) }

// K8sImmutable says what the marker +k8s:immutable means. Two tools read it in two ways. Without a choice it is
// K8sImmutableSetOnce for a field that has controller-gen's rules in the CRD, and K8sImmutableLocked everywhere else.
type K8sImmutable string

const (
	// K8sImmutableLocked is how validation-gen renders it for native types: no set, no unset, no change, like
	// +immutable. It is the default without controller-gen's rules: a lock that is too strict shows at the first update
	// that it refuses; one that is too loose does not.
	K8sImmutableLocked K8sImmutable = "locked"
	// K8sImmutableSetOnce is how controller-gen renders it for CRDs: an unset field may be set, then it is locked.
	K8sImmutableSetOnce K8sImmutable = "set-once"
)

// WithK8sImmutable says what +k8s:immutable means: K8sImmutableLocked or K8sImmutableSetOnce. By default, and with "",
// the rules of each CRD decide. Load returns an error for any other meaning.
func WithK8sImmutable(meaning K8sImmutable) Option {
	return option(func(o *markers.Options) { o.K8sImmutable = markers.K8sImmutable(meaning) })
}

// File is a file with CRD documents, YAML or JSON; it may have other documents too.
type File struct {
	Name string // for messages
	Data []byte
}

// Written is a file after WriteCRDs.
type Written struct {
	File     // Data is the very input if Keys is 0
	CRDs int // documents in it that belong to the packages
	Keys int // keys that were written, the annotation counts as one
	// Notices are sorted: fieldlock's keys in the file that no marker asks for, which are kept, and locks on Go fields
	// that do not tell absent from zero, which need +normalize=zero.
	Notices []string
}

// WriteCRDs writes what the markers ask for into the CRDs of files, every version of them, and returns the files in the
// same order. It finds the Go type of a version by group, version and kind, and leaves CRDs of other groups alone. Only
// missing keys are written, as lines of their own in the order of the names; every other byte stays, and a second run
// changes nothing. A key that the annotation fieldlock.dev/locks carries is not missing, unless the options write the
// annotation anew: export cel has moved it there. The input is not changed.
//
// An *Error holds what cannot be written: a mark for which the schema has no node, a key that has another value in the
// file, a version without a Go type. Cost: three parses of a file that changes, otherwise one.
func (s *Source) WriteCRDs(files []File, opts ...CRDOption) ([]Written, error) {
	if s == nil || s.source == nil {
		return nil, errors.New("there is no Go source: get it from Load")
	}
	var o markers.CRDOptions
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&o)
		}
	}
	in := make([]markers.File, len(files))
	for i, f := range files {
		in[i] = markers.File(f)
	}
	out, err := s.source.WriteCRDs(in, o)
	if err != nil {
		return nil, public(err)
	}
	written := make([]Written, len(out))
	for i, w := range out {
		written[i] = Written{File(w.File), w.CRDs, w.Keys, w.Notices}
	}
	return written, nil
}

// CRDOption changes what WriteCRDs writes. A nil CRDOption changes nothing.
type CRDOption interface{ apply(*markers.CRDOptions) }

type crdOption func(*markers.CRDOptions)

func (f crdOption) apply(o *markers.CRDOptions) { f(o) }

// WithAnnotation writes the annotation fieldlock.dev/locks too, which a stock API server keeps.
func WithAnnotation() CRDOption {
	return crdOption(func(o *markers.CRDOptions) { o.Annotation = true })
}

// WithAnnotationOnly writes the locks and normalizations into the annotation fieldlock.dev/locks and takes fieldlock's
// keys out of the schemas. A stock API server accepts such a CRD in every validation mode. Topology, which it knows,
// stays in the schemas.
func WithAnnotationOnly() CRDOption {
	return crdOption(func(o *markers.CRDOptions) { o.Annotation, o.AnnotationOnly = true, true })
}

// Definitions returns the marks of every struct of the packages, and of the structs with locks in other packages that
// they use, for the definitions that openapi-gen makes of them:
//
//	definitions, err := source.Definitions().Apply(api.GetOpenAPIDefinitions(ref))
//
// A struct that a field refers to has a definition of its own, so its fields are marked there, once; a marker on a type
// counts wherever the type is used.
func (s *Source) Definitions() openapigen.Marks {
	if s == nil || s.source == nil {
		return nil
	}
	return s.source.Definitions()
}

// Problem is a marker that cannot do what it says: a mistake in Go source, or in a CRD file that the source disagrees
// with.
type Problem struct {
	File    string // relative to the folder of Load where it is below it
	Line    int    // 0 where a file as a whole is meant
	Marker  string // as written, "" where none is meant
	Message string // what was found and what would be right
	// Fix is the comment lines, without the slashes, that make the problem go away: in place of Marker, or none to
	// remove it. Nil where only the author knows.
	Fix []string
}

// String returns the problem in one line: FILE:LINE: MARKER: MESSAGE, without the parts that p does not have.
func (p Problem) String() string {
	return markers.Problem{File: p.File, Line: p.Line, Marker: p.Marker, Message: p.Message}.String()
}

// Error holds every problem found, sorted by file and line.
type Error struct {
	Problems []Problem
}

// Error returns a line for each problem.
func (e *Error) Error() string {
	if e == nil {
		return "no problem"
	}
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// public returns err with problems in their public form.
func public(err error) error {
	var found *markers.Error
	if !errors.As(err, &found) {
		return err
	}
	e := &Error{}
	for _, p := range found.Problems {
		e.Problems = append(e.Problems, Problem{p.File, p.Line, p.Marker, p.Message, p.Fix})
	}
	return e
}
