package builtin

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/kind"
)

//go:embed data/*.yaml
var files embed.FS

// podSpecFile holds the fields of pod specs, which several kinds share.
const podSpecFile = "podspec.yaml"

// groupSource is a file of the folder data: the kinds of one API group.
type groupSource struct {
	Group string       `json:"group"`
	Kinds []kindSource `json:"kinds"`
}

// kindSource is what a file says about one kind. Its versions are such as "v1" or "v1alpha2 since 1.36 until 1.36", the
// rules of its rows are CEL, and the versions of its rows are minors.
type kindSource struct {
	kind.Source
	Formerly   []string     `json:"formerly"` // apiVersions that no known minor serves
	Required   []string     `json:"required"` // what the server refuses to store an object without; not of Formerly
	Namespaced bool         `json:"namespaced"`
	Prepare    []string     `json:"prepare"`  // what each write changes, see preparations
	Create     []string     `json:"create"`   // what the first write changes too
	Keep       string       `json:"keep"`     // what an update keeps of the stored object, see retentions
	PodSpec    string       `json:"podSpec"`  // the path of the pod spec
	Template   string       `json:"template"` // the path of a pod spec that may change
	Kept       []keptSource `json:"kept"`     // besides those of the template
}

// defaultText is what most validations say.
const defaultText = "Invalid value: field is immutable"

// podSource holds the fields of a pod spec, of its containers, and of their probes.
type podSource struct {
	Fields    map[string]kind.FieldData `json:"fields"`
	Container map[string]kind.FieldData `json:"container"`
	Probe     map[string]kind.FieldData `json:"probe"`
	Kept      []keptSource              `json:"kept"`
}

// groups are all files except the one of pod specs, read once. They must not be changed.
var groups = sync.OnceValues(readGroups)

func readGroups() ([]groupSource, error) {
	entries, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var groups []groupSource
	for _, entry := range entries {
		if entry.Name() == podSpecFile {
			continue
		}
		var group groupSource
		if err := kind.Read(files, entry.Name(), &group); err != nil {
			return nil, err
		}
		for i := range group.Kinds {
			for j := range group.Kinds[i].Rows {
				row := &group.Kinds[i].Rows[j]
				row.Says = cmp.Or(row.Says, defaultText)
				row.Ordered = true
			}
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// readPodFields returns the fields of a pod spec at a path.
func readPodFields(at string) (map[string]kind.FieldData, error) {
	var source podSource
	if err := kind.Read(files, podSpecFile, &source); err != nil {
		return nil, err
	}
	fields := map[string]kind.FieldData{}
	for name, f := range source.Fields {
		fields[at+"."+name] = f
	}
	for _, list := range []string{"containers", "initContainers"} {
		fields[at+"."+list] = kind.FieldData{Keys: []string{"name"}}
		item := at + "." + list + "[*]."
		for name, f := range source.Container {
			fields[item+name] = f
		}
		for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
			for name, f := range source.Probe {
				fields[item+probe+"."+name] = f
			}
		}
	}
	return fields, nil
}

// Effect is what a server or an operator does with a change.
type Effect string

// The effects of a row.
const (
	EffectRefused Effect = "refused" // the answer is an error
	EffectIgnored Effect = "ignored" // the change is accepted, and nothing happens
	EffectLeaked  Effect = "leaked"  // the change is accepted, and the old resource stays behind
)

// LockRule is the lock of a row that no word of package immutability expresses.
const LockRule immutability.Lock = kind.LockRule

// Row is one lock of a kind.
type Row struct {
	// Path is the field, such as "spec.selector" or "spec.drivers[*]", or metadata.annotations[KEY], where KEY may end
	// in "*".
	Path string
	// Locks are the locks of the field, such as immutability.LockNoUnset and LockNoModify, or LockRule alone. There is
	// at least one.
	Locks []immutability.Lock
	// Rule is the CEL rule of a row with LockRule, on self and oldSelf; Means is what such a row asks for in words,
	// where no CEL can say it. One of the two is set.
	Rule, Means string
	// When is the CEL condition under which the row applies; "" is always.
	When string
	// Except lists what may change below Path. Allow lists it for a row of an operator that locks everything else, in
	// the operator's own way: "a.*" is what is below a, and not a itself.
	Except, Allow []string
	// Effect is what happens with the change: EffectRefused, or what an operator does instead.
	Effect Effect
	// Message is what the server or the operator says, or what happens. Cause is the path that the server names, which
	// can differ from Path.
	Message, Cause string
	// Unknown is why only the cluster can decide; Note is what happens where the server accepts the change without
	// effect. Both are empty for a row that is enforced.
	Unknown, Note string
	// Since and Until are the first and the last version of the operator that has the row; "" for all that were read.
	Since, Until string
	// Source is the function of the operator that enforces the row. Read is true where it was read and not run.
	Source string
	Read   bool
	result.WaysOut
}

func newRow(source *kind.Row, path string) Row {
	row := Row{
		Path: path, Rule: source.Rule, Means: source.Means, When: source.When, Except: source.Except,
		Effect:  EffectRefused,
		Message: source.Says, Cause: cmp.Or(source.Cause, path), Unknown: source.Unknown, Note: source.Note,
		WaysOut: source.WaysOut, Locks: source.Locks(),
	}
	if len(source.Named) > 0 {
		row.When = fmt.Sprintf("self.metadata.name in ['%s']", strings.Join(source.Named, "', '"))
	}
	return row
}

func errorf(format string, args ...any) error { return fmt.Errorf("builtin: "+format, args...) }
