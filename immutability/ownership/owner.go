package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Owner is a field manager that owns a field.
type Owner struct {
	Manager     string
	Operation   string    // "Apply" or "Update"
	APIVersion  string    // the version that the manager wrote in
	Subresource string    // "" for the object itself
	Time        time.Time // of the manager's last change to any of its fields; zero where unknown

	// Parent says that the manager owns only an object or list around the field: nobody owns the field itself.
	Parent bool

	otherVersion bool // the object has another version than the manager wrote in
}

// newestFirst orders owners by time, then by name, so that the same managed fields give the same text.
func newestFirst(a, b Owner) int {
	return cmp.Or(
		b.Time.Compare(a.Time),
		cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Subresource, b.Subresource),
		cmp.Compare(a.APIVersion, b.APIVersion),
	)
}

// clientSideApply is the manager under which kubectl apply without --server-side writes; the API server records it
// as an update.
const clientSideApply = "kubectl-client-side-apply"

// shown is the number of managers that Text names.
const shown = 3

// Text says in one line who owns a field, such as "last applied by kubectl-client-side-apply, also owned by argocd".
// It takes what Owners returns; without owners it is "". Names are quoted where they hold anything but letters,
// digits and punctuation. The same owners give the same text.
func Text(owners []Owner) string {
	if len(owners) == 0 {
		return ""
	}
	var b strings.Builder
	first := owners[0]
	if first.Parent {
		b.WriteString("its parent was ")
	}
	verb := "updated"
	if first.Operation == "Apply" || first.Manager == clientSideApply {
		verb = "applied"
	}
	fmt.Fprintf(&b, "last %s by %s", verb, first.name())

	var others []string
	for _, o := range owners[1:] {
		if name := o.name(); name != first.name() && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return b.String()
	}
	more := len(others) - (shown - 1)
	if more > 0 {
		others = append(others[:shown-1], strconv.Itoa(more)+" more")
	}
	b.WriteString(", also owned by ")
	b.WriteString(strings.Join(others[:len(others)-1], ", "))
	if len(others) > 1 {
		b.WriteString(" and ")
	}
	b.WriteString(others[len(others)-1])
	return b.String()
}

// name is the manager with what sets it apart from others of the same name.
func (o Owner) name() string {
	name := o.Manager
	switch {
	case name == "":
		name = "an unnamed manager"
	case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == ',' || r == '"' || !strconv.IsPrint(r) }):
		name = strconv.Quote(name)
	}
	var notes []string
	if o.Subresource != "" {
		notes = append(notes, "through "+o.Subresource)
	}
	if o.otherVersion {
		notes = append(notes, "in "+o.APIVersion)
	}
	if len(notes) > 0 {
		name += " (" + strings.Join(notes, ", ") + ")"
	}
	return name
}
