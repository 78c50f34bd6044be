package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Report is the result of a check, with the JSON form that check -o json prints. Fields without a JSON name serve the
// other formats.
type Report struct {
	Version string `json:"version"` // of the JSON form
	Allowed bool   `json:"allowed"`
	// Complete is true if everything that changed was checked: nothing is unreadable, not covered, unknown or of an unchecked kind.
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
	// UncheckedKinds are the kinds of changed objects whose definition is not complete: their CRDs or operators may refuse more.
	UncheckedKinds []result.KindCount `json:"uncheckedKinds"`
	Warnings       []string           `json:"warnings"`
	MoreViolations int                `json:"moreViolations,omitempty"` // beyond the limit of a report
	Errors         []Error            `json:"errors,omitempty"`

	Updated, Created, Deleted int `json:"-"`
	// Unchanged is how many units and files were not read, since both sides have them alike.
	Unchanged int `json:"-"`
	// Others is how many of the skipped documents are not objects.
	Others int `json:"-"`
	// Strict is set when the run fails unless Complete.
	Strict bool `json:"-"`
	// ListAll is set when text names all objects that one line refuses, not only the first few.
	ListAll bool `json:"-"`
}

// reportVersion is the version of the JSON form of reports: fields may be added to it, and none is removed or changes its meaning.
const reportVersion = "v1"

