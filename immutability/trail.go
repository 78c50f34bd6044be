package immutability

import (
	"slices"
	"strings"
)

// trail is a path from the root of a schema, one label a step. It shares its beginning with the trails of its
// siblings, and becomes text only in a report, so that deep schemas cost no more than their depth. Nil is the root.
type trail struct {
	up    *trail
	label string
}

// to returns the trail one step below t.
func (t *trail) to(label string) *trail { return &trail{t, label} }

// below returns the trail of l for people, t being that of its parent.
func (t *trail) below(l *location) *trail { return t.to(l.label()) }

// labels returns the labels from the root on.
func (t *trail) labels() []string {
	var labels []string
	for ; t != nil; t = t.up {
		labels = append(labels, t.label)
	}
	slices.Reverse(labels)
	return labels
}

// readable returns the path for people: "spec.nodes[*].zone".
func (t *trail) readable() string {
	var b strings.Builder
	for i, label := range t.labels() {
		if i > 0 && label != "[*]" {
			b.WriteByte('.')
		}
		b.WriteString(label)
	}
	return b.String()
}

// pointer returns the schema path: "/properties/spec". Labels are escaped already; that of a $ref begins with its text.
func (t *trail) pointer() string {
	labels := t.labels()
	if len(labels) > 0 && strings.Contains(labels[0], "#") {
		return strings.Join(labels, "/")
	}
	return strings.Join(append([]string{""}, labels...), "/")
}
