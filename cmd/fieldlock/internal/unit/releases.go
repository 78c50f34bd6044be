package unit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/helm"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
)

// Helm treats a release in three ways that a rendering does not show: an upgrade may print something else than an
// installation, a HelmRelease that changes its name is uninstalled first, and a template may ask the cluster.

// upgrading matches a template that may print something else for an upgrade than for an installation.
var upgrading = regexp.MustCompile(`\.IsUpgrade\b|\.IsInstall\b|\.Revision\b`)

// pairUpgrades adds comparisons of what upgrades apply, for charts that may print something else then.
func (c *comparison) pairUpgrades() {
	for _, p := range slices.Clip(c.pairs) {
		upgrades := p.new != nil && p.old != nil && !p.forced && p.changed && c.uninstalls(p) == ""
		if !upgrades || !c.tellsUpgrades(c.news, p.new) && !c.tellsUpgrades(c.olds, p.old) {
			continue
		}
		c.pairs = append(c.pairs, unitPair{new: p.new.upgrade(), old: p.old.upgrade(), changed: true, installs: &p})
	}
}

// tellsUpgrades reports whether Helm deploys a unit and its templates may print something else for an upgrade. A
// changed archive may, too.
func (c *comparison) tellsUpgrades(s *side, u *Unit) bool {
	if u.Err != nil || u.Kind != "chart" && u.Kind != "HelmRelease" {
		return false
	}
	return slices.ContainsFunc(u.Reads, func(name string) bool {
		if strings.HasSuffix(name, ".tgz") {
			return state(c.news.tree, name) != state(c.olds.tree, name)
		}
		data, err := u.in(s.tree).ReadFile(name)
		return err == nil && upgrading.Match(data)
	})
}

// upgrade returns the unit as an upgrade applies it.
func (u *Unit) upgrade() *Unit {
	again := *u
	again.Name += " as an upgrade"
	again.digestIn = nil
	if u.Kind == "chart" {
		spec := decode[chartSpec](u.spec)
		spec.Upgrade = true
		again.spec = encode(spec)
		return &again
	}
	spec := decode[definedSpec](u.spec)
	spec.Upgrade = true
	again.spec = encode(spec)
	return &again
}

// unlikeInstalled returns the objects of an upgrade on both sides, without those that an installation prints alike.
func (c *comparison) unlikeInstalled(p unitPair, news, olds []Object) (newRest, oldRest []Object) {
	newInstalled, err := c.news.objectsOf(p.installs.new)
	oldInstalled, oldErr := c.olds.objectsOf(p.installs.old)
	if err != nil || oldErr != nil {
		return news, olds
	}
	equal := func(a, b *Object) bool { return jsonvalue.Equal(a.Object, b.Object) }
	upgraded := [][2]map[named][]*Object{
		{byIdentity(news), byIdentity(newInstalled)}, {byIdentity(olds), byIdentity(oldInstalled)},
	}
	installed := func(o Object) bool {
		name := namedAs(o.Document)
		return !slices.ContainsFunc(upgraded, func(side [2]map[named][]*Object) bool {
			return !slices.EqualFunc(side[0][name], side[1][name], equal)
		})
	}
	return slices.DeleteFunc(slices.Clone(news), installed), slices.DeleteFunc(slices.Clone(olds), installed)
}

// asking matches a template that asks the cluster.
var asking = regexp.MustCompile(`[\s({|]lookup\s`)

// noteLookups warns of the changed templates of a unit that ask the cluster: what they print there may be something
// else.
func (c *comparison) noteLookups(p unitPair) {
	if p.new.Kind == "kustomization" || p.installs != nil || p.forced {
		return
	}
	for _, name := range p.new.Reads {
		if !strings.Contains(name, "templates/") || state(p.new.in(c.news.tree), name) == state(c.olds.tree, name) {
			continue
		}
		scan(p.new.in(c.news.tree), name, func(data []byte) {
			if slices.ContainsFunc(action.FindAll(data, -1), asking.Match) {
				c.out.Warnings = append(c.out.Warnings, c.news.tree.Name(name)+
					": it asks the cluster with lookup, which finds nothing here; in a cluster, the template may "+
					"print something else")
			}
		})
	}
}

// uninstalls returns why Flux deletes all objects of the old unit before it applies the new one, "" if it updates them.
func (c *comparison) uninstalls(p unitPair) string {
	if p.new == nil || p.old == nil || p.forced || p.new.Kind != "HelmRelease" || p.old.Kind != "HelmRelease" {
		return ""
	}
	newSpec, oldSpec := decode[definedSpec](p.new.spec), decode[definedSpec](p.old.spec)
	h, err := releaseOf(&newSpec)
	old, oldErr := releaseOf(&oldSpec)
	if err != nil || oldErr != nil {
		return ""
	}
	chart, was := helm.Name(p.new.in(c.news.tree), p.new.dir), helm.Name(p.old.in(c.olds.tree), p.old.dir)
	if h.Fetched || old.Fetched { // a repository has charts by their names
		chart, was = p.new.fetched[p.new.dir].Name, p.old.fetched[p.old.dir].Name
	}
	return h.Reinstalls(old, chart, was)
}
