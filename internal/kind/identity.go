package kind

import (
	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// uidRow is the lock of every kind's uid. Deleting and creating the object does not help.
var uidRow = Row{
	Field: "metadata.uid", Lock: string(immutability.LockImmutable), Effect: "refused",
	Says: "Invalid value: field is immutable",
	WaysOut: result.WaysOut{
		Edit: "in the manifest, leave metadata.uid out: the server gives each object its own",
	},
}

// versionRow is what the server asks of every kind's resourceVersion.
var versionRow = Row{Field: "metadata.resourceVersion", Effect: "refused"}

// Identity is what objects of all kinds have in common, custom resources too: the server refuses a manifest that names
// another uid than the stored object has, an apply with 422 and a PUT with 409. What uid the object has is known if the
// old manifest names one. oldObj is nil for a new object: a server-side apply of it is refused with 409, as no object
// has the uid, and a client-side apply gives it another one.
//
// A resourceVersion that the old manifest does not name is refused with 409 unless it is the stored object's.
func Identity(newObj, oldObj map[string]any) []Objection {
	var found []Objection
	add := func(row *Row, o Objection) {
		o.By, o.Path, o.Steps, o.Cause = row, row.Field, fieldpath.Parse(row.Field), row.Field
		o.Message, o.WaysOut = row.Says, row.WaysOut
		found = append(found, o)
	}
	is, was := fieldpath.Text(newObj, "metadata", "uid"), fieldpath.Text(oldObj, "metadata", "uid")
	switch {
	case is == "" || is == was:
	case oldObj == nil:
		add(&uidRow, Objection{Open: "refused by a server-side apply, which creates " +
			"no object with a uid; a client-side apply ignores it: leave it out"})
	case was == "":
		add(&uidRow, Objection{Open: "refused unless it is the object's own uid; leave it out"})
	default:
		add(&uidRow, Objection{Violation: result.Violation{Lock: uidRow.Lock,
			Old: result.Value{Data: was, OK: true}, New: result.Value{Data: is, OK: true}}})
	}
	is, was = fieldpath.Text(newObj, "metadata", "resourceVersion"), fieldpath.Text(oldObj,
		"metadata", "resourceVersion")
	if is != "" && is != was {
		add(&versionRow, Objection{Open: "refused unless it is the resourceVersion of the stored object; leave it out"})
	}
	return found
}
