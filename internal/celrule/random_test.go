package celrule

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// TestImportOfRandomRules makes schemas and rules of the operators and conditions that people use, in random
// combinations. The rules that are recognized have the verdict of their locks, in CEL's own words. FIELDLOCK_BATCHES
// says how many batches of rules it judges.
func TestImportOfRandomRules(t *testing.T) {
	if testing.Short() {
		t.Skip("it judges random rules")
	}
	first := setting.Seed(t)
	var sum tally
	for i := range setting.Int(t, "FIELDLOCK_BATCHES", 10) {
		sum.add(importRandomRules(t, first+uint64(i)))
	}
	t.Logf("seed %d: %d rules, %d of them recognized; %d verdicts, %d of them refuse", first, sum.rules, sum.recognized, sum.pairs, sum.refused)
	if sum.recognized < sum.rules/40 || sum.refused < sum.pairs/10 || sum.refused > sum.pairs*9/10 {
		t.Error("too lopsided to prove much")
	}
}

type tally struct{ rules, recognized, pairs, refused int }

func (a *tally) add(b tally) {
	a.rules, a.recognized, a.pairs, a.refused = a.rules+b.rules, a.recognized+b.recognized, a.pairs+b.pairs, a.refused+b.refused
}

// Bounds of one batch.
const (
	batchRules   = 150
	batchObjects = 40
	batchPairs   = 120
)

// importRandomRules judges one batch: rules about the same few fields of one random schema. What costs is to make CEL's
// environments and the objects, which all rules of a batch share.
func importRandomRules(t *testing.T, seed uint64) tally {
	t.Helper()
	m := &ruleMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
	b := newBatch(t, m)
	var count tally
	for range batchRules {
		entries := m.rules()
		im := Import(Apply(b.bare, addRules(entries)))
		count.rules += len(im.Recognized) + len(im.Left)
		count.recognized += len(im.Recognized)
		if len(im.Recognized) > 0 {
			b.add(t, entries, im)
		}
	}
	pairs, refused := b.judge(t, seed)
	count.pairs, count.refused = pairs, refused
	return count
}

// addRules returns the changes that add rules, by the schema path of their field.
func addRules(rules map[string][]map[string]any) []Change {
	changes := changes{}
	for path, entries := range rules {
		changes[path] = &Change{SchemaPath: path, AddRules: entries}
	}
	return changes.sorted()
}

// batch is a schema with the rules of many cases, each of which has been imported alone.
type batch struct {
	bare  *spec.Schema
	given *immutability.Validator // the locks of bare
	cases []*importOfRules
	rules map[string][]map[string]any // of all cases, by schema path
	of    map[RuleRef]ruleUse

	objects []map[string]any
	pairs   [][2]int
}

// importOfRules is one case: rules that some locks are to equal.
type importOfRules struct {
	rules map[string][]map[string]any
	made  Imported
	locks *immutability.Validator
}

// ruleUse is what a rule in the schema of a batch is for: the case, and whether it is one of its plain rules, or of the
// transition rules that became locks.
type ruleUse struct {
	of   int
	role ruleRole
}

type ruleRole int

const (
	isPlain ruleRole = iota
	isRecognized
)

// add makes the rules of a case part of the batch.
func (b *batch) add(t *testing.T, rules map[string][]map[string]any, im Imported) {
	t.Helper()
	locks, err := immutability.Compile(Apply(Apply(b.bare, addRules(rules)), im.Changes))
	if err != nil {
		t.Errorf("%s\nbecame locks that do not compile: %v", asJSON(rules), err)
		return
	}
	i := len(b.cases)
	b.cases = append(b.cases, &importOfRules{rules, im, locks})
	roles := map[RuleRef]ruleRole{}
	for _, r := range im.Recognized {
		roles[RuleRef{r.SchemaPath, r.Index}] = isRecognized
	}
	for path, entries := range rules {
		for index, entry := range entries {
			role, recognized := roles[RuleRef{path, index}]
			if text, _ := entry["rule"].(string); recognized || !strings.Contains(text, "oldSelf") {
				b.put(path, entry, ruleUse{i, role})
			}
		}
	}
}

func (b *batch) put(path string, entry map[string]any, use ruleUse) {
	b.of[RuleRef{path, len(b.rules[path])}] = use
	b.rules[path] = append(b.rules[path], entry)
}

