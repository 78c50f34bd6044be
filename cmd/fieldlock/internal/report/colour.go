package report

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Palette colours text, or leaves it as it is.
type Palette bool

// PaletteFor returns colours for a terminal, unless NO_COLOR is set.
func PaletteFor(w io.Writer) Palette {
	return Palette(IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p Palette) paint(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours and weights of text.
func (p Palette) Bold(text string) string   { return p.paint("1", text) }
func (p Palette) Dim(text string) string    { return p.paint("2", text) }
func (p Palette) Red(text string) string    { return p.paint("31", text) }
func (p Palette) Green(text string) string  { return p.paint("32", text) }
func (p Palette) Yellow(text string) string { return p.paint("33", text) }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
