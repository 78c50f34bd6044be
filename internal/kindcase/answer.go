package kindcase

import (
	"os"

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

// ReadAnswers reads a file of answers by the names of their cases.
func ReadAnswers(name string) (map[string]Answer, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	answers := map[string]Answer{}
	return answers, yaml.UnmarshalStrict(data, &answers)
}

// WriteAnswers writes them, sorted by name.
func WriteAnswers(name string, answers map[string]Answer) error {
	data, err := yaml.Marshal(answers)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
