// Command etcd is the storage of the end-to-end tests, built from its module.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/lifetime"
)

func main() {
	lifetime.EndWithStdin()
	etcdmain.Main(os.Args)
}
