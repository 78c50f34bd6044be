package celrule

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/finding"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// guard is a field that a rule guards.
type guard struct {
	by *readRule
	at *schema.Location
}

// companion returns the rule that keeps l from being removed while one of the fields is set, and nothing more. It
// cannot make an existing object invalid, because it reads oldSelf. It returns nil if there is no such rule: where CEL
// cannot select a field, where keys on the way to every field can be removed too, where it would name more than maxKept
// fields, and where l's parent has it already.
//
// For backup with the field bucketName, which is optional: !has(oldSelf.backup) || !has(oldSelf.backup.bucketName) ||
// has(self.backup).
func (a *auditor) companion(l *schema.Location, fields []guard) *crd.Fix {
	k := a.keeper(l, fields, a.zeroIsAbsent)
	text, ok := k.rule()
	if !ok || a.hasRule(l.Parent(), text) {
		return nil
	}
	fix, while := &crd.Fix{SchemaPath: l.Parent().Path.Pointer(), Safe: !k.imprecise}, k.while()
	addRule(fix, map[string]any{"rule": text, "message": l.Name + " may not be removed" + while})
	fix.Refuses = fmt.Sprintf("an update that removes %s%s, such as from %s to %s",
		displayPath(l), while, k.example(), inParent(l, "{}"))
	return fix
}

// keeper returns what a companion of l has to say about the fields. zero reports of which of them the zero value counts
// as absent.
func (a *auditor) keeper(l *schema.Location, fields []guard, zero func(*schema.Location) bool) *keeper {
	k := &keeper{top: l, fields: map[*schema.Location][]operand{}, above: map[*schema.Location]bool{},
		zero: zero, stays: true}
	for _, g := range fields {
		if a.removable(g, l) {
			continue
		}
		if l.Parent().In == nil && l.Name != "status" { // an object without its spec is of no use
			k.above[l], k.fields[l] = true, nil
			continue
		}
		k.add(g)
	}
	return k
}

// hasRule reports whether l has a rule with a text.
func (a *auditor) hasRule(l *schema.Location, text string) bool {
	return slices.ContainsFunc(a.rules[l], func(r *Rule) bool { return r.Text == text })
}

// maxKept bounds the fields that a companion names. Nobody wants to read more.
const maxKept = 12

// maxNamed is how many fields a companion names that is added without asking.
const maxNamed = 3

// countFields counts the fields that are guarded.
func countFields(guards []guard) int {
	fields := map[*schema.Location]bool{}
	for _, g := range guards {
		fields[g.at] = true
	}
	return len(fields)
}

// removable reports whether objects get around the rule of g, a field at or below l, without a key on the way, or
// without a field below l whose removal may be meant: then keeping l closes nothing.
func (a *auditor) removable(g guard, l *schema.Location) bool {
	for at := g.at; at != l.Parent(); at = at.Parent() {
		if at.In == nil || at == l && at.Role == schema.Property ||
			at.Role == schema.Property && (present(at) || !a.doubted(at)) {
			continue
		}
		if a.removalGetsAround(g, at) {
			return true
		}
	}
	return false
}

// keeper puts into CEL that an object has a guarded field at or below top.
type keeper struct {
	top    *schema.Location
	fields map[*schema.Location][]operand // the guarded fields, each with conditions on the old object; none of them: any value
	above  map[*schema.Location]bool      // what leads to them
	zero   func(*schema.Location) bool    // whether the zero value of a field counts as absent

	stays     bool // the rules of all fields are self == oldSelf on top
	imprecise bool // the rule of a field accepts more than the companion can say
}

func (k *keeper) add(g guard) {
	for l := g.at; l != k.top.Parent(); l = l.Parent() {
		k.above[l] = true
	}
	k.stays = k.stays && g.by.at == k.top && g.by.Text == "self == oldSelf"
	locked := k.locked(g)
	if known, ok := k.fields[g.at]; ok && !slices.Equal(known, locked) {
		locked = nil
	}
	k.fields[g.at] = locked
}

// rule returns the text of the companion. It returns false if there is none.
func (k *keeper) rule() (text string, ok bool) {
	name := celexpr.Escape(k.top.Name)
	if len(k.fields) == 0 || len(k.fields) > maxKept || name == "" {
		return "", false
	}
	if k.stays && k.zero(k.top) {
		return setAndStays(k.top.Schema, name), true
	}
	kept, ok := k.holds(k.top, "oldSelf")
	return strings.Join(kept.refuted(), " || ") + " || has(self." + name + ")", ok
}

