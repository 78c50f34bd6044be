package builtin

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/shell"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// Replacement returns how to get the violations of verdict through. "FILE" in it stands for the file of the new manifest.
func (k *Kind) Replacement(newObj, oldObj map[string]any, verdict result.Verdict) result.Replacement {
	if k.undefined() {
		return result.Replacement{Cost: result.CostUnknown, Message: "the kind is not known"}
	}
	why := k.source.Why
	if k.Kind == "Service" && fieldpath.Text(newObj, "spec", "clusterIP") != "" {
		why = "the Service is gone for a moment; it keeps the address that its manifest names"
	}
	name, namespace := fieldpath.Text(newObj, "metadata", "name"), fieldpath.Text(newObj, "metadata", "namespace")
	target := kind.Target(strings.ToLower(k.Kind)+"/"+name, namespace)
	words := append(kind.Words(target), "{recipes}", recipes, "{modes}", accessModes(newObj),
		"{name}", shell.Quote(name), "{migrated}", shell.Quote(migrated(newObj)))
	fill := func(way string, more ...string) string {
		// once: what is filled in comes from anywhere
		return strings.NewReplacer(slices.Concat(words, more)...).Replace(way)
	}
	var around kind.Around
	invalid := 0
	relabel, needed := relabelling(newObj, oldObj)
	for _, v := range verdict.Violations {
		w := v.WaysOut
		if text, relabels := strings.CutPrefix(w.First, "{relabel}"+tool.Comment); relabels {
			switch {
			case !needed:
				w.First = ""
			case relabel == "":
				w.First = text
			}
		}
		if written, _ := fieldpath.Find(newObj, v.Path); written != nil && strings.HasPrefix(w.Edit, "{null}") {
			w.Edit = "in the manifest, leave {path} out: the server refuses it together with this type"
		}
		if strings.HasPrefix(w.Edit, "in the manifest, leave ") { // the next apply would be refused, too
			invalid++
		}
		patch := ""
		if strings.Contains(w.Edit, "{null}") {
			patch = "kubectl patch " + target + " --type merge -p " +
				shell.Quote(nullPatch(newObj, fieldpath.Resolve(v.Path, newObj, oldObj)))
		}
		w.Edit = fill(w.Edit, "{path}", v.Path, "{null}", patch)
		w.First, w.Then = fill(w.First, "{relabel}", relabel), fill(w.Then)
		around.Add(w)
	}
	if labels := changedClaimLabels(newObj, oldObj); len(labels) > 0 {
		around.First = append(around.First, tool.InManifest+"take "+strings.Join(labels,
			" and ")+" out of the labels of spec.volumeClaimTemplates, "+
			"so that this is the last time: the next change of a label there is refused, too")
	}
	for claim, patch := range largerClaims(newObj, oldObj) {
		around.First = append(around.First, fill("kubectl patch {claim}"+tool.Comment+"enlarge this claim and those "+
			"of the other pods, if "+
			"their storage class allows expansion", "{claim}",
			kind.Target("pvc/"+claim, namespace)+" -p "+shell.Quote(patch)))
	}
	r := k.source.Replacement(why, strings.NewReplacer(words...), around)
	if invalid > 0 && invalid == len(verdict.Violations) { // a new object would be refused, too
		r.Message, r.How = "an edit is enough, and a replacement does not help", kind.EachOnce(around.Edits)
	}
	r.Requested = tool.Applier{}.Requested(newObj, oldObj)
	return r
}

// recipes is the page with whole procedures.
const recipes = "https://github.com/fieldlock/fieldlock/blob/main/docs/recipes.md"

// accessModes returns the access modes of a claim as JSON, ready for a patch in quotes.
func accessModes(claim map[string]any) string {
	modes := fieldpath.Object(claim, "spec")["accessModes"]
	if modes == nil {
		modes = []any{"MODE"}
	}
	data, err := json.Marshal(modes)
	if err != nil {
		return "[]"
	}
	return strings.ReplaceAll(string(data), "'", `'\''`)
}

// migrated returns the patch of a CRD's status after all objects were written anew in the version that NEW stores them
// in.
func migrated(newObj map[string]any) string {
	stored := []any{}
	for _, version := range fieldpath.Objects(fieldpath.Object(newObj, "spec")["versions"]) {
		if version["storage"] == true {
			stored = append(stored, version["name"])
		}
	}
	data, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": stored}})
	if err != nil {
		return "{}" // it holds nothing but names
	}
	return string(data)
}

