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
