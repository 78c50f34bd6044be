package report

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/audit"
)

// writeDetails prints the objects of a finding's witness as one YAML stream, with comments that say what to do with each
// and what refuses the direct way, and the fix; what the finding lacks is left out.
func writeDetails(w io.Writer, f *audit.Finding, p Palette) error {
	var b strings.Builder
	shown := f.Witness
	if shown == nil {
		shown = &audit.Witness{}
	}
	last := len(shown.Objects) - 1
	for i, obj := range shown.Objects {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return err
		}
		switch i {
		case 0:
			b.WriteString("# create this\n")
		case last:
			b.WriteString("---\n# then update it to this\n")
		default:
			b.WriteString("---\n# update it to this\n")
		}
		b.Write(text)
	}
	for _, r := range shown.Refused {
		fmt.Fprintf(&b, "# directly from the first to the last is refused: %s\n", strings.ReplaceAll(r.String(), "\n", " "))
	}
	if f.Fix != "" {
		b.WriteString("# fix:\n" + f.Fix)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, "        "+p.Dim(Printable(strings.TrimSuffix(line, "\n"))))
	}
	return nil
}
