package celrule

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celexpr"
	"github.com/fieldlock/fieldlock/internal/rule"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// guard is a field that a rule guards.
type guard struct {
	by *readRule
	at *schema.Location
}

// companion returns the rule that keeps l from being removed while one of the fields is set, and nothing more. It cannot
// make an existing object invalid, because it reads oldSelf. It returns nil if there is no such rule: where CEL cannot
// select a field, where keys on the way to every field can be removed too, where it would name more than maxKept fields,
// and where l's parent has it already.
//
// For backup with the field bucketName, which is optional: !has(oldSelf.backup) || !has(oldSelf.backup.bucketName) || has(self.backup).
func (a *auditor) companion(l *schema.Location, fields []guard) *immutability.Fix {
	k := keeper{top: l, fields: map[*schema.Location][]string{}, above: map[*schema.Location]bool{}}
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
	name := celexpr.Escape(l.Name)
	kept, ok := k.holds(l, "oldSelf")
	if len(k.fields) == 0 || len(k.fields) > maxKept || !ok || name == "" {
		return nil
	}
	fix, while := &immutability.Fix{SchemaPath: l.Parent().Path.Pointer(), Safe: true}, ""
	if len(kept) > 1 {
		while = k.while()
	}
	text := strings.Join(kept.refuted(), " || ") + " || has(self." + name + ")"
	known := func(r *Rule) bool { return r.Text == text }
	if slices.ContainsFunc(a.rules[l.Parent()], known) {
		return nil
	}
	addRule(fix, map[string]any{"rule": text, "message": l.Name + " may not be removed" + while})
	fix.Refuses = fmt.Sprintf("an update that removes %s%s, such as from %s to %s", displayPath(l), while, k.example(), inParent(l, "{}"))
	return fix
}

// maxKept bounds the fields that a companion names. Nobody wants to read more.
const maxKept = 12

