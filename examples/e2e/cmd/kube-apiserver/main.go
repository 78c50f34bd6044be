// Command kube-apiserver is the stock API server of the end-to-end tests, built from its module.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/lifetime"
)

func main() {
	lifetime.EndWithStdin()
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
