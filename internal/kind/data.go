package kind

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// Source is what a file of data says about one kind. The files of built-in kinds and of operators have this form; each
// embeds Source and adds the keys that only its kinds need.
type Source struct {
	Kind     string   `json:"kind"`
	Plural   string   `json:"plural"`
	Short    []string `json:"short"`
	Versions []string `json:"versions"` // of the API, newest first
	Cost     string   `json:"cost"`
	Why      string   `json:"why"` // the reason for the cost
	// ways to replace an object, the gentlest first; a line of one is a step (tool.Step)
	How    []string             `json:"how"`
	Fields map[string]FieldData `json:"fields"`
	Rows   []Row                `json:"rows"`
}

// FieldData is what a comparison needs to know about one field, by its path in Source.Fields.
type FieldData struct {
	Default     *any   `json:"default,omitempty"`     // what the server or the operator fills in
	Once        bool   `json:"once,omitempty"`        // it fills it in only when the object is created
	DefaultFrom string `json:"defaultFrom,omitempty"` // the path of the field whose value it fills in
	// Type is a JSON type, for a field whose zero value counts as absent; or quantity, duration or base64, for a text
	// that is compared by its meaning.
	Type     string   `json:"type,omitempty"`
	Nullable bool     `json:"nullable,omitempty"` // null is a value, not absent
	Keys     []string `json:"keys,omitempty"`     // the items of the list correlate by these keys
	Set      bool     `json:"set,omitempty"`      // the order of the list does not count
	Password bool     `json:"password,omitempty"` // the values are not shown
	// Normalize says which values count as absent, here and below: zero (false, 0, "", {} and []), scalars (false, 0 and
	// "": where reflect.DeepEqual compares Go values that are no pointers), undefined ([] here and below, {} only here:
	// what is below may be a Go pointer, which keeps it), none, or unknown. Where nothing is said, it is unknown, and so
	// is a change between absent and a zero value.
	Normalize string `json:"normalize,omitempty"`
	// Go is the name of a Go type of Kubernetes, such as PodTemplateSpec or *PodSpec, which says what is known of the
	// field and below. Normalize says then whether empty lists and maps count as absent: undefined, or none.
	Go string `json:"go,omitempty"`

	Atomic     bool `json:"atomic,omitempty"`     // an apply replaces the whole value; not so objects, client-side
	MergeSet   bool `json:"mergeSet,omitempty"`   // a server-side apply merges the list as a set
	PatchSet   bool `json:"patchSet,omitempty"`   // a client-side apply does
	RetainKeys bool `json:"retainKeys,omitempty"` // a client-side apply keeps only the members in the manifest
}

// Row is one lock, or several fields with the same lock.
//
//	{field: spec.selector, lock: immutable, says: "field is immutable"}
//	{fields: [data, binaryData], lock: immutable, when: oldSelf.immutable}
//	{field: spec.clusterIP, rule: "!has(oldSelf.spec.clusterIP) || has(self.spec.clusterIP)"}
type Row struct {
	Field      string   `json:"field"`
	Fields     []string `json:"fields"`
	Annotation string   `json:"annotation"` // a key of metadata.annotations, or a prefix that ends in "*"
	Presence   bool     `json:"presence"`   // an empty annotation differs from none

	Lock   string   `json:"lock"`
	Update []string `json:"update"` // words of x-fieldlock-update
	Rule   string   `json:"rule"`   // CEL on self and oldSelf, the whole objects: false is a violation
	Check  string   `json:"check"`  // the name of a function in Go, for what CEL cannot say either
	Means  string   `json:"means"`  // what Check asks for, in words

	When   string   `json:"when"`   // CEL as in Rule: the row applies when it is true
	Unless string   `json:"unless"` // the name of a function in Go: the row applies unless it holds
	Named  []string `json:"named"`  // the row applies to objects of these names
	Except []string `json:"except"` // fields below Field that may change
	Allow  []string `json:"allow"`  // nothing below Field may change but these paths; "a.*" is what is below a, not a
	// Ordered says that the order of lists with keys counts.
	Ordered bool   `json:"ordered"`
	Each    bool   `json:"each"`  // report each difference at its own path
	Since   string `json:"since"` // the first version that has the row, of Kubernetes or of the operator
	Until   string `json:"until"` // the last version that has the row

	Effect  string `json:"effect"`  // refused (the default), ignored or leaked
	Says    string `json:"says"`    // the text of who refuses or, where the change is not refused, what happens
	Cause   string `json:"cause"`   // the path that the server names; "" is the field
	Unknown string `json:"unknown"` // why the manifests cannot tell
	Note    string `json:"note"`    // what happens where the change is accepted without effect
	Source  string `json:"source"`  // the function that enforces the row, where it differs from the kind's
	Read    bool   `json:"read"`    // its code was read and not run
	result.WaysOut

	// Compiled has the locks of a row that does not come from data: an external lock, compiled with the kind's schema.
	Compiled *immutability.Validator `json:"-"`
}

// LockRule is the lock of a row that no word expresses.
const LockRule immutability.Lock = "rule"

var annotations = field.NewPath("metadata", "annotations")

// Paths returns the fields that the row locks.
func (r *Row) Paths() []string {
	paths := slices.Clone(r.Fields)
	if r.Field != "" {
		paths = append([]string{r.Field}, paths...)
	}
	if r.Annotation != "" {
		paths = append(paths, annotations.Key(r.Annotation).String())
	}
	return paths
}

// Locks returns the locks of the row, nil for none.
func (r *Row) Locks() []immutability.Lock {
	switch {
	case r.Compiled != nil:
		return r.Compiled.Locks()[0].Locks
	case r.Rule != "" || r.Check != "":
		return []immutability.Lock{LockRule}
	case len(r.Update) > 0:
		return words(r.Update)
	case r.Lock != "":
		return []immutability.Lock{immutability.Lock(r.Lock)}
	case r.Annotation != "" || len(r.Allow) > 0:
		return []immutability.Lock{immutability.LockImmutable}
	}
	return nil
}

func words(update []string) []immutability.Lock {
	locks := make([]immutability.Lock, len(update))
	for i, word := range update {
		locks[i] = immutability.Lock(word)
	}
	return locks
}

// Marks returns a lock, or words of x-fieldlock-update, as extension keys of a schema.
func Marks(lock string, update []string) map[string]any {
	if len(update) == 0 {
		return map[string]any{"x-kubernetes-" + lock: true}
	}
	words := make([]any, len(update))
	for i, word := range update {
		words[i] = word
	}
	return map[string]any{schema.KeyUpdate: words}
}

// Read decodes a file of the folder data. A key that is not known is an error.
func Read(files fs.FS, name string, into any) error {
	name = path.Join("data", name)
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
