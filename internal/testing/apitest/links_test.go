package apitest

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fieldlock/fieldlock"

// TestLinks: a program that imports a package inherits everything that the package links. Checks and the reading of
// locks need neither CEL nor an API server, and so neither Prometheus nor etcd.
func TestLinks(t *testing.T) {
	const heavy = `^k8s\.io/(apiserver|client-go|component-base)(/|$)|/cel-go/|/prometheus/|^go\.etcd\.io/|^google\.golang\.org/grpc`
	for _, row := range []struct{ name, reason, without string }{
		{"immutability", "the core takes no API types of CRDs either", heavy + `|^k8s\.io/apiextensions-apiserver/`},
		{"immutability/typed", "as the core", heavy + `|^k8s\.io/apiextensions-apiserver/`},
		{"immutability/crd", "locks are read from documents", heavy + `|^k8s\.io/apiextensions-apiserver/`},
		{"immutability/openapi", "locks are read from documents", heavy + `|^k8s\.io/apiextensions-apiserver/`},
		{"immutability/admission", "a webhook only compares", heavy + `|^k8s\.io/apiextensions-apiserver/`},
		{"immutability/admission/loader", "it reads API objects of CRDs", heavy},
		{"immutability/crd/lint", "it compiles rules and serves nothing", `^k8s\.io/client-go/|^google\.golang\.org/grpc|/otel/sdk|^go\.etcd\.io/`},
	} {
		t.Run(row.name, func(t *testing.T) {
			without := regexp.MustCompile(row.without)
			packages := list(t, "{{.ImportPath}}", module+"/"+row.name)
			if len(packages) < 50 {
				t.Fatalf("it links %d packages, which cannot be all", len(packages))
			}
			for _, path := range packages {
				if without.MatchString(path) {
					t.Errorf("it links %s: %s", path, row.reason)
				}
			}
		})
	}
}

// TestModules: `go mod tidy` puts every module into the go.mod of a program that one of its packages is linked from.
func TestModules(t *testing.T) {
	const limit = 27
	for _, name := range []string{"immutability", "immutability/typed", "immutability/crd", "immutability/openapi"} {
		modules := list(t, "{{with .Module}}{{.Path}}{{end}}", module+"/"+name)
		if len(modules) > limit || !slices.Contains(modules, module) {
			t.Errorf("a program that imports %s requires %d modules, want %d at most:\n%s", name, len(modules), limit, strings.Join(modules, "\n"))
		}
	}
}

// list returns what a template of go list says about the packages that one package links, sorted, each once. It reads
// the root's go.mod, as users do, and not the workspace.
func list(t *testing.T, template, name string) []string {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-f", template, name)
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	return slices.Compact(lines)
}
