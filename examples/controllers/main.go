// Command controllers is the stock kube-controller-manager, built from its module: it protects, binds and deletes
// volumes, makes the pods of StatefulSets, and empties namespaces. hack/appliers runs it where it carries out what
// check and the pages say about claims.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() { os.Exit(cli.Run(app.NewControllerManagerCommand())) }
