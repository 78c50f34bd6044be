// Package applycase reads what a real API server answered to the same updates by different deployment tools. Its data
// is in internal/compare/testdata/appliers; examples/appliers has asked.
package applycase

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Answer is why the server refused an update, by the name of the tool; "" where it accepted it.
type Answer map[string]string

// Read reads a file of answers, by the names of their cases.
func Read(file string) (map[string]Answer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	written := map[string]written{}
	if err := yaml.UnmarshalStrict(data, &written); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	answers := make(map[string]Answer, len(written))
	for name, w := range written {
		answers[name] = Answer{}
		for _, tool := range w.Accept {
			answers[name][tool] = ""
		}
		for _, r := range w.Refuse {
			for _, tool := range r.Tools {
				answers[name][tool] = r.Says
			}
		}
	}
	return answers, nil
}

// written is an answer in the file.
type written struct {
	Accept []string  `json:"accept"`
	Refuse []refusal `json:"refuse"`
}

// refusal is what the server says to tools.
type refusal struct {
	Tools []string `json:"tools"`
	Says  string   `json:"says"`
}

// Write prints answers as Read reads them, sorted by case and by tool.
func Write(out io.Writer, answers map[string]Answer) error {
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		w := written{Accept: []string{}}
		for _, tool := range slices.Sorted(maps.Keys(answers[name])) {
			says := answers[name][tool]
			i := slices.IndexFunc(w.Refuse, func(r refusal) bool { return r.Says == says })
			switch {
			case says == "":
				w.Accept = append(w.Accept, tool)
			case i < 0:
				w.Refuse = append(w.Refuse, refusal{[]string{tool}, says})
			default:
				w.Refuse[i].Tools = append(w.Refuse[i].Tools, tool)
			}
		}
		if _, err := fmt.Fprintf(out, "%s:\n  accept: %s\n", name, line(w.Accept)); err != nil {
			return err
		}
		for i, r := range w.Refuse {
			if i == 0 {
				fmt.Fprintln(out, "  refuse:")
			}
			if _, err := fmt.Fprintf(out, "  - {tools: %s, says: %s}\n", line(r.Tools), line(r.Says)); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is a value on one line of YAML.
func line(v any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // strings always encode
	}
	return strings.TrimSpace(text.String())
}
