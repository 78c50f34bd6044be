package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// clusters returns a report in which n clusters have the same object, and are refused the same change.
func clusters(n int) *compare.Report {
	r := &compare.Report{Checked: n, Updated: n}
	for i := range n {
		s := result.Subject{Object: "shop/web", Kind: "Deployment", APIVersion: "apps/v1", File: fmt.Sprintf("clusters/c%d/web.yaml", i), Line: 7, ObjectLine: 1}
		r.Violations = append(r.Violations, result.Violation{Subject: s, Path: "spec.selector", Lock: "immutable", Old: raw(`"a"`), New: raw(`"b"`), Message: "field is immutable"})
		r.Replacements = append(r.Replacements, result.Replacement{Subject: s, Cost: result.CostDowntime, Message: "pods stop", How: []string{"keep the selector"}})
		r.Unknown = append(r.Unknown, result.Remark{Subject: s, Path: "spec.replicas", Message: "it depends"})
	}
	return r
}

// TestNotCovered: what is not covered for the same reason is one line, so that the largest repositories fit a screen.
func TestNotCovered(t *testing.T) {
	var list []result.NotCovered
	add := func(n int, kind, reason string) {
		for i := range n {
			list = append(list, result.NotCovered{Unit: fmt.Sprint("u", i), Kind: kind, File: "x.yaml", Line: 1, Reason: strings.ReplaceAll(reason, "%", fmt.Sprint(i))})
		}
	}
	add(1, "file", "it is a template, not YAML")
	add(200, "HelmRelease", "its chart is in the OCIRepository c%")
	add(2, "HelmRelease", "its chart is in the HelmRepository d%")
	add(3, "chart", "the dependency d% is not in charts, but in https://example.com/%")
	add(2, "chart", "the dependency e% is not in charts")
	add(1, "Application", "the tree has no directory a/b")
	want := []string{
		"not covered: 202 HelmReleases, such as u0 (x.yaml:1): its chart is in the OCIRepository c0",
		"not covered: 3 charts, such as u0 (x.yaml:1): the dependency d0 is not in charts, but in https://example.com/0",
		"not covered: 2 charts, such as u0 (x.yaml:1): the dependency e0 is not in charts",
		"not covered: file u0 (x.yaml:1): it is a template, not YAML",
		"not covered: Application u0 (x.yaml:1): the tree has no directory a/b",
	}
	if got := NotCovered(list); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	list = nil
	for i := range 50 {
		add(1, fmt.Sprintf("kind%d", i), "a reason")
	}
	if got := NotCovered(list); len(got) != 21 || got[20] != "not covered for 30 more reasons: -o json lists all" {
		t.Errorf("got %d lines: %s", len(got), got[len(got)-1])
	}
}

// TestRepeatedNotes: what is said of many objects of a kind is printed once.
func TestRepeatedNotes(t *testing.T) {
	r := &compare.Report{Checked: 9, Updated: 9}
	for i := range 9 {
		s := result.Subject{Object: fmt.Sprintf("o%d", i), Kind: "Widget", APIVersion: "example.com/v1", File: fmt.Sprintf("f%d.yaml", i), Line: 1}
		r.Notes = append(r.Notes, result.Remark{Subject: s, Message: "not compared"}, result.Remark{Subject: s, Message: fmt.Sprint("says ", i/3)})
	}
	var b strings.Builder
	if err := textFormat.Check(&b, r); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "not compared") != 1 || strings.Count(text, "says 1") != 1 || !strings.Contains(text, "i 9 Widgets (f0.yaml:1, f1.yaml:1, f2.yaml:1 and 6 more places)\n    o0, o1, o2, o3, o4 and 4 more\n    not compared\n") {
		t.Errorf("%s", text)
	}
}

