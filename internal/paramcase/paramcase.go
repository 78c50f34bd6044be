// Package paramcase holds the shared cases of parameter evaluation, which run through the Go API and the command.
package paramcase

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Case is one evaluation and what comes of it. Documents are texts, because their spelling is part of the case; the name
// of one of the file's documents means that document.
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
			for _, document := range []*string{&c.Definitions, c.OldDefinitions, c.Current, c.Values, c.Task, c.OldTask} {
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
