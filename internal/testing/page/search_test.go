package page

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSearches: whoever searches for the words of an error message or of a task finds the page that answers: its title and its
// first screen have more of the words than those of any other page, and the answer is on the first screen.
func TestSearches(t *testing.T) {
	pages := readScreens(t)
	for _, search := range []struct{ words, page, answer string }{
		{"statefulset field is immutable", "fields/statefulset.md", "`spec.serviceName` | cannot be set, changed or removed"},
		{"helm upgrade cannot patch field is immutable", "helm.md", "kubectl delete statefulset orders --cascade=orphan"},
		{"argocd immutable field", "argo-cd.md", "Force=true,Replace=true"},
		{"kustomize commonLabels selector immutable", "kustomize.md", "includeTemplates: true"},
		{"CRD immutable field CEL", "crds.md", "- rule: self == oldSelf"},
		{"deployment selector immutable", "fields/deployment.md", "replace it (all pods stop"},
		{"job template immutable", "fields/job.md", "`spec.template`"},
		{"pvc storageClassName immutable", "fields/persistentvolumeclaim.md", "`spec.storageClassName` | can be set once"},
		{"spec.clusterIP: Invalid value", "fields/service.md", "spec.clusterIP"},
		{"cannot change roleRef", "fields/rolebinding.md fields/clusterrolebinding.md", "kubectl delete"},
		{"flux dry-run failed immutable", "flux.md", "kustomize.toolkit.fluxcd.io/force: enabled"},
		{"x-kubernetes-validations oldSelf optional field", "cel.md", "has(self.f) == has(oldSelf.f)"},
		{"controller-runtime webhook immutable field", "servers.md", "controllerruntime.NewValidator(locks"},
		{"kubebuilder immutable marker", "crds.md", "// +immutable"},
		{"updates to statefulset spec for fields other than", "fields/statefulset.md", "(../recipes.md#larger-volumes-of-a-statefulset)"},
		{"check pull request immutable fields gitlab jenkins", "ci.md", "uses: fieldlock/fieldlock"},
	} {
		best := 0
		for _, p := range pages {
			best = max(best, p.score(search.words))
		}
		for _, p := range pages {
			if wanted := strings.Contains(search.page, p.file); wanted != (p.score(search.words) == best) {
				t.Errorf("%q: %s has %d points of %d; %s answers", search.words, p.file, p.score(search.words), best, search.page)
			} else if wanted && !strings.Contains(p.text, search.answer) {
				t.Errorf("%q: the first screen of %s does not have %s", search.words, p.file, search.answer)
			}
		}
	}
}

// screen is what is seen first of a page.
type screen struct{ file, title, text string }

var (
	folded = regexp.MustCompile(`(?s)<details>.*?</details>`)
	word   = regexp.MustCompile(`[a-z0-9.-]+`)
	small  = regexp.MustCompile(`^(a|an|for|invalid|is|of|on|than|the|to|value)$`)
)

func readScreens(t *testing.T) (pages []screen) {
	t.Helper()
	for _, pattern := range []string{"*.md", "fields/*.md"} {
		files, err := filepath.Glob(filepath.Join("../../../docs", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d pages, %v", len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitN(folded.ReplaceAllString(string(data), ""), "\n", 41)
			name := strings.TrimPrefix(filepath.ToSlash(file), "../../../docs/")
			pages = append(pages, screen{name, lines[0], strings.Join(lines[:min(len(lines), 40)], "\n")})
		}
	}
	return pages
}

// score counts the words of a search: three for one in the title, one for one on the screen, one for two that stand together
// there, four for all of them as they are. Words that each error message has do not count.
func (s screen) score(words string) (points int) {
	words = strings.ToLower(words)
	title, text := strings.ToLower(s.title), strings.ToLower(s.text)
	all := word.FindAllString(words, -1)
	for i, w := range all {
		if i > 0 && strings.Contains(text, all[i-1]+" "+w) {
			points++
		}
		if small.MatchString(w) {
			continue
		}
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(w) + `s?\b`).MatchString(title) {
			points += 3
		}
		if strings.Contains(text, w) {
			points++
		}
	}
	if strings.Contains(text, words) {
		points += 4
	}
	return points
}