// TestRepeated: what nine clusters are refused is printed once, with the nine places; another change of one of them is
// not part of that. The counts, and the formats for code review tools, have all of them.
func TestRepeated(t *testing.T) {
	print := func(f Format, r *compare.Report) string {
		var b strings.Builder
		if err := f.Check(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, f := range []Format{textFormat, markdownFormat} {
		text := print(f, clusters(9))
		for part, want := range map[string]int{`"a" → "b"`: 1, "keep the selector": 1, "it depends": 1, "9 objects": 1} {
			if got := strings.Count(text, part); got < 1 || got > want && part != "9 objects" {
				t.Errorf("%s: %q is there %d times, want %d:\n%s", f.Name, part, got, want, text)
			}
		}
		units := clusters(9) // one base, which every overlay includes
		for i := range 9 {
			for _, s := range []*result.Subject{&units.Violations[i].Subject, &units.Replacements[i].Subject, &units.Unknown[i].Subject} {
				s.File, s.ObjectLine, s.Unit = "base/web.yaml", i, fmt.Sprintf("overlays/o%d", i)
			}
		}
		text = strings.ReplaceAll(print(f, units), "overlays/", "")
		if strings.Count(text, `"a" → "b"`) != 1 {
			t.Errorf("%s: the change is printed again:\n%s", f.Name, text)
		}
		for i := range 9 {
			if !strings.Contains(text, fmt.Sprintf("o%d", i)) {
				t.Errorf("%s: unit %d is missing:\n%s", f.Name, i, text)
			}
		}
		text = print(f, clusters(9))
		for i := range 9 {
			if !strings.Contains(text, fmt.Sprintf("clusters/c%d/web.yaml", i)) {
				t.Errorf("%s: cluster %d is missing:\n%s", f.Name, i, text)
			}
		}
	}
	for _, f := range []Format{githubFormat, sarifFormat, gitlabFormat, junitFormat} {
		if text := print(f, clusters(9)); strings.Count(text, "keep the selector") < 9 {
			t.Errorf("%s: some cluster is missing:\n%s", f.Name, text)
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *compare.Report)
	}{
		{"another value", func(r *compare.Report) { r.Violations[4].New = raw(`"c"`) }},
		{"a value that differs behind what is shown", func(r *compare.Report) { r.Violations[4].Change = "0123" }},
		{"another field", func(r *compare.Report) { r.Violations[4].Path = "spec.other" }},
		{"another lock", func(r *compare.Report) { r.Violations[4].Lock = "NoModify" }},
		{"another object", func(r *compare.Report) { r.Violations[4].Object = "shop/api" }},
		{"another namespace", func(r *compare.Report) { r.Violations[4].Object = "test/web" }},
		{"another kind", func(r *compare.Report) { r.Violations[4].Kind = "DaemonSet" }},
		{"another group", func(r *compare.Report) { r.Violations[4].APIVersion = "example.com/v1" }},
		{"it is accepted", func(r *compare.Report) { r.Violations[4].Accepted = true }},
		{"it is requested", func(r *compare.Report) { r.Violations[4].Replaced = true }},
		{"another cost", func(r *compare.Report) { r.Replacements[4].Cost = result.CostData }},
		{"only OLD has the lock", func(r *compare.Report) { r.Violations[4].OnlyOld = true }},
	} {
		r := clusters(9)
		c.change(r)
		if objects := refusedObjects(r); len(objects) != 2 || len(objects[0].also) != 7 {
			t.Errorf("%s is printed with the others", c.name)
		}
	}
}

// TestMarkdownLimit: a report of any size fits into a comment, with its headline, its first rows and its summary; what
// is left out is counted, and what is folded is closed.
func TestMarkdownLimit(t *testing.T) {
	long := strings.Repeat("a<b>|", 400)
	for _, c := range []struct {
		name    string
		n       int
		text    string
		want    []string
		details int
	}{
		{"few", 2, "x", []string{"Ways out for Widget o1"}, 0},
		{"many", 30, "x", []string{"15 more refusals", "27 more replacements", "20 more unknown verdicts", "25 more warnings"}, 6},
		{"too many", 3000, "x", []string{"more refusals", "Too long for this page: "}, 6},
		{"long texts", 700, long, []string{"Too long for this page: ", "refusals. `-o text` prints everything"}, 6},
	} {
		r := &compare.Report{Checked: c.n, Updated: c.n}
		for i := range c.n {
			s := result.Subject{Object: fmt.Sprintf("o%d", i), Kind: "Widget", File: "x.yaml", Line: i, ObjectLine: i}
			r.Violations = append(r.Violations, result.Violation{Subject: s, Path: "spec.a", Lock: "rule", Message: c.text})
			r.Replacements = append(r.Replacements, result.Replacement{Subject: s, Cost: result.CostData, Message: c.text, How: []string{c.text}})
			r.Unknown = append(r.Unknown, result.Remark{Subject: s, Message: fmt.Sprint(c.text, i)})
			r.Notes = append(r.Notes, result.Remark{Subject: s, Message: fmt.Sprint(c.text, i)})
			r.Warnings = append(r.Warnings, c.text)
			r.Errors = append(r.Errors, compare.Error{Text: c.text})
		}
		var b strings.Builder
		if err := checkMarkdown(&b, r); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > maxMarkdown || !strings.HasPrefix(text, "### fieldlock: a cluster will refuse") || !strings.Contains(text, fmt.Sprintf("\n✗ %d objects refused", c.n)) || strings.Contains(text, "\n\n\n") {
			t.Errorf("%s: %d bytes, which begin and end with\n%.300s\n…\n%s", c.name, len(text), text, text[max(0, len(text)-300):])
		}
		if opened, closed := strings.Count(text, "<details>"), strings.Count(text, "</details>"); opened != c.details || opened != closed {
			t.Errorf("%s: %d parts are folded, and %d closed", c.name, opened, closed)
		}
		for _, part := range c.want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %q in\n%.2000s", c.name, part, text)
			}
		}
		if first := strings.Index(text, "Widget o0<br>"); c.text == "x" && (first < 0 || slices.Contains([]string{"few"}, c.name) && strings.Contains(text, "Too long")) {
			t.Errorf("%s: the first refusal is missing, or something was left out", c.name)
		}
	}
}

