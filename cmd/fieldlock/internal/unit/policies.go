package unit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// An admission policy may judge a changed object although no file of the policy changes. It may read parameters and
// namespaces, which do not change either.

// needRead makes n need what the admission policies read besides the objects that they judge. unchanged are the files
// that hold policies, or copies of added objects, which count as changed ones.
func (c *comparison) needRead(n *needed, unchanged []filePair) {
	var found []manifest.File
	for _, p := range unchanged {
		found = append(found, p.new)
	}
	for _, as := range objectsOf(found) {
		if slices.Contains(n.names, [2]string{as.id.kind, as.id.name}) {
			n.namespaces[as.namespace] = true
		}
	}
	policies := c.policyDocuments(found)
	if !slices.ContainsFunc(policies, readsOld) {
		return
	}
	readNamespaces := false
	for _, d := range policies {
		readNamespaces = readNamespaces || says(d, "namespaceSelector") || says(d, "namespaceObject")
		apiVersion := fieldpath.Text(d.Object, "spec", "paramKind", "apiVersion")
		if kind := fieldpath.Text(d.Object, "spec", "paramKind", "kind"); kind != "" && readsOld(d) {
			n.read[[2]string{apiVersion, kind}] = true
			group, _ := kindindex.GroupVersion(apiVersion)
			c.needCRD(n, [2]string{group, kind}) // it tells whether the kind has a namespace
		}
	}
	if !readNamespaces {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(n.namespaces)) {
		if name != "" { // of cluster-scoped objects
			n.names = append(n.names, [2]string{namespaceKind, name})
		}
	}
}

// policyDocuments returns the policies and bindings of both sides: those that change, of units, and in unchanged files.
func (c *comparison) policyDocuments(unchanged []manifest.File) []*yamldoc.Document {
	documents := slices.Clone(c.engine.Policies)
	for _, f := range slices.Concat(c.out.New, c.out.Old, unchanged) {
		documents = append(documents, f.Documents...)
	}
	for _, u := range c.renderedUnits(&needed{policies: true}) {
		objects, _ := c.news.objectsOf(u)
		for _, o := range objects {
			documents = append(documents, o.Document)
		}
	}
	return slices.DeleteFunc(documents, func(d *yamldoc.Document) bool {
		return d.Object["kind"] != policyKind && d.Object["kind"] != policyKind+"Binding"
	})
}

// readsOld reports whether a document is a policy whose expressions may read oldObject.
func readsOld(d *yamldoc.Document) bool {
	return d.Object["kind"] == policyKind && says(d, "oldObject")
}

// says reports whether a word is in a document.
func says(d *yamldoc.Document, word string) bool { return strings.Contains(fmt.Sprint(d.Object), word) }
