package unit

import (
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// The state of a comparison, and its result.

// Comparison is what two trees deploy, as far as it differs.
type Comparison struct {
	// New and Old are the objects to compare: those of changed units and changed files. Then come the objects of
	// unchanged files and units that the changed ones need, which both sides have alike.
	New, Old []manifest.File
	// Unsure are objects of OLD that NEW does not print, unless a part of their unit has them that could not be read.
	Unsure []manifest.File
	// Units are those that NEW has, or that only OLD has.
	Units      []result.Unit
	NotCovered []result.NotCovered
	// Errs are the mistakes that the change brings.
	Errs []error
	// Unchanged is how many units and files were left out, since both sides have them alike.
	Unchanged int
	// NewWritten and OldWritten are the changed files that units read, as they are written, and Readers the units of
	// NEW that read them.
	NewWritten, OldWritten []manifest.File
	Readers                map[string][]string
	// Failing are the units of NEW that may read a changed file and cannot be rendered.
	Failing map[string][]string
	// Warnings are what the change touches and rendering cannot tell.
	Warnings []string
	// Excluded are the files of NEW that Options.Exclude leaves out, not parsed.
	Excluded []manifest.File
}

// comparison is one run of Compare.
type comparison struct {
	engine           *engine
	newSide, oldSide *Side
	news, olds       *side
	out              *Comparison

	created   []result.NotCovered // units that OLD does not have; see forgiveNew
	pairs     []unitPair
	unchanged []filePair
}

// unitPair is a unit on both sides; one of them is nil for a unit that only one side has.
type unitPair struct {
	new, old *Unit
	changed  bool
	// forced is set for a unit of OLD that can still be rendered in NEW, although NEW does not deploy it so.
	forced bool
	// installs is set for charts as an upgrade applies them: the pair for their installation, which is compared as
	// well.
	installs *unitPair
}

// unchanged reports whether both sides render the unit alike.
func (p *unitPair) unchanged() bool { return !p.changed && !p.forced && p.new.Err == nil }

// filePair is a file that both sides read as it is written.
type filePair struct{ new, old manifest.File }

// addNotCovered lists a unit that is not covered.
func (c *comparison) addNotCovered(n result.NotCovered, isNew bool) {
	if isNew {
		c.created = append(c.created, n)
	} else {
		c.out.NotCovered = append(c.out.NotCovered, n)
	}
}

// uncovered lists something changed that cannot be read as it is deployed.
func (c *comparison) uncovered(unit, kind, file, reason string) {
	c.out.NotCovered = append(c.out.NotCovered,
		result.NotCovered{Unit: unit, Kind: kind, File: file, Reason: reason, Changed: true})
}

// sameContent reports whether both sides have a file with the same content, or cannot read it.
func (c *comparison) sameContent(n, old *manifest.File) bool {
	if n.Elsewhere || old.Elsewhere { // where both sides have it alike, it is not among the files
		return false
	}
	if n.Err != nil || old.Err != nil {
		return n.Err != nil && old.Err != nil &&
			strings.TrimPrefix(n.Err.Error(), n.Name) == strings.TrimPrefix(old.Err.Error(), old.Name)
	}
	a, b := c.newSide.id(n), c.oldSide.id(old)
	return a == b && a != ""
}

// parse reads files. With wanted, it reads only the documents whose texts are wanted.
func (c *comparison) parse(s *Side, files []manifest.File, wanted func(text []byte) bool) []manifest.File {
	parsed := make([]manifest.File, len(files))
	manifest.Each(len(files), func(i int) { parsed[i] = s.parse(files[i], c.engine.shared, wanted) })
	return parsed
}
