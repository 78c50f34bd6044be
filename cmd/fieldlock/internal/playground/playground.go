// Package playground runs verbs of the command on texts: the editors of a web page, not files. An answer is the text
// that the command prints, with the lines that it is about.
//
//	answer := playground.Run("check", playground.Input{Old: oldText, New: newText})
//	answer.Headline // "✗ 1 object refused, 1 violation: 1 object checked (1 update)"
package playground

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The editors, which are also the names of their texts in messages.
const (
	editorCRD = "CRD"
	editorOld = "old"
	editorNew = "new"
)

// Input is what the page shows when a verb runs.
type Input struct {
	CRD     string      `json:"crd"` // CRDs, OpenAPI documents or a JSON Schema; "" for none
	Old     string      `json:"old"`
	New     string      `json:"new"`
	Minor   string      `json:"minor"`   // of Kubernetes; "" for the newest known one
	Applier tool.Method `json:"applier"` // "" if it is not known
}

// Answer is the result of a verb. Its texts have the escapes of a terminal for colours, and no others.
type Answer struct {
	Headline string `json:"headline,omitempty"` // of check
	Text     string `json:"text"`
	Document string `json:"document,omitempty"` // of cel: the CRD with its rules
	Marks    []Mark `json:"marks"`
	Error    string `json:"error,omitempty"` // why the verb did not run

	// Report is the report of check.
	Report *compare.Report `json:"-"`
}

// Mark is a message about one line of an editor.
type Mark struct {
	Editor   string `json:"editor"`
	Line     int    `json:"line"`
	Severity string `json:"severity"` // error, warning or info
	Message  string `json:"message"`
}

// About is what the controls of the page offer.
type About struct {
	Minors   []string      `json:"minors"` // of Kubernetes, the newest last
	Appliers []tool.Method `json:"appliers"`
}

// Offers returns what the controls of the page offer.
func Offers() About { return About{builtin.Minors(), tool.Methods()} }

// Run runs a verb: check, lint, locks or cel.
func Run(verb string, in Input) Answer {
	verbs := map[string]func(*Answer, Input) error{"check": check, "lint": lint, "locks": locks, "cel": cel}
	answer := Answer{Marks: []Mark{}}
	run, ok := verbs[verb]
	if !ok {
		return Answer{Error: fmt.Sprintf("there is no verb %q", verb)}
	}
	if err := run(&answer, in); err != nil {
		return Answer{Marks: []Mark{}, Error: report.PrintableLines(err.Error())}
	}
	return answer
}

// controls is the advice of the page, by its controls.
func controls() compare.Advice {
	return compare.Advice{
		AskCluster: "fieldlock check --live asks the cluster",
		WhoApplies: "choose above who applies it",
		WhichHelm:  "choose above which of the two",
		WithSchema: "in the editor below",
		SuchAs:     "such as",
		Kustomize:  "paste what kustomize build prints",
		LintCRDs:   "use fieldlock lint --old OLD NEW in a terminal",
	}
}

// file parses the text of an editor.
func file(name, text string) manifest.File {
	f := manifest.File{Name: name}
	f.Parse([]byte(text))
	return f
}

// schemas reads the editor of CRDs. An empty one has none.
func (in Input) schemas() (manifest.Schemas, []error, error) {
	if strings.TrimSpace(in.CRD) == "" {
		return manifest.Schemas{}, nil, nil
	}
	return manifest.SchemasOf(editorCRD, []manifest.File{file(editorCRD, in.CRD)})
}

// check compares the objects of two editors, as fieldlock check --schema CRD old new does.
func check(answer *Answer, in Input) error {
	schemas, mistakes, err := in.schemas()
	if err != nil {
		return err
	}
	kinds, err := builtin.For(in.Minor)
	if err != nil {
		return err
	}
	catalogue, err := operators.Load()
	if err != nil {
		return err
	}
	r, err := compare.Check(compare.Input{
		Old: []manifest.File{file(editorOld, in.Old)}, New: []manifest.File{file(editorNew, in.New)},
		OldSchemas: schemas, NewSchemas: schemas, Errs: mistakes,
	}, compare.Options{Builtin: kinds, Operators: catalogue, Applier: in.Applier, Now: time.Now(), Advice: controls()})
	if err != nil {
		return err
	}
	answer.Report = r
	var text bytes.Buffer
	if err := report.Formats()[0].Check(report.Coloured{Writer: &text}, r); err != nil {
		return err
	}
	headline, details, _ := strings.Cut(text.String(), "\n")
	answer.Headline = headline
	answer.Text = strings.Trim(strings.TrimSuffix(details, headline+"\n"), "\n")
	for _, e := range r.Errors {
		answer.add("error", e.Text)
		answer.mark(e.File, e.Line, immutability.SeverityError, e.Message)
	}
	for _, warning := range r.Warnings {
		answer.add("warning", warning)
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		severity := immutability.SeverityError
		if !v.Refused() {
			severity = immutability.SeverityNote
		}
		answer.mark(v.File, v.Line, severity, v.Message)
	}
	for _, u := range r.Unknown {
		answer.mark(u.File, u.Line, immutability.SeverityWarning, u.Message)
	}
	for _, d := range r.Deletions {
		if d.Loses() {
			answer.mark(d.File, d.Line, immutability.SeverityWarning, d.Message)
		}
	}
	return nil
}

