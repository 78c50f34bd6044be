package kindcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

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