// TestRepeatedDeletions: what goes away in several units is printed once, with the units; what is kept only where its
// loss would be the worst.
func TestRepeatedDeletions(t *testing.T) {
	r := &compare.Report{Allowed: true}
	add := func(unit, object string, cost result.Cost, kept bool) {
		s := result.Subject{Object: object, Kind: "Claim", APIVersion: "v1", File: "x.yaml", Line: 3, Unit: unit}
		r.Deletions = append(r.Deletions, result.Deletion{Subject: s, Cost: cost, Kept: kept, Message: "it goes"})
	}
	for _, unit := range []string{"kustomization a", "kustomization b", "kustomization b"} { // two clusters can have units of one name
		add(unit, "ns/same", result.CostData, false)
		add(unit, "ns/kept", result.CostData, true)
		add(unit, "ns/harmless", result.CostDowntime, true)
	}
	add("kustomization c", "ns/same", result.CostData, true)
	print := func(f Format) string { return printed(t, f, r) }
	for _, f := range []Format{textFormat, markdownFormat} {
		format, out := f.Name, print(f)
		if n := strings.Count(out, "ns/same"); n != 2 {
			t.Errorf("%s: ns/same is printed %d times:\n%s", format, n, out)
		}
		if n := strings.Count(out, "ns/kept"); n != 1 || strings.Contains(out, "harmless") {
			t.Errorf("%s: ns/kept is printed %d times:\n%s", format, n, out)
		}
	}
	if out := print(textFormat); !strings.Contains(out, "! Claim ns/same (x.yaml:3)\n    in a, b\n    deleted (cost: data)") {
		t.Errorf("the units are missing:\n%s", out)
	}
}

