// Command apiserver is the proposal for immutable fields made real: an API server for custom resources that takes CRDs
// with x-kubernetes-immutable and the other keys, lints them, enforces them and publishes them.
//
//	go run ./apiserver -data-dir DIR
//	kubectl --kubeconfig DIR/kubeconfig apply -f apiserver/demo/databases.yaml
//
// It is an example: it listens on loopback only and takes everybody there for an administrator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	o := Options{}
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8443", "loopback `address` to serve at")
	flags.StringVar(&o.DataDir, "data-dir", "",
		"`directory` for etcd, the certificate and a kubeconfig; a new temporary one, removed at the end, when empty")
	badRequest := flags.Bool("bad-request", false,
		"refuse with 400 Bad Request, the proposal's wording, instead of 422 Invalid")
	logs := flags.Bool("logs", false, "print what the API server logs")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil // the flag set has printed the flags
	} else if err != nil {
		return err
	}
	if !*logs {
		klog.SetLogger(logr.Discard())
	}
	if *badRequest {
		o.StatusCode = http.StatusBadRequest
	}
	if o.DataDir == "" {
		dir, err := os.MkdirTemp("", "fieldlock-apiserver")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.DataDir = dir
	}
	s, err := Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Printf("serving at %s\ncertificate: %s\nkubeconfig: %s\n",
		s.ClientConfig.Host, s.ClientConfig.CAFile, s.Kubeconfig)
	return s.Wait()
}
