package helm

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What a chart is rendered without: dependencies that the tree lacks, and encrypted files.

// Decides tells which files of the chart in dir decide about the dependencies and encrypted templates without which it
// is rendered. Templates do not, unless others use a part of them. Unless something is encrypted or packed, a Chart.yaml
// decides by the dependencies it names, and the values of the chart by those that dependencies see:
//
//	charts/shop/Chart.yaml   dependencies: [{name: redis, condition: cache.enabled}], but not its version
//	charts/shop/Chart.lock   the same
//	charts/shop/values.yaml  redis, cache, global and tags, but not image
//	charts/shop/README.md    nothing
func Decides(dir string, files []string) rendered.Decides {
	return func(has rendered.Has) (of rendered.Decision, lacks bool) {
		of.Files = map[string]string{}
		opaque, isTemplate := false, templatesAmong(files)
		for _, name := range files {
			lacks = lacks || mayLack(name, has)
			opaque = opaque || isPacked(name) || has(name, yamldoc.IsEncrypted)
			if isTemplate(name) && !has(name, naming.Match) {
				of.Files[name] = ""
			}
		}
		if !opaque {
			decideInPart(dir, files, isTemplate, has, of.Files)
		}
		return of, lacks
	}
}

// decideInPart adds what of each file decides about dependencies, for those that do not decide as a whole. A file that
// cannot be read decides as a whole.
func decideInPart(dir string, files []string, isTemplate func(name string) bool, has rendered.Has,
	of map[string]string) {
	seen := map[string]bool{"global": true, "tags": true}
	for _, name := range files {
		if path.Ext(name) == ".md" && !isTemplate(name) {
			of[name] = ""
		}
		if base := path.Base(name); base != "Chart.yaml" && base != "Chart.lock" {
			continue
		}
		var m chart.Metadata // a Chart.lock has the dependencies alone
		if !has(name, func(data []byte) bool { return yaml.Unmarshal(data, &m) == nil }) {
			return
		}
		seen[m.Name] = true
		for _, d := range m.Dependencies {
			if strings.HasPrefix(d.Repository, "file://") {
				d.Version = "" // the files of the tree count
			}
			seen[d.Name], seen[d.Alias] = true, true
			for condition := range strings.SplitSeq(d.Condition, ",") {
				key, _, _ := strings.Cut(strings.TrimSpace(condition), ".")
				seen[key] = true
			}
		}
		of[name] = decisive(name, &chart.Metadata{
			APIVersion: m.APIVersion, Name: m.Name, Type: m.Type, Dependencies: m.Dependencies,
		})
	}
	for _, name := range files {
		inChart, ok := strings.CutPrefix(path.Clean("/"+name), strings.TrimSuffix(path.Clean("/"+dir), "/")+"/")
		if !ok || inChart != "values.yaml" && !IsVariant(inChart) {
			continue
		}
		values := map[string]any{}
		if has(name, func(data []byte) bool { return yaml.Unmarshal(data, &values) == nil }) {
			maps.DeleteFunc(values, func(key string, _ any) bool { return !seen[key] })
			of[name] = decisive(name, values)
		}
	}
}

// templatesAmong reports which of the files of a chart and its dependencies are templates. The chart itself may be in a
// directory of that name.
func templatesAmong(files []string) func(name string) bool {
	var dirs []string
	for _, name := range files {
		if path.Base(name) == "Chart.yaml" {
			dirs = append(dirs, path.Join("/", path.Dir(name), "templates")+"/")
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix("/"+name, dir) })
	}
}

// decisive returns a part of a file that decides.
func decisive(name string, part any) string {
	text, _ := json.Marshal(part) // which was YAML
	return name + "\x00" + string(text)
}

// isPacked reports whether a file is a chart in an archive or lists dependencies as Helm 2 did.
func isPacked(name string) bool {
	return path.Base(name) == "requirements.yaml" || path.Ext(name) == ".tgz"
}

// naming matches an action of a template that gives a part of it a name, by which others use it.
var naming = regexp.MustCompile(`\{\{-?\s*(?:define|block)\b`)

// mayLack reports whether rendering may find that something is missing for a file: what it has encrypted, or a
// dependency that it names. An archive may name some.
func mayLack(name string, has rendered.Has) bool {
	if isPacked(name) {
		return true
	}
	return has(name, func(data []byte) bool {
		return yamldoc.IsEncrypted(data) ||
			path.Base(name) == "Chart.yaml" && bytes.Contains(data, []byte("dependencies"))
	})
}
