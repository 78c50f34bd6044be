package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The values of --output.
const (
	asText   = "text"
	asJSON   = "json"
	asGitHub = "github"
	asSARIF  = "sarif"
)

// addOutput adds -o, which takes one of formats; the first is the default.
func addOutput(cmd *cobra.Command, formats ...string) *format {
	f := &format{formats[0], formats}
	cmd.Flags().VarP(f, "output", "o", "what to print: "+strings.Join(formats, ", "))
	return f
}

// format is the value of --output.
type format struct {
	value   string
	allowed []string
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return "FORMAT" }

func (f *format) Set(value string) error {
	if !slices.Contains(f.allowed, value) {
		return fmt.Errorf("the formats are %s", strings.Join(f.allowed, ", "))
	}
	f.value = value
	return nil
}

// writeJSON prints v as indented JSON.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// palette colours text, or leaves it as it is.
type palette bool

// paletteOf returns colours for a terminal, unless NO_COLOR is set.
func paletteOf(w io.Writer) palette {
	return palette(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p palette) paint(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p palette) bold(text string) string   { return p.paint("1", text) }
func (p palette) dim(text string) string    { return p.paint("2", text) }
func (p palette) red(text string) string    { return p.paint("31", text) }
func (p palette) green(text string) string  { return p.paint("32", text) }
func (p palette) yellow(text string) string { return p.paint("33", text) }

// printable escapes what a terminal would act on: the names in objects come from anywhere.
func printable(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return r != ' ' && !strconv.IsPrint(r) }

// shownValue is how many characters of a value stand in a line.
const shownValue = 72

// show prints a value as JSON, cut where it is long.
func show(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return printable(fmt.Sprint(v))
	}
	text := printable(strings.TrimSuffix(b.String(), "\n"))
	if runes := []rune(text); len(runes) > shownValue {
		return string(runes[:shownValue-1]) + "…"
	}
	return text
}

// count prints a number with its noun: "1 object", "2 objects".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
