// Package kubeapilinter is kube-api-linter with one more linter, fieldlock, which is on by default. Copy it into a
// module of yours, and name that in .custom-gcl.yml in the place of kube-api-linter:
//
//	version: v2.5.0
//	plugins:
//	  - module: example.com/tools
//	    import: example.com/tools/kubeapilinter
//	    path: ./tools
package kubeapilinter

import (
	"sigs.k8s.io/kube-api-linter/pkg/analysis/initializer"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"
	_ "sigs.k8s.io/kube-api-linter/pkg/plugin/base"  // registers the plugin kubeapilinter
	_ "sigs.k8s.io/kube-api-linter/pkg/registration" // and its own linters

	"github.com/fieldlock/fieldlock/markers/analyzer"
)

func init() {
	registry.DefaultRegistry().RegisterLinter(initializer.NewInitializer(analyzer.Analyzer.Name,
		analyzer.Analyzer, true))
}
