package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
)

// customKinds returns the kinds of custom resources whose operators are known, by operator.
func customKinds() []*operators.Kind {
	catalogue, err := operators.Load()
	if err != nil {
		panic(err) // the data is part of the program
	}
	kinds := catalogue.All()
	slices.SortStableFunc(kinds, func(a, b *operators.Kind) int {
		byOperator := strings.Compare(strings.ToLower(a.Operator.Name), strings.ToLower(b.Operator.Name))
		return cmp.Or(byOperator, strings.Compare(strings.ToLower(a.Kind), strings.ToLower(b.Kind)))
	})
	return kinds
}

// operatorFile is the name of a kind's page: as kubectl names kinds, with the version where another version has its own
// rows.
func operatorFile(k *operators.Kind, all []*operators.Kind) string {
	name := strings.ToLower(k.Kind) + "."
	if slices.ContainsFunc(all, func(other *operators.Kind) bool {
		return other != k && other.Kind == k.Kind &&
			other.Group == k.Group
	}) {
		name += k.Versions[0] + "."
	}
	return name + k.Group + ".md"
}

// operatorKind is the kind as lists name it: with its group, as its page has it, where other kinds have the name.
func operatorKind(k *operators.Kind, builtins []*builtin.Kind, custom []*operators.Kind) string {
	if ownerOf(k, builtins, custom) == "" {
		return k.Kind
	}
	return k.Kind + strings.TrimSuffix(strings.TrimPrefix(operatorFile(k, custom), strings.ToLower(k.Kind)), ".md")
}

// operatorsPage is the page of what operators refuse, by operator.
func operatorsPage(kinds []*operators.Kind) string {
	var b strings.Builder
	b.WriteString(`# What operators refuse

Operators refuse updates of custom resources in their own webhooks, or ignore them in their controllers. The CRDs do not show this.
` + "`fieldlock check`" + ` finds such changes in your manifests, besides those that the rules of the CRDs refuse; ` + "`--no-operators`" + ` turns
this catalogue off.

The page of each kind names the function that decides. The last column says how we know what it refuses: *run* means that the
function itself ran on the cases in ` + "`immutability/operators/testdata`" + `; *read* means that its source was read, but not run.

## CRDs that a repository lacks

Most repositories hold custom resources without their CRDs, which a chart brings. For the kinds of the projects in the
[list of CRDs](known-crds.md), the catalogue also has the transition rules of the CRDs in one published version, as locks. A change that
such a rule refuses is a violation, and the report names the project and the version. Where a rule equals no lock, a change of the
fields that it reads is ` + "`unknown`" + `: only the CRD can tell. A kind whose CRD has no transition rules counts as checked.

A CRD in the repository or in ` + "`--schema`" + ` is used instead, whatever its version is. ` + "`--no-operators`" + ` turns these rules off, too.
`)
	last := ""
	for _, k := range kinds {
		if k.Operator.Name != last {
			last = k.Operator.Name
			fmt.Fprintf(&b, "\n## %s\n\n`%s` %s\n\n| kind | immutable | restricted | evidence |\n|---|---|---|---|\n",
				last, k.Operator.Module, strings.Join(k.Operator.Versions, ", "))
		}
		if k.Nothing != "" {
			fmt.Fprintf(&b, "| %s | nothing: %s | | read |\n", k.Kind, cell(k.Nothing))
			continue
		}
		immutable, restricted := sortFields(k.Kind, k.Rows())
		fmt.Fprintf(&b, "| [%s](fields/%s) | %s | %s | %s |\n",
			k.Kind, operatorFile(k, kinds), immutable.summary(), restricted.summary(), known(k.Rows()...))
	}
	return b.String()
}

// known says how the rows are known.
func known(rows ...builtin.Row) string {
	read := 0
	for _, r := range rows {
		if r.Read {
			read++
		}
	}
	switch read {
	case 0:
		return "run"
	case len(rows):
		return "read"
	}
	return "run in part"
}

// evidence is what known means, as a sentence.
var evidence = map[string]string{
	"run":         "verified by running its code",
	"read":        "its code was read, not run",
	"run in part": "verified by running its code in part; the rest was read",
}

// operatorPage is the page of one kind; owner distinguishes it from others of its name.
func operatorPage(k *operators.Kind, owner string) string {
	p := &kindPage{kind: k.Kind, of: owner}
	p.about = fmt.Sprintf("`%s`, of %s. On the command line: `fieldlock locks %s.%s`.",
		k.APIVersion, k.Operator.Name, k.Plural, k.Group)
	d := details{words: readWords()}
	for _, r := range k.Rows() {
		p.addOperator(&r, k, &d)
	}
	if len(p.rows) > 0 {
		replacement := k.Replacement(map[string]any{"metadata": map[string]any{"name": "NAME"}}, result.Verdict{})
		p.cost, p.why, p.how = string(replacement.Cost), replacement.Message, replacement.How
	}
	p.notes = fmt.Sprintf("## Source\n\n%s in `%s` %s; %s.", k.Source, k.Operator.Module,
		strings.Join(k.Operator.Versions, ", "), evidence[known(k.Rows()...)]) + factsSection(k.APIVersion, k.Kind)
	return p.write(&d)
}

// addOperator writes what one row says to its parts of the page.
func (p *kindPage) addOperator(r *builtin.Row, k *operators.Kind, d *details) {
	switch {
	case r.Unknown != "":
		p.undecided.add(r.Path, r.Unknown)
		return
	case r.Effect != builtin.EffectRefused:
		p.accepted.add(r.Path, r.Message)
		return
	}
	where := ""
	if versions := strings.TrimSpace(versionRange(r.Since, r.Until)); versions != "" {
		where = k.Operator.Name + " " + versions
	}
	except := slices.Concat(r.Except, r.Allow)
	p.addRow(r, except, where, true, d)
	if r.Message != "" {
		p.addRefusal(r.Message)
	}
	if r.Edit != "" {
		p.edits.add(r.Path, strings.ReplaceAll(r.Edit, "{path}", "`"+r.Path+"`"))
	}
	p.addAround(r.Path, r.First, r.Then, r.How)
}

func versionRange(since, until string) string {
	switch {
	case since != "" && until != "":
		return since + " to " + until
	case since != "":
		return since + " or newer"
	case until != "":
		return until + " or older"
	}
	return ""
}