// nullPatch returns a merge patch that removes the field at the end of steps, and sets the type next to it.
func nullPatch(newObj map[string]any, steps fieldpath.Path) string {
	last := len(steps) - 1
	names := make([]string, last)
	for i := range names {
		names[i] = fieldpath.Name(steps[i])
	}
	patch := map[string]any{fieldpath.Name(steps[last]): nil}
	if kind := fieldpath.Text(fieldpath.Object(newObj, names...), "type"); kind != "" {
		patch["type"] = kind
	}
	for _, name := range slices.Backward(names) {
		patch = map[string]any{name: patch}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return "{}" // it holds nothing but names
	}
	return string(data)
}

// sharedClaims returns the claim templates that both sides of a StatefulSet have, by name.
func sharedClaims(newObj, oldObj map[string]any) iter.Seq2[map[string]any, map[string]any] {
	const templates = "volumeClaimTemplates"
	return func(yield func(is, was map[string]any) bool) {
		for _, is := range fieldpath.Objects(fieldpath.Object(newObj, "spec")[templates]) {
			for _, was := range fieldpath.Objects(fieldpath.Object(oldObj, "spec")[templates]) {
				if fieldpath.Text(is, "metadata", "name") == fieldpath.Text(was, "metadata", "name") &&
					!yield(is, was) {
					return
				}
			}
		}
	}
}

// changedClaimLabels names the labels of a StatefulSet's claim templates that have another value than before, such as
// helm.sh/chart.
func changedClaimLabels(newObj, oldObj map[string]any) []string {
	var names []string
	for is, was := range sharedClaims(newObj, oldObj) {
		labels := fieldpath.Object(is, "metadata", "labels")
		for name, before := range fieldpath.Object(was, "metadata", "labels") {
			if value, has := labels[name]; has && !jsonvalue.Equal(value, before) {
				names = append(names, shell.Quote(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// relabelling returns the command that gives the pods of a StatefulSet the labels of its new selector, "" where the
// selectors have expressions; needed is false where the pods have the labels already. in is the flag of the namespace.
//
//	{matchLabels: {app: a}}, then {matchLabels: {app: a, tier: db}}:
//	kubectl label pods -n shop -l app=a --overwrite tier=db
func relabelling(newObj, oldObj map[string]any) (command string, needed bool) {
	labels := func(obj map[string]any) (map[string]any, bool) {
		selector := fieldpath.Object(obj, "spec", "selector")
		_, expressions := selector["matchExpressions"]
		return fieldpath.Object(selector, "matchLabels"), !expressions
	}
	is, newPlain := labels(newObj)
	was, oldPlain := labels(oldObj)
	if !newPlain || !oldPlain || len(is) == 0 || len(was) == 0 {
		return "", true
	}
	var selected, added []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		selected = append(selected, fmt.Sprintf("%s=%v", name, was[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !jsonvalue.Equal(is[name], was[name]) {
			added = append(added, shell.Quote(fmt.Sprintf("%s=%v", name, is[name])))
		}
	}
	pods := kind.Target("pods", fieldpath.Text(newObj, "metadata", "namespace"))
	command = "kubectl label " + pods + " -l " + shell.Quote(strings.Join(selected, ",")) + " --overwrite "
	return command + strings.Join(added, " "), len(added) > 0
}

// largerClaims returns the first claim of each template of a StatefulSet that asks for more storage than before, and
// the patch that enlarges it.
func largerClaims(newObj, oldObj map[string]any) iter.Seq2[string, string] {
	size := func(template map[string]any) (string, resource.Quantity) {
		asked := fieldpath.Text(template, "spec", "resources", "requests", "storage")
		q, err := canonical.ParseQuantity(asked)
		if err != nil {
			return "", q
		}
		return asked, q
	}
	return func(yield func(claim, patch string) bool) {
		for is, was := range sharedClaims(newObj, oldObj) {
			asked, newSize := size(is)
			before, oldSize := size(was)
			if asked == "" || before == "" || newSize.Cmp(oldSize) <= 0 {
				continue
			}
			claim := fieldpath.Text(is, "metadata", "name") + "-" + fieldpath.Text(newObj, "metadata", "name") + "-0"
			if !yield(claim, `{"spec":{"resources":{"requests":{"storage":"`+asked+`"}}}}`) {
				return
			}
		}
	}
}
