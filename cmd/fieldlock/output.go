package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// addOutputs adds -o for results that report prints in several formats, each to standard output or to a file.
func addOutputs(cmd *cobra.Command, has func(report.Format) bool) *report.Outputs {
	outputs := report.OutputsFor(has)
	cmd.Flags().VarP(outputs, "output", "o", "what to print: "+strings.Join(outputs.Names(), ", ")+"; FORMAT=FILE writes a file, and may be repeated")
	completeWith(cmd, "output", outputs.Names()...)
	return outputs
}

// The formats of commands that print text or JSON only.
const (
	asText = "text"
	asJSON = "json"
)

// addOutput adds -o, which takes one of formats; the first is the default.
func addOutput(cmd *cobra.Command, formats ...string) *format {
	f := &format{formats[0], formats}
	cmd.Flags().VarP(f, "output", "o", "what to print: "+strings.Join(formats, ", "))
	completeWith(cmd, "output", formats...)
	return f
}

// format is the value of --output.
type format struct {
	value   string
	allowed []string
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return "FORMAT" }

func (f *format) Set(value string) error {
	if !slices.Contains(f.allowed, value) {
		return fmt.Errorf("the formats are %s", strings.Join(f.allowed, ", "))
	}
	f.value = value
	return nil
}

// enumerate lists names for a message, the first few of them; none stands for an empty list.
func enumerate(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return compare.Enumerate(names)
}

// oneFile is the error for any other number of arguments than one.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	return fmt.Errorf("%s needs one file, or - for standard input; it has %s", command, enumerate(args, "none"))
}

// joined returns errs as one error that tells how many there are and lists the first of them; nil for none.
func joined(errs []error) error {
	const limit = 20
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	lines := []string{report.Count(len(errs), "mistake") + ":"}
	for i, err := range errs {
		if i == limit {
			lines = append(lines, fmt.Sprintf("and %d more", len(errs)-limit))
			break
		}
		lines = append(lines, err.Error())
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n  "))
}