// removable reports whether objects get around the rule of g, a field at or below l, without a key on the way, or without a
// field below l whose removal may be meant: then keeping l closes nothing.
func (a *auditor) removable(g guard, l *schema.Location) bool {
	for at := g.at; at != l.Parent(); at = at.Parent() {
		if at.In == nil || at == l && at.Role == schema.Property || at.Role == schema.Property && (present(at) || a.alternative(at, at == g.at) == "") {
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
	fields map[*schema.Location][]string // the guarded fields, each with conditions on its old value; none of them: any value
	above  map[*schema.Location]bool     // what leads to them
}

func (k *keeper) add(g guard) {
	for l := g.at; l != k.top.Parent(); l = l.Parent() {
		k.above[l] = true
	}
	free := unguarded(g)
	if known, ok := k.fields[g.at]; ok && !slices.Equal(known, free) {
		free = nil
	}
	k.fields[g.at] = free
}

// unguarded returns the conditions on the old value of a field under which its rule accepts every new value:
// oldSelf == 0 in the rule oldSelf == 0 || self == oldSelf.
func unguarded(g guard) []string {
	if g.by.at != g.at || g.by.OptionalOldSelf {
		return nil
	}
	var free []string
	for _, part := range celexpr.Operands(g.by.expr, operators.LogicalOr) {
		if celexpr.Mentions(part, "self") || !celexpr.Mentions(part, "oldSelf") {
			continue
		}
		// A value that is null is absent to CEL, so a rule that runs compares with null in vain.
		if text, err := celexpr.Print(part); err == nil && !strings.HasSuffix(text, "== null") {
			free = append(free, parenthesized(part, text))
		}
	}
	return free
}

var oldSelfWord = regexp.MustCompile(`\boldSelf\b`)

// parenthesized returns text, the spelling of x, as an operand.
func parenthesized(x ast.Expr, text string) string {
	if x.Kind() == ast.CallKind && !x.AsCall().IsMemberFunction() && len(x.AsCall().Args()) > 1 {
		return "(" + text + ")"
	}
	return text
}

// conjunction is a list of CEL operands of which all hold.
type conjunction []string

// String spells the conjunction as an operand.
func (c conjunction) String() string {
	if len(c) == 1 {
		return c[0]
	}
	return "(" + strings.Join(c, " && ") + ")"
}

// refuted returns operands of which one holds where the conjunction does not.
func (c conjunction) refuted() []string {
	var not []string
	for _, part := range c {
		if text, negated := strings.CutPrefix(part, "!"); negated {
			not = append(not, text)
		} else {
			not = append(not, "!"+part)
		}
	}
	return not
}

// holds returns what an object that has the parent of l satisfies if it has a guarded field at or below l. prefix selects
// the parent. It returns false if CEL cannot say it.
func (k *keeper) holds(l *schema.Location, prefix string) (all conjunction, ok bool) {
	name := celexpr.Escape(l.Name)
	if name == "" {
		return nil, false
	}
	at := prefix + "." + name
	if l == k.top || l.Schema.Nullable || !l.Required && l.Schema.Default == nil {
		all = append(all, "has("+at+")")
	}
	if free, guards := k.fields[l]; guards {
		for _, condition := range free {
			all = append(all, conjunction{oldSelfWord.ReplaceAllLiteralString(condition, at)}.refuted()...)
		}
		return all, true
	}
	var some []conjunction
	for child := range l.Children {
		if !k.above[child] {
			continue
		}
		if child.Role != schema.Property {
			return append(all, "!(size("+at+") == 0)"), true
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
		texts = append(texts, below.String())
	}
	return append(all, "("+strings.Join(texts, " || ")+")"), true
}

// while says when the companion refuses the removal of top.
func (k *keeper) while() string {
	var names []string
	for l := range k.fields {
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

// alternative returns why removing l may be meant, "" if nothing hints at that: the parent is a union, a rule excludes l
// beside another field, l is deprecated, or, unless l is locked itself, the parent has another optional object of the same
// sort.
func (a *auditor) alternative(l *schema.Location, locked bool) string {
	parent := l.Parent()
	name := displayPath(l)
	switch s := parent.Schema; {
	case s.MaxProperties != nil && *s.MaxProperties < int64(len(s.Properties)):
		return fmt.Sprintf("%s takes %d of its fields", displayPath(parent), *s.MaxProperties)
	case anywhereRequired(l):
		return fmt.Sprintf("the schema of %s offers a choice between %s and others", displayPath(parent), l.Name)
	case deprecated.MatchString(l.Schema.Description):
		return "the description of " + name + " speaks of another way"
	}
	for _, r := range a.all {
		*a.steps++
		if !r.Transition && within(l, r.at) && a.excludes(r, l) {
			return fmt.Sprintf("the rule %q asks for %s to be absent beside other fields", r.Text, l.Name)
		}
	}
	if sibling := twin(l); sibling != "" && !locked {
		return fmt.Sprintf("%s and %s look like a choice", l.Name, sibling)
	}
	return ""
}

// deprecated finds descriptions of fields that users move away from, or that exclude others.
var deprecated = regexp.MustCompile(`(?i)\bdeprecated\b|\bmigrat|mutually exclusive|\b(exactly|only|at most) one of\b|\bunion\b`)

// anywhereRequired reports whether a combination of schemas at the parent of l asks for l.
func anywhereRequired(l *schema.Location) bool {
	s := l.Parent().Schema
	for _, list := range [][]spec.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			if asksFor(&list[i], l.Name) {
				return true
			}
		}
	}
	return s.Not != nil && asksFor(s.Not, l.Name)
}

// asksFor reports whether s or a combination in it requires a property.
func asksFor(s *spec.Schema, name string) bool {
	found := slices.Contains(s.Required, name) || s.Not != nil && asksFor(s.Not, name)
	for _, list := range [][]spec.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		for i := range list {
			found = found || asksFor(&list[i], name)
		}
	}
	return found
}

// excludes reports whether r, a plain rule, may refuse an object with l and accept it without, and reads l for nothing but its
// presence, beside other fields.
func (a *auditor) excludes(r *readRule, l *schema.Location) bool {
	others := false
	reads := false
	for _, at := range r.reads {
		switch {
		case at == l:
			reads = true
		case within(at, l):
			return false
		case !within(l, at):
			others = true
		}
	}
	return reads && others && wantsAbsent(r.Rule, r.expr, l, true)
}

// wantsAbsent reports whether the absence of l can make a condition of r true, or false if wanted is false: has(self.l) does
// in !has(self.l) || has(self.other), and not in has(self.l) || has(self.other).
func wantsAbsent(r *Rule, x ast.Expr, l *schema.Location, wanted bool) bool {
	if t, ok := askedFor(r, x); ok {
		return t.at == l && !wanted
	}
	if x.Kind() != ast.CallKind {
		return false
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalNot:
		return wantsAbsent(r, args[0], l, !wanted)
	case operators.LogicalAnd, operators.LogicalOr:
		return wantsAbsent(r, args[0], l, wanted) || wantsAbsent(r, args[1], l, wanted)
	case operators.Conditional:
		return asksWhether(r, args[0], l) || wantsAbsent(r, args[1], l, wanted) || wantsAbsent(r, args[2], l, wanted)
	}
	return asksWhether(r, x, l)
}

// asksWhether reports whether x asks somewhere whether l is there.
func asksWhether(r *Rule, x ast.Expr, l *schema.Location) bool {
	asks := false
	celexpr.Visit(x, func(x ast.Expr) bool {
		t, ok := askedFor(r, x)
		asks = asks || ok && t.at == l
		return !asks
	})
	return asks
}

// twin returns the name of an optional object beside the object l that looks like another choice: with the same last word
// (flexSpec and deploymentSpec), the same fields (ipv4 and ipv6), or the value of an enum beside it ("aws" of provider).
func twin(l *schema.Location) string {
	if len(l.Schema.Properties) == 0 {
		return ""
	}
	parent := l.Parent().Schema
	for _, name := range slices.Sorted(maps.Keys(parent.Properties)) {
		other := parent.Properties[name]
		if slices.ContainsFunc(other.Enum, func(v any) bool { s, _ := v.(string); return strings.EqualFold(s, l.Name) }) {
			return "the values of " + name
		}
		if name == l.Name || len(other.Properties) == 0 || slices.Contains(parent.Required, name) {
			continue
		}
		if word := lastWord(name); word != "" && word == lastWord(l.Name) {
			return name
		}
		if slices.Equal(slices.Sorted(maps.Keys(other.Properties)), slices.Sorted(maps.Keys(l.Schema.Properties))) {
			return name
		}
	}
	return ""
}

var words = regexp.MustCompile(`[a-z0-9]([A-Z][a-z0-9]+)$`)

// lastWord returns the last word of a name in camel case with several words, "" for others.
func lastWord(name string) string {
	if match := words.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}

// keepKeys returns the rule that keeps the keys of l from being removed, nil if CEL cannot select them. It is not safe:
// only the author knows whether keys are to stay.
func keepKeys(l *schema.Location) *immutability.Fix {
	text := ""
	switch keysOf(l) {
	case mapKeys:
		text = "oldSelf.all(key, key in self)"
	case listKeys:
		text = "oldSelf.all(key, self.exists(other, " + sameKeys(l.Marks.ListMapKeys, "other", "key", selected) + "))"
	default:
		return nil
	}
	fix := &immutability.Fix{SchemaPath: l.Path.Pointer(), Refuses: "an update that removes a key of " + displayPath(l)}
	addRule(fix, map[string]any{"rule": text, "message": "no key may be removed"})
	return fix
}

// alsoCopy adds r, a rule of another version, to fix, which is nil for the first rule. The fix is safe if the version has
// every field that its rules read, and they judge updates only.
func alsoCopy(fix *immutability.Fix, version string, r *readRule, known bool) *immutability.Fix {
	if fix == nil {
		fix = &immutability.Fix{Version: version, SchemaPath: r.SchemaPath, Safe: true}
	}
	fix.Safe = fix.Safe && known && !r.OptionalOldSelf
	addRule(fix, maps.Clone(r.entry()))
	fix.Refuses = fmt.Sprintf("an update through version %s that the same update through another version is refused for: %s",
		version, rule.Enumerate(textsOf(fix.AddRules)))
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

func addRule(fix *immutability.Fix, entry map[string]any) {
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
