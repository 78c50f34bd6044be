package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// maxValues is how large a file of values, or a Chart.yaml, may be.
const maxValues = 10 << 20

func tooLarge(name string) error { return fmt.Errorf("%s is larger than %d MiB", name, maxValues>>20) }

// MergedFiles returns values with those in files of the tree over them, later ones over earlier ones.
func MergedFiles(tree fs.FS, values map[string]any, names []string) (map[string]any, error) {
	for _, name := range names {
		data, err := ReadValues(tree, name)
		if err != nil {
			return nil, err
		}
		read, err := loader.LoadValues(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values = Merged(values, read)
	}
	return values, nil
}

// Merged returns values with others over them: tables are merged, everything else is replaced. It changes neither.
func Merged(values, over map[string]any) map[string]any { return loader.MergeMaps(values, over) }

// ReadValues reads a file of the tree that is not too large for values.
func ReadValues(tree fs.FS, name string) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxValues+1))
	if err == nil && len(data) > maxValues {
		err = tooLarge(name)
	}
	return data, err
}

// validate checks values against the schemas of a chart and its dependencies, as Helm does, but reads no other
// document: a reference to one accepts everything.
func validate(c *chart.Chart, values map[string]any) error {
	var failed []string
	if c.Schema != nil {
		if err := validateOne(c.Schema, values); err != nil {
			failed = append(failed, fmt.Sprintf("values do not match the schema of the chart %s: %v", c.Name(), err))
		}
	}
	for _, dependency := range c.Dependencies() {
		below, exists := values[dependency.Name()]
		if !exists || below == nil {
			continue
		}
		table, ok := below.(map[string]any)
		if !ok {
			failed = append(failed, fmt.Sprintf("the values of %s are not an object", dependency.Name()))
			continue
		}
		if err := validate(dependency, table); err != nil {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "\n"))
	}
	return nil
}

// schemaURL is the address of a schema in the messages of its validator.
const schemaURL = "file:///values.schema.json"

func validateOne(schema []byte, values map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema fails: %v", r)
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	others := elsewhere{}
	others.note(document)
	compiler.UseLoader(others)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return err
	}
	validator, err := compiler.Compile(schemaURL)
	if err != nil {
		return err
	}
	return validator.Validate(values)
}

// elsewhere has, for each document that a schema refers to, one that accepts everything in all places that it names.
type elsewhere map[string]any

var _ jsonschema.URLLoader = elsewhere{}

func (e elsewhere) Load(url string) (any, error) {
	if document, ok := e[url]; ok {
		return document, nil
	}
	return true, nil
}

var base = &url.URL{Scheme: "file", Path: "/"} // of schemaURL

// note notes the references of a schema to places in other documents: "https://example.com/all.json#/definitions/name".
func (e elsewhere) note(schema any) {
	switch x := schema.(type) {
	case map[string]any:
		ref, _ := x["$ref"].(string)
		if address, place, ok := strings.Cut(ref, "#/"); ok && address != "" {
			decoded, placeErr := url.PathUnescape(place)
			absolute, err := base.Parse(address)
			if err == nil && placeErr == nil {
				e.add(absolute.String(), pointer.Names("/"+decoded))
			}
		}
		for _, member := range x {
			e.note(member)
		}
	case []any:
		for _, item := range x {
			e.note(item)
		}
	}
}

func (e elsewhere) add(address string, names []string) {
	at, ok := e[address].(map[string]any)
	if !ok {
		at = map[string]any{}
		e[address] = at
	}
	for _, name := range names {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
}

// variants returns the files of values that come with a chart.
func variants(tree fs.FS, dir string) []string {
	var files []string
	for _, sub := range []string{".", "ci"} {
		entries, _ := fs.ReadDir(tree, path.Join(dir, sub))
		for _, entry := range entries {
			if !entry.IsDir() && IsVariant(path.Join(sub, entry.Name())) {
				files = append(files, path.Join(dir, sub, entry.Name()))
			}
		}
	}
	slices.Sort(files)
	return files
}

// IsVariant reports whether a file, by its path in the directory of a chart, holds values for another installation of
// the chart: ci/*-values.yaml, which chart-testing tries, and values-*.yaml, values.*.yaml and *-values.yaml beside
// values.yaml, one for each environment.
func IsVariant(name string) bool {
	dir, base := path.Split(name)
	base, isYAML := strings.CutSuffix(base, ".yaml")
	switch {
	case !isYAML:
		return false
	case dir == "ci/":
		return strings.HasSuffix(base, "-values")
	}
	return dir == "" && (strings.HasPrefix(base, "values-") || strings.HasPrefix(base, "values.") ||
		strings.HasSuffix(base, "-values"))
}
