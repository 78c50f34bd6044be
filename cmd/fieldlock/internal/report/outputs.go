package report

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Formats lists the formats; the first is the default.
func Formats() []Format {
	return []Format{textFormat, jsonFormat, githubFormat, sarifFormat, markdownFormat}
}

// Outputs are the values of --output: FORMAT, or FORMAT=FILE. It is a pflag.Value that may be set several times.
type Outputs struct {
	allowed []Format
	list    []output
}

type output struct {
	Format
	file string // "" for standard output
}

// OutputsFor returns the outputs of a command whose results has selects.
func OutputsFor(has func(Format) bool) *Outputs {
	return &Outputs{allowed: slices.DeleteFunc(Formats(), func(f Format) bool { return !has(f) })}
}

// Names lists the formats that the command has.
func (o *Outputs) Names() []string {
	var names []string
	for _, f := range o.allowed {
		names = append(names, f.Name)
	}
	return names
}

// String returns the outputs as they were given.
func (o *Outputs) String() string {
	if len(o.list) == 0 {
		return o.allowed[0].Name
	}
	var texts []string
	for _, out := range o.list {
		text := out.Name
		if out.file != "" {
			text += "=" + out.file
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

// Type returns the name of the value for help.
func (o *Outputs) Type() string { return "FORMAT[=FILE]" }

// Set adds an output.
func (o *Outputs) Set(text string) error {
	name, file, toFile := strings.Cut(text, "=")
	i := slices.IndexFunc(o.allowed, func(f Format) bool { return f.Name == name })
	switch {
	case i < 0:
		return fmt.Errorf("the formats are %s", strings.Join(o.Names(), ", "))
	case toFile && file == "":
		return fmt.Errorf("%s= needs the name of a file", name)
	case !toFile && slices.ContainsFunc(o.list, func(out output) bool { return out.file == "" }):
		return fmt.Errorf("two formats for standard output; write all but one to files, as in %s=FILE", name)
	}
	o.list = append(o.list, output{o.allowed[i], file})
	return nil
}

// Write prints a result in every format that was asked for: the default one when none goes to stdout or a file.
func (o *Outputs) Write(stdout io.Writer, print func(f Format, w io.Writer) error) error {
	list := o.list
	if len(list) == 0 {
		list = []output{{Format: o.allowed[0]}}
	}
	for _, out := range list {
		if err := out.write(stdout, print); err != nil {
			return err
		}
	}
	return nil
}

func (out *output) write(stdout io.Writer, print func(f Format, w io.Writer) error) error {
	if out.file == "" {
		return print(out.Format, stdout)
	}
	file, err := os.Create(out.file)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	err = print(out.Format, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}
