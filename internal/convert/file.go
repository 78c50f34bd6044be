// Package convert rewrites files of CRDs: locks become CEL rules, policies or an annotation, and CEL rules become
// locks. What it does not change keeps its order, its comments and its spelling.
package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/rawschema"
	"github.com/fieldlock/fieldlock/internal/schema"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// File is a file of CRDs that is printed again with changes. Every byte that is not part of a change stays.
type File struct {
	file *yamldoc.File
	data []byte
	crds []document
}

// document is a CRD, and its object in the file, which is changed.
type document struct {
	*crd.CRD
	object map[string]any
}

// Read reads the CRDs of one file; messages call it name.
func Read(name string, data []byte) (*File, error) {
	// They are read apart from the objects, so that changes of the objects do not reach them.
	crds, err := crd.Read(name, data)
	if err != nil {
		return nil, err
	}
	if len(crds) == 0 {
		return nil, noCRD(name, data)
	}
	file, err := yamldoc.Parse(name, data)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, data: data}
	for _, d := range file.Documents {
		if d.Object["kind"] == "CustomResourceDefinition" {
			f.crds = append(f.crds, document{crds[len(f.crds)], d.Object})
		}
	}
	return f, nil
}

// noCRD returns the error for a file without a CRD, which tells what helps if it is another kind of schema.
func noCRD(name string, data []byte) error {
	document, err := schemadoc.Read(name, data)
	var kinds []schemadoc.Kind
	if err == nil {
		kinds = slices.DeleteFunc(slices.Clone(document.Kinds), func(k schemadoc.Kind) bool {
			return k.APIVersion == ""
		})
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: there is no CustomResourceDefinition in it; give the file of a CRD", name)
	case document.Root != "":
		return fmt.Errorf("%s: it is a JSON Schema, not a CustomResourceDefinition; check, lint and locks take JSON "+
			"Schemas", name)
	case len(kinds) == 0:
		return fmt.Errorf("%s: it is an OpenAPI document without Kubernetes kinds; give the file of a CRD", name)
	}
	return fmt.Errorf("%s: it is an OpenAPI document, not a CustomResourceDefinition; its locks are exported by "+
		"fieldlock export policy --kind GROUP/VERSION/KIND, such as --kind %s/%s",
		name, kinds[0].APIVersion, kinds[0].Kind)
}

// requireV1 returns an error if a CRD of the file has a version of the API without CEL rules.
func (f *File) requireV1() error {
	var errs []error
	for _, c := range f.crds {
		if c.APIVersion != "apiextensions.k8s.io/v1" {
			errs = append(errs, fmt.Errorf("%s: the CRD %s is %s, which has no CEL rules; convert it to "+
				"apiextensions.k8s.io/v1", c.File, c.Name, c.APIVersion))
		}
	}
	return errors.Join(errs...)
}

// Bytes returns the text of the file with the changes.
func (f *File) Bytes() ([]byte, error) { return f.file.Bytes() }

