package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/markers"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// fixer writes the safe fixes of findings into files, round after round.
type fixer struct {
	said    map[string]bool // warnings that were printed
	refused celrule.Refusals
	types   *goTypes                    // nil without --go
	kinds   map[definition]markers.Node // of each CRD; Group and Kind only
	added   map[nodeIn]bool             // with rules that it has written

	reading sync.Mutex               // of what follows
	trees   map[string]*markers.Tree // the Go source around CRDs, by its directory
	origins map[string]origin        // of files
}

// origin is where a file with CRDs comes from.
type origin struct {
	tree      *markers.Tree // of the Go source around the CRD, or nil
	generated bool          // controller-gen wrote it
}

// definition names a CRD in a file.
type definition struct{ file, name string }

// nodeIn is a node of a CRD in a file.
type nodeIn struct {
	file string
	node markers.Node
}

// know remembers the kinds of CRDs.
func (x *fixer) know(crds []*crd.CRD) {
	x.kinds = map[definition]markers.Node{}
	for _, c := range crds {
		x.kinds[definition{c.File, c.Name}] = markers.Node{Group: c.Group, Kind: c.Kind}
	}
	if x.types != nil {
		x.types.kinds = x.kinds
	}
}

// warn prints a warning, once for all rounds.
func (x *fixer) warn(stderr io.Writer, text string) {
	if x.said[text] {
		return
	}
	if x.said == nil {
		x.said = map[string]bool{}
	}
	x.said[text] = true
	fmt.Fprintln(stderr, "warning: "+report.Printable(text))
}

// leave warns that a fix is not made.
func (x *fixer) leave(stderr io.Writer, f *audit.Finding, why string) {
	x.warn(stderr, fmt.Sprintf("%s: the fix of %s at %s is left out: %s", f.Position.Filename, f.Rule, f.Path, why))
}

// fix writes the safe fixes of findings into the files of their CRDs, and returns the files that it wrote. It leaves
// out a fix that an API server would refuse because its rule costs too much.
func (x *fixer) fix(stderr io.Writer, findings []audit.Finding) (written []string, err error) {
	var safe []*audit.Finding
	for i := range findings {
		if f := &findings[i]; !f.Accepted && f.Severity != immutability.SeverityNote && f.Fix != nil && f.Fix.Safe {
			safe = append(safe, f)
		}
	}
	safe = slices.DeleteFunc(safe, func(f *audit.Finding) bool {
		why := x.othersRule(f)
		if why != "" {
			x.leave(stderr, f, why)
		}
		return why != ""
	})
	if x.types != nil {
		if safe, err = x.types.placed(safe,
			func(f *audit.Finding, why string) { x.leave(stderr, f, why) }); err != nil {
			return nil, err
		}
	}
	byFile := map[string][]*audit.Finding{}
	var files []string
	for _, f := range safe {
		file := f.Position.Filename
		if byFile[file] == nil {
			files = append(files, file)
		}
		byFile[file] = append(byFile[file], f)
	}
	for _, file := range files {
		changed, err := x.fixFile(stderr, file, byFile[file])
		if err != nil {
			return written, err
		}
		if changed {
			written = append(written, file)
		}
	}
	return written, nil
}

// othersRule says whose the rules are that a finding is about, if those who maintain the CRD do not write them: the CRD
// is a copy of another project's, or the rules are on fields of types from another module, or of types that a program
// writes, or they are not in the Go source at all. Nobody can merge a fix beside such a rule, because the next run of
// controller-gen, or the next copy, removes it. It returns "" for rules of theirs, and for rules of which the Go source
// around the CRD does not tell.
func (x *fixer) othersRule(f *audit.Finding) string {
	of := x.originOf(f.Position.Filename)
	if of.tree == nil {
		return ""
	}
	n := x.kinds[definition{f.Position.Filename, f.CRD}]
	if of.tree.Lacks(n.Kind) {
		switch imported := of.tree.Vendored(f.Version, n.Kind); {
		case imported != "":
			return fmt.Sprintf("%s is declared in the vendored Go package %s, so the CRD seems to be a copy of "+
				"another project's", n.Kind, imported)
		case of.generated:
			return fmt.Sprintf("no Go package beside the CRD declares %s, so the CRD seems to be a copy of another "+
				"project's", n.Kind)
		}
	}
	if !of.generated {
		return ""
	}
	why := ""
	for _, r := range f.Around {
		n.Version, n.SchemaPath = r.Version, r.SchemaPath
		declared, known := of.tree.Origin(n)
		switch {
		case !known:
			return ""
		case declared.Import != "":
			why = fmt.Sprintf("the rule on %s comes from the Go package %s, whose authors can add the marker",
				schema.Readable(r.SchemaPath), declared.Import)
		case declared.Generated != "":
			why = fmt.Sprintf("the rule on %s comes from generated code, %s",
				schema.Readable(r.SchemaPath), relative(declared.Generated))
		case of.tree.Unruled(n) && !x.added[nodeIn{f.Position.Filename, n}]:
			why = fmt.Sprintf("the Go source has no rule on %s, so the CRD is older than its types, or the rule is "+
				"added to it later", schema.Readable(r.SchemaPath))
		default:
			return ""
		}
	}
	return why
}

