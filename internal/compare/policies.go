package compare

import (
	"slices"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/storageversion"
)

// Admission policies of the tree. A ValidatingAdmissionPolicy with "object.spec.replicas >= oldObject.spec.replicas"
// and a binding with the action Deny refuse what a schema refuses elsewhere; policies of OLD count, too.

// newPolicies returns the admission policies among the objects of both sides and of the schemas; nil where there is
// none.
func newPolicies(k *kinds, news, olds []*manifest.Object) *policy.Set {
	isPolicy := func(o *manifest.Object) bool { return policy.IsPolicy(o.Document.Object) }
	if !slices.ContainsFunc(news, isPolicy) && !slices.ContainsFunc(olds, isPolicy) {
		return nil
	}
	documents := func(objects []*manifest.Object) []policy.Document {
		list := make([]policy.Document, 0, len(objects))
		for _, o := range objects {
			if o.Kind == "" {
				continue
			}
			d := policy.Document{Object: o.Document.Object, File: o.Document.File}
			if isPolicy(o) { // nobody asks for the lines of other objects, and to find one takes reading the file again
				d.Line = o.Document.Position().Line
			}
			list = append(list, d)
		}
		return list
	}
	return policy.NewSet(policy.Sides(documents(news), documents(olds)), k.scope)
}

// scope tells whether objects of a kind have a namespace.
func (k *kinds) scope(apiVersion, kind string) (namespaced, known bool) {
	group, _ := kindindex.GroupVersion(apiVersion)
	o := &manifest.Object{ID: manifest.ID{Group: group, Kind: kind}, APIVersion: apiVersion}
	return !k.clusterScoped(o), k.knowsScope(o)
}

// judgePolicies adds what admission policies make of an update. They are for resources, whose names are known for
// built-in kinds and from CRDs.
func (c *checker) judgePolicies(v *verdict, p request) error {
	if c.policies == nil {
		return nil
	}
	if kind := c.kinds.builtinOf(p.new); kind != nil &&
		c.policies.Selects(policy.BuiltinRequest(kind, p.new.APIVersion)) {
		c.addPolicies(v, p, policy.BuiltinUpdate(kind, p.new.APIVersion, p.new.Value(), p.old.Value()))
	}
	for _, d := range c.kinds.byKind[groupKind{p.new.Group, p.new.Kind}] {
		if !d.covers(p.new.APIVersion) || !d.covers(p.old.APIVersion) ||
			!storageversion.Unconverted(d.crd.CRD) && p.new.APIVersion != p.old.APIVersion {
			continue // the definition says what is unknown about that
		}
		u, err := d.update(p)
		if err != nil {
			return err
		}
		c.addPolicies(v, p, u)
	}
	return nil
}

// addPolicies adds the verdict of the policies about an update of a pair.
func (c *checker) addPolicies(v *verdict, p request, u *policy.Update) {
	u.Live = p.live != nil
	found := c.policies.Check(u)
	if len(found.Refused) > 0 && v.replacement == nil {
		kind := c.worstReplacement(p)
		v.replacement = &result.Replacement{
			Cost: kind.Cost, Message: "a policy refuses the update, and may refuse a new object too",
			How: slices.Concat([]string{"change the manifest as the policy says",
				"change the policy or its binding first, in a change of its own"}, kind.How),
		}
	}
	var violations []result.Violation
	for _, r := range found.Refused {
		violations = append(violations, result.Violation{
			Lock: lockRule, Rule: r.Expression, Message: r.Message, Policy: r.Policy + "/" + r.Binding,
			LockFile: r.File, LockLine: r.Line, OnlyOld: r.OnlyOld,
			Change: kind.DigestObjects(p.new.Value(), p.old.Value()),
		})
	}
	if u.Group+"/"+u.Version != p.old.APIVersion && u.Defaulted && u.Version != p.old.APIVersion {
		for _, r := range violations {
			v.Unknown = append(v.Unknown, result.Remark{Message: "the old object is of " + p.old.APIVersion +
				", and only the server can convert it; a policy may refuse the update: " + r.Message + p.askCluster()})
		}
		violations = nil
	}
	v.merge(violations)
	for _, text := range found.Unknown {
		v.addRemarks([]result.Remark{{Message: text + p.askCluster()}}, nil)
	}
	for _, text := range found.Notes {
		v.addRemarks(nil, []result.Remark{{Message: text}})
	}
}

// guarded reports whether a policy is for the update of a custom resource.
func (c *checker) guarded(d *customKind, p pair) bool {
	if c.policies == nil || !d.covers(p.new.APIVersion) || !d.covers(p.old.APIVersion) {
		return false
	}
	u := policy.RequestOf(d.crd.CRD, d.version(p.new.APIVersion).Name)
	u.New, u.Old = p.new.Value(), p.old.Value() // labels and names are as written
	return c.policies.Matches(u)
}

// update returns the update of a custom resource as policies see it, in the version of NEW.
func (d *customKind) update(p request) (*policy.Update, error) {
	return policy.UpdateOf(d.crd.CRD, d.version(p.new.APIVersion).Name,
		func(name string) (newObj, oldObj map[string]any, err error) {
			version, _ := d.crd.Version(name)
			if newObj, err = d.prepare(version, p.new); err != nil {
				return nil, nil, err
			}
			oldObj, err = d.prepare(version, p.old, storageversion.Through(d.crd.CRD, version)...)
			return newObj, oldObj, err
		})
}
