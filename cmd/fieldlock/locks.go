package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/rule"
)

func newLocks(s streams) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "locks CRD.yaml...",
		Short: "Show which fields of CRDs are locked, how, and how they can still change",
		Long: `locks prints the locked fields of each CRD as a tree: the path, the lock, and below it each hole through which the
value can still change. fieldlock lint says how to close a hole. CEL transition rules are not listed: fieldlock import
cel turns them into locks.

--markdown prints a table for reference documentation instead.

Exit status: 0, or 2 when a CRD cannot be used.`,
		Example: `  # What may users of this API not change?
  fieldlock locks crd.yaml

  # The table for the reference documentation
  fieldlock locks --markdown config/crd > docs/locked-fields.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			format := cmd.Flag("output").Value.String()
			if len(args) == 0 {
				return errors.New("locks needs CRDs: files, directories or -; see fieldlock locks --help")
			}
			if markdown && format != asText {
				return errors.New("--markdown and -o exclude each other")
			}
			if markdown {
				format = asMarkdown
			}
			return runLocks(s, format, args)
		},
	}
	addOutput(cmd, asText, asJSON)
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a table for reference documentation")
	return cmd
}

// asMarkdown is what --markdown sets.
const asMarkdown = "markdown"

func runLocks(s streams, format string, args []string) error {
	crds, err := readCRDs(&inputs{in: s.in}, args)
	if err != nil {
		return err
	}
	validators, err := compile(crds)
	if err != nil {
		return err
	}
	var groups []lockGroup
	for _, c := range crds {
		groups = append(groups, lockGroups(c, validators)...)
	}
	var out bytes.Buffer
	switch format {
	case asJSON:
		err = writeJSON(&out, locksReport(groups))
	case asMarkdown:
		writeMarkdown(&out, groups)
	default:
		writeLocks(&out, groups, paletteOf(s.out))
	}
	if err != nil {
		return err
	}
	if _, err = s.out.Write(out.Bytes()); err != nil {
		return err
	}
	rules := 0
	for _, c := range crds {
		rules += transitionRules(c)
	}
	if rules > 0 {
		fmt.Fprintf(s.err, "note: not listed: %s; fieldlock import cel turns them into locks where a lock says the same\n", count(rules, "CEL transition rule"))
	}
	return nil
}

// lockGroup is the locked fields of one version of a CRD, or of several that have the same ones.
type lockGroup struct {
	crd      *crd.CRD
	versions []*crd.Version
	fields   []lockedField
}

// lockedField is a locked field with the holes through which its value can still change.
type lockedField struct {
	immutability.LockedField
	holes []immutability.Finding
}

// lockGroups lists the locks of a CRD by version.
func lockGroups(c *crd.CRD, validators map[*crd.Version]*immutability.Validator) []lockGroup {
	findings := crd.Lint(c)
	var groups []lockGroup
	for _, v := range c.Versions {
		var fields []lockedField
		for _, l := range validators[v].Locks() {
			fields = append(fields, lockedField{l, holesOf(l, v, findings)})
		}
		at := slices.IndexFunc(groups, func(g lockGroup) bool { return sameFields(g.fields, fields) })
		if at < 0 {
			groups = append(groups, lockGroup{crd: c, fields: fields})
			at = len(groups) - 1
		}
		groups[at].versions = append(groups[at].versions, v)
	}
	return groups
}

// holesOf returns the warnings that name the field: those of its own version, and the versions that leave it free.
func holesOf(l immutability.LockedField, v *crd.Version, findings []crd.Finding) []immutability.Finding {
	var holes []immutability.Finding
	for _, f := range findings {
		otherVersion := f.Rule == rule.VersionUnlocked && f.Version != v.Name
		if f.Severity == immutability.Warning && (f.Version == v.Name || otherVersion) && slices.Contains(f.Fields, l.Path) {
			hole := f.Finding
			if otherVersion {
				hole.Path = f.Version
			}
			holes = append(holes, hole)
		}
	}
	slices.SortStableFunc(holes, func(a, b immutability.Finding) int { return strings.Compare(sayHole(a), sayHole(b)) })
	return holes
}

func sameFields(a, b []lockedField) bool {
	return slices.EqualFunc(a, b, func(x, y lockedField) bool {
		return x.Path == y.Path && slices.Equal(x.Locks, y.Locks) &&
			slices.EqualFunc(x.holes, y.holes, func(g, h immutability.Finding) bool { return sayHole(g) == sayHole(h) })
	})
}

// sayHole says in a few words how the value can change; lint says it in full.
func sayHole(f immutability.Finding) string {
	path := printable(f.Path)
	switch f.Rule {
	case rule.OptionalParent:
		return "remove " + path + ", then add it again"
	case rule.UnsetThenSet:
		return "unset it, then set it anew"
	case rule.RenamableKey:
		return "rename a key of " + path
	case rule.AtomicItems:
		return "move the items of " + path + ": delete, then insert"
	case rule.VersionUnlocked:
		return "write it through version " + path
	case rule.VersionDefault:
		return "leave it out, and write through a version with another default"
	}
	return printable(f.Message)
}

// holeCount is how many fields have holes.
func (g *lockGroup) holeCount() int {
	n := 0
	for _, f := range g.fields {
		if len(f.holes) > 0 {
			n++
		}
	}
	return n
}

func (g *lockGroup) versionNames() string {
	names := make([]string, len(g.versions))
	for i, v := range g.versions {
		names[i] = printable(v.Name)
	}
	return strings.Join(names, ", ")
}

// jsonLocks is one field of one version in locks -o json.
type jsonLocks struct {
	File       string     `json:"file"`
	Line       int        `json:"line,omitempty"`
	CRD        string     `json:"crd"`
	Kind       string     `json:"kind"`
	Version    string     `json:"version"`
	Path       string     `json:"path"`
	SchemaPath string     `json:"schemaPath"`
	Locks      []string   `json:"locks"`
	Holes      []jsonHole `json:"holes"`
}

type jsonHole struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

func locksReport(groups []lockGroup) any {
	report := struct {
		Fields []jsonLocks `json:"fields"`
	}{[]jsonLocks{}}
	for _, g := range groups {
		for _, v := range g.versions {
			for _, f := range g.fields {
				field := jsonLocks{
					File: g.crd.File, Line: v.Position(f.SchemaPath).Line, CRD: g.crd.Name, Kind: g.crd.Kind, Version: v.Name,
					Path: f.Path, SchemaPath: f.SchemaPath, Holes: []jsonHole{},
				}
				for _, l := range f.Locks {
					field.Locks = append(field.Locks, string(l))
				}
				for _, h := range f.holes {
					field.Holes = append(field.Holes, jsonHole{h.Rule, h.Message})
				}
				report.Fields = append(report.Fields, field)
			}
		}
	}
	return report
}

// writeLocks prints a tree for each group, and one line for the CRDs without locks.
func writeLocks(w io.Writer, groups []lockGroup, p palette) {
	fields, open := 0, 0
	groups, unlocked := withLocks(groups)
	for _, g := range groups {
		fmt.Fprintf(w, "%s %s %s\n", p.bold(printable(g.crd.Kind)), g.versionNames(), p.dim(fmt.Sprintf("(%s, %s)", printable(g.crd.Name), printable(g.crd.File))))
		if len(g.fields) == 0 {
			fmt.Fprintln(w, "  "+p.yellow("no locks in this version"))
		}
		treeOf(g.fields).write(w, "  ", p)
		fmt.Fprintln(w)
		fields += len(g.fields) * len(g.versions)
		open += g.holeCount() * len(g.versions)
	}
	if len(unlocked) > 0 {
		fmt.Fprintf(w, "%s %s\n\n", p.dim("no locks:"), printable(strings.Join(unlocked, ", ")))
	}
	text := count(fields, "locked field")
	switch {
	case fields == 0:
	case open == 0:
		text += ", no hole: " + p.green("their values cannot change")
	default:
		text += fmt.Sprintf(", %s of them with a hole %s; fieldlock lint says how to close it", p.yellow(fmt.Sprint(open)), p.yellow("!"))
	}
	fmt.Fprintln(w, text)
}

// withLocks returns the groups of the CRDs that have a lock in some version, and the kinds of those that have none.
func withLocks(groups []lockGroup) (locked []lockGroup, unlocked []string) {
	has := map[*crd.CRD]bool{}
	for _, g := range groups {
		has[g.crd] = has[g.crd] || len(g.fields) > 0
	}
	for _, g := range groups {
		if has[g.crd] {
			locked = append(locked, g)
		} else {
			unlocked = append(unlocked, g.crd.Kind)
		}
	}
	return locked, unlocked
}

// lockTree is a node of the tree: a step of paths.
type lockTree struct {
	label    string
	field    *lockedField
	children []*lockTree
}

// treeOf arranges fields, sorted by path, as a tree.
func treeOf(fields []lockedField) *lockTree {
	root := &lockTree{}
	for i := range fields {
		at := root
		for _, label := range labelsOf(fields[i].Path) {
			next := slices.IndexFunc(at.children, func(c *lockTree) bool { return c.label == label })
			if next < 0 {
				at.children = append(at.children, &lockTree{label: label})
				next = len(at.children) - 1
			}
			at = at.children[next]
		}
		at.field = &fields[i]
	}
	return root
}

// labelsOf splits a path: "spec.nodes[*].zone" is spec, nodes, [*], zone.
func labelsOf(path string) []string {
	return strings.Split(strings.ReplaceAll(path, "[*]", ".[*]"), ".")
}

// write prints the children of t; a node with one child and no lock shares its line.
func (t *lockTree) write(w io.Writer, indent string, p palette) {
	width := 0
	for i, c := range t.children {
		t.children[i] = c.joined()
		width = max(width, len(t.children[i].label))
	}
	for _, c := range t.children {
		if c.field == nil {
			fmt.Fprintln(w, indent+printable(c.label))
			c.write(w, indent+"  ", p)
			continue
		}
		locks := make([]string, len(c.field.Locks))
		for i, l := range c.field.Locks {
			locks[i] = string(l)
		}
		fmt.Fprintf(w, "%s%s%s  %s\n", indent, p.bold(printable(c.label)), strings.Repeat(" ", width-len(c.label)), p.green(strings.Join(locks, ", ")))
		for _, hole := range c.field.holes {
			fmt.Fprintf(w, "%s%s  %s\n", indent, strings.Repeat(" ", width), p.yellow("! "+sayHole(hole)))
		}
		c.write(w, indent+"  ", p)
	}
}

// joined follows a chain of single children down to the next lock or fork.
func (t *lockTree) joined() *lockTree {
	for t.field == nil && len(t.children) == 1 {
		c := t.children[0]
		label := t.label + "." + c.label
		if c.label == "[*]" {
			label = t.label + c.label
		}
		t = &lockTree{label: label, field: c.field, children: c.children}
	}
	return t
}

// meanings says for readers of a reference what each lock means.
var meanings = map[immutability.Lock]string{
	immutability.Immutable:     "cannot be set, changed or removed after creation",
	immutability.ImmutableKeys: "no key can be added or removed",
	immutability.AdditionOnly:  "keys can be added, not removed",
	immutability.DeletionOnly:  "keys can be removed, not added",
	immutability.NoSet:         "cannot be set after creation",
	immutability.NoUnset:       "cannot be removed",
	immutability.NoModify:      "cannot be changed once set",
	immutability.NoAddItem:     "no item can be added",
	immutability.NoRemoveItem:  "no item can be removed",
}

// writeMarkdown prints a table for each group of the CRDs with locks.
func writeMarkdown(w io.Writer, groups []lockGroup) {
	groups, unlocked := withLocks(groups)
	if len(groups) == 0 {
		fmt.Fprintf(w, "No field is locked in %s.\n", markdownText.Replace(printable(strings.Join(unlocked, ", "))))
	}
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "### %s %s\n\n", markdownText.Replace(g.crd.Kind), markdownText.Replace(g.versionNames()))
		if len(g.fields) == 0 {
			fmt.Fprintln(w, "No field is locked in this version.")
			continue
		}
		fmt.Fprintln(w, "| Field | Lock | After creation | Can still change by |")
		fmt.Fprintln(w, "|---|---|---|---|")
		for _, f := range g.fields {
			var locks, means, holes []string
			for _, l := range f.Locks {
				locks = append(locks, string(l))
				means = append(means, meanings[l])
			}
			for _, h := range f.holes {
				holes = append(holes, markdownText.Replace(sayHole(h)))
			}
			fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", strings.NewReplacer("|", `\|`, "`", "'").Replace(printable(f.Path)),
				strings.Join(locks, ", "), strings.Join(means, "; "), cmp.Or(strings.Join(holes, "; "), "–"))
		}
	}
}

// markdownText escapes what Markdown would act on in a table.
var markdownText = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`", "[", `\[`)
