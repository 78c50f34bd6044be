// Command pages writes the pages of docs that are made from data: `go run ./cmd/fieldlock/internal/pages`. A test fails when they are stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fieldlock/fieldlock/internal/rule"
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
	all := map[string]string{"findings.md": findings(), "operators.md": operatorsPage(custom), "fields.md": builtins.index(custom)}
	kinds := builtins.kinds()
	for _, k := range kinds {
		all["fields/"+fieldsFile(k, kinds)] = builtins.page(k)
	}
	for _, k := range custom {
		if k.Nothing == "" {
			all["fields/"+operatorFile(k, custom)] = operatorPage(k)
		}
	}
	return all
}

// findings is the catalogue of what lint reports.
func findings() string {
	var b strings.Builder
	b.WriteString(`# Findings of lint

Everything that ` + "`fieldlock lint`" + ` reports, by ID. An *error* makes the command exit with 1, and ` + "`check`" + ` and ` + "`Compile`" + `
refuse the schema. A *warning* fails only with ` + "`--strict`" + `. A finding that names a way around a lock comes with a witness:
` + "`lint --explain`" + ` prints the objects to write one after the other. If no witness was found, the finding is a *note*
that begins with "possible", and never fails.

| ID | severity | |
|---|---|---|
`)
	for _, r := range rule.All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Text)
	}
	for _, r := range rule.All() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s\n", r.ID, r.Text, strings.TrimSpace(r.Help()))
	}
	return b.String()
}
