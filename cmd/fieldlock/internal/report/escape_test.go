package report

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// hostileParts are what random hostile text is made of.
var hostileParts = []string{
	`[Approved](https://evil.example/)`, `\`, `|`, "`", "``", "```", `@org/team`, `@user`, `#12`, `org/repo#1`, `GH-12`, `gh-3`,
	`https://evil.example`, `HTTP://EVIL.example`, `ftp://evil.example`, `www.evil.example`, `WWW.evil.example`, `a@evil.example`,
	`mailto:a@evil.example`, `xmpp:a@evil.example/b`, `<img src=x>`, `<https://evil.example>`, `<a@evil.example>`, `![a](https://evil.example/b.png)`,
	`[a][b]`, `[b]: https://evil.example`, `[`, `]`, `(`, `)`, `![`, `](`, `&lt;`, `&#64;org`, `&commat;org`, `&`, `*`, `**`, `_`, `__`, `~~`, `- `, `+ `, `1. `, `2) `, `# `,
	`### `, `> `, `    `, " ", "\n", "\r\n", "\t", `$a$`, `:tada:`, `:octocat:`, `::error::`, `##[error]`, `##vso[a]`, "ä", "世", "\u200b", "\u3164", "\ufe0f", "\u202e", "\x1b[2J", "\xff", `"`, `'`,
	`---`, `===`, `<!--`, `-->`, `<br>`, `</td>`, `[^1]`, `[x] `, `%0A`, `,`, `;`, `{0}`, `x`, `kubectl delete a`, `   # `, "→", "…",
}

type hostileSource struct{ *rand.Rand }

func (s hostileSource) text() string {
	var b strings.Builder
	for range s.IntN(7) {
		b.WriteString(hostileParts[s.IntN(len(hostileParts))])
	}
	return b.String()
}

// fill sets all that v leads to: every text to a hostile one, numbers, and lists to one or two items.
func (s hostileSource) fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.text())
	case reflect.Bool:
		v.SetBool(s.IntN(3) == 0)
	case reflect.Int:
		v.SetInt(int64(s.IntN(200)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(t, v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf(s.text()))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[result.Value]() {
			if s.IntN(4) > 0 { // otherwise absent
				v.Set(reflect.ValueOf(result.Value{Data: s.text() + strings.Repeat(s.text(), s.IntN(10)), OK: true}))
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.fill(t, v.Field(i))
			}
		}
	case reflect.Slice:
		n := 1 + s.IntN(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			s.fill(t, v.Index(i))
		}
	default:
		t.Fatalf("a report has a %s", v.Type())
	}
}

var githubMarkdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))

// linkedByGitHub is what GitHub makes links or pictures of in the text of a page.
var linkedByGitHub = regexp.MustCompile(`(?i)@\w|#\d|\bgh-\d|://|www\.|:[\w+-]*[a-z][\w+-]*:`)

var (
	codeElement = regexp.MustCompile(`(?s)<code>.*?</code>`)
	anyElement  = regexp.MustCompile(`<[^>]*>`)
)

// liveMarkdown returns what a reader could click on or be misled by in a Markdown text, "" if there is nothing.
func liveMarkdown(t *testing.T, markdown string) string {
	t.Helper()
	source := []byte(markdown)
	found := ""
	err := ast.Walk(githubMarkdown.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.HTMLBlock, *ast.CodeBlock, *ast.FencedCodeBlock, *ast.Blockquote, *ast.ThematicBreak,
			*extensionast.Strikethrough, *extensionast.TaskCheckBox, *extensionast.FootnoteLink:
			found = n.Kind().String()
		case *ast.RawHTML:
			if segment := string(n.Segments.Value(source)); segment != "<br>" {
				found = segment
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found != "" {
		return found
	}
	return linkedByGitHub.FindString(rendered(t, markdown, codeElement))
}

// rendered returns the text of a page, without the elements that leave matches. Spaces stand for tags.
func rendered(t *testing.T, markdown string, leave *regexp.Regexp) string {
	t.Helper()
	var page strings.Builder
	if err := githubMarkdown.Convert([]byte(markdown), &page); err != nil {
		t.Fatal(err)
	}
	return html.UnescapeString(anyElement.ReplaceAllString(leave.ReplaceAllString(page.String(), "<code></code>"), " "))
}

// TestHostileTexts: in Markdown, text from outside is what a reader sees, wherever it stands, and nothing else.
func TestHostileTexts(t *testing.T) {
	s := hostileSource{rand.New(rand.NewPCG(setting.Seed(t), 0))}
	none := regexp.MustCompile(`$^`)
	seen := func(markdown string) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(rendered(t, markdown, none), "\u200b", "")), " ")
	}
	texts := []string{`[Approved](https://evil.example/)\| @org/team`, `\|`, `\\|`, "`|`", "\\`", " ` ", "`", "  ", "a|b", `www.evil.example`, `1. a`, `- a`, "a\\"}
	for range 3_000 {
		texts = append(texts, s.text())
	}
	for _, hostile := range texts {
		want := strings.Join(strings.Fields(Printable(hostile)), " ")
		head := "| A | B | C |\n|---|---|---|\n"
		for name, markdown := range map[string]string{
			"item": "- " + markdownText(hostile) + "\n- END\n", "paragraph": markdownText(hostile) + "\n\nEND\n", "heading": "### " + markdownText(hostile) + "\n\nEND\n",
			"bold": "**x " + markdownText(hostile) + " x** END\n",
			"cell": head + markdownRow("x", markdownText(hostile), "END"), "code cell": head + markdownRow("x", markdownCode(hostile), "END"),
			"two cells": head + markdownRow(markdownText(hostile)+"<br>"+markdownCode(hostile), markdownCode(hostile), "END"),
			"code item": "- a: " + markdownCode(hostile) + "\n- END\n",
		} {
			if live := liveMarkdown(t, markdown); live != "" {
				t.Fatalf("%s: %q has the live part %q:\n%s", name, hostile, live, markdown)
			}
			got, isWhole := strings.CutSuffix(seen(markdown), "END")
			got = strings.TrimSpace(got)
			switch name {
			case "bold":
				got = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(got, "x "), "x"))
			case "code item":
				got = strings.TrimSpace(strings.TrimPrefix(got, "a:"))
			case "cell", "code cell":
				got = strings.TrimSpace(strings.TrimPrefix(got, "A B C x"))
			case "two cells":
				continue
			}
			if !isWhole || got != want {
				t.Fatalf("%s: %q reads %q, want %q:\n%s", name, hostile, got, want, markdown)
			}
		}
	}
}

