package operators

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/canonical"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kindrow"
	lockschema "github.com/fieldlock/fieldlock/internal/schema"
)

// Check predicts what the operator says when newObj is applied over oldObj. Both are decoded manifests, as written, and stay
// as they are. A refusal that some of the known versions of the operator share is unknown, as the manifests do not tell the
// version. So is every refusal of objects of two API versions.
//
// An update that changes something is Checked only if all transition rules of the kind's CRD are known, or that it has none. Otherwise the
// CRD may refuse more than the operator.
//
// Cost: O(object); the first call compiles the kind's rows, in milliseconds.
func (k *Kind) Check(newObj, oldObj map[string]any) builtin.Verdict {
	if k.undefined() {
		return builtin.Verdict{Unknown: []builtin.Remark{{Message: "the kind is not known, so nothing was checked"}}}
	}
	_, rulesKnown := crdfacts.Find(text(newObj, "apiVersion"), k.Kind)
	if k.Nothing != "" {
		return builtin.Verdict{Checked: rulesKnown || same(newObj, oldObj)}
	}
	if err := k.compile(); err != nil {
		panic(err) // the data is part of the program, and a test compiles all of it
	}
	is, was := k.fields.stored(newObj, oldObj), k.fields.stored(oldObj, nil)
	if same(is, was) {
		return builtin.Verdict{Checked: true}
	}
	verdict := builtin.Verdict{Checked: rulesKnown}
	var found []finding
	for _, c := range k.checks {
		found = append(found, c.run(is, was)...)
	}
	k.conclude(&verdict, found)
	if text(newObj, "apiVersion") != text(oldObj, "apiVersion") {
		withdraw(&verdict, "the objects are of two API versions, between which the operator converts")
	}
	return verdict
}

// finding is what one row says about an update.
type finding struct {
	builtin.Violation
	source  *rowSource
	unknown string // why it is not certain; "" where it is
}

// conclude sorts findings into violations, unknowns and notes. A row of some versions only counts where rows of the same
// update refuse it in all of the others.
func (k *Kind) conclude(verdict *builtin.Verdict, found []finding) {
	var versions []string // that can have the object
	for _, version := range k.Operator.Versions {
		if reached(version, k.source.Since) {
			versions = append(versions, version)
		}
	}
	refusing := map[string]bool{} // the versions that refuse the update
	for _, f := range found {
		for _, version := range versions {
			if f.unknown == "" && f.Row.Effect == builtin.EffectRefused && f.source.has(version) {
				refusing[version] = true
			}
		}
	}
	always, newest := len(refusing) == len(versions), versions[len(versions)-1]
	for _, f := range found {
		remark := builtin.Remark{Path: f.Path, Row: f.Row}
		switch {
		case f.unknown != "":
			remark.Message = f.unknown
			verdict.Unknown = append(verdict.Unknown, remark)
		case f.Row.Effect != builtin.EffectRefused:
			remark.Message = f.Row.Message
			verdict.Notes = append(verdict.Notes, remark)
		case always:
			if f.source.has(newest) { // in its words
				verdict.Violations = append(verdict.Violations, f.Violation)
			}
		default:
			remark.Message = fmt.Sprintf("%s refuses this in %s, which the manifests do not tell: %s", k.Operator.Name, k.span(&f.Row), f.Row.Message)
			verdict.Unknown = append(verdict.Unknown, remark)
		}
	}
	tidy(verdict)
}

// span names the versions of a row.
func (k *Kind) span(r *builtin.Row) string {
	switch {
	case r.Since != "" && r.Until != "":
		return "versions " + r.Since + " to " + r.Until
	case r.Since != "":
		return "version " + r.Since + " and later"
	}
	return "versions up to " + r.Until
}

// tidy sorts the verdict and drops what is said twice.
func tidy(v *builtin.Verdict) {
	slices.SortStableFunc(v.Violations, func(a, b builtin.Violation) int { return strings.Compare(a.Path, b.Path) })
	v.Violations = slices.CompactFunc(v.Violations, func(a, b builtin.Violation) bool { return a.Path == b.Path && a.Message == b.Message })
	byPath := func(a, b builtin.Remark) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	}
	equal := func(a, b builtin.Remark) bool { return byPath(a, b) == 0 }
	slices.SortStableFunc(v.Unknown, byPath)
	slices.SortStableFunc(v.Notes, byPath)
	v.Unknown, v.Notes = slices.CompactFunc(v.Unknown, equal), slices.CompactFunc(v.Notes, equal)
	if len(v.Violations) > 0 {
		v.Notes = nil // nothing of a refused change is accepted
	}
}

