package compare

import (
	"slices"
	"time"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Input is what Check compares.
type Input struct {
	New, Old []manifest.File
	// Hidden, unless nil, returns the files of NEW that are below directories whose name starts with a dot, at least those
	// that have one of names in them. It is called where NEW lacks objects of OLD.
	Hidden func(names []string) []manifest.File
	// NewSchemas and OldSchemas are schemas for the objects, as the change leaves and finds them; often the same files.
	// CRDs among New and Old count too. A JSON Schema is for the documents that are not Kubernetes objects.
	NewSchemas, OldSchemas manifest.Schemas
	// NewDefaults and OldDefaults are what such a document leaves out: the values.yaml of a Helm chart.
	NewDefaults, OldDefaults map[string]any
	// Accepted are the violations that somebody has accepted, nil for none. OldAccepted are those that OLD has already;
	// with KnownOld an acceptance that is not among them is marked as new.
	Accepted, OldAccepted *accept.List
	KnownOld              bool
	// Live is what a cluster has of the objects in New, by their documents. Unless it is nil, it takes the place of Old.
	Live map[*yamldoc.Document]Live
	// Warnings are for the report. Errs are mistakes that were found on the way here; the report lists them.
	Warnings []string
	Errs     []error
}

// Options change how Check compares.
type Options struct {
	// Builtin are the kinds that need no schema; nil for none.
	Builtin *builtin.Kinds
	// Strict makes an object of an unknown kind an error, and an unknown verdict a refusal.
	Strict bool
	// NoDefaults compares objects as they are written: neither pruned nor defaulted, and with null.
	NoDefaults bool
	// Now decides which acceptances are over.
	Now time.Time
	// Begin and Step, unless nil, are told how many pairs there are, and when each is done.
	Begin func(pairs int)
	Step  func()
}

// hasPlainSchema reports whether a schema is for documents that are not Kubernetes objects.
func (in *Input) hasPlainSchema() bool {
	return slices.ContainsFunc(slices.Concat(in.NewSchemas.Documents, in.OldSchemas.Documents), func(d *openapi.Document) bool { return d.Root != "" })
}
