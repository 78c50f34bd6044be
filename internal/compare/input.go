package compare

import (
	"context"
	"time"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What goes in: both sides, the schemas, and the options.

// Input is what Check compares.
type Input struct {
	New, Old []manifest.File
	// Unsure are objects of OLD that go, unless a part of their unit has them that could not be read.
	Unsure []manifest.File
	// NewWritten and OldWritten are changed files that units read, as they are written. Readers has the units of NEW
	// that read them, by their paths. The objects that the units print are in New and Old.
	NewWritten, OldWritten []manifest.File
	Readers                map[string][]string
	// Failing are the units that may read a changed file and cannot be rendered, by its path.
	Failing map[string][]string
	// Hidden, unless nil, returns the files of NEW that are below directories whose name starts with a dot, at least
	// those that have one of names in them. It is called where NEW lacks objects of OLD.
	Hidden func(names []string) []manifest.File
	// NewSchemas and OldSchemas are schemas for the objects, as the change leaves and finds them; often the same files.
	// CRDs among New and Old count too. A JSON Schema is for the documents that are not Kubernetes objects.
	NewSchemas, OldSchemas manifest.Schemas
	// NewDefaults and OldDefaults are what such a document leaves out: the values.yaml of a Helm chart.
	NewDefaults, OldDefaults map[string]any
	// Locks are the external locks of both sides; nil for none.
	Locks *external.Locks
	// Accepted are the accepted violations of NEW, nil for none, and OldAccepted those of OLD. With KnownOld, an
	// acceptance that OLD lacks is marked as new.
	Accepted, OldAccepted *accept.List
	KnownOld              bool
	// Live has the cluster's state of the objects in New, by their documents. Unless it is nil, it replaces Old.
	Live map[*yamldoc.Document]Live
	// Warnings are for the report. Errs are mistakes that were found on the way here; the report lists them.
	Warnings []string
	Errs     []error
	// Units are what New and Old were rendered from, and NotCovered what could not be. Unchanged is how many units and
	// files are not in New and Old, since they are equal on both sides.
	Units      []result.Unit
	NotCovered []result.NotCovered
	Unchanged  int
	// Excluded are changed files that the settings exclude.
	Excluded []string
}

// Options change how Check compares.
type Options struct {
	// Builtin are the kinds that need no schema; nil for none.
	Builtin *builtin.Kinds
	// Operators is what is known of operators' webhooks; nil for nothing.
	Operators *operators.Catalogue
	// Strict makes a run fail whose report is not complete.
	Strict bool
	// NoDefaults compares objects as they are written: neither pruned nor defaulted, and with null.
	NoDefaults bool
	// Applier, unless "", is how all objects are applied; DefaultApplier how those are of which nothing else is known.
	Applier, DefaultApplier tool.Method
	// DefaultTool, unless "", is who deploys objects of which that is not known.
	DefaultTool tool.Name
	// RefuseDeletions are the costs of deletions that are violations.
	RefuseDeletions []result.Cost
	// Now decides which acceptances are over.
	Now time.Time
	// Context, unless nil, ends the comparison early: pairs that are not judged by then have its error.
	Context context.Context
	// Advice has the words for advice; the zero value names the flags of the command.
	Advice Advice
	// Begin and Step, unless nil, are told how many pairs there are, and when each is done.
	Begin func(pairs int)
	Step  func()
}

// Live is one object as a cluster stores it, and as the cluster would store it after an apply of the manifest.
type Live struct {
	// Old is the object in the cluster, nil where it has none.
	Old *yamldoc.Document
	// New is the object after an apply of the manifest.
	New map[string]any
	// Accepted is set where the API server accepts the apply in a dry run; Refusals are its answer where it does not.
	// Neither is set where it was not asked.
	Accepted bool
	Refusals []ServerRefusal
	// Unguarded is set where no webhook or policy of the cluster looks at updates of the kind.
	Unguarded bool
	// Unread is set for an object that could not be read: whether the cluster has it is not known.
	Unread bool
}

// ServerRefusal is a reason for which the API server refused a dry run of an object. Path is "" where it names none.
type ServerRefusal struct{ Path, Message string }

// Advice has the words for what people can do where the files do not tell enough. Each front end has its own controls:
// flags of the command, options of the library, editors of a page. Every text is part of a sentence.
type Advice struct {
	AskCluster string // "--live asks the cluster"
	WhoApplies string // "--applier says who applies"
	WhichHelm  string // "--applier says which of the two"
	WithSchema string // "with --schema", after "give the CRD"
	SuchAs     string // "such as --schema", before the name of a schema
	Kustomize  string // "render the manifests with --render 'kustomize build DIR'"
	AsWritten  string // "--no-defaults compares objects as they are written"; "" if the front end cannot
	LintCRDs   string // "use fieldlock lint --old OLD NEW"
}

// flags is the advice of the command.
func flags() Advice {
	return Advice{
		AskCluster: "--live asks the cluster",
		WhoApplies: "--applier says who applies",
		WhichHelm:  "--applier says which of the two",
		WithSchema: "with --schema",
		SuchAs:     "such as --schema",
		Kustomize:  "render the manifests with --render 'kustomize build DIR'",
		AsWritten:  "--no-defaults compares objects as they are written",
		LintCRDs:   "use fieldlock lint --old OLD NEW",
	}
}
