package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/schemadoc"
	"github.com/fieldlock/fieldlock/internal/shell"
)

// What is known of each kind, from all sources of both sides. OLD's CRD counts beside NEW's:
//
//	OLD  Widget: class is immutable     NEW  Widget: no lock     an update of class is refused by OLD's CRD

// kinds finds the definitions of a kind. Those of both sides count, so that a change cannot drop a lock and break it at
// once.
type kinds struct {
	builtin   *builtin.Kinds       // nil for none
	operators *operators.Catalogue // nil for none
	advice    Advice
	byKind    map[groupKind][]*customKind
	open      []*openKind // schemas of OpenAPI documents, and JSON Schemas
	errs      []error     // CRDs of NEW that cannot be used
	warnings  []string    // CRDs that only OLD has and that cannot be used
	broken    []invalidCRD
	faulty    map[groupKind]error // mistakes in CRDs that the change does not touch

	amender  *manifest.Amender
	defaults defaults
}

type groupKind struct{ group, kind string }

// invalidCRD is a CRD with locks that cannot be compiled.
type invalidCRD struct {
	manifest.CRD
	errs         []error
	inNew, inOld bool
}

// newKinds collects the CRDs of both sides. A CRD that both sides have counts once, one that changed counts twice.
// Mistakes in a CRD that is equal on both sides are errors only if it was given as a schema; otherwise, they make its
// objects unknown.
func newKinds(news, olds []manifest.CRD, given func(manifest.CRD) bool, o Options) *kinds {
	k := &kinds{builtin: o.Builtin, operators: o.Operators, advice: o.Advice, byKind: map[groupKind][]*customKind{},
		faulty: map[groupKind]error{}}
	for _, c := range news {
		k.add(c, false, o)
	}
	for _, c := range olds {
		k.add(c, true, o)
	}
	for _, list := range k.byKind {
		for _, old := range list {
			for _, d := range list {
				if old.onlyOld && !d.onlyOld && old.crd.Name == d.crd.Name {
					old.replaced, d.before = true, old
				}
			}
		}
	}
	for _, b := range k.broken {
		switch {
		case b.inNew && b.inOld && !given(b.CRD):
			k.faulty[groupKind{b.Group, b.Kind}] = b.errs[0]
		case b.inNew:
			k.errs = append(k.errs, b.errs...)
		default:
			for _, err := range b.errs {
				k.warnings = append(k.warnings, "the locks of a CRD in OLD do not count: "+err.Error())
			}
		}
	}
	return k
}

// addFaulty adds a CRD that cannot be read and is equal on both sides.
func (k *kinds) addFaulty(f manifest.Faulty) {
	apiGroup := fieldpath.Text(f.Document.Object, "spec", "group")
	kind := fieldpath.Text(f.Document.Object, "spec", "names", "kind")
	k.faulty[groupKind{apiGroup, kind}] = f.Err
}

// add adds a CRD, unless it is there already.
func (k *kinds) add(c manifest.CRD, onlyOld bool, o Options) {
	gk := groupKind{c.Group, c.Kind}
	same := func(d *customKind) bool { return manifest.SameCRD(d.crd.Document.Object, c.Document.Object) }
	if i := slices.IndexFunc(k.byKind[gk], same); i >= 0 {
		k.byKind[gk][i].inOld = k.byKind[gk][i].inOld || onlyOld
		return
	}
	broken := func(b invalidCRD) bool { return manifest.SameCRD(b.Document.Object, c.Document.Object) }
	if i := slices.IndexFunc(k.broken, broken); i >= 0 {
		k.broken[i].inOld = k.broken[i].inOld || onlyOld
		return
	}
	d, errs := newCustomKind(c, onlyOld, o)
	if len(errs) > 0 {
		k.broken = append(k.broken, invalidCRD{c, errs, !onlyOld, onlyOld})
		return
	}
	k.byKind[gk] = append(k.byKind[gk], d)
}

// definitionsOf returns the definitions of an object's kind, in any version; none for an unknown kind.
func (k *kinds) definitionsOf(o *manifest.Object) []*definition {
	var list []*definition
	for _, d := range k.byKind[groupKind{o.Group, o.Kind}] {
		list = append(list, d.definition())
	}
	if err := k.faulty[groupKind{o.Group, o.Kind}]; err != nil {
		list = append(list, ofFaulty(err))
	}
	for _, d := range k.open {
		if d.isOf(o) {
			list = append(list, d.definition())
		}
	}
	if kind := k.builtinOf(o); kind != nil {
		list = append(list, ofBuiltin(kind))
	}
	if kind, ok := k.operatorOf(o); ok {
		list = append(list, ofOperator(kind, k.byKind[groupKind{o.Group, o.Kind}]))
	}
	if facts, ok := k.factsOf(o); ok {
		list = append(list, ofFacts(facts, k.advice.WithSchema))
	}
	return list
}

// ofFaulty returns the definition of a CRD with a mistake that the change does not touch: the author of the change may
// not be able to mend it, so its objects are unknown.
func ofFaulty(mistake error) *definition {
	return &definition{
		find: func(v *verdict, _ request) error {
			v.Unknown = []result.Remark{{
				Path: "apiVersion",
				Message: "the CRD of its kind has a mistake, so its locks and rules were not checked: " +
					mistake.Error(),
			}}
			return nil
		},
		replace: func(request, result.Verdict) *result.Replacement {
			return &result.Replacement{Cost: result.CostUnknown, Message: costMessages[result.CostUnknown]}
		},
	}
}

// builtinOf returns the built-in kind of an object, or nil.
func (k *kinds) builtinOf(o *manifest.Object) *builtin.Kind {
	if k.builtin == nil {
		return nil
	}
	kind, _ := k.builtin.Find(o.APIVersion, o.Kind)
	return kind
}

