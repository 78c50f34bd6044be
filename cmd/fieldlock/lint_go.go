package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/markers"
)

// goTypes are the Go types that CRDs are made from, for lint --go.
type goTypes struct {
	source *markers.Source
	kinds  map[definition]markers.Node // of each CRD; Group and Kind only
	added  []markers.Addition          // the markers of the fixes that are made
}

// definition names a CRD in a file.
type definition struct{ file, name string }

// loadGoTypes loads the packages of --go. Markers that cannot do what they say are warnings.
func loadGoTypes(ctx context.Context, patterns []string, warn func(string)) (*markers.Source, error) {
	return markers.Load(ctx, ".", patterns, markers.WithProblems(func(p markers.Problem) { warn(p.String()) }))
}

// know remembers the kinds of CRDs.
func (g *goTypes) know(crds []manifest.CRD) {
	g.kinds = map[definition]markers.Node{}
	for _, c := range crds {
		g.kinds[definition{c.File, c.Name}] = markers.Node{Group: c.Group, Kind: c.Kind}
	}
}

// node returns a node of the CRD that a finding is about. It returns false for a CRD that is not made from the packages.
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

// placed returns the findings whose fixes can be made in Go too, or are of CRDs that are not made from the packages. Leave is
// called for the others.
func (g *goTypes) placed(findings []*audit.Finding, leave func(f *audit.Finding, why string)) ([]*audit.Finding, error) {
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