// locked returns the conditions on the old object under which the rule of g may refuse a new value: oldSelf != 0 for
// the rule oldSelf == 0 || self == oldSelf, and oldSelf.mode == 'External' for !(oldSelf.mode == 'External' &&
// self.mode != 'External').
func (k *keeper) locked(g guard) []operand {
	if g.by.OptionalOldSelf || !within(g.by.at, k.top) {
		return nil
	}
	prefix, ok := k.selected(g.by.at)
	var all []operand
	for _, part := range disjuncts(g.by.expr, true) {
		if target := eachOf(part); target != nil && ok && g.by.readable(target) {
			at := printed(target)
			all = append(all, operand{"size(" + at + ") > 0", "size(" + at + ") == 0"}.of(prefix))
			continue
		}
		if celexpr.Mentions(part.expr, "self") || !celexpr.Mentions(part.expr, "oldSelf") {
			continue
		}
		condition := part.operand()
		if strings.HasSuffix(condition.yes, "== null") { // a value that is null is absent to CEL, so a rule that runs compares with null in vain
			continue
		}
		if !ok || !g.by.readable(part.expr) {
			k.imprecise = true
			continue
		}
		all = append(all, condition.negated().of(prefix))
	}
	return all
}

// eachOf returns the list or map of the old object of which d says something about each item or key, so that it holds
// while there are none: oldSelf.hosts of oldSelf.hosts.all(host, host in self.hosts). It returns nil for another
// condition.
func eachOf(d disjunct) ast.Expr {
	if d.negated || d.expr.Kind() != ast.CallKind || d.expr.AsCall().FunctionName() != "all" {
		return nil
	}
	call := d.expr.AsCall()
	if _, ok := celexpr.MacroOf(call); !ok || !celexpr.Mentions(call.Target(), "oldSelf") ||
		celexpr.Mentions(call.Target(), "self") {
		return nil
	}
	return call.Target()
}

// selected spells how the parent of top selects l, at or below top, from oldSelf. It returns false if it cannot.
func (k *keeper) selected(l *schema.Location) (text string, ok bool) {
	if l == k.top.Parent() {
		return "oldSelf", true
	}
	before, ok := k.selected(l.Parent())
	name := celexpr.Escape(l.Name)
	return before + "." + name, ok && l.Role == schema.Property && name != ""
}

// readable reports whether x, which reads the old object only, can be evaluated on every old object that has the
// location of r.
func (r *readRule) readable(x ast.Expr) bool {
	ok := true
	celexpr.Visit(x, func(x ast.Expr) bool {
		t, asked := askedFor(r.Rule, x)
		if asked && t.at != r.at {
			t.at = t.at.Parent()
		} else if t, asked = termOf(r.Rule, x); !asked {
			return true
		}
		for l := t.at; l != r.at; l = l.Parent() {
			ok = ok && present(l)
		}
		return false
	})
	return ok
}

// holds returns what an object that has the parent of l satisfies if it has a guarded field at or below l. prefix
// selects the parent. It returns false if CEL cannot say it.
func (k *keeper) holds(l *schema.Location, prefix string) (all conjunction, ok bool) {
	name := celexpr.Escape(l.Name)
	if name == "" {
		return nil, false
	}
	at := prefix + "." + name
	if l == k.top || l.Schema.Nullable || !l.Required && l.Schema.Default == nil {
		all = append(all, operand{"has(" + at + ")", "!has(" + at + ")"})
	}
	if locked, guards := k.fields[l]; guards {
		known := slices.ContainsFunc(locked, func(o operand) bool { return isZero(l.Schema, at, o.negated()) })
		if k.zero(l) && !known {
			all = append(all, notZero(l.Schema, at))
		}
		return all.and(locked...), true
	}
	var some []conjunction
	for child := range l.Children {
		if !k.above[child] {
			continue
		}
		if child.Role != schema.Property {
			empty := "size(" + at + ") == 0"
			return append(all, operand{"!(" + empty + ")", "(" + empty + ")"}), true
		}
		below, ok := k.holds(child, at)
		if !ok {
			return nil, false
		}
		if len(below) == 0 { // it is always there
			return all, true
		}
		some = append(some, below)
	}
	if len(some) == 1 {
		return append(all, some[0]...), true
	}
	var texts []string
	for _, below := range some {
		texts = append(texts, below.operand().yes)
	}
	oneOf := "(" + strings.Join(texts, " || ") + ")"
	return append(all, operand{oneOf, "!" + oneOf}), true
}

