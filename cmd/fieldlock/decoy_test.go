package main

import (
	"maps"
	"strings"
	"testing"
)

// replacing is a kustomization's patch of one field of a kind.
func replacing(kind, path, value string) string {
	return "patches:\n- target: {kind: " + kind + "}\n  patch: |-\n    - {op: replace, path: " + path + ", value: " + value + "}\n"
}

// secondChange is a row of a test: a change, after another one that was merged.
type secondChange struct {
	name, reason          string
	files, before, change map[string]string
	status                int
	want                  string // part of what is printed
}

func (c *secondChange) run(t *testing.T) {
	maps.DeleteFunc(c.files, func(_, text string) bool { return text == "" })
	repositoryOf(t, c.files, nil)
	before := with(c.files)
	maps.Copy(before, c.before)
	change(t, c.files, before)
	runGit(t, "add", "-A")
	runGit(t, "commit", "-q", "--allow-empty", "-m", "merged")
	after := with(before)
	maps.Copy(after, c.change)
	change(t, before, after)
	got := runCommand("", "check", "--git", "HEAD")
	if text := got.out + got.err; got.status != c.status || !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "it is written") {
		t.Errorf("%s: status %d, want %d with %q\n%s", c.reason, got.status, c.status, c.want, text)
	}
}

// TestOverridden: a unit that an earlier change put around a file sets a locked field to the value that it had then. What it prints stays, so
// nothing is refused; but whoever applies the file as it is written is told. Ordinary overlays are quiet.
func TestOverridden(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes repositories")
	}
	const refused, unread = "applied as it is written, it is refused: spec.", "no unit that reads the file can be rendered"
	fast := replacing("PersistentVolumeClaim", "/spec/storageClassName", "fast")
	job := func(image string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: " + image + "}]}}}\n"
	}
	plain, slow := map[string]string{"claim.yaml": claim("data", "fast")}, map[string]string{"claim.yaml": claim("data", "slow")}
	flux := fluxFiles()
	for _, c := range []secondChange{
		{"a patch", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast}, slow, exitClean, refused},
		{"a patch and a prefix", "", plain, map[string]string{"kustomization.yaml": "namePrefix: x-\nresources: [claim.yaml]\n" + fast}, slow, exitClean, refused},
		{"a deletion", "the unit prints something else", with(plain, "map.yaml", immutableMap),
			map[string]string{"kustomization.yaml": "resources: [claim.yaml, map.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, $patch: delete}'\n"},
			slow, exitClean, refused},
		{"the selector of a Deployment", "", map[string]string{"web.yaml": deployment}, map[string]string{"kustomization.yaml": "resources: [web.yaml]\n" +
			replacing("Deployment", "/spec", "{selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}")},
			map[string]string{"web.yaml": strings.ReplaceAll(deployment, "app: web", "app: shop")}, exitClean, refused},
		{"a custom resource", "its CRD is in a file that does not change", map[string]string{"w.yaml": widget("v1", "", "x", "{class: a}"), "crd.yaml": classLocked},
			map[string]string{"kustomization.yaml": "resources: [w.yaml]\n" + replacing("Widget", "/spec/class", "a")}, map[string]string{"w.yaml": widget("v1", "", "x", "{class: b}")}, exitClean, refused},
		{"another change of what the unit prints", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast},
			map[string]string{"claim.yaml": claim("data", "slow"), "kustomization.yaml": "commonAnnotations: {a: b}\nresources: [claim.yaml]\n" + fast}, exitClean, refused},
		{"a remote base", "nobody knows what it prints", plain, map[string]string{"kustomization.yaml": "resources: ['https://example.com/base.yaml', claim.yaml]\n"}, slow, exitClean, unread},
		{"a unit that fails", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n", "kustomization.yml": "resources: [claim.yaml]\n"}, slow, exitClean, unread},

		{"no unit", "", plain, nil, slow, exitRefused, ""},
		{"a unit that changes nothing", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n"}, slow, exitRefused, ""},
		{"a Job that the unit renames", "each name is a new Job", map[string]string{"job.yaml": job("a"), "kustomization.yaml": "resources: [job.yaml]\nnameSuffix: '-1'\n"}, nil,
			map[string]string{"job.yaml": job("b"), "kustomization.yaml": "resources: [job.yaml]\nnameSuffix: '-2'\n"}, exitClean, ""},
		{"a variable of Flux", "as it is written, the file is for nobody else", flux, nil, map[string]string{"apps/claim.yaml": claim("data", "${OTHER:=fast}")}, exitClean, ""},
		{"a field that is not locked", "", plain, map[string]string{"kustomization.yaml": "resources: [claim.yaml]\n" + fast},
			map[string]string{"claim.yaml": strings.Replace(claim("data", "fast"), "1Gi", "2Gi", 1)}, exitClean, ""},
	} {
		t.Run(c.name, c.run)
	}
}
