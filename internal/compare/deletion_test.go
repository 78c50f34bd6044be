package compare

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// plain makes an object of a built-in kind, with further metadata and fields as flow YAML.
func plain(apiVersion, kind, metadata, rest string) string {
	return "---\n{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: x, " + metadata + "}, " + rest + "}\n"
}

func checkBy(t *testing.T, by tool.Applier, news, olds string, o Options) *Report {
	t.Helper()
	kinds, err := builtin.For(answersMinor)
	if err != nil {
		t.Fatal(err)
	}
	o.Builtin = kinds
	in := Input{New: appliedBy(by, files(map[string]string{"x.yaml": news})), Old: appliedBy(by, files(map[string]string{"x.yaml": olds}))}
	r, err := Check(in, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDeletions: what the loss of an object costs, what keeps it, and what is refused.
func TestDeletions(t *testing.T) {
	const other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n"
	const claim = "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
	const set = "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}"
	flux := tool.Applier{Tool: tool.Flux}
	for _, row := range []struct {
		name, reason, object string
		by                   tool.Applier
		cost                 result.Cost
		kept, refused        bool
	}{
		{"a claim", "its volume can go with it", plain("v1", "PersistentVolumeClaim", "", claim), flux, result.CostData, false, true},
		{"a namespace", "everything in it goes", plain("v1", "Namespace", "", "spec: {}"), flux, result.CostCascade, false, true},
		{"a ConfigMap", "nothing goes with it", plain("v1", "ConfigMap", "", "data: {a: b}"), flux, result.CostNone, false, false},
		{"a Deployment", "its cost is not refused", plain("apps/v1", "Deployment", "", "spec: {"+set+"}"), flux, result.CostDowntime, false, false},
		{"a StatefulSet", "its claims stay", plain("apps/v1", "StatefulSet", "", "spec: {"+set+"}"), flux, result.CostDowntime, false, false},
		{"a StatefulSet that deletes its claims", "", plain("apps/v1", "StatefulSet", "", "spec: {persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, "+set+"}"), flux, result.CostData, false, true},
		{"a claim that Flux keeps", "", plain("v1", "PersistentVolumeClaim", "annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", claim), flux, result.CostData, true, false},
		{"a claim that Argo CD would keep", "Flux applies it", plain("v1", "PersistentVolumeClaim", "annotations: {argocd.argoproj.io/sync-options: Prune=false}", claim), flux, result.CostData, false, true},
		{"a claim of a unit that does not prune", "", plain("v1", "PersistentVolumeClaim", "", claim), tool.Applier{Tool: tool.ArgoCD, Keeps: true}, result.CostData, true, false},
		{"a hook", "Helm does not delete hooks that a chart no longer has", plain("v1", "PersistentVolumeClaim", "annotations: {helm.sh/hook: pre-install}", claim), tool.Applier{Tool: tool.Helm}, result.CostData, true, false},
		{"a claim of nobody's", "somebody may delete it by hand", plain("v1", "PersistentVolumeClaim", "", claim), tool.Applier{}, result.CostData, false, true},
	} {
		r := checkBy(t, row.by, other, other+row.object, Options{RefuseDeletions: []result.Cost{result.CostData, result.CostCascade}})
		if len(r.Deletions) != 1 || r.Deletions[0].Cost != row.cost || r.Deletions[0].Kept != row.kept || r.Deletions[0].File != "x.yaml" || r.Deletions[0].Line != 3 {
			t.Errorf("%s: got %+v: %s", row.name, r.Deletions, row.reason)
		}
		if r.Allowed == row.refused || row.refused && (len(r.Violations) != 1 || r.Violations[0].Lock != LockDeletion || r.Violations[0].Path != "" || r.Violations[0].Change == "") {
			t.Errorf("%s: allowed is %t, with %+v: %s", row.name, r.Allowed, r.Violations, row.reason)
		}
		if d := r.Deletions[0]; (len(d.How) > 0) != d.Loses() {
			t.Errorf("%s: the ways to keep it are %q", row.name, d.How)
		}
		if r = checkBy(t, row.by, other, other+row.object, Options{}); !r.Allowed || len(r.Deletions) != 1 {
			t.Errorf("%s: a deletion that nobody refuses fails", row.name)
		}
	}
}

// TestGoneUnits: an object goes with the unit that applies it, and what the definer of a unit costs is the worst of
// what the unit applies.
func TestGoneUnits(t *testing.T) {
	const set = "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}"
	definer := func(name, spec string) string {
		return "---\n{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: " + name + "}, spec: {" + spec + "}}\n"
	}
	object := func(kind, name, metadata, rest string) string {
		return "---\n{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + metadata + "}, " + rest + "}\n"
	}
	claim := object("PersistentVolumeClaim", "claim", "", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
	keptClaim := strings.Replace(claim, "name: claim", "name: claim, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}", 1)
	config, deployment := object("ConfigMap", "config", "", "data: {a: b}"), strings.Replace(object("Deployment", "deploy", "", set), "apiVersion: v1", "apiVersion: apps/v1", 1)
	const prune = "prune: true"
	for _, row := range []struct {
		name, reason string
		units        map[string]string // what each unit applies; "" is applied by nobody
		want         map[string]string // the cost of each deletion, and whether the object stays
	}{
		{"a claim", "it goes with its unit", map[string]string{"": definer("a", prune), "a": claim}, map[string]string{"a": "data", "claim": "data"}},
		{"several objects", "the worst one counts", map[string]string{"": definer("a", prune), "a": config + deployment}, map[string]string{"a": "downtime", "config": "none", "deploy": "downtime"}},
		{"nothing", "nobody knows", map[string]string{"": definer("a", prune)}, map[string]string{"a": "unknown"}},
		{"a unit that leaves its objects", "they stay", map[string]string{"": definer("a", "prune: false"), "a": claim}, map[string]string{"a": "data kept", "claim": "data kept"}},
		{"an object that outlives its unit", "it costs nothing", map[string]string{"": definer("a", prune), "a": keptClaim}, map[string]string{"a": "none", "claim": "data kept"}},
		{"a unit in a unit", "the inner one goes too", map[string]string{"": definer("a", prune), "a": definer("b", prune), "b": claim}, map[string]string{"a": "data", "b": "data", "claim": "data"}},
		{"a unit in a unit that leaves its objects", "only the inner one goes", map[string]string{"": definer("a", prune), "a": definer("b", "prune: false") + config, "b": claim}, map[string]string{"a": "none", "b": "data kept", "claim": "data kept", "config": "none"}},
		{"a unit that goes in one that stays", "nothing is deleted", map[string]string{"": definer("a", "prune: false"), "a": definer("b", prune), "b": claim}, map[string]string{"a": "data kept", "b": "data kept", "claim": "data kept"}},
		{"a unit that applies its own definer", "the circle ends", map[string]string{"a": definer("a", prune) + config}, map[string]string{"a": "none", "config": "none"}},
		{"units that apply each other", "the circle ends", map[string]string{"b": definer("a", prune) + config, "a": definer("b", prune) + claim}, map[string]string{"a": "data", "b": "data", "claim": "data", "config": "none"}},
	} {
		kinds, err := builtin.For("")
		if err != nil {
			t.Fatal(err)
		}
		in := Input{New: files(map[string]string{"other.yaml": object("ConfigMap", "other", "", "data: {}")})}
		in.Old = slices.Clone(in.New)
		for unit, text := range row.units {
			f := files(map[string]string{unit + ".yaml": text})[0]
			f.AppliedBy = tool.Applier{Tool: tool.Flux}
			if unit != "" {
				f.Unit = "Flux Kustomization " + unit
			}
			in.Old = append(in.Old, f)
		}
		r, err := Check(in, Options{Builtin: kinds})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, d := range r.Deletions {
			got[d.Object] = string(d.Cost)
			if d.Kept {
				got[d.Object] += " kept"
			}
		}
		if !maps.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v: %s\n%+v", row.name, got, row.want, row.reason, r.Deletions)
		}
	}
}

