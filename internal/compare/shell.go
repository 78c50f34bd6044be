package compare

import (
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/shell"
)

// kubectlName returns the arguments that name an object for kubectl.
func kubectlName(o *manifest.Object) string {
	if o.Namespace == "" {
		return shell.Quote(o.Name)
	}
	return shell.Quote(o.Name) + " --namespace " + shell.Quote(o.Namespace)
}

// kubectlFile returns the argument that names an object's file for kubectl.
func kubectlFile(o *manifest.Object) string {
	if o.Document.File == manifest.Stdin {
		return "-"
	}
	if command, ok := manifest.Rendered(o.Document.File); ok {
		return "<(" + command + ")" // the user wrote the command
	}
	return shell.Quote(o.Document.File)
}
