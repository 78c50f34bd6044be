// Package changes names the changes of Kubernetes objects that a cluster will refuse: what the command fieldlock check
// does, for programs such as diff tools and plugins of deployment tools.
//
//	result, err := changes.Check(ctx, newManifests, oldManifests, changes.WithSchemas("crd.yaml", crd))
//	if err == nil {
//		err = result.Err()
//	}
//
// The result is the report of the command in Go types, with the differences, deletions, operators and policies behind
// it. The package is v0: names may still change.
//
// It runs no program, uses no network and reads no file. Kubernetes' own kinds need no schema, CRDs among the objects
// count, and so does the catalogue of what operators refuse. Loosened names what an update of a CRD no longer refuses.
package changes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/settings"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Check compares two sets of objects: manifests as YAML or JSON, one document or many, or decoded objects. Objects are
// paired by kind, namespace and name; those on one side only are created or deleted, which is allowed. Neither side is
// changed or kept.
//
// The error is about what cannot be read or compared, or about ctx; the rest is checked, and the Result is never
// allowed. Cost: linear in the objects; the locks of a kind are compiled when the first object needs them.
func Check[Objects []byte | []map[string]any](ctx context.Context, newObjs, oldObjs Objects,
	opts ...Option) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	c := &config{known: []Knowledge{KnowledgeBuiltin, KnowledgeOperators}}
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	newFile, newErr := fileOf(cmp.Or(c.newName, "new"), newObjs)
	oldFile, oldErr := fileOf(cmp.Or(c.oldName, "old"), oldObjs)
	if c.appliedBy != "" && !slices.Contains(tool.Methods(), tool.Method(c.appliedBy)) {
		return Result{}, fmt.Errorf("%q is not an applier; the appliers are %v", c.appliedBy, tool.Methods())
	}
	in, err := c.input()
	if err := errors.Join(newErr, oldErr, err); err != nil {
		return Result{}, err
	}
	in.New, in.Old = []manifest.File{newFile}, []manifest.File{oldFile}
	options := compare.Options{
		Now: time.Now(), Context: ctx, Applier: tool.Method(c.appliedBy), DefaultApplier: c.applier,
		RefuseDeletions: c.refuseDeletions,
		Advice:          advice(),
	}
	if err := c.load(&options); err != nil {
		return Result{}, err
	}
	report, err := compare.Check(*in, options)
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return publish(report)
}