// judge compares rules and locks on all pairs of objects, and on the creation of each object.
func (b *batch) judge(t *testing.T, seed uint64) (pairs, refused int) {
	t.Helper()
	if len(b.cases) == 0 {
		return 0, 0
	}
	server := celrun.New(Apply(b.bare, addRules(b.rules)), nil).Strict(new(celrun.Shared))
	created := make([][]verdicts, len(b.objects))
	for i, obj := range b.objects {
		created[i] = b.verdicts(t, server, obj, nil)
	}
	wrong := map[int]bool{}
	check := func(c int, newObj, oldObj map[string]any, rules verdicts, violations field.ErrorList, given bool) {
		pairs++
		refuses := given || rules[isRecognized]
		if refuses {
			refused++
		}
		if refuses == (len(violations) > 0) || wrong[c] {
			return
		}
		wrong[c] = true
		t.Errorf("seed %d\nrules %s\nbecame %s\nold %s\nnew %s\nCEL refuses: %v; locks refuse: %v\nthe schema was %s", seed, asJSON(b.cases[c].rules),
			asJSON(b.cases[c].made.Changes), asJSON(oldObj), asJSON(newObj), refuses, violations, asJSON(b.bare))
	}
	for i, obj := range b.objects {
		for c := range b.cases {
			if !created[i][c][isPlain] {
				check(c, obj, nil, created[i][c], nil, false)
			}
		}
	}
	for _, pair := range b.pairs {
		newObj, oldObj := b.objects[pair[0]], b.objects[pair[1]]
		given := len(b.given.ValidateUpdate(newObj, oldObj)) > 0
		for c, rules := range b.verdicts(t, server, newObj, oldObj) {
			if !created[pair[0]][c][isPlain] && !created[pair[1]][c][isPlain] {
				check(c, newObj, oldObj, rules, b.cases[c].locks.ValidateUpdate(newObj, oldObj), given)
			}
		}
	}
	return pairs, refused
}

// verdicts tells for each role whether a rule of it refuses an update.
type verdicts [2]bool

// verdicts judges an update, or a create where oldObj is nil, by the rules of each case.
func (b *batch) verdicts(t *testing.T, server *celrun.Validator, newObj, oldObj map[string]any) []verdicts {
	t.Helper()
	all := make([]verdicts, len(b.cases))
	violations, err := server.ValidateUpdate(newObj, oldObj)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		use, ok := b.of[RuleRef{v.Rule.SchemaPath, v.Rule.Index}]
		if !ok {
			t.Fatalf("of no rule: %+v", v)
		}
		all[use.of][use.role] = true
	}
	return all
}

// newBatch makes a schema, and objects that fit it and differ in the fields that m is going to write about.
func newBatch(t *testing.T, m *ruleMaker) *batch {
	t.Helper()
	m.chooseFields()
	b := &batch{rules: map[string][]map[string]any{}, of: map[RuleRef]ruleUse{}}
	for err := errors.New("none yet"); err != nil; {
		b.bare = m.schema(t)
		b.given, err = immutability.Compile(b.bare)
	}
	judge := judgeOf(t, b.bare, nil)
	specs := []map[string]any{{}}
	for _, name := range fieldNames {
		var next []map[string]any
		for _, spec := range specs {
			for _, v := range m.values(t, judge, name) {
				with := maps.Clone(spec)
				if _, lacks := v.(noField); !lacks {
					with[name] = jsonvalue.Clone(v)
				}
				next = append(next, with)
			}
		}
		specs = next
	}
	for _, spec := range specs {
		if obj := stored(judge, spec); judge.valid(obj) {
			b.objects = append(b.objects, obj)
		}
	}
	m.Shuffle(len(b.objects), func(i, j int) { b.objects[i], b.objects[j] = b.objects[j], b.objects[i] })
	b.objects = b.objects[:min(len(b.objects), batchObjects)]
	if none := map[string]any{}; judge.valid(none) {
		b.objects = append(b.objects, none)
	}
	for i := range b.objects {
		for j := range b.objects {
			b.pairs = append(b.pairs, [2]int{i, j})
		}
	}
	m.Shuffle(len(b.pairs), func(i, j int) { b.pairs[i], b.pairs[j] = b.pairs[j], b.pairs[i] })
	b.pairs = b.pairs[:min(len(b.pairs), batchPairs)]
	return b
}

// stored returns the object that a server stores for a spec.
func stored(judge *judgement, spec map[string]any) map[string]any {
	obj := map[string]any{"spec": jsonvalue.Clone(spec)}
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, judge.structural)
	defaulting.Default(obj, judge.structural)
	return obj
}
