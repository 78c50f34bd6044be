package kudo

import "github.com/fieldlock/fieldlock/immutability/parameter"

// Install evaluates the installation of an Instance with the requested values; a null counts as not given. Defaults of
// immutable parameters are copied into the Instance, so that a later default cannot change them. An immutable or
// required parameter needs a value or a default (KEP-30, Installation).
func (v *OperatorVersion) Install(requested parameter.Values) Admission {
	e := newEvaluation(v, &OperatorVersion{}, requested, nil)
	e.install = true
	e.request()
	for i := range v.Parameters {
		p := &v.Parameters[i]
		if _, ok := e.next[p.Name]; p.Immutable && !ok && p.HasDefault() {
			e.next[p.Name] = parameter.Text(p.Default.Text)
		}
	}
	return e.finish()
}

// Update evaluates new values for an Instance that stays at its OperatorVersion. Requested values replace current
// ones, and a null removes one. The whole update is refused when the effective text of an immutable parameter changes
// (KEP-30, Updates). A removal that would only remove the copy of the same default is ignored, since the copy protects
// the value from later defaults.
func (v *OperatorVersion) Update(requested, current parameter.Values) Admission {
	e := newEvaluation(v, v, requested, current)
	e.refuseUnknown()
	e.request()
	e.checkImmutable()
	return e.finish()
}

// Upgrade evaluates the upgrade of an Instance from old to v (KEP-30, Upgrades). A parameter that becomes immutable, and
// a new immutable one, needs a value among the requested ones. An immutable parameter keeps its value when only its
// default changes. Values of removed parameters are removed. A changed parameter may trigger only the plan deploy, as in
// the shipped KUDO, unless the upgrade makes it mutable. Without old the Instance stays at v.
func (v *OperatorVersion) Upgrade(requested parameter.Values, old *OperatorVersion, current parameter.Values) Admission {
	if old == nil {
		return v.Update(requested, current)
	}
	e := newEvaluation(v, old, requested, current)
	e.upgrade = true
	e.refuseUnknown()
	for name := range e.next {
		if e.index[name] == nil {
			delete(e.next, name)
		}
	}
	e.request()
	e.keepDefaults()
	e.checkImmutable()
	return e.finish()
}
