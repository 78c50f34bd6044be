// Package rendered is what the renderers of units have in common: the objects that a tool would apply, and the reason
// where a unit cannot be rendered.
package rendered

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Object is one object that a tool would apply.
type Object struct {
	// YAML is the object as one YAML document, which may be JSON.
	YAML []byte
	// File is the path, below the root of the tree and with slashes, of the file that the object was written in, or of
	// the template that printed it; "" where the tool does not tell.
	File string
	// Unknown are the places, as JSON pointers (RFC 6901), whose values the tree does not tell, such as those of a
	// variable from an encrypted Secret; "" is the whole object. The text there is a marker or the default of a
	// variable: where old and new text are equal, the values can be taken as equal; where they differ, nothing is
	// known.
	Unknown []string
	// Role is how the tool treats the object; "" for an ordinary object, which each deployment updates.
	Role Role
}

// Role is how a tool treats an object that it does not update like any other.
type Role string

const (
	// Hook is an object that Helm creates while it installs or upgrades, usually anew each time.
	Hook Role = "hook"
	// Test is an object that only `helm test` creates.
	Test Role = "test"
	// CRD is an object of a chart's crds directory: Helm installs it once and never updates it.
	CRD Role = "crd"
)

// Cluster is what charts learn of the cluster.
type Cluster struct {
	// KubeVersion is the version of Kubernetes, such as "1.36"; "" is the default of Helm.
	KubeVersion string
	// APIVersions are what the cluster serves besides the built-in groups, such as "monitoring.coreos.com/v1" or
	// "monitoring.coreos.com/v1/ServiceMonitor".
	APIVersions []string
}

// With returns a cluster with what a definition says of it: another version, and other APIs, unless it has none.
func (c Cluster) With(kubeVersion string, apiVersions []string) Cluster {
	if kubeVersion != "" {
		c.KubeVersion = kubeVersion
	}
	if len(apiVersions) > 0 {
		c.APIVersions = apiVersions
	}
	return c
}

// NotCovered is the error of a unit that cannot be rendered without what the tree lacks: a chart or a base elsewhere, a
// plugin, an answer of a cluster. It is not a mistake of the unit.
type NotCovered struct {
	// File and Line are where the unit asks for it; Line is 0 where it is not known.
	File   string
	Line   int
	Reason string
	// Encrypted tells that nothing is missing but files that git-crypt has encrypted.
	Encrypted bool
}

// Encrypted is the NotCovered of a file that git-crypt has encrypted.
func Encrypted(file string, line int, name string) *NotCovered {
	return &NotCovered{File: file, Line: line, Reason: name + " is encrypted by git-crypt", Encrypted: true}
}

// Error returns the reason with its place.
func (e *NotCovered) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Lacking is what a unit was rendered without: remote bases, files of generators that git does not hold, dependencies
// of charts, sources of an Application, files that are encrypted as a whole. A renderer without a Lacking fails with
// the first of them.
type Lacking struct {
	// First is why the unit is not covered as a whole, with two reasons at most; nil if it lacks nothing.
	First *NotCovered
	more  bool // First has two reasons
	// Workloads tells that what is missing may run containers: it is not only generated.
	Workloads bool
	// Decides, unless nil, tells which files decide about the missing part. Without it, all do.
	Decides Decides
	// Inputs are files that are read as something else than objects, such as patches.
	Inputs map[string]bool
}

// Decides finds what decides about the missing part of a unit. It returns false if nothing can be missing.
type Decides func(has Has) (of Decision, lacks bool)

// Has reports whether the content of a file is as a function wants it.
type Has func(name string, is func(content []byte) bool) bool

// Decision is what decides about the missing part of a unit: this part does not change as long as the decision stays
// the same. For example, of a kustomization with a base elsewhere:
//
//	prod/kustomization.yaml  {"resources":["https://github.com/a/b"],"namespace":"prod"}  its text without web.yaml
//	prod/web.yaml            ""                                                           an object, checked like any other
//	prod/patch.yaml          (not among Files)                                            it may patch what is elsewhere
type Decision struct {
	// Files has the text of each file that decides, "" for nothing. Files that it lacks, and encrypted ones, decide as
	// a whole.
	Files map[string]string
	// Renames tells that the names of all objects decide, as the missing part may refer to them, Hashes that those of
	// ConfigMaps and Secrets do. Copies tells that values of any object may be copied into the missing part.
	Renames, Hashes, Copies bool
}

// DecidedBy sets Decides, unless l is nil.
func (l *Lacking) DecidedBy(decides Decides) {
	if l != nil {
		l.Decides = decides
	}
}

// Lacks notes what is missing and returns nil, or returns err if it is something else, or l is nil.
func (l *Lacking) Lacks(err error) error {
	if err := l.LacksGenerated(err); err != nil {
		return err
	}
	l.Workloads = true
	return nil
}

// LacksGenerated is [Lacking.Lacks] for a ConfigMap or Secret that is generated.
func (l *Lacking) LacksGenerated(err error) error {
	missing, ok := errors.AsType[*NotCovered](err)
	if l == nil || !ok {
		return err
	}
	if l.First == nil {
		l.First = missing
		return nil
	}
	first := *l.First
	first.Encrypted = first.Encrypted && missing.Encrypted
	if !l.more && first.Reason != missing.Reason {
		first.Reason += "; " + missing.Reason
		l.more = true
	}
	l.First = &first
	return nil
}

// Invalid is the error of a unit that its own tool refuses to render: a file that is missing, a cycle, malformed YAML.
type Invalid struct {
	// File and Line are where the mistake is; Line is 0 where it is not known.
	File string
	Line int
	Err  error
}

// Error returns the mistake with its place.
func (e *Invalid) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the mistake without its place.
func (e *Invalid) Unwrap() error { return e.Err }

// Decode reads an object, or a part of one, into a struct as the API server does: a member counts only if its name has
// the letters of the field in the same case. A field without a tag has its name with a small first letter.
func Decode(object, into any) error {
	content, err := json.Marshal(exact(object, reflect.TypeOf(into).Elem()))
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// exact returns a value without the members that a type has no field for.
func exact(value any, t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return value
	}
	switch x := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			known := map[string]any{}
			addKnown(known, x, t)
			return known
		}
	case []any:
		if t.Kind() == reflect.Slice {
			items := make([]any, len(x))
			for i := range x {
				items[i] = exact(x[i], t.Elem())
			}
			return items
		}
	}
	return value
}

// addKnown adds the members of an object that a struct has fields for to known.
func addKnown(known, object map[string]any, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			addKnown(known, object, f.Type)
			continue
		case name == "":
			name = strings.ToLower(f.Name[:1]) + f.Name[1:]
		}
		if member, ok := object[name]; ok {
			known[name] = exact(member, f.Type)
		}
	}
}

// Below reports whether a clean path is a directory or leads into it.
func Below(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}
