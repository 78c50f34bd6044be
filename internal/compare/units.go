package compare

import (
	"path"
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
)

// Unit is what one tool applies together, such as a kustomization or a chart.
type Unit struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	Objects int    `json:"objects"` // that were rendered; 0 for a unit that is the same on both sides
	Changed bool   `json:"changed"`
}

// NotCovered is a unit or file that could not be read as it is deployed.
type NotCovered struct {
	Unit    string `json:"unit"`
	Kind    string `json:"kind"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Reason  string `json:"reason"`
	Changed bool   `json:"changed"`
}

// applied returns a way to replace an object with the command that applies its unit, in place of the one that applies a file: no
// file holds the object as it is applied.
func applied(how string, o *manifest.Object) string {
	file := "kubectl apply -f " + manifest.Argument(o.Document.File)
	switch {
	case o.Unit == "":
		return how
	case strings.HasPrefix(o.Unit, "kustomization "):
		return strings.ReplaceAll(how, file, "kubectl apply -k "+shell.Quote(path.Dir(o.Document.File)))
	}
	return strings.ReplaceAll(how, file, "(apply the "+o.Unit+")")
}
