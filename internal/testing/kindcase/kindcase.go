// Package kindcase reads the cases of package builtin: updates of built-in kinds, and what real API servers answered.
// Unit tests and the end-to-end tests share them.
package kindcase

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Case is one update: Old is created, then New is applied over it by the same manager.
type Case struct {
	Name     string // unique: the file, the object's name in it, and the name of the case
	Old, New map[string]any
	Unknown  bool // only the cluster can decide
	// UnknownSince is the first minor, such as "1.36", of which only the cluster can decide; "" for none.
	UnknownSince string
	Note         bool // accepted without effect
	Manual       bool // the test server cannot run it, because another component has to act
	// ClientSide marks a case that a server-side apply answers otherwise: New is applied as kubectl apply does it.
	ClientSide bool
	Differs    bool // the other way of applying is answered otherwise, so that only the exact applier has this answer
}

// file is a file of cases.
type file struct {
	Objects []struct {
		Name  string         `json:"name"`
		Old   map[string]any `json:"old"`
		Cases []change       `json:"cases"`
	} `json:"objects"`
}

// change makes a case of an object: it sets and removes fields by path, in the old manifest and then in the new one.
type change struct {
	Name      string         `json:"name"`
	OldSet    map[string]any `json:"oldSet"`
	OldRemove []string       `json:"oldRemove"`
	Set       map[string]any `json:"set"` // null stays in the manifest
	Remove    []string       `json:"remove"`
	New       map[string]any `json:"new"` // the whole new manifest
	Unknown   bool           `json:"unknown"`
	Note      bool           `json:"note"`
	Manual    bool           `json:"manual"`

	UnknownSince string `json:"unknownSince"`
	ClientSide   bool   `json:"clientSide"`
	Differs      bool   `json:"differs"`
}

