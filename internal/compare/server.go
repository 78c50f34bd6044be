package compare

import "strings"

// ServerRefusal is a reason for which the API server refused a dry run of an object.
type ServerRefusal struct{ Path, Message string }

// lockServer is the lock of refusals that no lock or rule explains.
const lockServer = "server"

// addServer adds the refusals of a dry run that v does not explain: no breach is at, above or below their field.
func (v *verdict) addServer(refusals []ServerRefusal) {
	for _, r := range refusals {
		explained := false
		for i := range v.breaches {
			explained = explained || related(v.breaches[i].path, r.Path)
		}
		if !explained {
			v.breaches = append(v.breaches, breach{path: r.Path, lock: lockServer, message: r.Message, change: digest(value{}, value{r.Message, true})})
		}
	}
}

// related reports whether one path leads to the other, or they are equal.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || a == "" || rest[0] == '.' || rest[0] == '[')
}
