package page

import (
	"slices"
	"strings"
)

// Place is what a command of the pages needs in order to run.
type Place string

const (
	PlaceFolder     Place = "folder"     // a folder that Folder makes
	PlaceProject    Place = "project"    // a Go module with an API, controller-gen and make
	PlaceRepository Place = "repository" // a clone of this repository
	PlaceCluster    Place = "cluster"    // a folder, an API server, kubectl and Helm
	PlaceNone       Place = "none"       // what NotRun says
)

// PlaceOf returns where a command runs.
func PlaceOf(command string) Place {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(command, word) })
	}
	switch {
	case NotRun()[command] != "":
		return PlaceNone
	case has("kubectl ", "helm ", "--live"):
		return PlaceCluster
	case has("controller-gen"):
		return PlaceProject
	case has("./cmd/fieldlock"):
		return PlaceRepository
	default:
		return PlaceFolder
	}
}

// NotRun returns the commands that the tests of the pages do not run, and the reason. A test holds that some page has each.
func NotRun() map[string]string {
	const (
		release   = "a release has to be published first"
		installed = release + "; the tests of FIELDLOCK_INSTALL run it on a release of this tree"
		slow      = "it measures, which takes minutes; .ci/run builds the same tests"
	)
	return map[string]string{
		"go test ./... ./cmd/fieldlock/...": "it is the first step of .ci/run, which runs this test",
		"curl -fsSL https://github.com/fieldlock/fieldlock/releases/latest/download/fieldlock_$(uname -s)_$(uname -m).tar.gz | tar -xz fieldlock": installed,
		"go install github.com/fieldlock/fieldlock/cmd/fieldlock@latest":                                                                          installed,
		"go get github.com/fieldlock/fieldlock":                                                                                                   installed,
		"brew install fieldlock/tap/fieldlock":                                                                                                    release,
		"kubectl krew install fieldlock":                                                                                                          release,
		"argocd app sync shop --resource apps:Deployment:shop/web --force --replace":                                                              "it needs an Argo CD server",
		"argocd app sync shop":                                    "it needs an Argo CD server",
		"flux reconcile kustomization shop --with-source":         "it needs Flux's controllers in the cluster",
		"flux reconcile helmrelease orders --with-source --force": "it needs Flux's controllers in the cluster",
		"go test ./cmd/fieldlock -bench Tree":                     slow,
		"go test ./immutability -bench Validate":                  slow,
		"go test ./internal/apitest -update":                      "it writes the golden file that .ci/run compares",
	}
}