// field returns what Go source says about a field: the packages of --go, or else the syntax around the CRD.
func (x *fixer) field(c *crd.CRD, version, schemaPath string) (celrule.GoField, bool) {
	n := markers.Node{Group: c.Group, Version: version, Kind: c.Kind, SchemaPath: schemaPath}
	if x.types != nil {
		if f, ok := x.types.source.Field(n); ok {
			return celrule.GoField(f), true
		}
	}
	x.reading.Lock()
	defer x.reading.Unlock()
	of := x.originOf(c.File)
	if of.tree == nil || !of.generated {
		return celrule.GoField{}, false
	}
	f, ok := of.tree.Field(n)
	return celrule.GoField(f), ok
}

// originOf returns where a file comes from. It reads the file once: a fix does not change that.
func (x *fixer) originOf(file string) origin {
	if known, ok := x.origins[file]; ok {
		return known
	}
	if x.origins == nil {
		x.origins, x.trees = map[string]origin{}, map[string]*markers.Tree{}
	}
	var of origin
	root := markers.TreeRoot(file)
	if data, err := os.ReadFile(file); err == nil && root != "" {
		if x.trees[root] == nil {
			x.trees[root] = markers.ReadTree(root)
		}
		of = origin{x.trees[root], bytes.Contains(data, []byte("controller-gen.kubebuilder.io/version"))}
	}
	x.origins[file] = of
	return of
}

// fixFile makes the fixes of one file that an API server does not refuse.
func (x *fixer) fixFile(stderr io.Writer, name string, findings []*audit.Finding) (changed bool, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	a := attempt{name: name, data: data, before: sync.OnceValue(func() int { return refusals(data, &x.refused) }),
		refused: &x.refused, tries: maxTries}
	if err := a.add(findings); err != nil {
		return false, err
	}
	for _, f := range a.left {
		why := "an API server would refuse the CRD with it"
		if a.tries == 0 {
			why = "an API server would refuse the CRD with it, or with one of the others"
		}
		x.leave(stderr, f, why)
	}
	if bytes.Equal(a.data, data) {
		return false, nil
	}
	if err := manifest.WriteFile(name, a.data, ""); err != nil {
		return false, err
	}
	fmt.Fprintf(stderr, "fixed: %s (%s)\n", report.Printable(name), report.Count(len(findings)-len(a.left), "finding"))
	for _, f := range findings {
		if slices.Contains(a.left, f) {
			continue
		}
		x.remember(f)
		if f.Fix.Refuses != "" {
			fmt.Fprintf(stderr, "  from now on the API server refuses %s\n", report.Printable(f.Fix.Refuses))
		}
	}
	return true, nil
}

// remember keeps in mind that a fix was made.
func (x *fixer) remember(f *audit.Finding) {
	if x.types != nil {
		x.types.keep(f)
	}
	if x.added == nil {
		x.added = map[nodeIn]bool{}
	}
	n := x.kinds[definition{f.Position.Filename, f.CRD}]
	n.Version, n.SchemaPath = cmp.Or(f.Fix.Version, f.Version), f.Fix.SchemaPath
	x.added[nodeIn{f.Position.Filename, n}] = true
}

// maxTries bounds how often the fixes of one file are tried: each time the rules of its CRDs are compiled.
const maxTries = 100

// attempt adds fixes to the text of a file, as long as an API server finds no more mistakes in it than before.
type attempt struct {
	name    string
	data    []byte
	before  func() int // how many mistakes it finds in the text without the fixes
	refused *celrule.Refusals
	tries   int
	left    []*audit.Finding // whose fixes are refused, or not tried because no tries were left
}

// add makes the fixes of findings all at once, or where an API server would refuse the result, of each half of them, so
// that one that is refused does not stop the others.
func (a *attempt) add(findings []*audit.Finding) error {
	if a.tries == 0 {
		a.left = append(a.left, findings...)
		return nil
	}
	a.tries--
	next, err := withFixes(a.name, a.data, findings)
	if err != nil {
		return err
	}
	count := 0
	if !bytes.Equal(next, a.data) {
		count = refusals(next, a.refused)
	}
	if count == 0 || count <= a.before() {
		a.data = next
		return nil
	}
	if len(findings) == 1 {
		a.left = append(a.left, findings...)
		return nil
	}
	half := len(findings) / 2
	if err := a.add(findings[:half]); err != nil {
		return err
	}
	return a.add(findings[half:])
}