// TestHostileReports fills every text of a report with hostile text.
func TestHostileReports(t *testing.T) {
	s := hostileSource{rand.New(rand.NewPCG(setting.Seed(t), 0))}
	command, isSummary := regexp.MustCompile(`^::(error|warning|notice) [^:]*::`), regexp.MustCompile(`^([✗?!✓] )?[0-9lnu]`)
	for range 300 {
		var r compare.Report
		var l audit.Locks
		var findings audit.Report
		s.fill(t, reflect.ValueOf(&r).Elem())
		s.fill(t, reflect.ValueOf(&l).Elem())
		s.fill(t, reflect.ValueOf(&findings).Elem())
		for i := range findings.Findings {
			findings.Findings[i].Severity = []immutability.Severity{"error", "warning", "note"}[s.IntN(3)] // not from outside
		}
		print := func(write func(b *strings.Builder) error) string {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatalf("%v", err)
			}
			return b.String()
		}
		for _, markdown := range []string{print(func(b *strings.Builder) error { return checkMarkdown(b, &r) }), print(func(b *strings.Builder) error { return locksMarkdown(b, &l) })} {
			if live := liveMarkdown(t, markdown); live != "" {
				t.Fatalf("Markdown has the live part %q:\n%s", live, markdown)
			}
			for line := range strings.Lines(markdown) {
				if bars := strings.Count(line, "|") - strings.Count(line, `\|`); strings.HasPrefix(line, "|") && bars != 5 {
					t.Fatalf("%d bars in the row %s", bars, line)
				}
			}
		}
		github := print(func(b *strings.Builder) error { return githubFormat.Check(b, &r) }) + print(func(b *strings.Builder) error { return githubFormat.Lint(b, &findings) })
		summaries := 0
		for line := range strings.Lines(github) {
			if isSummary.MatchString(line) {
				summaries++
			} else if !command.MatchString(line) {
				t.Fatalf("the line %q is no command", line)
			}
		}
		if summaries != 2 {
			t.Fatalf("%d lines look like a summary:\n%s", summaries, github)
		}
		for _, f := range []Format{gitlabFormat, junitFormat} {
			for _, text := range []string{print(func(b *strings.Builder) error { return f.Check(b, &r) }), print(func(b *strings.Builder) error { return f.Lint(b, &findings) })} {
				var list []gitlabIssue
				var suites junitSuites
				if json.Unmarshal([]byte(text), &list) != nil && xml.Unmarshal([]byte(text), &suites) != nil {
					t.Fatalf("%s cannot be read back:\n%s", f.Name, text)
				}
				for line := range strings.Lines(text) {
					if strings.HasPrefix(strings.TrimLeft(line, " "), "::") || strings.Contains(line, "##[") || strings.Contains(line, "##vso[") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unprintable) {
						t.Fatalf("%s prints the line %q", f.Name, line)
					}
				}
			}
		}
		for _, sarif := range []string{print(func(b *strings.Builder) error { return sarifFormat.Check(b, &r) }), print(func(b *strings.Builder) error { return sarifFormat.Lint(b, &findings) })} {
			var log sarifLog
			if err := json.Unmarshal([]byte(sarif), &log); err != nil {
				t.Fatalf("%v", err)
			}
			for _, result := range log.Runs[0].Results {
				if strings.Contains(result.Message.Text, "](") {
					t.Fatalf("the message of SARIF has a link: %s", result.Message.Text)
				}
			}
		}
	}
}
