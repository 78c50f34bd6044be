package helm

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What a chart is rendered without: dependencies that the tree lacks, and encrypted files.

// Decides tells which files of a chart decide about the dependencies and encrypted templates without which it is
// rendered: all but its templates, unless others use a part of these.
func Decides(files []string) rendered.Decides {
	return func(has rendered.Has) (of rendered.Decision, lacks bool) {
		of.Files = map[string]string{}
		for _, name := range files {
			lacks = lacks || mayLack(name, has)
			if strings.Contains(name, "templates/") && !has(name, naming.Match) {
				of.Files[name] = ""
			}
		}
		return of, lacks
	}
}

// naming matches an action of a template that gives a part of it a name, by which others use it.
var naming = regexp.MustCompile(`\{\{-?\s*(?:define|block)\b`)

// mayLack reports whether rendering may find that something is missing for a file: what it has encrypted, or a
// dependency that it names. An archive may name some.
func mayLack(name string, has rendered.Has) bool {
	if path.Base(name) == "requirements.yaml" || path.Ext(name) == ".tgz" {
		return true
	}
	return has(name, func(data []byte) bool {
		return yamldoc.IsEncrypted(data) ||
			path.Base(name) == "Chart.yaml" && bytes.Contains(data, []byte("dependencies"))
	})
}
