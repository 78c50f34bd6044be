package main

import (
	"cmp"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestReference compares docs/commands.md, docs/reports.md and docs/check.schema.json with the command and the types
// that they are made from.
func TestReference(t *testing.T) {
	t.Chdir("../..")
	for file, text := range map[string]string{"docs/commands.md": commandsPage(), "docs/reports.md": reportsPage(t), "docs/check.schema.json": reportSchema(t)} {
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text {
			t.Errorf("%s is stale: run go test ./cmd/fieldlock -run TestReference -update", file)
		}
	}
}

// commandsPage is the help of every verb.
func commandsPage() string {
	var b strings.Builder
	b.WriteString(`# Commands

Every verb of ` + "`fieldlock`" + ` with its flags, as ` + "`fieldlock VERB --help`" + ` prints them. Exit status: 0 clean, 1 refused, 2 bad usage or
unreadable input. What ` + "`-o json`" + ` prints is described in [Reports](reports.md).
`)
	root := newRoot(streams{strings.NewReader(""), io.Discard, io.Discard})
	b.WriteString("\n`-o FORMAT` says what a verb prints; the first format is the default. Some verbs also write files: `-o FORMAT=FILE`.\n\n| verb | `-o` |\n|---|---|\n")
	writeFormats(&b, root)
	for _, c := range root.Commands() {
		writeCommand(&b, c)
	}
	return b.String()
}

// writeFormats writes a row for each verb that has formats.
func writeFormats(b *strings.Builder, c *cobra.Command) {
	if f := c.LocalFlags().Lookup("output"); f != nil && c.Runnable() {
		_, formats, _ := strings.Cut(f.Usage, ": ")
		fmt.Fprintf(b, "| `%s` | %s |\n", c.CommandPath(), formats)
	}
	for _, child := range c.Commands() {
		writeFormats(b, child)
	}
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	if c.Runnable() {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```text\n%s\n\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine(), strings.TrimSpace(cmp.Or(c.Long, c.Short)))
		rows := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			if rows++; rows == 1 {
				b.WriteString("\n| flag | |\n|---|---|\n")
			}
			fmt.Fprintf(b, "| `%s` | %s |\n", flagName(f), strings.ReplaceAll(flagUsage(f), "|", `\|`))
		})
		if c.Example != "" {
			fmt.Fprintf(b, "\n```\n%s\n```\n", unindent(c.Example))
		}
	}
	for _, child := range c.Commands() {
		writeCommand(b, child)
	}
}

// flagName is a flag as help shows it: "-o, --output FORMAT".
func flagName(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	name := strings.TrimSpace("--" + f.Name + " " + value)
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return name
}

// flagUsage is what a flag does, and its default unless that is nothing.
func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	if slices.Contains([]string{"", "false", "0", "[]", "0s"}, f.DefValue) || strings.Contains(usage, "default") {
		return usage
	}
	return usage + " (default `" + f.DefValue + "`)"
}

func unindent(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// reportsPage lists the keys of every report, from the types that print them, with examples of those that most programs
// read.
func reportsPage(t *testing.T) string {
	const examples = "testdata/examples/"
	meanings := keyMeanings(t)
	var b strings.Builder
	b.WriteString(`# Reports

What ` + "`-o json`" + ` prints. A key that does not apply is omitted; lists are ` + "`[]`" + ` where they are empty, unless the table says otherwise.
New keys may come; the ones below stay. JSON Schemas:
[check](https://github.com/fieldlock/fieldlock/blob/main/docs/check.schema.json),
[locks](https://github.com/fieldlock/fieldlock/blob/main/docs/locks.schema.json).
`)
	for _, r := range []struct {
		title, dir, typ string
		example         []string // nil for a report whose keys say enough
	}{
		{"check", "internal/compare", "Report", []string{"check", "--schema", examples + "crd.yaml", examples + "old.yaml", examples + "new.yaml", "-o", "json"}},
		{"lint", "internal/audit", "Report", []string{"lint", examples + "crd.yaml", "-o", "json"}},
		{"locks", "internal/audit", "Locks", []string{"locks", "rolebindings", "-o", "json"}},
		{"render", "cmd/fieldlock", "deployed", nil},
		{"export cel", "internal/convert", "Export", nil},
		{"import cel", "internal/convert", "Import", nil},
		{"params", "cmd/fieldlock/internal/report/params", "Report", nil},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | |\n|---|---|---|\n", r.title)
		reportType{t, declarations(t, r.dir, "immutability/result"), meanings[r.title], meanings["all"]}.write(&b, "", r.typ)
		if r.example != nil {
			c := runCommand("", r.example...)
			fmt.Fprintf(&b, "\n<details><summary><code>fieldlock %s</code></summary>\n\n```json\n%s```\n\n</details>\n", strings.Join(r.example, " "), c.out)
		}
	}
	return b.String()
}

// reportType writes the keys of struct types.
type reportType struct {
	t        *testing.T
	types    map[string]*ast.StructType
	own, all map[string]string // what the keys mean, in this report and in all of them
}

// declarations returns the struct types of a package, and with their package's name those of result, which it may have
// fields of. What a type's MarshalJSON prints instead is found under the type's name.
func declarations(t *testing.T, dir, result string) map[string]*ast.StructType {
	found := structs(t, dir)
	for name, s := range structs(t, result) {
		found["result."+name] = s
		if found[name] == nil {
			found[name] = s // as the package itself refers to it
		}
	}
	return found
}

func structs(t *testing.T, dir string) map[string]*ast.StructType {
	found := map[string]*ast.StructType{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]*ast.StructType{}
	for _, file := range files {
		parsed, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					found[n.Name.Name] = s
				}
			case *ast.FuncDecl:
				if n.Name.Name == "MarshalJSON" {
					receiver := strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*")
					ast.Inspect(n, func(n ast.Node) bool {
						if s, ok := n.(*ast.StructType); ok && printed[receiver] == nil {
							printed[receiver] = s
						}
						return true
					})
				}
			}
			return true
		})
	}
	for name, s := range printed {
		found[name] = s
	}
	return found
}

func (r reportType) write(b *strings.Builder, prefix, name string) {
	s, ok := r.types[name]
	if !ok {
		r.t.Fatalf("the type %s is not there", name)
	}
	for _, f := range s.Fields.List {
		typ := types.ExprString(f.Type)
		if len(f.Names) == 0 {
			r.write(b, prefix, strings.TrimPrefix(typ, "*"))
			continue
		}
		if f.Tag == nil {
			continue
		}
		key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		element := strings.TrimPrefix(strings.TrimPrefix(typ, "[]"), "*")
		at := prefix + key
		if strings.HasPrefix(typ, "[]") {
			at += "[]"
		}
		means := cmp.Or(r.own[at], r.all[key])
		if means == "" {
			r.t.Errorf("testdata/pages/keys.yaml does not say what %s means", at)
		}
		if means != "omitted" {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", at, jsonType(typ), strings.ReplaceAll(means, "|", `\|`))
		}
		if _, ok := r.types[element]; ok {
			r.write(b, at+".", element)
		}
	}
}

// jsonType names a Go type as JSON has it.
func jsonType(typ string) string {
	switch typ = strings.TrimPrefix(typ, "*"); {
	case strings.HasPrefix(typ, "[]"):
		return "list"
	case typ == "int":
		return "number"
	case typ == "bool":
		return "boolean"
	case typ == "string", typ == "Cost", typ == "immutability.Severity":
		return "string"
	case typ == "any", typ == "Value":
		return "any"
	}
	return "object"
}