// withdraw makes all violations unknown, for a reason.
func withdraw(v *builtin.Verdict, reason string) {
	for _, found := range v.Violations {
		v.Unknown = append(v.Unknown, builtin.Remark{Path: found.Path, Message: reason + ": " + found.Message, Row: found.Row})
	}
	v.Violations = nil
	tidy(v)
}

// compile makes what Check needs, once.
func (k *Kind) compile() error {
	k.once.Do(func() { k.err = k.doCompile() })
	return k.err
}

func (k *Kind) doCompile() error {
	var err error
	if k.fields, err = fieldsOf(k.source); err != nil {
		return err
	}
	rows := k.rows()
	for i := range rows {
		if rows[i].source.Annotation == "" {
			k.fields.hold(fieldpath.Parse(rows[i].Path))
		}
	}
	k.fields.at(fieldpath.Parse("metadata.annotations")).parent = true
	k.fields.at(fieldpath.Parse("metadata")).parent = true
	for i := range rows {
		c, err := newCheck(k.fields, rows[i])
		if err != nil {
			return fmt.Errorf("%s: %s: %w", k.Kind, rows[i].Path, err)
		}
		k.checks = append(k.checks, c)
	}
	return nil
}

// check is a row, compiled.
type check struct {
	row       row
	fields    *field
	steps     fieldpath.Path
	when      *condition              // nil for always
	rule      *condition              // nil unless the row is a rule
	validator *immutability.Validator // nil unless the row is a word
}

// newCheck compiles a row.
func newCheck(fields *field, row row) (*check, error) {
	c := &check{row: row, fields: fields, steps: fieldpath.Parse(row.Path)}
	var err error
	if c.when, err = newCondition(row.When); err != nil {
		return nil, err
	}
	if c.rule, err = newCondition(row.Rule); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains([]builtin.Effect{builtin.EffectRefused, builtin.EffectIgnored, builtin.EffectLeaked}, row.Effect):
		return nil, errorf("unknown effect %q", row.Effect)
	case row.Effect != builtin.EffectRefused && row.source.Says == "":
		return nil, errorf("a row that is not refused says what happens")
	case len(row.Locks) == 0:
		return nil, errorf("the row has no lock")
	case c.rule != nil, row.source.Annotation != "", len(row.Allow) > 0:
		return c, nil
	}
	marks := row.source.Marks()
	if row.Locks[0] == immutability.LockImmutable {
		marks[lockschema.KeyMapListOrder] = "ignored"
	}
	c.validator, err = immutability.Compile(fields.schema(c.steps, marks))
	return c, err
}

// run returns what the row says about an update.
func (c *check) run(newObj, oldObj map[string]any) []finding {
	if c.when != nil {
		applies, err := c.when.holds(newObj, oldObj)
		if err != nil {
			return []finding{c.undecided(newObj, oldObj, err)}
		}
		if !applies {
			return nil
		}
	}
	var broken []builtin.Violation
	switch {
	case c.rule != nil:
		holds, err := c.rule.holds(newObj, oldObj)
		if err != nil {
			return []finding{c.undecided(newObj, oldObj, err)}
		}
		if !holds {
			broken = []builtin.Violation{c.at(c.row.Path, newObj, oldObj)}
		}
	case c.row.source.Annotation != "":
		broken = c.annotations(newObj, oldObj)
	case len(c.row.Allow) > 0:
		broken = c.outside(newObj, oldObj)
	default:
		broken = c.words(newObj, oldObj)
	}
	found := make([]finding, len(broken))
	for i, v := range broken {
		found[i] = finding{v, c.row.source, cmp.Or(c.row.Unknown, c.unclear(&v))}
	}
	return found
}

// unclear returns why it is not certain that a violation is one: the values differ only in what may count as absent.
func (c *check) unclear(v *builtin.Violation) string {
	broken := &v.Broken
	if broken.Lock == kindrow.LockRule || broken.HasKey || c.row.source.Annotation != "" {
		return ""
	}
	f, mode := c.fields.below(fieldpath.Parse(v.Path))
	mode = f.mode(mode)
	is, was := f.stripped(broken.New, mode), f.stripped(broken.Old, mode)
	if !same(is, was) && (mode == "none" || !isZero(is) || !isZero(was)) {
		return ""
	}
	return "one of the two leaves out what the other one sets to an empty value or to false, and it depends on the operator's types whether these are equal"
}

// undecided is the finding of a row whose condition has no value.
func (c *check) undecided(newObj, oldObj map[string]any, err error) finding {
	return finding{c.at(c.row.Path, newObj, oldObj), c.row.source, "a condition could not be evaluated: " + err.Error()}
}

// at makes the violation of a rule, with the values of a field.
func (c *check) at(path string, newObj, oldObj map[string]any) builtin.Violation {
	v := c.violation(path, immutability.Violation{Lock: kindrow.LockRule})
	steps := fieldpath.Parse(path)
	v.Broken.New, v.Broken.HasNew = steps.In(newObj)
	v.Broken.Old, v.Broken.HasOld = steps.In(oldObj)
	return v
}

