package compare

import (
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Report is the result of a check, with the JSON form that check -o json prints. Fields without a JSON name serve the
// other formats.
type Report struct {
	Version string `json:"version"` // of the JSON form
	Allowed bool   `json:"allowed"`
	// Complete is true if everything that changed was checked: nothing is unreadable, not covered, unknown or of an
	// unchecked kind.
	Complete     bool                 `json:"complete"`
	Checked      int                  `json:"checked"` // objects that some schema covers: updated, created, deleted
	Skipped      int                  `json:"skipped"`
	SkippedKinds []result.KindCount   `json:"skippedKinds"` // that no schema covers
	Violations   []result.Violation   `json:"violations"`   // by object in the order of NEW, then by path
	Unknown      []result.Remark      `json:"unknown"`
	Notes        []result.Remark      `json:"notes"`
	Replacements []result.Replacement `json:"replacements"`
	Deletions    []result.Deletion    `json:"deletions"`
	Units        []result.Unit        `json:"units"`
	NotCovered   []result.NotCovered  `json:"notCovered"`
	Excluded     []string             `json:"excluded"` // changed files that the settings exclude
	// UncheckedKinds are the kinds of changed objects whose definition is not complete: their CRDs or operators may
	// refuse more.
	UncheckedKinds []result.KindCount `json:"uncheckedKinds"`
	Warnings       []string           `json:"warnings"`
	MoreViolations int                `json:"moreViolations,omitempty"` // beyond the limit of a report
	Errors         []Error            `json:"errors,omitempty"`

	Updated, Created, Deleted int `json:"-"`
	// Unchanged is how many units and files were not read, since they are equal on both sides.
	Unchanged int `json:"-"`
	// Others is how many of the skipped documents are not objects.
	Others int `json:"-"`
	// Strict is set when the run fails unless Complete.
	Strict bool `json:"-"`
	// ListAll is set when text names all objects that one line refuses, not only the first few.
	ListAll bool `json:"-"`
}

// reportVersion is the version of the JSON form of reports: fields may be added to it, and none is removed or changes
// its meaning.
const reportVersion = "v1"

// Error is an input that could not be used.
type Error struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`

	// Text is the whole error as one text, with file and line.
	Text string `json:"-"`
}

// subject returns the subject of a Remark or violation at a path of an object.
func subject(o *manifest.Object, at fieldpath.Path) result.Subject {
	s := result.Subject{Object: o.String(), Kind: o.Kind, APIVersion: o.APIVersion, Unit: o.Unit, File: o.Document.File}
	var begin, place yamldoc.Position
	if o.Document.Place == nil {
		begin, place = o.Document.Position(), o.Locate(at)
	} else {
		decides := o.Document.Place(at)
		begin, place = o.Document.Place(nil).Position, decides.Position
		s.File, s.From = decides.File, decides.From
	}
	s.Line, s.Column, s.ObjectLine = place.Line, place.Column, begin.Line
	return s.WithIdentity(o.Document)
}

// about completes a remark about an object.
func about(r result.Remark, o *manifest.Object) result.Remark {
	r.Subject = subject(o, fieldpath.Resolve(r.Path, o.Value()))
	return r
}