// add adds a line that the command prints on standard error.
func (a *Answer) add(severity, text string) {
	p := report.Palette(true)
	head := p.Red(severity + ":")
	if severity == "warning" {
		head = p.Yellow(severity + ":")
	}
	a.Text = strings.TrimLeft(a.Text+"\n\n"+head+" "+report.PrintableLines(text), "\n")
}

// mark marks a line of an editor. Messages about nothing in an editor have no mark.
func (a *Answer) mark(editor string, line int, severity immutability.Severity, message string) {
	if line == 0 {
		return
	}
	name := string(severity)
	if severity == immutability.SeverityNote {
		name = "info"
	}
	a.Marks = append(a.Marks, Mark{editor, line, name, message})
}

var errNoCRD = errors.New("paste a CRD into the editor below: this tab is about CRDs")

// crds reads the editor of CRDs, which needs one.
func (in Input) crds() ([]manifest.CRD, []error, error) {
	if strings.TrimSpace(in.CRD) == "" {
		return nil, nil, errNoCRD
	}
	schemas, mistakes, err := in.schemas()
	if err != nil {
		return nil, nil, err
	}
	list, more := schemas.Amended(nil)
	return list, append(mistakes, more...), nil
}

// lint audits the CRDs, as fieldlock lint --explain CRD does.
func lint(answer *Answer, in Input) error {
	list, mistakes, err := in.crds()
	if err != nil {
		return err
	}
	var audited []*crd.CRD
	for _, c := range list {
		audited = append(audited, c.CRD)
	}
	r, err := audit.CRDs(audited, nil, audit.Options{Explain: true})
	if err != nil {
		return err
	}
	for _, err := range mistakes {
		r.Errors = append(r.Errors, err.Error())
	}
	if err := answer.print(func(w io.Writer) error { return report.Formats()[0].Lint(w, r) }); err != nil {
		return err
	}
	for _, text := range r.Errors {
		answer.add("error", text)
	}
	for _, f := range r.Findings {
		answer.mark(f.Position.Filename, f.Position.Line, f.Severity, f.Message)
	}
	return nil
}

// locks lists the locked fields of the CRDs. Without CRDs it lists those of the kinds of the new objects, and without
// objects those of all built-in kinds.
func locks(answer *Answer, in Input) error {
	found, mistakes, err := in.locks()
	if err != nil {
		return err
	}
	if err := answer.print(func(w io.Writer) error { return report.Formats()[0].Locks(w, found) }); err != nil {
		return err
	}
	for _, err := range mistakes {
		answer.add("error", err.Error())
	}
	return nil
}

func (in Input) locks() (*audit.Locks, []error, error) {
	if strings.TrimSpace(in.CRD) != "" {
		list, mistakes, err := in.crds()
		if err != nil {
			return nil, nil, err
		}
		found, more := audit.LocksOf(list)
		return found, append(mistakes, more...), nil
	}
	kinds, err := builtin.For(in.Minor)
	if err != nil {
		return nil, nil, err
	}
	catalogue, err := operators.Load()
	if err != nil {
		return nil, nil, err
	}
	objects := manifest.Objects([]manifest.File{file(editorNew, in.New)})
	if len(objects.Objects) == 0 {
		return audit.LocksOfKinds(kinds.All()), objects.Errs, nil
	}
	found := audit.LocksOfKinds(nil)
	seen := map[string]bool{}
	for _, o := range objects.Objects {
		k, isBuiltin := kinds.Find(o.APIVersion, o.Kind)
		known, hasOperator := catalogue.Find(o.APIVersion, o.Kind)
		facts, hasFacts := crdfacts.Find(o.APIVersion, o.Kind)
		key := o.APIVersion + " " + o.Kind
		switch {
		case seen[key]:
		case isBuiltin:
			found.Add(audit.LocksOfKinds([]*builtin.Kind{k}))
		default:
			if hasOperator {
				found.Add(audit.LocksOfOperators([]*operators.Kind{known}))
			}
			if hasFacts {
				found.Add(audit.LocksOfFacts([]*crdfacts.Kind{facts}))
			}
		}
		seen[key] = true
	}
	found.DropEmpty()
	return found, objects.Errs, nil
}

// cel writes the locks of the CRDs as CEL rules, as fieldlock export cel CRD does.
func cel(answer *Answer, in Input) error {
	if strings.TrimSpace(in.CRD) == "" {
		return errNoCRD
	}
	f, err := convert.Read(editorCRD, []byte(in.CRD))
	if err != nil {
		return err
	}
	export, err := convert.ToCEL(f, nil)
	if err != nil {
		return err
	}
	document, err := f.Bytes()
	if err != nil {
		return fmt.Errorf("the CRD cannot be printed: %w", err)
	}
	answer.Document = string(document)
	return answer.print(func(w io.Writer) error { report.Export(w, export); return nil })
}

// print sets the text of an answer to what the command prints.
func (a *Answer) print(write func(io.Writer) error) error {
	var text bytes.Buffer
	err := write(report.Coloured{Writer: &text})
	a.Text = strings.TrimRight(text.String(), "\n")
	return err
}