// Read reads all cases of a folder, sorted by file.
func Read(folder string) ([]Case, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var cases []Case
	seen := map[string]bool{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var f file
		if err := yaml.UnmarshalStrict(data, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, object := range f.Objects {
			for _, c := range object.Cases {
				made, err := c.makeCase(object.Old)
				made.Name = group(name) + "/" + object.Name + "/" + c.Name
				if err != nil {
					return nil, fmt.Errorf("%s: %w", made.Name, err)
				}
				if seen[made.Name] {
					return nil, fmt.Errorf("%s: there are two cases of this name", made.Name)
				}
				seen[made.Name] = true
				cases = append(cases, made)
			}
		}
	}
	return cases, nil
}

func (c *change) makeCase(base map[string]any) (Case, error) {
	made := Case{Unknown: c.Unknown, UnknownSince: c.UnknownSince, Note: c.Note, Manual: c.Manual,
		ClientSide: c.ClientSide, Differs: c.Differs}
	oldObj, err := edit(base, c.OldSet, c.OldRemove)
	if err != nil {
		return made, err
	}
	made.Old = oldObj
	if c.New != nil {
		made.New = Clone(c.New).(map[string]any)
		return made, nil
	}
	made.New, err = edit(oldObj, c.Set, c.Remove)
	return made, err
}

// edit returns a copy of an object with fields set and removed.
func edit(obj, set map[string]any, remove []string) (map[string]any, error) {
	var out any = Clone(obj)
	var err error
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if out, err = put(out, fieldpath.Parse(path), set[path]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, path := range remove {
		var there bool
		if out, there = fieldpath.Parse(path).Remove(out); !there {
			return nil, fmt.Errorf("%s: there is nothing to remove", path)
		}
	}
	return out.(map[string]any), nil
}

// put sets the value at p. Objects and lists on the way are made; an index one past the end appends.
func put(in any, p fieldpath.Path, value any) (any, error) {
	for n, step := range p {
		if at, _ := fieldpath.Get(in, p[:n]...); at != nil {
			continue
		}
		var container any = map[string]any{}
		if _, isIndex := step.(int); isIndex {
			container = []any{}
		}
		in, _ = p[:n].Set(in, container)
	}
	out, ok := p.Set(in, Clone(value))
	if !ok {
		return nil, errors.New("it leads to no object or list")
	}
	return out, nil
}

// Clone copies a decoded value; numbers without a fraction become int64, as the API machinery has them.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = Clone(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Clone(item)
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// Answer is what an API server said to the apply of a case.
type Answer struct {
	Refused bool    `json:"refused"`
	Causes  []Cause `json:"causes,omitempty"`
	Error   string  `json:"error,omitempty"` // the message, where there are no causes
}

// Cause is one error of a refusal.
type Cause struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// ReadAnswers reads a folder of answers by the names of their cases.
func ReadAnswers(folder string) (map[string]Answer, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	all := map[string]Answer{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		answers := map[string]Answer{}
		if err := yaml.UnmarshalStrict(data, &answers); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for name, answer := range answers {
			all[group(file)+"/"+name] = answer
		}
	}
	return all, nil
}

// WriteAnswers writes a folder of answers: a file for each file of cases, a line for each case.
func WriteAnswers(folder string, answers map[string]Answer) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	files := map[string]*bytes.Buffer{}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		file, rest, _ := strings.Cut(name, "/")
		if files[file] == nil {
			files[file] = &bytes.Buffer{}
		}
		encoder := json.NewEncoder(files[file])
		encoder.SetEscapeHTML(false)
		fmt.Fprintf(files[file], "%s: ", rest)
		if err := encoder.Encode(answers[name]); err != nil {
			return err
		}
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(folder, file+".yaml"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// group returns the name of a file without its folder and ending.
func group(file string) string { return strings.TrimSuffix(filepath.Base(file), ".yaml") }

// Prediction is what package builtin or operators says about a case.
type Prediction struct {
	Causes        []Cause // none: allowed. Message is the server's text without the kind of error
	Unknown, Note bool
}

// Compare says what is wrong with a verdict for a minor, "" for nothing. A case that only the cluster can decide may be
// answered in either way. Each cause of the verdict has to be one of the server's.
func Compare(c Case, a Answer, v Prediction, minor string) string {
	unknown := c.Unknown || c.UnknownSince != "" && minor >= c.UnknownSince // all minors have two digits
	switch {
	case v.Unknown != unknown:
		return fmt.Sprintf("unknown is %t, want %t (the server refused: %t)", v.Unknown, unknown, a.Refused)
	case v.Note != c.Note:
		return fmt.Sprintf("there is a note: %t, want %t", v.Note, c.Note)
	case unknown && len(v.Causes) == 0:
		return ""
	case a.Refused != (len(v.Causes) > 0):
		return fmt.Sprintf("refused is %t %v, the server's answer is %t %v",
			len(v.Causes) > 0, v.Causes, a.Refused, a.Causes)
	}
	for _, cause := range v.Causes {
		found := len(a.Causes) == 0 && strings.Contains(a.Error, cause.Message)
		for _, real := range a.Causes {
			found = found || fieldpath.Within(real.Field, cause.Field) && strings.Contains(real.Message, cause.Message)
		}
		if !found {
			return fmt.Sprintf("the cause %q is not one of the server's: %q", cause, a.Causes)
		}
	}
	return ""
}

// Question is an update that a program with an operator's own validation judges.
type Question struct {
	Name string         `json:"name"`
	Old  map[string]any `json:"old"`
	New  map[string]any `json:"new"`
}

// Ask returns the answers of a program, which reads the questions from its standard input as a JSON list, and prints an
// object with an answer under each name. It leaves out kinds that it does not have.
func Ask(program string, questions []Question) (map[string]Answer, error) {
	input, err := json.Marshal(questions)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	answers := map[string]Answer{}
	if err == nil {
		err = json.Unmarshal(output, &answers)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return answers, nil
}
