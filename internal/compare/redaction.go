package compare

import (
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// Values that a report may not print: those of Secrets, and passwords by the schema of a CRD (format: password).

// isSecret reports whether an object's values must not be printed.
func isSecret(o *manifest.Object) bool { return o.Group == "" && o.Kind == "Secret" }

// hide drops the values of a violation of a password.
func hide(v *result.Violation) {
	v.Old, v.New, v.Key, v.Differences, v.Redacted = value{}, value{}, value{}, nil, true
}

// hideSecret drops the values of a violation of a Secret, also from its message.
func hideSecret(v *result.Violation) {
	if len(v.Differences) > 0 && v.LockFile != "" { // the message of a CRD's lock lists them
		v.Message, _, _ = strings.Cut(v.Message, ": ")
	}
	hide(v)
	v.MoreDifferences = 0
}