// while says when the companion refuses the removal of top.
func (k *keeper) while() string {
	if kept, ok := k.holds(k.top, "oldSelf"); !ok || len(kept) <= 1 {
		return ""
	}
	var names []string
	for l, locked := range k.fields {
		if len(locked) == 1 && len(k.fields) == 1 && l != k.top {
			if condition, ok := strings.CutPrefix(locked[0].yes, "oldSelf."); ok {
				return " while " + strings.Replace(condition, " == ", " is ", 1)
			}
		}
		if k.guardedAbove(l) {
			continue
		}
		if l == k.top {
			return "" // its old value matters
		}
		names = append(names, strings.TrimPrefix(strings.TrimPrefix(l.Path.String(), k.top.Path.String()), "."))
	}
	slices.Sort(names)
	if len(names) > 3 {
		names = append(names[:3], "another field that may not change")
	}
	return " while it has " + orList(names)
}

// guardedAbove reports whether a field above l is guarded too.
func (k *keeper) guardedAbove(l *schema.Location) bool {
	for l != k.top {
		l = l.Parent()
		if _, ok := k.fields[l]; ok {
			return true
		}
	}
	return false
}

// orList joins names with commas and or.
func orList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// example writes an object, from the parent of top on, that has a guarded field.
func (k *keeper) example() string {
	var first *schema.Location
	for l := range k.fields {
		if first == nil || l.Path.String() < first.Path.String() {
			first = l
		}
	}
	text := "…"
	for l := first; l != k.top.Parent(); l = l.Parent() {
		switch l.Role {
		case schema.Property:
			text = "{" + strconv.Quote(l.Name) + ": " + text + "}"
		case schema.Items:
			text = "[" + text + "]"
		default:
			text = `{"key": ` + text + "}"
		}
	}
	return inParent(k.top, text)
}

// inParent writes an object with text as the value of the parent of l.
func inParent(l *schema.Location, text string) string {
	if p := l.Parent(); p.Role == schema.Property {
		return "{" + strconv.Quote(p.Name) + ": " + text + "}"
	}
	return text
}

// keepKeys returns the rule that keeps the keys of l from being removed, nil if CEL cannot select them. It is not safe:
// only the author knows whether keys are to stay.
func keepKeys(l *schema.Location) *crd.Fix {
	text := ""
	switch keysOf(l) {
	case mapKeys:
		text = "oldSelf.all(key, key in self)"
	case listKeys:
		text = "oldSelf.all(key, self.exists(other, " + sameKeys(l.Marks.ListMapKeys, "other", "key", selected) + "))"
	default:
		return nil
	}
	fix := &crd.Fix{SchemaPath: l.Path.Pointer(), Refuses: "an update that removes a key of " + displayPath(l)}
	addRule(fix, map[string]any{"rule": text, "message": "no key may be removed"})
	return fix
}

// alsoCopy adds r, a rule of another version, to fix, which is nil for the first rule. The fix is safe if the version
// has every field that its rules read, and they judge updates only.
func alsoCopy(fix *crd.Fix, version string, r *readRule, known bool) *crd.Fix {
	if fix == nil {
		fix = &crd.Fix{Version: version, SchemaPath: r.SchemaPath, Safe: true}
	}
	fix.Safe = fix.Safe && known && !r.OptionalOldSelf
	addRule(fix, maps.Clone(r.entry()))
	fix.Refuses = fmt.Sprintf("an update through version %s that the same update through another version is refused "+
		"for: %s",
		version, finding.Enumerate(textsOf(fix.AddRules)))
	return fix
}

func textsOf(rules []map[string]any) []string {
	var texts []string
	for _, r := range rules {
		text, _ := r["rule"].(string)
		texts = append(texts, text)
	}
	return texts
}

func addRule(fix *crd.Fix, entry map[string]any) {
	fix.AddRules = append(fix.AddRules, entry)
	text, err := yaml.Marshal(map[string]any{schema.KeyValidations: fix.AddRules})
	if err != nil {
		panic(err) // strings and booleans from a schema
	}
	where := schema.Readable(fix.SchemaPath)
	if where == "" {
		where = "the root"
	}
	fix.Text = "# " + where + "\n" + string(text)
	fix.Markers = append(fix.Markers, marker(entry))
}

// markerFields are the arguments of the marker for a rule, in the order of its documentation.
var markerFields = []string{"rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"}

// marker returns a rule as the marker that controller-gen makes it from.
func marker(entry map[string]any) string {
	var args []string
	for _, name := range markerFields {
		switch value := entry[name].(type) {
		case string:
			args = append(args, name+"="+quoted(value))
		case bool:
			args = append(args, name+"="+strconv.FormatBool(value))
		}
	}
	return "// +kubebuilder:validation:XValidation:" + strings.Join(args, ",")
}

// quoted returns a text in the quotes of a marker's argument, on one line.
func quoted(text string) string {
	if strings.Contains(text, `"`) && !strings.ContainsAny(text, "`\n\r") {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
