package operators

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed data/*.yaml
var files embed.FS

// operatorSource is a file of the folder data: the kinds of one operator.
type operatorSource struct {
	Operator string       `json:"operator"` // its name for people
	Module   string       `json:"module"`   // where its source is
	Versions []string     `json:"versions"` // that were read, oldest first
	Read     bool         `json:"read"`     // its code was read and not run
	Kinds    []kindSource `json:"kinds"`
}

// kindSource is what a file says about one kind, or about several with the same rows.
type kindSource struct {
	Operator string                 `json:"operator"` // where the file holds several operators, with Module and Version
	Module   string                 `json:"module"`
	Version  string                 `json:"version"`
	Kind     string                 `json:"kind"`
	Kinds    []string               `json:"kinds"` // kinds with the same rows; their plurals are regular
	Group    string                 `json:"group"`
	Plural   string                 `json:"plural"`
	Short    []string               `json:"short"`
	Versions []string               `json:"versions"` // of the API, newest first; the fields below have one form in all of them
	Since    string                 `json:"since"`    // the first of the operator's versions that has these API versions
	Source   string                 `json:"source"`   // function and file
	Read     bool                   `json:"read"`
	Nothing  string                 `json:"nothing"` // why the operator refuses no update; then there are no rows
	Cost     string                 `json:"cost"`
	Why      string                 `json:"why"`  // the reason for the cost
	How      []string               `json:"how"`  // ways to replace an object, the gentlest first
	When     string                 `json:"when"` // CEL as in a row's: the rows apply when it is true
	Fields   map[string]fieldSource `json:"fields"`
	Rows     []rowSource            `json:"rows"`
}

// fieldSource is what a comparison needs to know about a field.
type fieldSource struct {
	Default     *any     `json:"default"`     // what the operator fills in
	Once        bool     `json:"once"`        // the operator fills it in only when the object is created
	DefaultFrom string   `json:"defaultFrom"` // the path of the field whose value it fills in
	Keys        []string `json:"keys"`        // the list is compared by these keys of its items, in any order
	Set         bool     `json:"set"`         // the order of the list does not count
	Type        string   `json:"type"`        // quantity, duration or base64: compared by its meaning
	// Normalize says which values count as absent, here and below: zero (false, 0, "", {} and []), undefined ({} and []),
	// none, or unknown. Where nothing is said, it is unknown, and so is a change between absent and a zero value.
	Normalize string `json:"normalize"`
}

// rowSource is one lock, or several fields with the same lock.
type rowSource struct {
	Field      string   `json:"field"`
	Fields     []string `json:"fields"`
	Annotation string   `json:"annotation"` // a key of metadata.annotations, or a prefix that ends in "*"

	Lock   string   `json:"lock"`
	Update []string `json:"update"` // words of x-fieldlock-update
	Allow  []string `json:"allow"`  // nothing below Field may change but these paths; "a.*" is what is below a, not a
	Rule   string   `json:"rule"`   // CEL on self and oldSelf, the whole objects: false is a violation
	When   string   `json:"when"`   // CEL as in Rule: the row applies when it is true
	Except []string `json:"except"` // fields below Field that may change
	Each   bool     `json:"each"`   // report each difference at its own path
	Since  string   `json:"since"`  // the first of the operator's versions that has the row
	Until  string   `json:"until"`  // the last one

	Effect  string `json:"effect"`  // refused (the default), ignored or leaked
	Says    string `json:"says"`    // the operator's text; of a row that is not refused, what happens
	Unknown string `json:"unknown"` // why the manifests cannot tell
	Edit    string `json:"edit"`    // an edit that makes a replacement unnecessary
	First   string `json:"first"`   // what to do before the object is replaced
	Source  string `json:"source"`  // where it differs from the kind's
	Read    bool   `json:"read"`
}

// defaultText is what most webhooks say.
const defaultText = "field is immutable"

// sources are all files, read once. Nobody may change them.
var sources = sync.OnceValues(readSources)

func readSources() ([]operatorSource, error) {
	entries, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	list := make([]operatorSource, len(entries))
	for i, entry := range entries {
		data, err := files.ReadFile(path.Join("data", entry.Name()))
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(data, &list[i]); err != nil {
			return nil, fmt.Errorf("data/%s: %w", entry.Name(), err)
		}
		if len(list[i].Versions) == 0 || !slices.IsSortedFunc(list[i].Versions, compareVersions) {
			return nil, fmt.Errorf("data/%s: versions has to list the versions that were read, oldest first", entry.Name())
		}
	}
	return list, nil
}

// has reports whether a version of the operator has the row.
func (r *rowSource) has(version string) bool {
	return reached(version, r.Since) && (r.Until == "" || compareVersions(version, r.Until) <= 0)
}

// reached reports whether a version is not before another one; "" is before all.
func reached(version, since string) bool { return since == "" || compareVersions(version, since) >= 0 }

// compareVersions orders versions such as "1.14.2" or "2.1.0-beta.1" by their numbers.
func compareVersions(a, b string) int {
	xs, ys := strings.FieldsFunc(a, separates), strings.FieldsFunc(b, separates)
	for i := range min(len(xs), len(ys)) {
		x, xErr := strconv.Atoi(xs[i])
		y, yErr := strconv.Atoi(ys[i])
		if xErr != nil || yErr != nil {
			if c := strings.Compare(xs[i], ys[i]); c != 0 {
				return c
			}
			continue
		}
		if x != y {
			return x - y
		}
	}
	return 0 // "1.14" stands for all of its patches
}

func separates(r rune) bool { return r == '.' || r == '-' }

func errorf(format string, args ...any) error { return fmt.Errorf("operators: "+format, args...) }
