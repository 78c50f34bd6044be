// Package golangci is a module plugin of golangci-lint. Copy it into a module of yours, and name that in
// .custom-gcl.yml:
//
//	version: v2.5.0
//	plugins:
//	  - module: example.com/tools
//	    import: example.com/tools/golangci
//	    path: ./tools
//
// `golangci-lint custom` then builds a golangci-lint with the linter, which .golangci.yml turns on:
//
//	linters:
//	  enable: [fieldlock]
//	  settings:
//	    custom:
//	      fieldlock: {type: module}
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/fieldlock/fieldlock/markers/analyzer"
)

func init() {
	register.Plugin("fieldlock", func(any) (register.LinterPlugin, error) { return plugin{}, nil })
}

type plugin struct{}

// BuildAnalyzers implements register.LinterPlugin.
func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{analyzer.Analyzer}, nil
}

// GetLoadMode implements register.LinterPlugin.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