// TestPreciousWaysOut: nobody is told to have a tool delete and create an object whose data go with it.
func TestPreciousWaysOut(t *testing.T) {
	claim := func(class string) string {
		return plain("v1", "PersistentVolumeClaim", "", "spec: {storageClassName: "+class+", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
	}
	deployment := func(label string) string {
		return plain("apps/v1", "Deployment", "", "spec: {selector: {matchLabels: {a: "+label+"}}, template: {metadata: {labels: {a: "+label+"}}, spec: {containers: [{name: a, image: a}]}}}")
	}
	for _, row := range []struct {
		name, news, olds string
		precious         bool
	}{
		{"a claim", claim("b"), claim("a"), true},
		{"a Deployment", deployment("b"), deployment("a"), false},
	} {
		r := checkBy(t, tool.Applier{Tool: tool.Flux}, row.news, row.olds, Options{})
		if len(r.Replacements) != 1 {
			t.Errorf("%s: got %+v", row.name, r.Replacements)
			continue
		}
		how := strings.Join(r.Replacements[0].How, "\n")
		if kept, forced := strings.Contains(how, "prune: disabled"), strings.Contains(how, "fluxcd.io/force: enabled"); kept != row.precious || forced == row.precious {
			t.Errorf("%s: the ways out are\n%s", row.name, how)
		}
	}
}

// TestVariablesInNames: a command does not name an object by a variable that nothing has replaced.
func TestVariablesInNames(t *testing.T) {
	named := func(text string) string {
		return strings.Replace(text, "name: x, ", "name: 'a-${APP}', namespace: '${NS}'", 1)
	}
	claim := func(class string) string {
		return named(plain("v1", "PersistentVolumeClaim", "", "spec: {storageClassName: "+class+", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"))
	}
	set := func(size string) string {
		return named(plain("apps/v1", "StatefulSet", "", "spec: {serviceName: a, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}, "+
			"volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "+size+"}}}}]}"))
	}
	widgets := func(class string) string {
		return named(plain("example.com/v1", "Widget", "", "spec: {class: "+class+"}"))
	}
	namespace := strings.Replace(plain("v1", "Namespace", "", "spec: {}"), "name: x, ", "name: '${NS}'", 1)
	for _, row := range []struct{ name, news, olds, want string }{
		{"a claim", claim("b"), claim("a"), "kubectl delete persistentvolumeclaim/NAME -n NAMESPACE"},
		{"a StatefulSet", set("2Gi"), set("1Gi"), "kubectl patch pvc/data-NAME-0 -n NAMESPACE"},
		{"a custom resource", classLocked + widgets("b"), classLocked + widgets("a"), "kubectl delete widgets.example.com NAME --namespace NAMESPACE"},
		{"a deleted claim", "", claim("a"), "kubectl get pvc NAME --namespace NAMESPACE"},
		{"a deleted namespace", "", namespace, `claimRef.namespace=="'NAMESPACE'"`},
	} {
		for _, by := range []tool.Applier{{}, {Tool: tool.Flux}, {Tool: tool.ArgoCD, Apply: "argocd app sync shop"}} {
			r := checkBy(t, by, row.news, row.olds, Options{})
			var how []string
			for _, replacement := range r.Replacements {
				how = append(how, replacement.How...)
			}
			for _, deletion := range r.Deletions {
				how = append(how, deletion.How...)
			}
			all := strings.Join(how, "\n")
			if hasCommand := by.Tool != "" || strings.Contains(all, row.want); len(how) == 0 || strings.Contains(all, "${") || !hasCommand {
				t.Errorf("%s, %s: got\n%s\nwant %s", row.name, by.Tool, all, row.want)
			}
		}
	}
}

// TestLeftAlone: an object that its tool does not update is skipped; two changes do not get around a lock by disabling
// updates with the first and enabling them with the second.
func TestLeftAlone(t *testing.T) {
	config := func(mark, value string) string {
		return plain("v1", "ConfigMap", "annotations: {"+mark+"}", "immutable: true, data: {a: "+value+"}")
	}
	const flux, none = "kustomize.toolkit.fluxcd.io/reconcile: disabled", ""
	const present, skip = "kustomize.toolkit.fluxcd.io/ssa: IfNotPresent", "argocd.argoproj.io/hook: Skip"
	for _, row := range []struct {
		name             string
		by               tool.Applier
		oldMark, newMark string
		changed          bool
		want             []string
	}{
		{"refused without marks", tool.Applier{}, none, none, true, []string{"x data rule [immutable]"}},
		{"both have it", tool.Applier{}, flux, flux, true, []string{"note x"}},
		{"both have it and nothing changes", tool.Applier{}, flux, flux, false, nil},
		{"the change adds it", tool.Applier{Tool: tool.Flux}, none, flux, true, []string{"unknown x metadata"}},
		{"the change adds it to nothing that is refused", tool.Applier{Tool: tool.Flux}, none, flux, false, []string{"note x"}},
		{"the change removes it", tool.Applier{Tool: tool.Flux}, flux, none, false, []string{"unknown x metadata"}},
		{"the change removes it, with another value", tool.Applier{Tool: tool.Flux}, flux, none, true, []string{"unknown x metadata"}},
		{"only created", tool.Applier{Tool: tool.Flux}, present, present, true, []string{"note x"}},
		{"no longer only created", tool.Applier{Tool: tool.Flux}, present, none, true, []string{"unknown x metadata"}},
		{"another tool's mark", tool.Applier{Tool: tool.ArgoCD}, flux, flux, true, []string{"x data rule [immutable]"}},
		{"a skipped hook", tool.Applier{Tool: tool.ArgoCD}, skip, skip, true, []string{"note x"}},
	} {
		value := "one"
		if row.changed {
			value = "two"
		}
		r := checkBy(t, row.by, config(row.newMark, value), config(row.oldMark, "one"), Options{})
		got := found(r)
		if len(row.want) > 0 && row.want[0] == "x data rule [immutable]" {
			if r.Allowed || r.Violations[0].Path != "data" {
				t.Errorf("%s: got %q", row.name, got)
			}
			continue
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

// TestBecomesAHelmHook: Helm 3 fails to create a hook that is there, Helm 4 may update it. What is refused then is
// refused.
func TestBecomesAHelmHook(t *testing.T) {
	const hook = `annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-delete-policy: hook-succeeded}`
	for value, want := range map[string]string{"one": "unknown x metadata.annotations", "two": "x data immutable"} {
		news, olds := plain("v1", "ConfigMap", hook, "immutable: true, data: {a: "+value+"}"), plain("v1", "ConfigMap", "", "immutable: true, data: {a: one}")
		got := found(checkBy(t, tool.Applier{Tool: tool.Helm}, news, olds, Options{}))
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("one becomes %s: %q, want %s", value, got, want)
		}
	}
}

// TestExpiringJob: a Job that the cluster deletes when it is done may be gone before the next one comes.
func TestExpiringJob(t *testing.T) {
	job := func(ttl, image string) string {
		return plain("batch/v1", "Job", "", "spec: {"+ttl+"template: {spec: {restartPolicy: Never, containers: [{name: a, image: "+image+"}]}}}")
	}
	for _, row := range []struct {
		name, oldTTL, newTTL string
		refused              bool
	}{
		{"it stays", "", "", true},
		{"it goes", "ttlSecondsAfterFinished: 60, ", "ttlSecondsAfterFinished: 60, ", false},
		{"the change makes it go", "", "ttlSecondsAfterFinished: 60, ", true},
		{"the change makes it stay", "ttlSecondsAfterFinished: 0, ", "", false},
	} {
		r := checkBy(t, tool.Applier{}, job(row.newTTL, "a:2"), job(row.oldTTL, "a:1"), Options{})
		if r.Allowed == row.refused || row.refused != (len(r.Unknown) == 0) {
			t.Errorf("%s: got %q", row.name, found(r))
		}
	}
}

// TestExpiringJobReplaced: a Job that its tool replaces can be gone or not: both end with the new one.
func TestExpiringJobReplaced(t *testing.T) {
	job := func(options, image string) string {
		return plain("batch/v1", "Job", "annotations: {argocd.argoproj.io/sync-options: '"+options+"'}",
			"spec: {ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "+image+"}]}}}")
	}
	for options, unknown := range map[string]int{"Force=true,Replace=true": 0, "Replace=true": 1, "": 1} {
		r := checkBy(t, tool.Applier{Tool: tool.ArgoCD}, job(options, "a:2"), job(options, "a:1"), Options{})
		requested := len(r.Replacements) == 1 && r.Replacements[0].Requested
		if !r.Allowed || len(r.Unknown) != unknown || requested != (unknown == 0) {
			t.Errorf("%q: allowed is %v, requested %v, got %q", options, r.Allowed, requested, found(r))
		}
	}
}

// TestApplierOption: a flag beats the unit, and the unit the settings.
func TestApplierOption(t *testing.T) {
	deployment := func(strategy string) string {
		return plain("apps/v1", "Deployment", "", "spec: {"+strategy+"selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}")
	}
	const recreate = "strategy: {type: Recreate}, "
	for _, row := range []struct {
		name string
		by   tool.Applier
		o    Options
		want string
	}{
		{"nothing is known", tool.Applier{}, Options{}, "unknown"},
		{"Flux", tool.Applier{Tool: tool.Flux}, Options{}, "refused"},
		{"Argo CD", tool.Applier{Tool: tool.ArgoCD}, Options{}, "clean"},
		{"Helm, of any version", tool.Applier{Tool: tool.Helm}, Options{}, "unknown"},
		{"the settings say", tool.Applier{}, Options{DefaultApplier: tool.ClientSide}, "clean"},
		{"the unit knows better than the settings", tool.Applier{Tool: tool.Flux}, Options{DefaultApplier: tool.ClientSide}, "refused"},
		{"the flag says", tool.Applier{Tool: tool.Helm}, Options{Applier: tool.ThreeWay}, "clean"},
		{"the flag knows better than the unit", tool.Applier{Tool: tool.ArgoCD}, Options{Applier: tool.ServerSide, DefaultApplier: tool.ClientSide}, "refused"},
		{"a PUT", tool.Applier{}, Options{Applier: tool.Replace}, "clean"},
	} {
		r := checkBy(t, row.by, deployment(recreate), deployment(""), row.o)
		got := "clean"
		switch {
		case !r.Allowed:
			got = "refused"
		case len(r.Unknown) > 0:
			got = "unknown"
		}
		if got != row.want {
			t.Errorf("%s: got %s %q, want %s", row.name, got, found(r), row.want)
		}
	}
}
