package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/internal/report/params"
)

// dialect is a system of parameters, the value of --dialect.
type dialect struct {
	name       string
	readValues func([]byte) (parameter.Values, error)
	isComplete func([]byte) bool // whether --values names every value, so that what it lacks is removed
	verbs      map[string]func(*paramsInput) (*params.Report, error)
}

// dialects returns the systems of parameters; the first is the default.
func dialects() []dialect { return []dialect{kudoDialect(), heatDialect()} }

func dialectNames() []string {
	var names []string
	for _, d := range dialects() {
		names = append(names, d.name)
	}
	return names
}

// findDialect returns the dialect of a name.
func findDialect(name string) (*dialect, error) {
	all := dialects()
	i := slices.IndexFunc(all, func(d dialect) bool { return d.name == name })
	if i < 0 {
		return nil, fmt.Errorf("--dialect is %q: it should be %s", name, strings.Join(dialectNames(), " or "))
	}
	return &all[i], nil
}

// evaluate runs a verb of the dialect.
func (d *dialect) evaluate(in *paramsInput) (*params.Report, error) {
	run, ok := d.verbs[in.verb]
	if !ok {
		var has []string
		for _, v := range paramsVerbs() {
			if d.verbs[v.name] != nil {
				has = append(has, v.name)
			}
		}
		return nil, fmt.Errorf("--dialect %s has no %s: it has %s", d.name, in.verb, strings.Join(has[:len(has)-1], ", ")+" and "+has[len(has)-1])
	}
	return run(in)
}