// unknownVersion returns an error if the kind of an object is defined, but not in the object's version. A CRD that only
// OLD has does not count: its successor can come from another source, with new versions.
func (k *kinds) unknownVersion(o *manifest.Object) error {
	if k.builtinOf(o) != nil {
		return nil
	}
	var names []string
	for _, d := range k.byKind[groupKind{o.Group, o.Kind}] {
		if d.covers(o.APIVersion) {
			return nil
		}
		if d.onlyOld {
			return nil
		}
		for _, v := range d.crd.Versions {
			names = append(names, v.Name)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	_, version, _ := strings.Cut(o.APIVersion, "/")
	return o.Mistake(fieldpath.Path{"apiVersion"}, "the CRD of %s has no version %q; its versions are %s", o.Kind,
		version, strings.Join(slices.Compact(names), ", "))
}

// unservedVersion returns an error if the CRDs of NEW that have the version of an object do not serve it: no tool can
// apply the object.
func (k *kinds) unservedVersion(o *manifest.Object) error {
	unserved := false
	for _, d := range k.byKind[groupKind{o.Group, o.Kind}] {
		v := d.version(o.APIVersion)
		switch {
		case v == nil || d.onlyOld:
		case v.Served:
			return nil
		default:
			unserved = true
		}
	}
	if !unserved || k.builtinOf(o) != nil {
		return nil
	}
	return o.Mistake(fieldpath.Path{"apiVersion"}, "the CRD of %s does not serve the version %q", o.Kind,
		strings.TrimPrefix(o.APIVersion, o.Group+"/"))
}

// wasServed reports whether a CRD that only OLD has serves the version of an object: if NEW does not serve it, the
// change brings that, also for an object that does not change.
func (k *kinds) wasServed(o *manifest.Object) bool {
	return slices.ContainsFunc(k.byKind[groupKind{o.Group, o.Kind}], func(d *customKind) bool {
		v := d.version(o.APIVersion)
		return d.onlyOld && v != nil && v.Served
	})
}

// addDocuments adds the kinds of OpenAPI documents and JSON Schemas. A document that both sides have counts once.
func (k *kinds) addDocuments(news, olds []*schemadoc.Document) {
	for _, d := range news {
		k.addDocument(d, false)
	}
	for _, d := range olds {
		if !slices.Contains(news, d) {
			k.addDocument(d, true)
		}
	}
}

func (k *kinds) addDocument(d *schemadoc.Document, onlyOld bool) {
	if d.Root != "" {
		k.open = append(k.open, &openKind{Document: d, amender: k.amender, ref: d.Root, onlyOld: onlyOld,
			defaults: &k.defaults})
	}
	for _, kind := range d.Kinds {
		k.open = append(k.open, &openKind{
			Document: d, amender: k.amender, apiVersion: kind.APIVersion, kind: kind.Kind, ref: kind.Ref,
			onlyOld: onlyOld, defaults: &k.defaults,
		})
	}
}

// sameDefaults reports whether both sides give an object the same defaults. The defaults of a chart's values are in its
// values.yaml, which can change.
func (k *kinds) sameDefaults(o *manifest.Object) bool {
	return o.Kind != "" || jsonvalue.Equal(k.defaults.new, k.defaults.old)
}

// notRun returns warnings about the rules that are not run, of the schemas that objects were compared by.
func (k *kinds) notRun() []string {
	var list []string
	for _, d := range k.open {
		name := d.File
		if d.kind != "" {
			name += ": " + strings.TrimSpace(d.apiVersion+" "+d.kind)
		}
		if warning := name + ": " + d.rest; d.rest != "" && !slices.Contains(list, warning) {
			list = append(list, warning)
		}
	}
	return list
}

// unpicked returns a warning for each document whose schemas name no kind and were not used.
func (k *kinds) unpicked() []string {
	used, names := map[*schemadoc.Document]bool{}, map[*schemadoc.Document]string{}
	var list []string
	for _, d := range k.open {
		used[d.Document] = used[d.Document] || d.apiVersion != "" || d.kind == "" || d.compiled != nil
		names[d.Document] = d.kind
	}
	for _, d := range k.open {
		if name := names[d.Document]; !used[d.Document] {
			used[d.Document] = true
			list = append(list, fmt.Sprintf("%s: nothing was compared with its schemas, since they have no kind; "+
				"pick one, %s %s",
				d.File, k.advice.SuchAs, shell.Quote(d.File+"#"+name)))
		}
	}
	return list
}

// nameAfterNewFile gives documents of files that the user named, on both sides, the name of the file in NEW.
func nameAfterNewFile(news, olds []*manifest.Object) {
	for _, n := range news {
		for _, o := range olds {
			if n.Path == "" && o.Path == "" {
				n.Name, o.Name = n.Document.File, n.Document.File
			}
		}
	}
}

// operatorOf returns what is known of an object's operator, if anything is.
func (k *kinds) operatorOf(o *manifest.Object) (kind *operators.Kind, ok bool) {
	if k.operators == nil {
		return nil, false
	}
	return k.operators.Find(o.APIVersion, o.Kind)
}

// factsOf returns what is known of the CRD of an object's kind. A CRD or schema at hand wins, whatever its versions
// are.
func (k *kinds) factsOf(o *manifest.Object) (facts *crdfacts.Kind, ok bool) {
	gk := groupKind{o.Group, o.Kind}
	if k.operators == nil || len(k.byKind[gk]) > 0 || k.faulty[gk] != nil {
		return nil, false
	}
	for _, d := range k.open {
		if d.isOf(o) {
			return nil, false
		}
	}
	return crdfacts.Find(o.APIVersion, o.Kind)
}
