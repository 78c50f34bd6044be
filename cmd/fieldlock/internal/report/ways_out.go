package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// The ways out of a block are those of its first object. Where the other objects have the same ways with other names,
// such as a Deployment in four overlays, each step has the commands of all of them, unless there are too many, or a
// step keeps what the next ones need:
//
//	• replace it (all pods stop until the new ones run); run each command in the cluster that it is for:
//	  kubectl delete deployment/web && kubectl apply -k overlays/dev
//	  kubectl delete deployment/web && kubectl apply -k overlays/prod
//
// Objects with other ways, as another tool has them, have a list of their own; those of Flux and Argo CD come first.

// remedy is the ways out of an object.
type remedy struct {
	of  *result.Subject
	how []string
}

// form returns the ways without the names of the object and its unit: it is equal for ways that differ in them only.
//
//	kubectl delete deployment/web -n shop && kubectl apply -k overlays/dev
//	kubectl delete deployment/… -n … && kubectl apply -k …
func (r *remedy) form() string {
	unit := unitKind.ReplaceAllString(r.of.Unit, "")
	if r.of.Unit == "" {
		unit = r.of.File
	}
	names := append(word.FindAllString(r.of.Object, -1), word.FindAllString(unit, -1)...)
	text := word.ReplaceAllStringFunc(strings.Join(r.how, "\n\n"), func(w string) string {
		if slices.Contains(names, w) {
			return "…"
		}
		return w
	})
	return severalNames.ReplaceAllString(text, "…")
}

var (
	word         = regexp.MustCompile(`[\w.-]+`)
	severalNames = regexp.MustCompile(`…(/…)+`)
)

// waysOut are the ways out of objects that have the same ones, apart from names.
type waysOut struct {
	of    []*result.Subject
	form  string              // of all of them
	first []string            // the ways of the first object
	steps map[string][]string // each of their steps, as the objects have it; nil if all have the same
	left  bool                // the ways of the other objects are left out
	label string              // whose ways these are, if other objects have other ways; "" otherwise
}

// waysOf merges the ways of objects that have any, of which at most limit may differ in their names.
func waysOf(list []remedy, limit int) []waysOut {
	var forms []string
	alike := map[string][]remedy{}
	for _, r := range list {
		if len(r.how) == 0 {
			continue
		}
		form := r.form()
		if alike[form] == nil {
			forms = append(forms, form)
		}
		alike[form] = append(alike[form], r)
	}
	slices.SortStableFunc(forms, func(a, b string) int { return byHand(alike[a][0].of) - byHand(alike[b][0].of) })
	all := make([]waysOut, len(forms))
	for i, form := range forms {
		all[i] = mergedWays(alike[form], limit)
		all[i].form = form
	}
	for i := range all {
		if len(all) > 1 {
			all[i].label = all[i].whose(all, limit)
		}
	}
	return all
}

// byHand sorts ways out: it returns 1 for an object of a kustomization or chart, which people apply with a command, and 0
// for others. An object that Flux or Argo CD applies too is most likely not applied by hand.
func byHand(s *result.Subject) int {
	if strings.HasPrefix(s.Unit, "kustomization ") || strings.HasPrefix(s.Unit, "chart ") {
		return 1
	}
	return 0
}

// mergedWays merges ways that differ in names only.
func mergedWays(list []remedy, limit int) waysOut {
	ways := waysOut{first: list[0].how}
	var distinct [][]string
	for _, r := range list {
		ways.of = append(ways.of, r.of)
		if !slices.ContainsFunc(distinct, func(d []string) bool { return slices.Equal(d, r.how) }) {
			distinct = append(distinct, r.how)
		}
	}
	if len(distinct) == 1 {
		return ways
	}
	steps := map[string][]string{}
	for i, way := range ways.first {
		heading, firstSteps := tool.Steps(way)
		for _, other := range distinct {
			otherHeading, otherSteps := tool.Steps(other[i])
			for j, step := range otherSteps {
				needed := strings.HasPrefix(step, keepsVolume) && step != firstSteps[j] // the steps that follow would read the last one's
				if needed || otherHeading != heading || len(distinct) > limit {
					ways.left = true
					return ways
				}
				if known := steps[firstSteps[j]]; !slices.Contains(known, step) {
					steps[firstSteps[j]] = append(known, step)
				}
			}
		}
	}
	ways.steps = steps
	return ways
}