// withFixes returns the text of a file with the fixes of findings.
func withFixes(name string, data []byte, findings []*audit.Finding) ([]byte, error) {
	file, err := convert.Read(name, data)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		if err := file.Fix(f.CRD, f.Version, f.Fix); err != nil {
			return nil, err
		}
	}
	return file.Bytes()
}

// refusals returns for how many reasons an API server refuses the rules in the CRDs of a file. Fixes add only rules.
func refusals(data []byte, refused *celrule.Refusals) (n int) {
	file := manifest.File{Name: "crd"}
	file.Parse(data)
	for _, d := range file.Documents {
		if d.Object["kind"] != "CustomResourceDefinition" {
			continue
		}
		var v1 apiextensionsv1.CustomResourceDefinition
		if text, err := json.Marshal(d.Object); err != nil || json.Unmarshal(text, &v1) != nil {
			n++
			continue
		}
		for _, v := range v1.Spec.Versions {
			if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
				continue
			}
			var s apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &s, nil); err != nil {
				n++
				continue
			}
			n += len(refused.Of(&s))
		}
	}
	return n
}

// goTypes are the Go types that CRDs are made from, for lint --go.
type goTypes struct {
	source *markers.Source
	kinds  map[definition]markers.Node // of the fixer
	added  []markers.Addition          // the markers of the fixes that are made
}

// loadGoTypes loads the packages of --go. Markers that cannot do what they say are warnings.
func loadGoTypes(ctx context.Context, patterns []string, warn func(string)) (*markers.Source, error) {
	return markers.Load(ctx, ".", patterns, markers.Options{Report: func(p markers.Problem) { warn(p.String()) }})
}

// node returns a node of the CRD that a finding is about. It returns false for a CRD that is not made from the
// packages.
func (g *goTypes) node(f *audit.Finding, version, schemaPath string) (markers.Node, bool) {
	n, ok := g.kinds[definition{f.Position.Filename, f.CRD}]
	n.Version, n.SchemaPath = version, schemaPath
	return n, ok && version != "" && slices.Contains(g.source.Groups(), n.Group)
}

// fixNode returns the node that the fix of a finding changes.
func (g *goTypes) fixNode(f *audit.Finding) (markers.Node, bool) {
	version := f.Fix.Version
	if version == "" {
		version = f.Version
	}
	return g.node(f, version, f.Fix.SchemaPath)
}

// annotate says of each finding where its field is in Go, and the field of its fix.
func (g *goTypes) annotate(findings []audit.Finding) {
	place := func(n markers.Node, known bool) *audit.GoPlace {
		if at, ok := g.source.Place(n); known && ok {
			return &audit.GoPlace{File: at.File, Line: at.Line, Name: at.Name}
		}
		return nil
	}
	for i := range findings {
		f := &findings[i]
		f.Go = place(g.node(f, f.Version, f.SchemaPath))
		if f.Fix != nil && len(f.Fix.Markers) > 0 {
			f.MarkersAt = place(g.fixNode(f))
		}
	}
}

// placed returns the findings whose fixes can be made in Go too, or are of CRDs that are not made from the packages.
// Leave is called for the others.
func (g *goTypes) placed(findings []*audit.Finding,
	leave func(f *audit.Finding, why string)) ([]*audit.Finding, error) {
	for {
		additions, by := slices.Clone(g.added), make([]*audit.Finding, len(g.added))
		for _, f := range findings {
			if n, ok := g.fixNode(f); ok {
				additions, by = append(additions, markers.Addition{Node: n, Markers: f.Fix.Markers}), append(by, f)
			}
		}
		_, reasons, err := g.source.AddMarkers(additions)
		if err != nil {
			return nil, err
		}
		left := map[*audit.Finding]bool{}
		for i, reason := range reasons {
			if f := by[i]; f != nil && reason != "" {
				left[f] = true
				leave(f, reason)
			}
		}
		if len(left) == 0 {
			return findings, nil
		}
		// Without them, the declaration of another fix may have a use that gets no rule.
		findings = slices.DeleteFunc(slices.Clone(findings), func(f *audit.Finding) bool { return left[f] })
	}
}

// keep remembers a fix that was made.
func (g *goTypes) keep(f *audit.Finding) {
	if n, ok := g.fixNode(f); ok {
		g.added = append(g.added, markers.Addition{Node: n, Markers: f.Fix.Markers})
	}
}

// write writes the markers of the fixes that were made, and reports whether there were any.
func (g *goTypes) write(stderr io.Writer) (bool, error) {
	files, _, err := g.source.AddMarkers(g.added)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if err := manifest.WriteFile(f.Name, f.Data, ""); err != nil {
			return false, err
		}
		fmt.Fprintf(stderr, "fixed: %s (the markers of the rules)\n", report.Printable(relative(f.Name)))
	}
	return len(files) > 0, nil
}

// relative returns a path as seen from the working directory where it is below it.
func relative(name string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}
