// Package paramcase holds the shared cases of parameter evaluation, which run through the Go API and the command.
package paramcase

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Case is one evaluation and what comes of it. Documents are texts, because their spelling is part of the case; the
// name of one of the file's documents means that document.
type Case struct {
	Name   string
	Reason string // the section of a proposal that decides, or the way around a lock that is tried

	Verb           string // of fieldlock params
	Dialect        string // kudo unless said
	Definitions    string
	OldDefinitions *string `yaml:"oldDefinitions"`
	Current        *string
	Values         *string
	Set            []string
	Mode           string
	Clear          []string
	Task           *string
	OldTask        *string `yaml:"oldTask"`

	Want Want
}

// Want is what comes of it. What is not named must not be there.
type Want struct {
	Unreadable string // part of the message of a document that cannot be read; nothing else is printed

	Errors    []Refusal // in order; none means allowed
	Resulting map[string]any
	Restart   *bool
	Because   []string // what restarts the pods, where Restart is true
	Child     string
	Children  map[string]string // of several tasks
	Unchecked []Unchecked       // Heat
	Rows      []map[string]any
	Text      []string // what the text of the command says
	Secret    []string // texts that no message may show
}

// Unchecked is a constraint that could not be checked.
type Unchecked struct {
	Parameter, Constraint string
}

// Refusal is one error.
type Refusal struct {
	Parameter string
	Says      string // part of the message
}

// Load reads the cases of every YAML file in dir, by file.
func Load(dir string) (map[string][]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no cases", dir)
	}
	suites := map[string][]Case{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var suite struct {
			Documents map[string]string
			Cases     []Case
		}
		if err := yaml.Unmarshal(data, &suite); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range suite.Cases {
			c := &suite.Cases[i]
			for _, document := range []*string{&c.Definitions, c.OldDefinitions, c.Current, c.Values,
				c.Task, c.OldTask} {
				if document == nil {
					continue
				}
				if text, ok := suite.Documents[*document]; ok {
					*document = text
				}
			}
			if c.Name == "" || c.Reason == "" || c.Verb == "" || c.Definitions == "" {
				return nil, fmt.Errorf("%s: case %d lacks a name, a reason, a verb or definitions", file, i)
			}
		}
		suites[filepath.Base(file)] = suite.Cases
	}
	return suites, nil
}

// Enhance is a case of KUDO's enhancer.
type Enhance struct {
	Name, Reason    string
	Restart         bool
	Templates, Live string // YAML documents
	Want            string // YAML documents
}

// LoadEnhance reads the cases of the enhancer, with the marks filled in.
func LoadEnhance(file string) ([]Enhance, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var suite struct {
		Marks map[string]string
		Cases []Enhance
	}
	if err := yaml.Unmarshal(data, &suite); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range suite.Cases {
		c := &suite.Cases[i]
		if c.Name == "" || c.Reason == "" || c.Templates == "" || c.Want == "" {
			return nil, fmt.Errorf("%s: case %d lacks a name, a reason, templates or what is wanted", file, i)
		}
		for mark, text := range suite.Marks {
			c.Want = strings.ReplaceAll(c.Want, mark, text)
		}
	}
	return suite.Cases, nil
}

// Objects returns the objects of the documents in text.
func (Enhance) Objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	documents, err := yamldoc.Read("case", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, document := range documents {
		objects = append(objects, document.Object)
	}
	return objects
}

// Run runs check as a subtest for each case of the dialect in dir.
func Run(t *testing.T, dir, dialect string, check func(*testing.T, Case)) {
	t.Helper()
	suites, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(suites)) {
		for _, c := range suites[file] {
			if dialect != "" && (c.Dialect == "heat") != (dialect == "heat") {
				continue
			}
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				check(t, c)
				if t.Failed() {
					t.Logf("reason: %s", c.Reason)
				}
			})
		}
	}
}

// Requested returns the values of --set over the given ones.
func (c Case) Requested(values parameter.Values) parameter.Values {
	for _, set := range c.Set {
		name, value, _ := strings.Cut(set, "=")
		values[name] = parameter.Text(value)
	}
	return values
}

// CheckRefusals compares refusals with what the case wants.
func CheckRefusals(t *testing.T, c Case, got parameter.Refusals) {
	t.Helper()
	if len(got) != len(c.Want.Errors) {
		t.Errorf("got %d refusals, want %d: %v", len(got), len(c.Want.Errors), got)
		return
	}
	for i, want := range c.Want.Errors {
		if got := got[i]; got.Parameter != want.Parameter || !strings.Contains(got.Message, want.Says) {
			t.Errorf("refusal %d: got %s: %s, want %s: …%s…", i, got.Parameter, got.Message, want.Parameter, want.Says)
		}
	}
	if strings.Contains(got.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", got.Error())
	}
	for _, secret := range c.Want.Secret {
		if strings.Contains(got.Error(), secret) {
			t.Errorf("the refusals show %q:\n%s", secret, got.Error())
		}
	}
}

// CheckDecision compares a decision with what the case wants; current are the values before.
func CheckDecision(t *testing.T, c Case, got parameter.Decision, current parameter.Values) {
	t.Helper()
	CheckRefusals(t, c, got.Refusals)
	if !got.Allowed() {
		Compare(t, "the values after a refusal", got.Resulting.Texts(), current.Texts())
		return
	}
	Compare(t, "resulting", got.Resulting, c.Want.Resulting)
}

// Compare compares two values as JSON.
func Compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if got, want := toJSON(t, got), toJSON(t, want); got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(tree)
	return string(data)
}
