// Command picture draws what fieldlock prints on a terminal as docs/check-light.svg and docs/check-dark.svg:
//
//	go run ./hack/picture check testdata/examples/fleet/old testdata/examples/fleet/new
//
// It runs the command of this tree in a terminal of its own, which takes script(1) of util-linux.
package main

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// theme is the colours of a picture by the number of the escape sequence; "" is plain text.
type theme struct {
	name, back, frame string
	colours           map[string]string
}

var themes = []theme{
	{"light", "#f6f8fa", "#d0d7de",
		map[string]string{"": "#1f2328", "31": "#b3261e", "32": "#1a7f37", "33": "#8a5a00", "2": "#57606a"}},
	{"dark", "#161b22", "#30363d",
		map[string]string{"": "#e6edf3", "31": "#ff8a80", "32": "#57d07a", "33": "#e3b341", "2": "#9da7b3"}},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	command := filepath.Join(dir, "fieldlock")
	if out, err := exec.Command("go", "build", "-o", command, "./cmd/fieldlock").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	line := "fieldlock " + strings.Join(args, " ")
	script := exec.Command("script", "-qec", line+" 2>/dev/null", "/dev/null") // no progress on slow machines
	script.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TERM=xterm-256color", "NO_COLOR=")
	out, err := script.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err // a refusal, exit status 1, is what the picture shows
	}
	text := strings.TrimRight(strings.ReplaceAll(string(out), "\r\n", "\n"), "\n")
	lines := append([]string{"$ " + line}, strings.Split(text, "\n")...)
	for _, t := range themes {
		if err := os.WriteFile(filepath.Join("docs", "check-"+t.name+".svg"), []byte(svg(lines, t)),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

// escape is a sequence that changes how text looks.
var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// svg draws lines of a terminal.
func svg(lines []string, t theme) string {
	const charWidth, lineHeight, margin = 7.8, 19, 16
	columns := 0
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(escape.ReplaceAllString(line, "")))
	}
	width, height := int(float64(columns)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13">
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>
`, width, height, width, height, width-1, height-1, t.back, t.frame)
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", margin,
			margin+(i+1)*lineHeight-5, spans(line, t))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// spans turns a line with escape sequences into parts of SVG text.
func spans(line string, t theme) string {
	var b strings.Builder
	style := ""
	part := func(text string) {
		if text == "" {
			return
		}
		weight := ""
		if style == "1" {
			weight = ` font-weight="bold"`
		}
		colour, ok := t.colours[style]
		if !ok {
			colour = t.colours[""]
		}
		fmt.Fprintf(&b, `<tspan fill="%s"%s>%s</tspan>`, colour, weight, html.EscapeString(text))
	}
	at := 0
	for _, found := range escape.FindAllStringSubmatchIndex(line, -1) {
		part(line[at:found[0]])
		style, at = line[found[2]:found[3]], found[1]
		if style == "0" {
			style = ""
		}
	}
	part(line[at:])
	return b.String()
}
