// Command pages writes the pages of docs that are made from data: `go run ./cmd/fieldlock/internal/pages`. A test fails
// when they are stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	rules "github.com/fieldlock/fieldlock/internal/finding/catalogue"
)

func main() {
	for name, text := range pages() {
		if err := os.WriteFile(filepath.Join("docs", name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// pages returns the pages by file name.
func pages() map[string]string {
	builtins, custom := newCatalogue(), customKinds()
	all := map[string]string{"findings.md": findings(), "operators.md": operatorsPage(custom),
		"fields.md": builtins.index(custom), "known-crds.md": crdsPage(crdfacts.All())}
	kinds := builtins.kinds()
	for _, k := range kinds {
		all["fields/"+fieldsFile(k, kinds)] = builtins.page(k)
	}
	for _, k := range custom {
		if k.Nothing == "" {
			all["fields/"+operatorFile(k, custom)] = operatorPage(k, ownerOf(k, kinds, custom))
		}
	}
	return all
}

// ownerOf names what distinguishes a kind from others of its name: its operator, or its API version where both have
// one; "" if it is the only one.
func ownerOf(k *operators.Kind, builtins []*builtin.Kind, custom []*operators.Kind) string {
	owner := ""
	if slices.ContainsFunc(builtins, func(other *builtin.Kind) bool { return other.Kind == k.Kind }) {
		owner = k.Operator.Name
	}
	for _, other := range custom {
		switch {
		case other == k || other.Kind != k.Kind:
		case other.Operator.Name == k.Operator.Name || other.Group == k.Group:
			return k.APIVersion
		default:
			owner = k.Operator.Name
		}
	}
	return owner
}

// findings is the catalogue of what lint reports.
func findings() string {
	var b strings.Builder
	b.WriteString(`# Findings of lint

Everything that ` + "`fieldlock lint`" + ` reports, by ID. An *error* makes the command exit with 1, a *warning* only with ` + "`--strict`" + `, a *note* never.
` + "`Compile`" + ` and ` + "`check`" + ` refuse a schema with a mistake in a lock; an API server refuses a CRD with a mistake in a rule.

A finding that names a way around a lock comes with a witness: ` + "`lint --explain`" + ` prints the objects to write one after the other.
If no witness was found, the finding is a note that begins with "possible".

| ID | severity | |
|---|---|---|
`)
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Text)
	}
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n", r.ID, r.Text, strings.TrimSpace(r.Help()))
	}
	return b.String()
}