// TestOneLine: what one line refuses is one block, and one alert, with the first objects and a count; text lists all of
// them if it is asked to, and another line has a block of its own.
func TestOneLine(t *testing.T) {
	r := &compare.Report{Checked: 50, Updated: 50}
	for i := range 50 {
		s := result.Subject{Object: fmt.Sprintf("media/app%02d", i), Kind: "PersistentVolumeClaim", APIVersion: "v1", File: "components/pvc.yaml", Line: 9, Unit: "Flux Kustomization x"}
		if i == 49 {
			s.Line = 10
		}
		r.Violations = append(r.Violations, result.Violation{Subject: s, Path: "spec.storageClassName", Lock: "immutable", Old: raw(`"a"`), New: raw(`"b"`), Message: "it is immutable"})
		r.Replacements = append(r.Replacements, result.Replacement{Subject: s, Cost: "data", Message: "data goes", How: []string{"keep it", "kubectl delete " + s.Object}})
	}
	r.Violations[3].New = raw(`"c"`)
	print := func(f Format) string { return printed(t, f, r) }
	text := print(textFormat)
	for _, want := range []string{
		"✗ 50 objects refused, 50 violations: ", "✗ 49 PersistentVolumeClaims (components/pvc.yaml:9)\n  media/app00, media/app01, media/app02, media/app03, media/app04 and 44 more\n",
		"the values of media/app00; the others differ", "these ways name media/app00", "✗ PersistentVolumeClaim media/app49",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n"); n > 25 {
		t.Errorf("the text has %d lines:\n%s", n, text)
	}
	if text := print(markdownFormat); strings.Count(text, "44 more") != 1 || strings.Count(text, "Ways out for") != 2 {
		t.Errorf("markdown:\n%s", text)
	}
	if text := print(githubFormat); strings.Count(text, "components/pvc.yaml,line=9,") != 1 || !strings.Contains(text, "refuses 48 more objects: media/app01, media/app02") {
		t.Errorf("github:\n%s", text)
	}
	r.ListAll = true
	if text := print(textFormat); !strings.Contains(text, "media/app48\n") {
		t.Errorf("some object is not named:\n%s", text)
	}
}

