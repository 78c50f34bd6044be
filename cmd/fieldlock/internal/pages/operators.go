package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
)

// customKinds returns the kinds of custom resources whose operators are known, by operator.
func customKinds() []*operators.Kind {
	catalogue, err := operators.Load()
	if err != nil {
		panic(err) // the data is part of the program
	}
	kinds := catalogue.All()
	slices.SortStableFunc(kinds, func(a, b *operators.Kind) int {
		return cmp.Or(strings.Compare(a.Operator.Name, b.Operator.Name), strings.Compare(a.Kind, b.Kind))
	})
	return kinds
}

// operatorFile is the name of a kind's page: as kubectl names kinds, with the version where another version has its own rows.
func operatorFile(k *operators.Kind, all []*operators.Kind) string {
	name := strings.ToLower(k.Kind) + "."
	if slices.ContainsFunc(all, func(other *operators.Kind) bool { return other != k && other.Kind == k.Kind && other.Group == k.Group }) {
		name += k.Versions[0] + "."
	}
	return name + k.Group + ".md"
}

// operatorFields returns the fields that k's operator refuses to change.
func operatorFields(k *operators.Kind) (r refused) {
	for _, row := range k.Rows() {
		if row.Effect == builtin.EffectRefused {
			r.add(row.Path, append(row.Except[:len(row.Except):len(row.Except)], row.Allow...))
		}
	}
	return r
}

// operatorsPage is the page of what operators refuse, by operator.
func operatorsPage(kinds []*operators.Kind) string {
	var b strings.Builder
	b.WriteString(`# What operators refuse

Operators refuse updates of custom resources in their own webhooks, or ignore them in their controllers. The CRDs do not show this.
` + "`fieldlock check`" + ` finds such changes in your manifests, and also runs the transition rules of the CRDs; ` + "`--no-operators`" + ` turns
this catalogue off.

The page of each kind names the function that decides. *Asked* means that the function itself has answered the cases in
` + "`immutability/operators/testdata`" + `; *read* means that its source was read but not run.
`)
	last := ""
	for _, k := range kinds {
		if k.Operator.Name != last {
			last = k.Operator.Name
			fmt.Fprintf(&b, "\n## %s\n\n`%s` %s\n\n| kind | refused | known |\n|---|---|---|\n", last, k.Operator.Module, strings.Join(k.Operator.Versions, ", "))
		}
		if k.Nothing != "" {
			fmt.Fprintf(&b, "| %s | nothing: %s | read |\n", k.Kind, cell(k.Nothing))
			continue
		}
		fmt.Fprintf(&b, "| [%s](fields/%s) | %s | %s |\n", k.Kind, operatorFile(k, kinds), operatorFields(k).summary(), known(k.Rows()...))
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
		return "asked"
	case len(rows):
		return "read"
	}
	return "asked in part"
}

// operatorPage is the page of one kind.
func operatorPage(k *operators.Kind) string {
	p := &kindPage{kind: k.Kind}
	p.about = fmt.Sprintf("`%s`, of %s. On the command line: `fieldlock locks %s.%s`.", k.APIVersion(), k.Operator.Name, k.Plural, k.Group)
	var d details
	for _, r := range k.Rows() {
		p.addOperator(&r, k, &d)
	}
	if len(p.rows) > 0 {
		replacement := k.Replacement(map[string]any{"metadata": map[string]any{"name": "NAME"}}, builtin.Verdict{})
		p.cost, p.why, p.how = replacement.Cost, replacement.Message, replacement.How
	}
	p.notes = fmt.Sprintf("## Source\n\n%s in `%s` %s (%s).", k.Source, k.Operator.Module, strings.Join(k.Operator.Versions, ", "), known(k.Rows()...))
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
	p.rows = append(p.rows, row{r.Path, d.refuses(r.Lock, r.Rule, r.When, slices.Concat(r.Except, r.Allow)), where})
	if r.Message != "" {
		p.addRefusal(r.Message)
	}
	if r.Edit != "" {
		p.edits.add(r.Path, strings.ReplaceAll(r.Edit, "{path}", "`"+r.Path+"`"))
	}
	if r.First != "" {
		p.first.add(r.Path, r.First)
	}
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
