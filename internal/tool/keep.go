package tool

// A deletion that loses data has ways out, too: the manifest can stay, and each tool knows a mark with which it keeps
// an object whose manifest goes. A mark has to be in the cluster before the manifest goes, so it takes two changes:
//
//	1. add the annotation kustomize.toolkit.fluxcd.io/prune: disabled, and let Flux apply it
//	2. remove the manifest

// Gone is an object that its tool deletes, since NEW no longer has it.
type Gone struct {
	Object map[string]any
	// WithUnit names the unit that applies the object if the unit goes, too; otherwise it is "".
	WithUnit string
	// Unlisted tells that the manifest stays, and its unit no longer lists it.
	Unlisted bool
}

// WaysToKeep returns the ways to keep an object that the tool would delete, the gentlest first; nil where nobody
// deletes it.
func (a Applier) WaysToKeep(g Gone) []string {
	if !a.Deletes() || a.Keeps && g.WithUnit == "" {
		return nil
	}
	restore := "to keep it, restore its manifest"
	switch {
	case g.WithUnit != "":
		restore = "to keep it, restore the " + g.WithUnit + ", which deploys it"
	case g.Unlisted:
		restore = "to keep it, list its manifest in its unit again"
	}
	ways := []string{restore}
	if edit := keepEdit(g.Object); edit != "" {
		return append(ways, "to keep what it has applied, "+edit+" with an earlier change, and remove it when that "+
			"change is deployed")
	}
	mark := a.keepMark()
	if g.WithUnit != "" {
		mark = a.outliveMark()
	}
	if mark != "" {
		ways = append(ways, "to keep it without its manifest, add the annotation "+mark+" with an earlier change, "+
			"and remove the manifest "+
			"when that change is deployed: "+string(a.Tool)+" then leaves it in the cluster")
	}
	return ways
}

// keepMark is the annotation with which an object stays when its manifest goes; "" where no tool would delete it.
func (a Applier) keepMark() string {
	switch {
	case a.Keeps:
	case a.Tool == Flux:
		return "kustomize.toolkit.fluxcd.io/prune: disabled"
	case a.Tool == ArgoCD:
		return syncOptions + ": Prune=false"
	case a.Tool == Helm:
		return "helm.sh/resource-policy: keep"
	}
	return ""
}

// outliveMark is the annotation with which an object stays when its unit goes. Argo CD has another one for that.
func (a Applier) outliveMark() string {
	if a.Tool == ArgoCD {
		return syncOptions + ": Delete=false"
	}
	a.Keeps = false // a unit that does not prune can still be deleted with all of its objects
	return a.keepMark()
}

// keepEdit is the edit of an object that defines a unit with which the objects of the unit stay when it goes, as
// Defines reads it; "" for other objects.
func keepEdit(obj map[string]any) string {
	d, ok := Defines(obj)
	if !ok || d.Stays != "" {
		return ""
	}
	switch kind := text(obj, "kind"); kind {
	case "Kustomization":
		return "set spec.deletionPolicy: Orphan in the Kustomization"
	case "HelmRelease":
		return "set spec.suspend: true in the HelmRelease"
	case "Application":
		return "remove the finalizer " + resourcesFinalizer + " from the Application"
	default:
		return "set spec.syncPolicy.applicationsSync: create-update in the " + kind
	}
}