// load adds what is known of kinds without schemas.
func (c *config) load(o *compare.Options) (err error) {
	for _, known := range c.known {
		switch known {
		case KnowledgeBuiltin:
			o.Builtin, err = builtin.For(cmp.Or(c.version, c.minor))
		case KnowledgeOperators:
			o.Operators, err = operators.Load()
		default:
			err = fmt.Errorf("%q cannot be known; there are %q and %q", known, KnowledgeBuiltin, KnowledgeOperators)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileOf reads one side.
func fileOf(name string, objects any) (manifest.File, error) {
	f := manifest.File{Name: name}
	data, isText := objects.([]byte)
	if !isText {
		var text bytes.Buffer
		for i, object := range objects.([]map[string]any) {
			if err := json.NewEncoder(&text).Encode(object); err != nil {
				return f, fmt.Errorf("%s: object %d: %w", name, i, err)
			}
		}
		data = text.Bytes()
	}
	f.Parse(data)
	return f, nil
}

// publish makes the public form of a report.
func publish(report *compare.Report) (Result, error) {
	r := Result{
		Allowed: report.Allowed && len(report.Errors) == 0, Complete: report.Complete, Checked: report.Checked,
		Skipped:      report.Skipped,
		SkippedKinds: report.SkippedKinds, Violations: report.Violations, Unknown: report.Unknown, Notes: report.Notes,
		Replacements: report.Replacements, Deletions: report.Deletions, UncheckedKinds: report.UncheckedKinds,
		Warnings: report.Warnings, MoreViolations: report.MoreViolations,
		checked: len(report.Errors) == 0,
	}
	var errs []error
	for _, e := range report.Errors {
		errs = append(errs, errors.New(e.Text))
	}
	return r, errors.Join(errs...)
}

// advice names the options of this package.
func advice() compare.Advice {
	return compare.Advice{
		AskCluster: "only the cluster can tell",
		WhoApplies: "WithApplier says who applies",
		WhichHelm:  "WithApplier says which of the two",
		WithSchema: "with WithSchemas",
		SuchAs:     "such as that of",
		Kustomize:  "render the manifests",
		LintCRDs:   "use Loosened",
	}
}

// Option changes how Check compares. A nil Option changes nothing.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	schemas  []manifest.File
	settings []settingsFile
	minor    string // of the settings
	version  string // beats it

	newName, oldName string
	appliedBy        Applier
	known            []Knowledge

	applier         tool.Method // of the settings
	refuseDeletions []result.Cost
}

// settingsFile is a file that is not read yet.
type settingsFile struct {
	name string
	data []byte
}

// WithSchemas adds schemas: the CRDs of a file, an OpenAPI document or a JSON Schema. The name is for messages, and
// tells the kind of a JSON Schema of a catalogue, GROUP/KIND_VERSION.json.
func WithSchemas(name string, data []byte) Option {
	return option(func(c *config) {
		f := manifest.File{Name: name}
		f.Parse(data)
		c.schemas = append(c.schemas, f)
	})
}

// WithSettings adds the keys accept, locks, aliases, applier, refuse-deletions and kubernetes-version of a settings
// file, .fieldlock.yaml. Without kubernetes-version, the cluster is taken for the newest known one.
func WithSettings(name string, data []byte) Option {
	return option(func(c *config) { c.settings = append(c.settings, settingsFile{name, data}) })
}

// Applier is who applies the new objects, where the verdict depends on it.
type Applier string

// The appliers.
const (
	ApplierServerSide Applier = "server-side" // Flux, kubectl apply --server-side, Helm 4
	ApplierClientSide Applier = "client-side" // kubectl apply, Argo CD
	ApplierHelm       Applier = "helm"        // Helm 3, whose patch is of its own
	ApplierReplace    Applier = "replace"     // a PUT
)

// WithApplier says how all objects are applied. Without it, a verdict is given only where all ways agree.
func WithApplier(by Applier) Option {
	return option(func(c *config) { c.appliedBy = by })
}

// WithKubernetesVersion says which minor the cluster has, such as "1.36": the newest known one unless set. It takes
// precedence over settings.
func WithKubernetesVersion(minor string) Option {
	return option(func(c *config) { c.version = minor })
}

// Knowledge is what Check knows about kinds without their schemas.
type Knowledge string

// What is known.
const (
	KnowledgeBuiltin   Knowledge = "builtin"   // Kubernetes' own kinds
	KnowledgeOperators Knowledge = "operators" // what operators refuse, and the transition rules of their CRDs
)

// WithKnowledge says what Check knows about kinds without their schemas: everything unless set, and nothing if the list
// is empty. Changed objects of other kinds make the result incomplete.
func WithKnowledge(list ...Knowledge) Option {
	return option(func(c *config) { c.known = list })
}

// WithNames sets how the result calls the two sides in File and OldFile: "new" and "old" unless set.
func WithNames(newName, oldName string) Option {
	return option(func(c *config) { c.newName, c.oldName = newName, oldName })
}

// input reads the schemas and settings.
func (c *config) input() (*compare.Input, error) {
	in := &compare.Input{Locks: &external.Locks{}}
	var errs []error
	for _, f := range c.schemas {
		s, mistakes, err := manifest.SchemasOf(f.Name, []manifest.File{f})
		in.NewSchemas.Add(s)
		errs = append(append(errs, mistakes...), err)
	}
	in.OldSchemas = in.NewSchemas
	for _, s := range c.settings {
		read, err := settings.Parse(s.name, s.data)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		in.Locks.Add(read.Locks)
		c.applier, c.refuseDeletions = cmp.Or(c.applier, read.Applier), append(c.refuseDeletions,
			read.RefuseDeletions...)
		c.minor = cmp.Or(c.minor, read.KubernetesVersion)
		if len(read.Accept.Entries) == 0 {
			continue
		}
		if in.Accepted != nil {
			errs = append(errs, fmt.Errorf("%s: two settings accept violations; give one", s.name))
		}
		in.Accepted = read.Accept
	}
	return in, errors.Join(errs...)
}

// Result is what Check found: the report of fieldlock check -o json, in Go types. What concerns files and units is left
// out, which Check does not have. The zero Result is not allowed.
type Result struct {
	// Allowed reports whether no change is refused, but for accepted ones.
	Allowed bool `json:"allowed"`
	// Complete reports whether everything that changed was checked: no change is unknown or of a kind in SkippedKinds
	// or UncheckedKinds.
	Complete bool `json:"complete"`
	// Checked is how many objects some schema covers, and Skipped how many none does.
	Checked      int                  `json:"checked"`
	Skipped      int                  `json:"skipped"`
	SkippedKinds []result.KindCount   `json:"skippedKinds"` // that no schema covers
	Violations   []result.Violation   `json:"violations"`   // by object in the order of the new ones, then by path
	Unknown      []result.Remark      `json:"unknown"`      // what only the cluster can decide
	Notes        []result.Remark      `json:"notes"`        // what is accepted without effect, and the like
	Replacements []result.Replacement `json:"replacements"`
	Deletions    []result.Deletion    `json:"deletions"` // objects that the new ones no longer have
	// UncheckedKinds are the kinds of changed objects of which nothing is known. Their operators may refuse changes.
	UncheckedKinds []result.KindCount `json:"uncheckedKinds"`
	Warnings       []string           `json:"warnings"`
	MoreViolations int                `json:"moreViolations,omitempty"` // beyond the limit of a report

	checked bool
}

// Err returns nil if the change is allowed, otherwise an error with a line for each violation that nobody has accepted.
// The zero Result returns an error.
func (r *Result) Err() error {
	if r == nil || !r.checked {
		return errors.New("nothing was checked")
	}
	if r.Allowed {
		return nil
	}
	var lines []string
	for _, v := range r.Violations {
		if !v.Accepted {
			lines = append(lines, fmt.Sprintf("%s %s: %s: %s", v.Kind, v.Object, v.Path, v.Message))
		}
	}
	return fmt.Errorf("the cluster will refuse the change:\n%s", strings.Join(lines, "\n"))
}

// Loosening is one thing that may change after an update of a CRD and could not before.
type Loosening struct {
	// Finding names the fields. Its Rule is "lock-dropped" for a lock or CEL transition rule that is gone or weaker;
	// the Rule of a way around one that still exists is that of fieldlock lint, such as "cel-unset-then-set".
	crd.Finding
	// Objects show it, in the order of writing: the new CRD accepts each update, and the old one does not accept all of
	// them and refuses an update from the first to the last. Nil if none were found within a bounded effort.
	Objects []map[string]any
	// Refused is why the old CRD refuses the update from the first object to the last.
	Refused []string
}

// Loosened returns what may change with newCRD that could not with oldCRD, for tools that judge updates of CRDs: first
// the locks and CEL transition rules that are dropped or weaker, by version, then the ways around others that did not
// exist. The severity of a finding that does not follow from the rules is a warning. Nil means that nothing was found.
//
// The error is about a CRD that is nil, and about CRDs of different kinds. Cost: up to some seconds for a large CRD, as
// fieldlock lint --explain; the work is bounded.
func Loosened(newCRD, oldCRD *crd.CRD) ([]Loosening, error) {
	if newCRD == nil || oldCRD == nil {
		return nil, errors.New("a CRD is nil: give the new and the old one")
	}
	findings, err := audit.Loosened(newCRD, oldCRD)
	if err != nil {
		return nil, err
	}
	var list []Loosening
	for _, f := range findings {
		l := Loosening{Finding: f.Finding}
		if f.Witness != nil {
			l.Objects = f.Witness.Objects
			for _, r := range f.Witness.Refused {
				l.Refused = append(l.Refused, r.String())
			}
		}
		list = append(list, l)
	}
	return list, nil
}