// whose names the units that have the objects, if those of other ways are in other units; otherwise the objects.
func (w *waysOut) whose(all []waysOut, limit int) string {
	b := &block{subjects: w.of}
	units := b.units()
	for i := range all {
		other := &block{subjects: all[i].of}
		if &all[i] != w && slices.ContainsFunc(other.units(),
			func(unit string) bool { return slices.Contains(units, unit) }) {
			units = nil
		}
	}
	switch len(units) {
	case 0:
		return "for " + strings.TrimSuffix(b.title()+": "+b.names(limit), ": ")
	case 1:
		return "in " + Printable(units[0])
	}
	return "in " + Count(len(units), strings.TrimSpace(unitKind.FindString(units[0]))) + ": " +
		firstOf(shortest(units), limit)
}

// waysToKeep returns the ways to keep the objects of a group.
func waysToKeep(g group[result.Deletion], limit int) []waysOut {
	list := make([]remedy, len(g.items))
	for i, d := range g.items {
		list[i] = remedy{&d.Subject, d.How}
	}
	return waysOf(list, limit)
}

// note says whose ways are printed, if others are left out; "" if they are not.
func (w *waysOut) note() string {
	if !w.left {
		return ""
	}
	note := "these ways name " + w.of[0].Object + "; those of the others are alike"
	if slices.ContainsFunc(w.first, func(way string) bool { return strings.Contains(way, keepsVolume) }) {
		note += ": do their steps, too, before you apply, or the apply is refused for them"
	}
	return note
}

// told is a step as people read it: a text, and the commands that carry it out for the objects of the block. A step may
// have only one of the two.
type told struct {
	text     string
	commands []string
}

// severalClusters reports whether commands delete one object several times, to apply it from several overlays: each of
// these is for a cluster of its own.
func severalClusters(commands []string) bool {
	targets := map[string]bool{}
	for _, command := range commands {
		target, apply, ok := strings.Cut(command, " && ")
		applies := strings.HasPrefix(apply, "kubectl apply ") || strings.HasPrefix(apply, "kustomize build ")
		if ok && applies && targets[target] {
			return true
		}
		targets[target] = true
	}
	return false
}

// tell returns what a step of the first object is for all objects.
func (w *waysOut) tell(step string) []told {
	variants := w.steps[step]
	if variants == nil {
		variants = []string{step}
	}
	var all []told
	for _, variant := range variants {
		text, command := WayOut(variant)
		if last := len(all) - 1; last < 0 || all[last].text != text {
			all = append(all, told{text: text})
		}
		if command != "" {
			last := &all[len(all)-1]
			last.commands = append(last.commands, command)
		}
	}
	for i, t := range all {
		if severalClusters(t.commands) {
			all[i].text += "; run each command in the cluster that it is for"
		}
	}
	return all
}

// writeWays prints ways out as a list.
func writeWays(w io.Writer, ways *waysOut, p Palette) {
	if ways.label != "" {
		fmt.Fprintf(w, "  %s\n", p.Dim(ways.label+":"))
	}
	lines := LayWays(ways.first, Printable, func(indent, step string) string {
		var lines []string
		for _, t := range ways.tell(step) {
			text := Printable(t.text)
			if text != "" && t.commands != nil {
				text += ":"
			}
			if text != "" {
				lines = append(lines, text)
			}
			for _, command := range t.commands {
				lines = append(lines, p.Bold(Printable(command)))
			}
		}
		return strings.Join(lines, "\n  "+indent)
	})
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if note := ways.note(); note != "" {
		fmt.Fprintf(w, "  %s\n", p.Dim(Printable(note)))
	}
}

