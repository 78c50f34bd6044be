// Command kindhistory compares package builtin with a real API server on the history of a git repository: each object
// of a YAML file that a commit changed is an update. The object is created as it was, and applied as it became.
//
//	go run ./internal/kindhistory -git /path/to/repository/.git -server https://127.0.0.1:6443 -token TOKEN [-skip 5] [-client] [CRD-FILE...]
//
// Arguments are files of CRDs: the server gets them, one of each name, and changes of their custom resources are
// compared, too.
//
// With -skip, versions further apart are compared: every n-th of those that a file had. With -strangers, each object
// becomes one of the same kind from anywhere in the history, under its own name. With -client, the object is applied as
// kubectl does it without --server-side. The server is one without controllers, as the tests of this folder start it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/immutability/builtin"
)

func main() {
	dir := flag.String("git", ".git", "the git directory")
	server := flag.String("server", "", "the URL of the API server")
	token := flag.String("token", "", "the token of a member of system:masters")
	minor := flag.String("kubernetes-version", "1.36", "the minor of the API server")
	skip := flag.Int("skip", 1, "compare every n-th version of a file")
	client := flag.Bool("client", false, "apply on the client's side")
	strangers := flag.Bool("strangers", false, "compare objects of one kind with one another")
	most := flag.Int("max", 3000, "stop after so many updates")
	crds := flag.Int("crds", 40, "how many updates of CRDs are asked: each costs the server a second")
	namespace := flag.String("namespace", "default", "where to make the objects")
	verbose := flag.Bool("v", false, "print what is not valid, and what is unknown")
	flag.Parse()
	if err := run(*dir, *server, *token, *minor,
		&history{custom: map[schema.GroupKind]custom{}, skip: max(*skip, 1), strangers: *strangers, clientSide: *client,
			most: *most, crds: *crds, namespace: *namespace, verbose: *verbose}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, server, token, minor string, h *history, crds []string) error {
	ctx := context.Background()
	var err error
	if h.kinds, err = builtin.For(minor); err != nil {
		return err
	}
	h.server, err = ask.New(ctx, &rest.Config{Host: server, BearerToken: token, QPS: -1,
		WarningHandler: rest.NoWarnings{}, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, h.namespace)
	if err != nil {
		return err
	}
	for _, file := range crds {
		if err := h.addCRDs(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	repository, err := open(dir)
	if err != nil {
		return err
	}
	defer repository.close()
	if err := h.read(repository); err != nil {
		return err
	}
	h.judgeAll(ctx)
	fmt.Printf("%s: %d updates, %d refused, %d named, %d unknown, %d false alarms, %d misses, %d other causes, %d "+
		"unreadable, %d not valid\n",
		dir, h.updates, h.refused, h.named, h.unknown, h.falseAlarms, h.misses, h.otherCauses, h.unreadable, h.notValid)
	if h.falseAlarms+h.misses > 0 {
		return errors.New("they disagree")
	}
	return nil
}