// Error is an input that could not be used.
type Error struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`

	// Text is the whole error as one text, with file and line.
	Text string `json:"-"`
}

// Advise replaces words in what the report advises to do, for programs that have other controls than the command's flags.
func (r *Report) Advise(words *strings.Replacer) {
	for i := range r.Warnings {
		r.Warnings[i] = words.Replace(r.Warnings[i])
	}
	for _, remarks := range [...][]result.Remark{r.Unknown, r.Notes} {
		for i := range remarks {
			remarks[i].Message = words.Replace(remarks[i].Message)
		}
	}
	for i := range r.Errors {
		e := &r.Errors[i]
		e.Message, e.Text = words.Replace(e.Message), words.Replace(e.Text)
	}
}

// The third step of a check: the report.

// addVerdicts adds the verdicts on pairs to the report.
func (c *checker) addVerdicts(pairs []pair, verdicts []verdict, errs []error) {
	r := &printer{}
	succeeded := map[*group]int{}
	for i, p := range pairs {
		switch {
		case p.new == nil:
			c.report.Deleted++
			c.addDeletion(p.old)
			continue
		case p.old != nil:
			c.report.Updated++
		case p.group != nil && p.group.relation == successors && succeeded[p.group] < p.group.count:
			succeeded[p.group]++
			c.report.Updated++
		default:
			c.report.Created++
		}
		c.fail(errs[i])
		c.countUnchecked(p)
		c.add(r, p, &verdicts[i])
	}
	c.report.Checked = c.report.Created + c.report.Updated + c.report.Deleted
}

// add adds a verdict to the report.
func (c *checker) add(r *printer, p pair, v *verdict) {
	var re *result.Replacement
	if v.replacement != nil {
		re = c.replacementOf(p, v)
	}
	replaced := re != nil && re.Requested && harmless(re)
	for i := range v.violations {
		violation := &v.violations[i]
		r.complete(violation, p.new)
		violation.addOld(p.new, v.old)
		if violation.Change == "" {
			violation.Change = violation.change(p.new, v.old)
		}
		violation.Replaced = replaced
		c.report.Violations = append(c.report.Violations, violation.Violation)
	}
	c.report.MoreViolations += v.more
	if v.more > 0 {
		c.report.Warnings = append(c.report.Warnings, fmt.Sprintf("%s %s has %d more violations than are listed", p.new.Kind, p.new, v.more))
	}
	for _, u := range v.unknown {
		c.report.Unknown = append(c.report.Unknown, about(u, p.new))
	}
	for _, n := range v.notes {
		c.report.Notes = append(c.report.Notes, about(n, p.new))
	}
	if re != nil {
		c.report.Replacements = append(c.report.Replacements, *re)
	}
}

// printer makes the parts of a report of what the definitions found.
type printer struct {
	repeated int // bytes of containers that the report has so far for keys that they lost
}

// maxRepeated is how many bytes of containers are printed: each of the keys that one has lost would print it once more.
const maxRepeated = 16 << 20

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

// addOld adds where the violation's field is in OLD. An object of a cluster has no file.
func (v *violation) addOld(newObj, oldObj *manifest.Object) {
	if oldObj == nil || oldObj.Document.File == manifest.Cluster {
		return
	}
	if oldObj.Document.Place != nil {
		place := oldObj.Document.Place(v.at)
		v.OldFile, v.OldLine = place.File, place.Line
		return
	}
	v.OldFile, v.OldLine = oldObj.Document.File, oldObj.LocateAs(newObj.Value(), v.at).Line
	v.Moved = newObj.Path != oldObj.Path
}

// complete adds the object of a violation, and what is printed of its values.
func (r *printer) complete(v *violation, o *manifest.Object) {
	at := v.at
	if o.Document.Place != nil && len(v.Differences) > 0 { // several files may have made the value; the one that changed it counts
		at = fieldpath.Resolve(v.Differences[0].Path, o.Value())
	}
	v.Subject = subject(o, at)
	if v.OnlyOld {
		what := "lock"
		if v.Policy != "" {
			what = "policy"
		}
		v.Message += fmt.Sprintf("; only OLD has this %s: the change drops it and breaks it at once, so keep the %s, or accept the change in %s",
			what, what, manifest.AcceptFile)
	}
	if isSecret(o) {
		if len(v.Differences) > 0 && v.LockFile != "" { // the message of a CRD's lock lists them
			v.Message, _, _ = strings.Cut(v.Message, ": ")
		}
		v.Redacted, v.Differences, v.MoreDifferences = true, nil, 0
		return
	}
	v.Key = raw(v.key)
	if v.ValuesLeftOut = v.key.OK && r.repeated > maxRepeated; !v.ValuesLeftOut {
		v.Old, v.New = raw(v.old), raw(v.new)
	}
	if v.key.OK {
		r.repeated += len(v.Old) + len(v.New)
	}
}

// isSecret reports whether an object's values must not be printed.
func isSecret(o *manifest.Object) bool { return o.Group == "" && o.Kind == "Secret" }

// change identifies the change that a violation is about: of the value at its path, or else of the whole object. The message counts
// where only the server knows its reason.
func (v *violation) change(newObj, oldObj *manifest.Object) string {
	newVal, oldVal := v.new, v.old
	if oldObj == nil {
		return digest(oldVal, newVal)
	}
	if !newVal.OK && !oldVal.OK {
		newVal, oldVal = kind.Correlate(nil, newObj.Value(), oldObj.Value(), v.at)
	}
	of := digest(oldVal, newVal)
	if len(v.at) == 0 || same(newVal, oldVal) {
		of = digestObjects(newObj.Value(), oldObj.Value())
	}
	if v.Lock == lockServer {
		of = digest(value{Data: v.Message, OK: true}, value{Data: of, OK: true})
	}
	return of
}

// digestObjects identifies the change of an object, by all that people write. Of metadata and a status, only what changes counts: in
// a cluster, they change often.
func digestObjects(newObj, oldObj map[string]any) string {
	written := func(object, other map[string]any) value {
		changed := maps.Clone(object)
		delete(changed, "metadata")
		if jsonvalue.Equal(object["status"], other["status"]) {
			delete(changed, "status")
		}
		for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences"} {
			is, was := yamldoc.At(object, "metadata", name), yamldoc.At(other, "metadata", name)
			if jsonvalue.Equal(is, was) {
				continue
			}
			if texts, ok := is.(map[string]any); ok {
				texts = maps.Clone(texts)
				maps.DeleteFunc(texts, func(key string, text any) bool { return jsonvalue.Equal(yamldoc.At(was, key), text) })
				is = texts
			}
			changed["metadata."+name] = is
		}
		return value{Data: changed, OK: true}
	}
	return digest(written(oldObj, newObj), written(newObj, oldObj))
}

// digest identifies a change from one value to another. An acceptance that has it does not accept the next change.
func digest(oldVal, newVal value) string {
	text, err := json.Marshal([]any{oldVal.OK, oldVal.Data, newVal.OK, newVal.Data})
	if err != nil {
		return "" // decoded JSON always encodes
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// digests remembers the digest of the last change: the violations of a container that lost many keys are about the same
// two values.
type digests struct {
	old, new value
	digest   string
}

func (d *digests) of(oldVal, newVal value) string {
	if d.digest == "" || !identical(d.old, oldVal) || !identical(d.new, newVal) {
		*d = digests{oldVal, newVal, digest(oldVal, newVal)}
	}
	return d.digest
}

// identical reports whether two values are the same container, or both absent.
func identical(a, b value) bool {
	if a.OK != b.OK || reflect.TypeOf(a.Data) != reflect.TypeOf(b.Data) {
		return false
	}
	switch a.Data.(type) {
	case map[string]any, []any:
		x, y := reflect.ValueOf(a.Data), reflect.ValueOf(b.Data)
		return x.Len() == y.Len() && x.UnsafePointer() == y.UnsafePointer()
	}
	return !a.OK
}

// entryOf returns the entry that accepts a violation and no other change, without a reason.
func entryOf(v *result.Violation) accept.Entry {
	return accept.Entry{Object: v.Object, Kind: v.Kind, Path: v.Path, Rule: v.Lock, Change: v.Change}
}

// accept marks the violations that somebody has accepted. They stay in the report.
func (r *Report) accept(in *Input, now time.Time) {
	for i := range r.Violations {
		v := &r.Violations[i]
		entry := in.Accepted.Match(entryOf(v), v.Rule, now)
		if entry == nil {
			continue
		}
		v.Accepted, v.AcceptedReason = true, entry.Reason
		v.AcceptedNew = in.KnownOld && !in.OldAccepted.Has(entry)
	}
	for i := range r.Replacements {
		replacement := &r.Replacements[i]
		replacement.Accepted = true
		for j := range r.Violations {
			if v := &r.Violations[j]; v.Same(replacement.Subject) && !v.Accepted {
				replacement.Accepted = false
			}
		}
	}
	for i := range r.NotCovered {
		n := &r.NotCovered[i]
		entry := in.Accepted.MatchFile(n.Change, now, n.Unit, n.File)
		if entry == nil || !n.Changed {
			continue
		}
		n.Accepted, n.AcceptedReason = true, entry.Reason
		n.AcceptedNew = in.KnownOld && !in.OldAccepted.Has(entry)
	}
	r.Warnings = append(r.Warnings, in.Accepted.Warnings(now, false)...)
}

// Acceptances returns the entries that accept every violation of the report, and everything not covered, that is not accepted yet.
func (r *Report) Acceptances(reason string) []accept.Entry {
	var entries []accept.Entry
	for i := range r.Violations {
		if v := &r.Violations[i]; !v.Accepted {
			e := entryOf(v)
			e.Reason = reason
			entries = append(entries, e)
		}
	}
	for _, n := range r.Uncovered() {
		if n.Change != "" {
			entries = append(entries, accept.Entry{Path: n.Unit, Change: n.Change, Reason: reason})
		}
	}
	return entries
}

// kubectlName returns the arguments that name an object for kubectl.
func kubectlName(o *manifest.Object) string {
	if o.Place() == "" {
		return shell.Quote(o.Name)
	}
	return shell.Quote(o.Name) + " --namespace " + shell.Quote(o.Place())
}