// Write prints the file, and more documents after it.
func (f *File) Write(w io.Writer, more ...any) error {
	text, err := f.Bytes()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil || len(more) == 0 {
		return err
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(f.data), []byte("{")) {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		for _, object := range more {
			if err := encoder.Encode(object); err != nil {
				return err
			}
		}
		return nil
	}
	for _, object := range more {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// Objects returns the documents as JSON values.
func (f *File) Objects() ([]any, error) { return f.file.Values() }

// Change makes changes in the schema of one version of the CRD with a name.
func (f *File) Change(name, version string, changes []celrule.Change) error {
	for i := range f.crds {
		if c := &f.crds[i]; c.Name == name {
			return c.change(version, changes)
		}
	}
	return fmt.Errorf("there is no CRD %s in the file", name)
}

// change makes changes in the schema of one version.
func (c *document) change(version string, changes []celrule.Change) error {
	s := c.schema(version)
	for _, change := range changes {
		node, _ := rawschema.Node(s, change.SchemaPath)
		if node == nil {
			return fmt.Errorf("%s: the CRD %s has no %s in its version %s", c.File, c.Name, change.SchemaPath, version)
		}
		change.Make(node)
	}
	return nil
}

// schema returns the openAPIV3Schema of a version, or nil.
func (c *document) schema(version string) map[string]any {
	versions, _ := fieldpath.Value(c.object, "spec", "versions").([]any)
	for _, v := range versions {
		if fieldpath.Value(v, "name") == version {
			s := fieldpath.Object(v, "schema", "openAPIV3Schema")
			return s
		}
	}
	return nil
}

// setAnnotation sets or, for "", removes the annotation that carries the locks.
func (c *document) setAnnotation(value string) {
	metadata, _ := c.object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if value == "" {
		if delete(annotations, crd.AnnotationKey); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		return
	}
	if metadata == nil {
		metadata = map[string]any{}
		c.object["metadata"] = metadata
	}
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[crd.AnnotationKey] = value
}

// restore puts the keys of the annotation on the nodes of the schemas.
func (c *document) restore() error {
	text, err := c.Annotation()
	if err != nil || text == "" {
		return err
	}
	annotation, err := rawschema.Decode(text)
	if err != nil {
		return err
	}
	for _, version := range slices.Sorted(maps.Keys(annotation)) {
		if err := rawschema.Merge(c.schema(version), annotation[version]); err != nil {
			return fmt.Errorf("%s: the CRD %s, version %s: %w", c.File, c.Name, version, err)
		}
	}
	return nil
}

// compile returns the errors in the locks of the file, each with its line; nil for none.
func (f *File) compile() error {
	var errs []error
	for _, c := range f.crds {
		_, mistakes := manifest.CRD{CRD: c.CRD}.Compile()
		errs = append(errs, mistakes...)
	}
	return errors.Join(errs...)
}

// Fix adds the rules of a fix for a finding in one version of a CRD. Rules that the schema already has are left out.
func (f *File) Fix(name, version string, fix *crd.Fix) error {
	version = cmp.Or(fix.Version, version)
	return f.Change(name, version,
		[]celrule.Change{{SchemaPath: fix.SchemaPath, AddRules: f.missing(name, version, fix)}})
}

// missing returns the rules of a fix that the node does not have.
func (f *File) missing(name, version string, fix *crd.Fix) []map[string]any {
	i := slices.IndexFunc(f.crds, func(d document) bool { return d.Name == name })
	if i < 0 {
		return fix.AddRules
	}
	node, _ := rawschema.Node(f.crds[i].schema(version), fix.SchemaPath)
	present, _ := node[schema.KeyValidations].([]any)
	var missing []map[string]any
	for _, add := range fix.AddRules {
		if !slices.ContainsFunc(present, func(r any) bool {
			have, _ := r.(map[string]any)
			return have["rule"] == add["rule"]
		}) {
			missing = append(missing, add)
		}
	}
	return missing
}

// Import is the result of importing CEL rules.
type Import struct {
	Documents  []any          `json:"documents"`
	Recognized []ImportedRule `json:"recognized"`
	Left       []ImportedRule `json:"left"`
}

// ImportedRule is one transition rule of a report.
type ImportedRule struct {
	CRD        string         `json:"crd"`
	Version    string         `json:"version"`
	Path       string         `json:"path"`
	SchemaPath string         `json:"schemaPath"`
	Rule       string         `json:"rule"`
	Locks      []ImportedLock `json:"locks,omitempty"`
	// Message is the rule's own message, which goes with the rule: a lock has its own words. It is "" for a message
	// that Export writes.
	Message string `json:"message,omitempty"`
	// Reason says why the rule stays, or why a recognized rule became no lock of its own.
	Reason string `json:"reason,omitempty"`
}

// ImportedLock is a lock that replaces a rule.
type ImportedLock struct {
	Path string `json:"path"`
	Lock string `json:"lock"`
	// Normalize is the x-kubernetes-normalize that import wrote next to the lock, "" for none.
	Normalize string `json:"normalize,omitempty"`
}

// FromCEL replaces rules in the file by locks. Locks that an annotation carried move to their place in the schema.
func FromCEL(file *File) (*Import, error) {
	if err := file.requireV1(); err != nil {
		return nil, err
	}
	if err := file.compile(); err != nil {
		return nil, err
	}
	report := &Import{Recognized: []ImportedRule{}, Left: []ImportedRule{}}
	for i := range file.crds {
		c := &file.crds[i]
		if err := c.restore(); err != nil {
			return nil, err
		}
		for _, v := range c.Versions {
			imported := celrule.Import(v.Schema)
			if err := c.change(v.Name, imported.Changes); err != nil {
				return nil, err
			}
			report.add(c.Name, v.Name, imported)
		}
		c.setAnnotation("")
	}
	return report, nil
}

func (r *Import) add(name, version string, imported celrule.Imported) {
	normalize := map[string]string{} // by schema path
	for _, c := range imported.Changes {
		normalize[c.SchemaPath], _ = c.SetKeys[schema.KeyNormalize].(string)
	}
	row := func(rule celrule.ImportedRule) ImportedRule {
		return ImportedRule{CRD: name, Version: version, Path: rule.Path, SchemaPath: rule.SchemaPath, Rule: rule.Text,
			Reason: rule.Reason}
	}
	for _, recognized := range imported.Recognized {
		row := row(recognized)
		row.Message = recognized.CustomMessage()
		for _, lock := range recognized.Locks {
			row.Locks = append(row.Locks, ImportedLock{lock.Path, lock.Lock, normalize[lock.SchemaPath]})
		}
		r.Recognized = append(r.Recognized, row)
	}
	for _, left := range imported.Left {
		r.Left = append(r.Left, row(left))
	}
}
