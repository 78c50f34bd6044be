// Command kindjudge compares package builtin with Kubernetes' own code on random updates:
//
//	go run ./internal/kindjudge -n 20000 -seed 1 [-kind StatefulSet]
//
// With -server it asks a real API server instead, which takes longer and knows all kinds, Services too; with -client,
// it applies as kubectl does it without --server-side:
//
//	go run ./internal/kindjudge -n 1000 -seed 1 -kind Service -server https://127.0.0.1:6443 -token TOKEN
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/examples/e2e/internal/judge"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

func main() {
	n := flag.Int("n", 20000, "how many updates of each kind")
	seed := flag.Uint64("seed", 1, "the same seed gives the same updates")
	only := flag.String("kind", "", "only this kind")
	folder := flag.String("cases", "../../immutability/builtin/testdata/cases", "the folder of the cases")
	manifests := flag.String("manifests", "",
		"a folder of more manifests to start from, such as the source of the module k8s.io/kubernetes")
	server := flag.String("server", "", "the URL of an API server without controllers")
	token := flag.String("token", "", "the token of a member of system:masters")
	minor := flag.String("kubernetes-version", "1.36", "the minor of the API server")
	client := flag.Bool("client", false, "apply on the client's side, on a server")
	flag.Parse()
	klog.SetOutput(io.Discard) // Kubernetes' code logs what it refuses
	klog.LogToStderr(false)
	if err := run(*n, *seed, *only, *folder, *manifests, *server, *token, *minor,
		*client && *server != ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int, seed uint64, only, folder, manifests, server, token, minor string, clientSide bool) error {
	cases, err := kindcase.Read(folder)
	if err != nil {
		return err
	}
	kinds, err := builtin.For(minor)
	if err != nil {
		return err
	}
	j := judge.New()
	if manifests != "" {
		more, err := j.Manifests(manifests)
		if err != nil {
			return err
		}
		fmt.Printf("%d manifests\n", len(more))
		cases = append(cases, more...)
	}
	objects, names := j.Objects(), j.Kinds()
	if only != "" {
		names = []string{only}
	}
	by := builtin.ApplierServerSide
	if clientSide {
		by = builtin.ApplierClientSide
	}
	if server != "" {
		if objects, err = objectsOf(server, token, clientSide); err != nil {
			return err
		}
	}
	bad := 0
	for _, kind := range names {
		r, err := judge.Run(objects, by, kinds, cases, kind, n, seed)
		if err != nil {
			return err
		}
		fmt.Printf("%-26s %6d updates, %6d refused, %5d unknown, %d false alarms, %d misses (%d not valid)\n",
			kind, r.Updates, r.Refused, r.Unknown, r.FalseAlarms, r.Misses, r.NotValid)
		if len(r.Disagreements) > 0 {
			fmt.Println(strings.Join(r.Disagreements, "\n"))
		}
		bad += r.FalseAlarms + r.Misses
	}
	if bad > 0 {
		return fmt.Errorf("%d disagreements", bad)
	}
	return nil
}

// objectsOf returns the objects of a real API server.
func objectsOf(server, token string, clientSide bool) (judge.Create, error) {
	ctx := context.Background()
	config := &rest.Config{Host: server, BearerToken: token, QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	s, err := ask.New(ctx, config, "default")
	if err != nil {
		return nil, err
	}
	return func(oldObj map[string]any) (func(map[string]any) (error, error), error) {
		if err := s.Valid(ctx, oldObj, clientSide); err != nil {
			return nil, err
		}
		return func(newObj map[string]any) (refused, err error) {
			if err := s.Valid(ctx, newObj, clientSide); err != nil {
				return nil, err
			}
			answer, err := s.Update(ctx, newObj, oldObj, clientSide)
			if err == nil && answer.Refused {
				refused = errors.New(fmt.Sprint(answer))
			}
			return refused, err
		}, nil
	}, nil
}
