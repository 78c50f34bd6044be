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
			n.change(as.of, as.namespace)
		}
	}
	policies := c.policies(found)
	if !slices.ContainsFunc(policies, readsOld) {
		return
	}
	judged := map[any]map[string]bool{} // by policy, the namespaces of the objects that it may judge
	for _, d := range policies {
		in := c.judgedBy(d, n)
		if len(in) == 0 {
			continue
		}
		judged[fieldpath.Value(d.Object, "metadata", "name")] = in
		apiVersion := fieldpath.Text(d.Object, "spec", "paramKind", "apiVersion")
		if kind := fieldpath.Text(d.Object, "spec", "paramKind", "kind"); kind != "" {
			n.read[[2]string{apiVersion, kind}] = true
			group, _ := kindindex.GroupVersion(apiVersion)
			c.needCRD(n, [2]string{group, kind}) // it tells whether the kind has a namespace
		}
	}
	namespaces := map[string]bool{}
	for _, d := range policies {
		if says(d, "namespaceSelector") || says(d, "namespaceObject") {
			policy := fieldpath.Value(d.Object, "metadata", "name")
			if d.Object["kind"] != policyKind {
				policy = fieldpath.Value(d.Object, "spec", "policyName")
			}
			maps.Copy(namespaces, judged[policy])
		}
	}
	delete(namespaces, "") // of cluster-scoped objects
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		n.names = append(n.names, [2]string{namespaceKind, name})
	}
}

// policies returns the policies and bindings of both sides: those that change, of units, and in unchanged files.
func (c *comparison) policies(unchanged []manifest.File) []*yamldoc.Document {
	documents := slices.Clone(c.engine.Policies)
	for _, f := range slices.Concat(c.out.New, c.out.Old, unchanged) {
		documents = append(documents, f.Documents...)
	}
	for _, u := range c.rendered(&needed{policies: true}) {
		objects, _ := c.news.render(u)
		for _, o := range objects {
			documents = append(documents, o.Document)
		}
	}
	return slices.DeleteFunc(documents, func(d *yamldoc.Document) bool {
		return d.Object["kind"] != policyKind && d.Object["kind"] != policyKind+"Binding"
	})
}

// judgedBy returns the namespaces of the changed objects whose update an admission policy may judge: its expressions
// read oldObject, and its rules are for the object's API group and, as far as that is known without discovery, for its
// resource.
func (c *comparison) judgedBy(policy *yamldoc.Document, n *needed) map[string]bool {
	if !readsOld(policy) {
		return nil
	}
	namespaces := map[string]bool{}
	rules, _ := fieldpath.Value(policy.Object, "spec", "matchConstraints", "resourceRules").([]any)
	for _, rule := range rules {
		groups, _ := fieldpath.Value(rule, "apiGroups").([]any)
		resources, _ := fieldpath.Value(rule, "resources").([]any)
		for of, in := range n.changed {
			begin := "" // of the names of its resource
			if c.engine.Builtin != nil && c.engine.Builtin(of[0], of[1]) {
				begin = strings.ToLower(of[1][:len(of[1])-1]) // networkpolicies
			}
			named := func(resource any) bool {
				name, _ := resource.(string)
				return strings.HasPrefix(name, "*") || strings.HasPrefix(name, begin)
			}
			if (slices.Contains(groups, any("*")) || slices.Contains(groups, any(of[0]))) && slices.ContainsFunc(resources, named) {
				maps.Copy(namespaces, in)
			}
		}
	}
	return namespaces
}

// readsOld reports whether a document is a policy whose expressions may read oldObject.
func readsOld(d *yamldoc.Document) bool {
	return d.Object["kind"] == policyKind && says(d, "oldObject")
}

// says reports whether a word is in a document.
func says(d *yamldoc.Document, word string) bool { return strings.Contains(fmt.Sprint(d.Object), word) }