// TestEdits: one line that refuses objects of several kinds is one block, with the ways of each kind, and one alert; a
// line that one of the objects has besides makes it another block.
func TestEdits(t *testing.T) {
	r := &compare.Report{Checked: 4, Updated: 4}
	add := func(kind, object string, lines ...int) {
		s := result.Subject{Object: object, Kind: kind, APIVersion: "apps/v1", File: "base/kustomization.yaml", Unit: "kustomization base", ObjectLine: len(r.Violations) + 1}
		for _, line := range lines {
			s.Line = line
			r.Violations = append(r.Violations, result.Violation{Subject: s, Path: "spec.selector", Lock: "immutable", Old: raw(`"a"`), New: raw(`"b"`), Message: "it is immutable"})
		}
		r.Replacements = append(r.Replacements, result.Replacement{Subject: s, Cost: "downtime", Message: "pods stop", How: []string{"keep it as a " + kind, "kubectl delete " + object}})
	}
	add("Deployment", "shop/web", 5)
	add("StatefulSet", "shop/db", 5)
	add("Deployment", "shop/api", 5)
	add("Job", "shop/load", 5, 6)
	print := func(f Format) string { return printed(t, f, r) }
	text := print(textFormat)
	for _, want := range []string{
		"\n✗ 2 Deployments, 1 StatefulSet (base/kustomization.yaml:5)\n  Deployment shop/web, StatefulSet shop/db, Deployment shop/api\n  spec.selector  line 5: it is immutable\n",
		"\n  • keep it as a Deployment\n  • delete it:\n    kubectl delete shop/web\n    kubectl delete shop/api\n", "\n  • keep it as a StatefulSet\n",
		"\n\n✗ Job shop/load (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	github := print(githubFormat)
	if strings.Count(github, "line=5,") != 1 || strings.Count(github, "line=6,") != 1 {
		t.Errorf("a line has several annotations:\n%s", github)
	}
	for _, want := range []string{"refuses 1 more object: shop/api", "%0A• keep it as a Deployment%0A• delete it:%0A  kubectl delete shop/web%0A  kubectl delete shop/api%0AStatefulSet shop/db: ", "• keep it as a StatefulSet%0A"} {
		if !strings.Contains(github, want) {
			t.Errorf("github lacks %q:\n%s", want, github)
		}
	}
}

// TestWaysOfOverlays: an object of four overlays has the commands of all four, in their steps; where there are too
// many, or the ways have other steps, those of the first object are printed, and a note says so.
func TestWaysOfOverlays(t *testing.T) {
	overlays := func(n int, how func(overlay string) []string) *compare.Report {
		r := clusters(n)
		for i := range n {
			for _, s := range []*result.Subject{&r.Violations[i].Subject, &r.Replacements[i].Subject} {
				s.File, s.ObjectLine, s.Unit = "base/web.yaml", i+1, fmt.Sprintf("kustomization overlays/o%d", i)
			}
			r.Replacements[i].How = how(fmt.Sprintf("overlays/o%d", i))
		}
		r.Unknown = nil
		return r
	}
	replace := func(overlay string) []string {
		return []string{"keep the selector", "replace it:\nscale down\nkubectl delete deployment/web && kubectl apply -k " + overlay + "   # all pods stop"}
	}
	uneven := func(overlay string) []string {
		if overlay == "overlays/o1" {
			return []string{"keep the selector", "kubectl delete deployment/web"}
		}
		return replace(overlay)
	}
	claim := func(overlay string) []string {
		return []string{"keep the volume:\nvolume=$(kubectl get pvc/a -n " + overlay + ")\nkubectl delete pvc/a -n " + overlay + "\nkubectl patch pv \"$volume\""}
	}
	for _, row := range []struct {
		name      string
		r         *compare.Report
		text, not string
	}{
		{"four", overlays(4, replace), "  • replace it:\n    1. scale down\n    2. replace it (all pods stop); run each command in the cluster that it is for:\n       kubectl delete deployment/web && kubectl apply -k overlays/o0\n       " +
			"kubectl delete deployment/web && kubectl apply -k overlays/o1\n", "alike"},
		{"overlays with charts", overlays(2, func(overlay string) []string {
			return []string{"kubectl delete deployment/web && kustomize build --enable-helm " + overlay + " | kubectl apply -f -"}
		}), "replace it; run each command in the cluster that it is for:\n    kubectl delete deployment/web && kustomize build --enable-helm overlays/o0 | kubectl apply -f -\n", "alike"},
		{"one command for all", overlays(4, func(string) []string { return replace("overlays/o0") }), "apply -k overlays/o0\n\n", "alike"},
		{"too many", overlays(6, replace), "apply -k overlays/o0\n  these ways name shop/web; those of the others are alike\n", "overlays/o1"},
		{"a volume of each that the next step needs", overlays(2, claim), "\"$volume\"\n  these ways name shop/web; those of the others are alike: do their steps, too, before you apply, or the apply is refused for them\n", "overlays/o1)"},
		{"other steps", overlays(2, uneven), "  in kustomization overlays/o0:\n  • keep the selector\n  • replace it:\n    1. scale down\n    2. replace it (all pods stop):\n       kubectl delete deployment/web && kubectl apply -k overlays/o0\n" +
			"  in kustomization overlays/o1:\n  • keep the selector\n  • delete it:\n    kubectl delete deployment/web\n", "alike"},
	} {
		for _, f := range []Format{textFormat, markdownFormat, githubFormat} {
			var b strings.Builder
			if err := f.Check(&b, row.r); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if f.Name == "text" && (!strings.Contains(text, row.text) || strings.Contains(text, row.not)) {
				t.Errorf("%s:\n%s", row.name, text)
			}
			for i := range 4 {
				if row.name == "four" && strings.Count(text, fmt.Sprintf("apply -k overlays/o%d", i)) != 1 {
					t.Errorf("%s: the command of overlay %d is not there once:\n%s", f.Name, i, text)
				}
			}
		}
	}
	all := overlays(6, replace)
	all.ListAll = true
	var b strings.Builder
	if err := textFormat.Check(&b, all); err != nil || !strings.Contains(b.String(), "apply -k overlays/o5\n") {
		t.Errorf("not all commands are printed: %v\n%s", err, b.String())
	}
}

// TestScreen: 100 refusals of three edits fit one screen: equal ways out and long reasons are printed once. A short
// report repeats them, and so does one that lists all objects.
func TestScreen(t *testing.T) {
	how := func(namespace, name string) []string {
		return []string{
			"keep the volume:\nflux suspend kustomization " + name + " -n flux-system   # pause Flux\nmerge the change\n" +
				"volume=$(kubectl get persistentvolumeclaim/" + name + " -n " + namespace + ")   # keep the volume\n" +
				"kubectl delete persistentvolumeclaim/" + name + " -n " + namespace + "\nflux resume kustomization " + name + " -n flux-system   # it binds",
			"copy the data to a new claim", strings.Repeat("long ", 60), "a", "b", "c", "d", "e", "f", "g", "h",
		}
	}
	edits := func(n int) *compare.Report {
		r := &compare.Report{Checked: n, Updated: n}
		for i := range n {
			name, namespace := fmt.Sprintf("app%02d", i), fmt.Sprintf("ns%d", i%4)
			s := result.Subject{Object: namespace + "/" + name, Kind: "PersistentVolumeClaim", APIVersion: "v1", File: fmt.Sprintf("components/c%d.yaml", i%3), Line: 9, Unit: "Flux Kustomization flux-system/" + name}
			r.Violations = append(r.Violations, result.Violation{Subject: s, Path: "spec.accessModes", Lock: "immutable", Old: raw(`"a"`), New: raw(`"b"`), Message: strings.Repeat("it is immutable, ", 9)})
			r.Replacements = append(r.Replacements, result.Replacement{Subject: s, Cost: result.CostData, Message: "data goes", Must: true, How: how(namespace, name)})
		}
		return r
	}
	text := printed(t, textFormat, edits(100))
	if n := screenHeight(text); n > 50 {
		t.Errorf("%d lines:\n%s", n, text)
	}
	for part, want := range map[string]int{
		"\n✗ 3": 3, "components/c2.yaml:9": 1, "flux suspend": 1, "it is immutable": 9, "refused as above": 2,
		"\n  ways out: as for PersistentVolumeClaim ns0/app00 above (--all": 2,
	} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", part, got, want, text)
		}
	}
	for name, change := range map[string]func(r *compare.Report){
		"all":      func(r *compare.Report) { r.ListAll = true },
		"one edit": func(r *compare.Report) { *r = *edits(1) },
	} {
		r := edits(100)
		if change(r); strings.Contains(printed(t, textFormat, r), "above") {
			t.Errorf("%s: something is left out", name)
		}
	}
	other := edits(100)
	for i := 1; i < 100; i += 3 {
		other.Replacements[i].How[10] = "i"
	}
	if text := printed(t, textFormat, other); strings.Count(text, "flux suspend") != 2 || strings.Count(text, "as for") != 1 {
		t.Errorf("other ways are not printed:\n%s", text)
	}
}