func (c *check) violation(path string, broken immutability.Violation) builtin.Violation {
	return builtin.Violation{Path: path, Broken: broken, Message: c.row.Message, Row: c.row.Row}
}

// words returns what breaks the word of the row.
func (c *check) words(newObj, oldObj map[string]any) []builtin.Violation {
	var all []builtin.Violation
	for _, v := range c.row.source.Broken(c.validator, newObj, oldObj) {
		all = append(all, c.violation(v.Path.String(), v))
	}
	return all
}

// outside returns the changes that the row does not allow.
func (c *check) outside(newObj, oldObj map[string]any) []builtin.Violation {
	is, _ := c.steps.In(newObj)
	was, _ := c.steps.In(oldObj)
	var all []builtin.Violation
	for _, path := range changes(is, was, c.steps) {
		if allows(c.row.Allow, path) {
			continue
		}
		v := immutability.Violation{Lock: immutability.LockImmutable}
		for _, name := range path {
			v.Path = v.Path.Child(fieldpath.Name(name))
		}
		v.New, v.HasNew = path.In(newObj)
		v.Old, v.HasOld = path.In(oldObj)
		all = append(all, c.violation(v.Path.String(), v))
	}
	return all
}

// annotations compares the annotations that the row locks.
func (c *check) annotations(newObj, oldObj map[string]any) []builtin.Violation {
	var all []builtin.Violation
	for _, v := range c.row.source.Annotations(newObj, oldObj) {
		if v.HasNew != v.HasOld || !same(v.New, v.Old) {
			all = append(all, c.violation(v.Path.String(), v))
		}
	}
	return all
}

// condition is a CEL expression on self and oldSelf, the objects after and before the update. They are dynamic: what a field
// holds is known when the expression runs. Optional syntax and the API server's libraries are there: self.?spec.?size.
type condition struct {
	text    string
	program cel.Program
}

// env is the environment that all conditions are compiled in.
var env = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", cel.DynType), cel.Variable("oldSelf", cel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return extended.Env(environment.StoredExpressions)
})

// newCondition compiles an expression; "" is nil.
func newCondition(text string) (*condition, error) {
	if text == "" {
		return nil, nil
	}
	e, err := env()
	if err != nil {
		return nil, err
	}
	checked, issues := e.Compile(text)
	if issues.Err() != nil {
		return nil, errorf("%s: %w", text, issues.Err())
	}
	program, err := e.Program(checked, cel.CostLimit(celconfig.PerCallLimit))
	if err != nil {
		return nil, errorf("%s: %w", text, err)
	}
	return &condition{text, program}, nil
}

// holds reports whether the condition is true. The error is that it has no boolean value for these objects: a field has an
// unexpected type, or the objects are so large that the expression would cost too much.
func (c *condition) holds(newObj, oldObj map[string]any) (bool, error) {
	if strings.Contains(c.text, "quantity(") {
		if text := cmp.Or(canonical.Vast(newObj), canonical.Vast(oldObj)); text != "" {
			return false, fmt.Errorf("the amount %s has too many digits", text)
		}
	}
	value, _, err := c.program.Eval(map[string]any{"self": newObj, "oldSelf": oldObj})
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%s is no boolean: %v", c.text, value.Value())
	}
	return holds, nil
}

// text returns the string at a path, or "".
func text(value any, path string) string {
	found, _ := fieldpath.At(value, path)
	t, _ := found.(string)
	return t
}

// changes returns the paths that a JSON merge patch from oldVal to newVal would name: those of values that were set, changed
// or removed. A list is one value.
func changes(newVal, oldVal any, path fieldpath.Path) []fieldpath.Path {
	newObj, isObj := newVal.(map[string]any)
	if !isObj {
		return []fieldpath.Path{path}
	}
	oldObj, _ := oldVal.(map[string]any)
	var all []fieldpath.Path
	for name, member := range newObj {
		if was, had := oldObj[name]; !had || !same(member, was) {
			all = append(all, changes(member, was, append(slices.Clip(path), name))...)
		}
	}
	for name := range oldObj {
		if _, kept := newObj[name]; !kept {
			all = append(all, append(slices.Clip(path), name))
		}
	}
	return all
}

// allows reports whether a path is one of a list in which "a.*" is what is below a.
func allows(list []string, path fieldpath.Path) bool {
	return slices.ContainsFunc(list, func(allowed string) bool {
		parent, below := strings.CutSuffix(allowed, ".*")
		steps := fieldpath.Parse(parent)
		return path.Within(steps) && below == (len(path) > len(steps))
	})
}
