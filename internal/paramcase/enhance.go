package paramcase

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

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