// TestToolsOfAnEdit: an object that several tools apply is one block for one edit, with the ways of each tool.
func TestToolsOfAnEdit(t *testing.T) {
	r := clusters(3)
	for i, unit := range []string{"kustomization overlays/dev", "kustomization overlays/prod", "Flux Kustomization flux-system/shop"} {
		r.Violations[i].Unit, r.Replacements[i].Unit, r.Unknown = unit, unit, nil
		r.Violations[i].File, r.Replacements[i].File = "base/web.yaml", "base/web.yaml"
		r.Violations[i].ObjectLine, r.Replacements[i].ObjectLine = i, i
		r.Replacements[i].How = []string{"keep it", "kubectl delete deployment/web && kubectl apply -k " + strings.TrimPrefix(unit, "kustomization ")}
	}
	r.Replacements[2].How = []string{"keep it", "kubectl delete deployment/web && flux reconcile kustomization shop", "set spec.force"}
	for f, want := range map[string]string{
		"text": "✗ Deployment shop/web (base/web.yaml:7 in kustomization overlays/dev)\n  the same in prod, shop\n  spec.selector  line 7: field is immutable\n      \"a\" → \"b\"\n\n" +
			"  pods stop (cost of a replacement: downtime)\n" +
			"  in Flux Kustomization flux-system/shop:\n  • keep it\n  • replace it:\n    kubectl delete deployment/web && flux reconcile kustomization shop\n  • set spec.force\n" +
			"  in 2 kustomizations: dev, prod:\n  • keep it\n  • replace it; run each command in the cluster that it is for:\n" +
			"    kubectl delete deployment/web && kubectl apply -k overlays/dev\n    kubectl delete deployment/web && kubectl apply -k overlays/prod\n",
		"markdown": "in Flux Kustomization flux-system/shop:\n\n- keep it\n",
		"github":   "%0Ain Flux Kustomization flux-system/shop:%0A• keep it%0A",
	} {
		i := slices.IndexFunc(Formats(), func(format Format) bool { return format.Name == f })
		if text := printed(t, Formats()[i], r); strings.Count(text, want) != 1 {
			t.Errorf("%s lacks\n%s\nin\n%s", f, want, text)
		}
	}
}