// bullets lists ways out, one step a line; the commands of several objects have a line each.
func (w *waysOut) bullets() []string {
	lines := LayWays(w.first, verbatim, func(indent, step string) string {
		var lines []string
		for _, t := range w.tell(step) {
			switch {
			case len(t.commands) == 0:
				lines = append(lines, t.text)
			case len(t.commands) == 1 && t.text != "":
				lines = append(lines, t.text+": "+t.commands[0])
			case t.text != "":
				lines = append(lines, t.text+":")
				fallthrough
			default:
				lines = append(lines, t.commands...)
			}
		}
		return strings.Join(lines, "\n"+indent)
	})
	if w.label != "" {
		lines = append([]string{w.label + ":"}, lines...)
	}
	if note := w.note(); note != "" {
		lines = append(lines, note)
	}
	return lines
}

// verbatim leaves a text as it is: the formats of code review tools escape the whole message.
func verbatim(text string) string { return text }

// listsMarkdown lists the ways out of all objects; indent begins each line.
func listsMarkdown(ways []waysOut, indent string) string {
	var lists []string
	for i := range ways {
		lists = append(lists, ways[i].markdown(indent))
	}
	return strings.Join(lists, "\n")
}

// markdown lists ways out as a list of Markdown; indent begins each line.
func (w *waysOut) markdown(indent string) string {
	lines := LayWays(w.first, markdownText, func(_, step string) string {
		var parts []string
		for _, t := range w.tell(step) {
			text := markdownText(t.text)
			if text != "" && len(t.commands) > 0 {
				text += ": "
			}
			codes := make([]string, len(t.commands))
			for i, command := range t.commands {
				codes[i] = markdownCode(command)
			}
			parts = append(parts, text+strings.Join(codes, "<br>"))
		}
		return strings.Join(parts, "<br>")
	})
	if note := w.note(); note != "" {
		lines = append(lines, markdownText(note))
	}
	var b strings.Builder
	if w.label != "" {
		b.WriteString(indent + markdownText(w.label) + ":\n\n")
	}
	for _, line := range lines {
		if item, begins := strings.CutPrefix(line, "• "); begins {
			line = "- " + item
		}
		b.WriteString(indent + line + "\n")
	}
	return b.String()
}

// LayWays lays ways out as a list: alternatives are bullets, and the steps of a way are numbered, below its heading if
// it has one. escape makes a heading harmless, and show writes one step; indent is the space before it.
//
//   - keep the volume with its data:
//     1. scale the pods that use the claim down to 0
//     2. kubectl delete persistentvolumeclaim/data
//   - copy the data to a new claim
func LayWays(ways []string, escape func(string) string, show func(indent, step string) string) []string {
	var lines []string
	for _, way := range ways {
		heading, steps := tool.Steps(way)
		begin, rest := "• ", "  "
		if heading != "" {
			lines, begin = append(lines, begin+escape(heading)), rest
		}
		for i, step := range steps {
			number := ""
			if len(steps) > 1 {
				number = fmt.Sprintf("%d. ", i+1)
			}
			indent := rest + strings.Repeat(" ", len(number))
			lines, begin = append(lines, begin+number+show(indent, step)), rest
		}
	}
	return lines
}

// WayOut splits one step of a way out into a sentence and a command; either can be missing. Where a command deletes
// the object, the sentence says what to do, and then in brackets what that means.
func WayOut(how string) (text, command string) {
	if !slices.ContainsFunc(commands, func(begin string) bool { return strings.HasPrefix(how, begin) }) {
		return how, ""
	}
	command, text, _ = strings.Cut(how, tool.Comment)
	if !strings.HasPrefix(command, "kubectl delete ") {
		return text, command
	}
	do := "replace it"
	switch {
	case strings.Contains(command, " --all "):
		do = "delete the objects"
	case strings.Contains(command, "--cascade=orphan"):
		do = "replace it and keep its pods running"
	case !strings.Contains(command, " && "):
		do = "delete it"
	}
	if means, merged := strings.CutPrefix(text, tool.AfterMerge); merged {
		return tool.AfterMerge + ", " + do + means, command
	}
	if text != "" {
		do += " (" + text + ")"
	}
	return do, command
}

// commands are how the commands of ways out begin.
var commands = []string{"kubectl ", "kustomize ", "argocd ", "flux ", "helm ", keepsVolume}

// keepsVolume begins a command that keeps the name of an object's volume in a variable of the shell, for the steps that
// follow.
const keepsVolume = "volume=$("
