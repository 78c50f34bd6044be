package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// Formats lists the formats; the first is the default.
func Formats() []Format {
	return []Format{textFormat, jsonFormat, githubFormat, gitlabFormat, junitFormat, sarifFormat, markdownFormat}
}

// Outputs are the values of --output: FORMAT, or FORMAT=FILE. It is a pflag.Value that may be set several times.
type Outputs struct {
	allowed []Format
	list    []output
}

type output struct {
	Format
	file string // "" for standard output
}

// OutputsFor returns the outputs of a command whose results has selects.
func OutputsFor(has func(Format) bool) *Outputs {
	return &Outputs{allowed: slices.DeleteFunc(Formats(), func(f Format) bool { return !has(f) })}
}

// Names lists the formats that the command has.
func (o *Outputs) Names() []string {
	var names []string
	for _, f := range o.allowed {
		names = append(names, f.Name)
	}
	return names
}

// String returns the outputs as they were given.
func (o *Outputs) String() string {
	if len(o.list) == 0 {
		return o.allowed[0].Name
	}
	var texts []string
	for _, out := range o.list {
		text := out.Name
		if out.file != "" {
			text += "=" + out.file
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

// Type returns the name of the value for help.
func (o *Outputs) Type() string { return "FORMAT[=FILE]" }

// Set adds an output.
func (o *Outputs) Set(text string) error {
	name, file, toFile := strings.Cut(text, "=")
	i := slices.IndexFunc(o.allowed, func(f Format) bool { return f.Name == name })
	switch {
	case i < 0:
		return fmt.Errorf("the formats are %s", strings.Join(o.Names(), ", "))
	case toFile && file == "":
		return fmt.Errorf("%s= needs the name of a file", name)
	case !toFile && slices.ContainsFunc(o.list, func(out output) bool { return out.file == "" }):
		return fmt.Errorf("two formats for standard output; write all but one to files, as in %s=FILE", name)
	}
	o.list = append(o.list, output{o.allowed[i], file})
	return nil
}

// Write prints a result in every format that was asked for: the default one when none goes to stdout or a file.
func (o *Outputs) Write(stdout io.Writer, print func(f Format, w io.Writer) error) error {
	list := o.list
	if len(list) == 0 {
		list = []output{{Format: o.allowed[0]}}
	}
	for _, out := range list {
		if err := out.write(stdout, print); err != nil {
			return err
		}
	}
	return nil
}

func (out *output) write(stdout io.Writer, print func(f Format, w io.Writer) error) error {
	if out.file == "" {
		return print(out.Format, stdout)
	}
	file, err := os.Create(out.file)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	err = print(out.Format, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Format is one way to print results. A nil function is a result that the format does not have.
type Format struct {
	Name  string
	Check func(w io.Writer, r *compare.Report) error
	Lint  func(w io.Writer, r *audit.Report) error
	Locks func(w io.Writer, r *audit.Locks) error
}

var jsonFormat = Format{
	Name:  "json",
	Check: func(w io.Writer, r *compare.Report) error { return WriteJSON(w, r) },
	Lint:  func(w io.Writer, r *audit.Report) error { return WriteJSON(w, r) },
	Locks: func(w io.Writer, r *audit.Locks) error { return WriteJSON(w, versionedLocks{LocksVersion, r}) },
}

// Version is what the Go toolchain knows of the build: a tag, a pseudo-version, or "(devel)".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// WriteJSON prints v as indented JSON. What a terminal or the log of a CI system would act on is escaped in strings, as
// Printable does, so that the values stay the same.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	// Outside of strings JSON has neither commands nor characters that are not printable, except new lines.
	text := logCommand.ReplaceAll(b.Bytes(), []byte(`#\u0023$1`))
	harmful := func(r rune) bool { return r != '\n' && unprintable(r) }
	if bytes.ContainsFunc(text, harmful) {
		var escaped bytes.Buffer
		for _, r := range string(text) {
			switch {
			case !harmful(r):
				escaped.WriteRune(r)
			case r > 0xffff:
				r -= 0x10000
				fmt.Fprintf(&escaped, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			default:
				fmt.Fprintf(&escaped, `\u%04x`, r)
			}
		}
		text = escaped.Bytes()
	}
	_, err := w.Write(text)
	return err
}

// meanings explains each lock to readers of a reference.
var meanings = map[immutability.Lock]string{
	immutability.LockImmutable:     "cannot be set, changed or removed after creation",
	immutability.LockImmutableKeys: "no key can be added or removed",
	immutability.LockAdditionOnly:  "keys can be added, not removed",
	immutability.LockDeletionOnly:  "keys can be removed, not added",
	immutability.LockNoSet:         "cannot be set after creation",
	immutability.LockNoUnset:       "cannot be removed",
	immutability.LockNoModify:      "cannot be changed once set",
	immutability.LockNoAddItem:     "no item can be added",
	immutability.LockNoRemoveItem:  "no item can be removed",
	immutability.LockIncomparable: "a locked field has different types on both sides, or ambiguous keys, so that " +
		"the update cannot be judged",
	"rule":             "a CEL transition rule refuses the change",
	"server":           "the API server refuses the request that applies the change",
	"deletion":         "the change deletes an object, and data or other objects with it",
	alertUnknown:       "only the cluster can decide whether the change is accepted",
	alertNote:          "the change is accepted, but something about it deserves attention",
	alertUnreadable:    "an input could not be read or compared",
	alertNotCovered:    "a file or unit changed, and nothing here can read what it deploys",
	alertUncheckedKind: "objects changed whose rules are not known",
}

// LocksVersion is the version of the form that locks -o json prints: docs/locks.schema.json. Fields may be added to it;
// a new version would be one where a field is gone or means something else.
const LocksVersion = 1

type versionedLocks struct {
	Version int `json:"version"`
	*audit.Locks
}