// TestNoTickOverAGap: whatever text marks with "?" is in the headline, so that "nothing changed" is never below it.
func TestNoTickOverAGap(t *testing.T) {
	parts := []func(*compare.Report){
		func(r *compare.Report) { r.Unchanged = 2 },
		func(r *compare.Report) { r.Excluded = []string{"a.yaml"} },
		func(r *compare.Report) { r.Checked, r.Updated = 1, 1 },
		func(r *compare.Report) {
			r.NotCovered = append(r.NotCovered, result.NotCovered{Kind: "file", Unit: "a"})
		},
		func(r *compare.Report) {
			r.NotCovered = append(r.NotCovered, result.NotCovered{Kind: "file", Unit: "b", Changed: true})
		},
		func(r *compare.Report) {
			r.NotCovered = append(r.NotCovered, result.NotCovered{Kind: "file", Unit: "c", Changed: true, Accepted: true})
		},
		func(r *compare.Report) { r.Unknown = []result.Remark{{Message: "it depends"}} },
		func(r *compare.Report) { r.SkippedKinds = []result.KindCount{{Kind: "Foo", Objects: 1, Changed: 1}} },
		func(r *compare.Report) { r.UncheckedKinds = []result.KindCount{{Kind: "Foo", Objects: 1, Changed: 1}} },
	}
	marked := 0
	for set := range 1 << len(parts) {
		r := &compare.Report{}
		for i, add := range parts {
			if set>>i&1 == 1 {
				add(r)
			}
		}
		var b strings.Builder
		if err := textFormat.Check(&b, r); err != nil {
			t.Fatal(err)
		}
		text := "\n" + b.String()
		if !strings.Contains(text, "\n? ") {
			continue
		}
		marked++
		if strings.Contains(text, "✓") || strings.Contains(text, "nothing changed") {
			t.Errorf("a tick stands over a gap:\n%s", text)
		}
	}
	if marked < 100 {
		t.Errorf("only %d reports have a gap", marked)
	}
}

// TestShortest: units have the shortest names that tell them apart.
func TestShortest(t *testing.T) {
	for _, row := range []struct{ units, want []string }{
		{[]string{"kustomization overlays/prod", "kustomization overlays/dev"}, []string{"prod", "dev"}},
		{[]string{"kustomization prod/app", "kustomization dev/app", "HelmRelease media/films"}, []string{"prod/app", "dev/app", "films"}},
		{[]string{"Flux Kustomization app", "Application other/app"}, []string{"app", "other/app"}},
		{[]string{"chart charts/shop with values-prod.yaml"}, []string{"shop with values-prod.yaml"}},
	} {
		if got := shortest(row.units); !slices.Equal(got, row.want) {
			t.Errorf("%v: got %v, want %v", row.units, got, row.want)
		}
	}
}

// printed returns a report in a format.
func printed(t *testing.T, f Format, r *compare.Report) string {
	t.Helper()
	var b strings.Builder
	if err := f.Check(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
