package compare

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// What the descriptions of a CRD say about changes: "Immutable. The region of the bucket." Nothing enforces most of
// such sentences, so a change of the field has a note. Config Connector's webhook enforces them, in the CRDs that are
// made of what it compares.

// described is a location of a schema that says in words that its field may not change, or has such locations below it.
type described struct {
	sentence   string // "" if only a location below says so
	properties map[string]*described
	items      *described
}

// sentences splits a paragraph. A dot inside a word, as in spec.size, ends none.
var sentences = regexp.MustCompile(`([^.!]|[.!]\S)+[.!]?`)

// paragraphs end at an empty line or before an item of a list; other line breaks are those of the source file.
var paragraphs = regexp.MustCompile(`\n\s*\n|\n\s*[-*]\s`)

// mayBeLocked reports whether a description has one of the words of schema.SaysLocked, which takes long to look for.
func mayBeLocked(description string) bool {
	description = strings.ToLower(description)
	return slices.ContainsFunc([]string{"mutable", "changed", "updated", "modified", "creation"},
		func(word string) bool { return strings.Contains(description, word) })
}

// maxSentence is how much of a description a note quotes.
const maxSentence = 200

// describe returns the sentences of a schema's descriptions, nil if there are none. It skips lists of lists and the
// specs of pods: a field that cannot be updated in a pod can be updated in a template.
func describe(s *spec.Schema) *described {
	if ofPod(s) {
		return nil
	}
	d := &described{}
	var said []string
	if mayBeLocked(s.Description) {
		for _, paragraph := range paragraphs.Split(s.Description, -1) {
			said = append(said, sentences.FindAllString(paragraph, -1)...)
		}
	}
	for i, sentence := range said {
		if schema.SaysLocked.MatchString(sentence) {
			if len(strings.Fields(sentence)) == 1 && i+1 < len(said) { // "Immutable." alone does not say what
				sentence += said[i+1]
			}
			d.sentence = jsonvalue.Excerpt(strings.Join(strings.Fields(sentence), " "), 0, maxSentence)
			break
		}
	}
	for name, property := range s.Properties {
		if below := describe(&property); below != nil {
			if d.properties == nil {
				d.properties = map[string]*described{}
			}
			d.properties[name] = below
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		d.items = describe(s.Items.Schema)
	}
	if d.sentence == "" && d.properties == nil && d.items == nil {
		return nil
	}
	return d
}

// ofPod reports whether a schema describes a pod's spec or a container.
func ofPod(s *spec.Schema) bool {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { _, ok := s.Properties[name]; return !ok })
	}
	return has("containers", "serviceAccountName", "tolerations") || has("image", "command", "env", "volumeMounts")
}

// changed calls found for each field that differs and of which the schema says that it may not. Of an object whose
// fields say so themselves, only these count, unless the object itself comes or goes. Items of lists are compared by
// their index. An absent object is an empty one.
func (d *described) changed(newVal, oldVal value, at fieldpath.Path,
	found func(at fieldpath.Path, d *described, newVal, oldVal value)) {
	switch {
	case d == nil || newVal.OK == oldVal.OK && jsonvalue.Equal(newVal.Data, oldVal.Data):
		return
	case d.sentence != "" && (newVal.OK != oldVal.OK || d.properties == nil):
		found(at, d, newVal, oldVal)
		return
	}
	is, _ := newVal.Data.(map[string]any)
	was, _ := oldVal.Data.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(d.properties)) {
		newMember, has := is[name]
		oldMember, had := was[name]
		d.properties[name].changed(value{Data: newMember, OK: has}, value{Data: oldMember, OK: had},
			append(slices.Clip(at), name), found)
	}
	newItems, _ := newVal.Data.([]any)
	oldItems, _ := oldVal.Data.([]any)
	for i := range min(len(newItems), len(oldItems)) {
		d.items.changed(value{Data: newItems[i], OK: true}, value{Data: oldItems[i], OK: true},
			append(slices.Clip(at), i), found)
	}
}
