package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// catalogue has the built-in kinds of each minor.
type catalogue map[string]*builtin.Kinds

func newCatalogue() catalogue {
	all := catalogue{}
	for _, minor := range builtin.Minors() {
		kinds, err := builtin.For(minor)
		if err != nil {
			panic(err) // builtin.For knows its own minors
		}
		all[minor] = kinds
	}
	return all
}

// kinds returns the kinds that have rows in some minor, as the newest minor that serves them has them, by name.
func (c catalogue) kinds() []*builtin.Kind {
	var all []*builtin.Kind
	for _, minor := range slices.Backward(builtin.Minors()) {
		for _, k := range c[minor].All() {
			known := slices.ContainsFunc(all, func(other *builtin.Kind) bool {
				return other.Kind == k.Kind && other.Group == k.Group
			})
			if !known && len(k.Rows()) > 0 {
				all = append(all, k)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *builtin.Kind) int {
		return cmp.Compare(strings.ToLower(a.Kind), strings.ToLower(b.Kind))
	})
	return all
}

// fieldsFile is the name of a kind's page: the kind, with its group where that is needed to tell two kinds apart.
func fieldsFile(k *builtin.Kind, all []*builtin.Kind) string {
	name := strings.ToLower(k.Kind)
	if slices.ContainsFunc(all, func(other *builtin.Kind) bool { return other != k && other.Kind == k.Kind }) &&
		k.Group != "" {
		name += "." + k.Group
	}
	return name + ".md"
}

// index is the page with links to the pages of all kinds.
func (c catalogue) index(custom []*operators.Kind) string {
	var b strings.Builder
	minors := builtin.Minors()
	fmt.Fprintf(&b, `# Which fields are immutable?

Each kind has a page: what you may change, what an API server or operator refuses to change, with the error messages, and what to do
about it. *Immutable* fields cannot change; *restricted* ones cannot change under conditions that the page names, or only in some ways.
`+"`fieldlock locks KIND`"+` prints the same for one kind, and `+"`fieldlock check`"+` finds the changes in your manifests.

## Kubernetes

Kinds of Kubernetes %s to %s. Kinds that are not listed have no immutable fields besides name and namespace.

| kind | immutable | restricted |
|---|---|---|
`, minors[0], minors[len(minors)-1])
	all := c.kinds()
	for _, k := range all {
		immutable, restricted := sortFields(k.Kind, k.Rows())
		some := restricted.summary()
		if len(immutable)+len(restricted) == 0 {
			some = "see its page"
		}
		fmt.Fprintf(&b, "| [%s](fields/%s) | %s | %s |\n", k.Kind, fieldsFile(k, all), immutable.summary(), some)
	}
	b.WriteString("\n## Custom resources whose operators are known\n\n| kind | operator | immutable | restricted |\n|---|---|---|---|\n")
	byName := slices.SortedStableFunc(slices.Values(custom), func(a, b *operators.Kind) int {
		return cmp.Compare(strings.ToLower(a.Kind), strings.ToLower(b.Kind))
	})
	for _, k := range byName {
		if k.Nothing == "" {
			immutable, restricted := sortFields(k.Kind, k.Rows())
			fmt.Fprintf(&b, "| [%s](fields/%s) | %s | %s | %s |\n",
				operatorKind(k, all, custom), operatorFile(k, custom), k.Operator.Name, immutable.summary(),
				restricted.summary())
		}
	}
	b.WriteString("\n[What operators refuse](operators.md) also lists the kinds whose operators refuse nothing, and\n[CRDs that are known](known-crds.md) the fields that rules of CRDs lock.\n")
	return b.String()
}

// fieldSet are fields, each once, in the order of the rows.
type fieldSet []string

func (f *fieldSet) add(path string) {
	if !slices.Contains(*f, path) {
		*f = append(*f, path)
	}
}

// outermost returns the fields that are not below another one.
func (f fieldSet) outermost() []string {
	return slices.DeleteFunc(slices.Clone(f), func(path string) bool {
		return slices.ContainsFunc(f, func(other string) bool { return isBelow(path, other) })
	})
}

// summary names the first fields.
func (f fieldSet) summary() string {
	const shown = 4
	var names []string
	for _, path := range f.outermost() {
		names = append(names, "`"+path+"`")
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	return strings.Join(names, ", ")
}

// isBelow reports whether path is a part of the field at above.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && rest != "" && strings.ContainsAny(rest[:1], ".[{")
}

// isImmutable reports whether a row refuses to change the value of its field whatever else the object contains.
//
//	{field: spec.selector, lock: immutable}                   immutable
//	{field: spec.volumeName, update: [NoUnset, NoModify]}     immutable: once it has a value, it keeps it
//	{field: data, lock: immutable, when: oldSelf.immutable}   restricted
func isImmutable(kind string, r *builtin.Row) bool {
	conditional := r.Rule+r.Means+r.When+r.Until != "" || len(r.Except)+len(r.Allow) > 0 ||
		exceptions[kind+" "+r.Path] != ""
	locked := slices.Contains(r.Locks, immutability.LockImmutable) ||
		slices.Contains(r.Locks, immutability.LockNoModify)
	return locked && !conditional && isRefused(r)
}

// isRefused reports whether the server or the operator refuses a change that the row forbids with an error.
func isRefused(r *builtin.Row) bool {
	return r.Unknown+r.Note == "" && r.Effect == builtin.EffectRefused
}

// sortFields returns the fields that are immutable, and those that can change under some conditions only.
func sortFields(kind string, rows []builtin.Row) (immutable, restricted fieldSet) {
	for _, row := range rows {
		if isImmutable(kind, &row) {
			immutable.add(row.Path)
		}
	}
	for _, row := range rows {
		if isRefused(&row) && !slices.Contains(immutable, row.Path) {
			restricted.add(row.Path)
		}
	}
	return immutable, restricted
}

// merged is a row as all minors have it, with those that do and what each of them says.
type merged struct {
	builtin.Row
	minors   []string
	messages map[string]string // by minor, with the path that the server names
}

// merge collects the rows of k in all minors.
func (c catalogue) merge(k *builtin.Kind) (rows []*merged, minors []string) {
	for _, minor := range builtin.Minors() {
		in, ok := c[minor].Find(k.APIVersion, k.Kind)
		if !ok {
			continue
		}
		minors = append(minors, minor)
		for _, r := range in.Rows() {
			at := slices.IndexFunc(rows, func(m *merged) bool { return sameRow(m.Row, r) })
			if at < 0 {
				at = len(rows)
				if last := lastOf(rows, r.Path); last >= 0 {
					at = last + 1 // the rows of a field stand together
				}
				rows = slices.Insert(rows, at, &merged{Row: r, messages: map[string]string{}})
			}
			rows[at].Row, rows[at].minors = r, append(rows[at].minors, minor)
			rows[at].messages[minor] = cmp.Or(r.Cause, r.Path) + ": " + spoken(r.Message)
		}
	}
	return rows, minors
}

// lastOf returns the index of the last row with a path, or -1.
func lastOf(rows []*merged, path string) int {
	for i, r := range slices.Backward(rows) {
		if r.Path == path {
			return i
		}
	}
	return -1
}

func sameRow(a, b builtin.Row) bool {
	return a.Path == b.Path && slices.Equal(a.Locks, b.Locks) && a.Rule == b.Rule && a.Means == b.Means &&
		a.When == b.When && a.Unknown == b.Unknown && a.Note == b.Note &&
		slices.Equal(a.Except, b.Except)
}

// spoken is a message as the server prints it, with its value left out.
func spoken(message string) string {
	message = strings.NewReplacer("{value}", "VERSION", "{change}", "update").Replace(message)
	if rest, ok := strings.CutPrefix(message, "Invalid value: "); ok {
		return "Invalid value: …: " + rest
	}
	return message
}

// recipes are the kinds that have one.
var recipes = map[string]string{
	"StatefulSet": "[larger volumes](../recipes.md#larger-volumes-of-a-statefulset), [another serviceName](../recipes.md#another-servicename-for-a-statefulset)",
	"Deployment":  "[labels from kustomize](../kustomize.md)",
	"Job":         "[Jobs](../recipes.md#jobs)",
}

// page is the page of one kind.
func (c catalogue) page(k *builtin.Kind) string {
	rows, minors := c.merge(k)
	p := &kindPage{kind: k.Kind, guide: recipes[k.Kind]}
	p.short = strings.Join(k.ShortNames, ", ")
	p.about = fmt.Sprintf("`%s`, Kubernetes %s. On the command line: `fieldlock locks %s`.",
		k.APIVersion, strings.Join(minors, ", "), k.Plural)
	p.free, p.some = fieldsOf(k, rows)
	d := details{words: readWords()}
	for _, r := range rows {
		p.addBuiltin(r, &d, minors)
	}
	for _, field := range slices.Sorted(maps.Keys(ignoredFields)) {
		if path, ok := strings.CutPrefix(field, k.Kind+" "); ok {
			p.accepted.add(path, ignoredFields[field])
		}
	}
	object := map[string]any{"apiVersion": k.APIVersion, "kind": k.Kind, "metadata": map[string]any{"name": "NAME"}}
	replacement := k.Replacement(object, nil, result.Verdict{})
	if len(p.rows) > 0 {
		p.cost, p.why, p.how = string(replacement.Cost), replacement.Message, replacement.How
		namespace := ""
		if k.Namespaced {
			namespace = "NAMESPACE"
		}
		p.refused = tool.Refused{
			Group: k.Group, Kind: k.Kind, Namespace: namespace, Name: "NAME", File: "FILE",
			Precious: replacement.Cost == result.CostData || replacement.Cost == result.CostCascade,
		}
		p.appliers = []tool.Applier{
			{Tool: tool.ArgoCD, Apply: "argocd app sync APPLICATION"},
			{Tool: tool.Flux, Apply: "flux reconcile kustomization KUSTOMIZATION --with-source",
				Fetch: "flux reconcile source git SOURCE"},
		}
	}
	return p.write(&d)
}

// withoutEffect begins the notes of changes that do nothing.
const withoutEffect = "accepted without effect: "

// addBuiltin writes what one row says to its parts of the page.
func (p *kindPage) addBuiltin(r *merged, d *details, minors []string) {
	where := ""
	if len(r.minors) < len(minors) {
		where = "Kubernetes " + strings.Join(r.minors, ", ")
	}
	switch {
	case r.Unknown != "":
		p.undecided.add(r.Path, r.Unknown)
		return
	case r.Note != "":
		if note, ok := strings.CutPrefix(r.Note, withoutEffect); ok {
			p.accepted.add(r.Path, note)
		} else {
			p.applier.add(r.Path, r.Note)
		}
		return
	}
	p.addRow(&r.Row, r.Except, where, slices.Contains(r.minors, minors[len(minors)-1]), d)
	for _, minor := range r.minors {
		p.addRefusal(fmt.Sprintf("The %s \"NAME\" is invalid: %s", p.kind, r.messages[minor]), minor)
	}
	if r.Edit != "" {
		edit := strings.NewReplacer("{path}", "`"+r.Path+"`", "{null}", nullPatch(p.kind, r.Path), "{apply}",
			"kubectl apply -f FILE").Replace(r.Edit)
		p.edits.add(r.Path, edit)
	}
	target := strings.ToLower(p.kind) + "/NAME"
	fill := strings.NewReplacer("{name}", "NAME", "{target}", target, "{delete}", "kubectl delete "+target,
		"{apply}", tool.KubectlApply,
		"{recipes}", documentation+"recipes.md", "{modes}", `["MODE"]`, "{migrated}",
		`'{"status":{"storedVersions":["VERSION"]}}'`,
		"{relabel}", "kubectl label pods -l OLD_LABELS --overwrite NEW_LABELS")
	var own []string
	for _, way := range r.How {
		own = append(own, fill.Replace(way))
	}
	p.addAround(r.Path, fill.Replace(r.First), fill.Replace(r.Then), own)
}

// nullPatch is the command that removes a field, beside which the new type is set.
func nullPatch(kind, path string) string {
	names := strings.Split(path, ".")
	last := len(names) - 1
	patch := map[string]any{"type": "TYPE", names[last]: nil}
	for _, name := range slices.Backward(names[:last]) {
		patch = map[string]any{name: patch}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // it holds nothing but names
	}
	return "kubectl patch " + strings.ToLower(kind) + "/NAME --type merge -p '" + string(data) + "'"
}

// fieldsOf returns the fields of k and of its spec that no row concerns, and those that rows restrict.
func fieldsOf(k *builtin.Kind, rows []*merged) (may, some []string) {
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err != nil {
		return nil, nil
	}
	t, ok := scheme.Scheme.AllKnownTypes()[gv.WithKind(k.Kind)]
	if !ok {
		return nil, nil // a kind that k8s.io/api does not have
	}
	for _, path := range paths(t) {
		switch freedomOf(k.Kind, path, rows) {
		case free:
			may = append(may, path)
		case restricted:
			some = append(some, path)
		}
	}
	return append(may, "metadata.labels", "metadata.annotations"), some
}

// freedom is what may happen to a field after the object was created.
type freedom int

const (
	free       freedom = iota // it may change
	ignored                   // a change is accepted without effect
	restricted                // some changes are refused, or only the cluster can decide
	immutable                 // each change is refused
)

// freedomOf returns how far rows let a field change.
func freedomOf(kind, path string, rows []*merged) freedom {
	if ignoredFields[kind+" "+path] != "" {
		return ignored
	}
	path = cmp.Or(judgedWith[kind+" "+path], path)
	how := free
	for _, r := range rows {
		how = max(how, freedomBy(kind, path, &r.Row))
	}
	return how
}

// freedomBy returns how far one row lets a field change.
func freedomBy(kind, path string, r *builtin.Row) freedom {
	excepted := slices.ContainsFunc(r.Except, func(e string) bool { return e == path || isBelow(path, e) })
	holds := r.Path == path || isBelow(path, r.Path) // the row holds for the whole field
	inPart := isBelow(r.Path, path) || slices.ContainsFunc(r.Except, func(e string) bool { return isBelow(e, path) })
	switch {
	case excepted, !holds && !inPart:
		return free
	case strings.HasPrefix(r.Note, withoutEffect) && r.Rule+r.When+r.Means == "":
		return ignored
	case holds && !inPart && isImmutable(kind, r):
		return immutable
	}
	return restricted
}

// paths lists the fields of an object's Go type, in its order: those of spec, and all others but metadata and status.
func paths(t reflect.Type) []string {
	var all []string
	for name, field := range members(t) {
		switch {
		case name == "metadata" || name == "status" || name == "kind" || name == "apiVersion":
		case name == "spec" && field.Kind() == reflect.Struct:
			for below := range members(field) {
				all = append(all, "spec."+below)
			}
		default:
			all = append(all, name)
		}
	}
	return all
}

// members yields the JSON names of a struct's fields and their types, embedded structs in place.
func members(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" || !f.Anonymous {
				if !yield(name, f.Type) {
					return
				}
				continue
			}
			for name, below := range members(f.Type) {
				if !yield(name, below) {
					return
				}
			}
		}
	}
}
