package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability/operators"
)

// operatorsPage is the page of what operators refuse, by operator.
func operatorsPage() string {
	catalogue, err := operators.Load()
	if err != nil {
		panic(err) // the data is part of the program
	}
	kinds := catalogue.All()
	slices.SortStableFunc(kinds, func(a, b *operators.Kind) int { return strings.Compare(a.Operator.Name, b.Operator.Name) })
	var b strings.Builder
	b.WriteString(`# What operators refuse

Updates of custom resources that the operators' own webhooks refuse, which no CRD shows, or that their controllers ignore. Each
kind names the function that decides. *Asked* means that the function has answered the cases in
` + "`immutability/operators/testdata`" + `; *read* that its source was read and not run. ` + "`fieldlock locks KIND`" + ` lists one kind,
` + "`fieldlock check`" + ` finds the changes in your manifests, and ` + "`--no-operators`" + ` leaves them out. Transition rules in the CRDs
count besides.
`)
	last := ""
	for _, k := range kinds {
		if k.Operator.Name != last {
			last = k.Operator.Name
			fmt.Fprintf(&b, "\n## %s\n\n`%s` %s\n", last, k.Operator.Module, strings.Join(k.Operator.Versions, ", "))
		}
		operatorKind(&b, k)
	}
	return b.String()
}

// operatorKind writes the section of one kind.
func operatorKind(b *strings.Builder, k *operators.Kind) {
	fmt.Fprintf(b, "\n### %s\n\n`%s`: %s\n", k.Kind, k.APIVersion(), k.Source)
	if k.Nothing != "" {
		fmt.Fprintf(b, "\nNothing is refused: %s.\n", k.Nothing)
		return
	}
	b.WriteString("\n| field | after creation | what the operator says | known |\n|---|---|---|---|\n")
	var rules ruleList
	for _, r := range k.Rows() {
		known := "asked"
		if r.Read {
			known = "read"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", r.Path, rules.operatorLock(&r), cell(r.Message), known)
	}
	rules.write(b)
	r := k.Replacement(map[string]any{"metadata": map[string]any{"name": "NAME"}}, operators.Verdict{})
	fmt.Fprintf(b, "\nReplacing it costs **%s**: %s.\n", r.Cost, r.Message)
	for _, how := range r.How {
		switch text, command := report.WayOut(how); {
		case command == "":
			fmt.Fprintf(b, "\n- %s", text)
		case text == "":
			fmt.Fprintf(b, "\n- `%s`", command)
		default:
			fmt.Fprintf(b, "\n- `%s` (%s)", command, text)
		}
	}
	b.WriteString("\n")
}

// operatorLock says what a row means.
func (l *ruleList) operatorLock(r *operators.Row) string {
	text := lockWords[r.Lock]
	switch {
	case r.Lock == "rule":
		text = fmt.Sprintf("has to satisfy rule %d", l.number(r.Rule))
	case text == "":
		text = r.Lock
	}
	if r.When != "" {
		text += fmt.Sprintf(", where condition %d holds", l.number(r.When))
	}
	if except := slices.Concat(r.Except, r.Allow); len(except) > 0 {
		text += ", except `" + strings.Join(except, "`, `") + "`"
	}
	switch {
	case r.Since != "" && r.Until != "":
		text += ", from " + r.Since + " to " + r.Until
	case r.Since != "":
		text += ", since " + r.Since
	case r.Until != "":
		text += ", until " + r.Until
	}
	switch {
	case r.Unknown != "":
		text += "; *unknown*: " + cell(r.Unknown)
	case r.Effect != operators.EffectRefused:
		text = fmt.Sprintf("*%s*: a change is accepted", r.Effect)
	}
	return text
}
