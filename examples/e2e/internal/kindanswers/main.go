// Command kindanswers asks a running API server for its answers to the cases of package builtin and writes them to
// files:
//
//	go run ./internal/kindanswers -server https://127.0.0.1:6443 -token TOKEN -out ../../immutability/builtin/testdata/answers/1.37
//
// The server is one without controllers, as the tests of this folder start it. For one of another minor, build
// cmd/kube-apiserver with the versions in go.mod changed. The cases of gated.yaml want a server with all features on:
//
//	kube-apiserver --runtime-config=api/all=true --feature-gates=AllAlpha=true,AllBeta=true …
//	go run ./internal/kindanswers -only gated …
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

func main() {
	server := flag.String("server", "", "the URL of the API server")
	token := flag.String("token", "", "the token of a member of system:masters")
	folder := flag.String("cases", "../../immutability/builtin/testdata/cases", "the folder of the cases")
	only := flag.String("only", "", "a file of cases, such as gated; otherwise all are asked")
	out := flag.String("out", "", "the folder to write")
	flag.Parse()
	if err := run(*server, *token, *folder, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(server, token, folder, only, out string) error {
	cases, err := kindcase.Read(folder)
	if err == nil && len(cases) == 0 {
		err = fmt.Errorf("%s holds no cases", folder)
	}
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := ask.New(ctx, &rest.Config{Host: server, BearerToken: token, QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, "default")
	if err != nil {
		return err
	}
	answers := map[string]kindcase.Answer{}
	failed := 0
	for i, c := range cases {
		if c.Manual || !s.Served(c.Old) || only != "" && !strings.HasPrefix(c.Name, only+"/") {
			continue
		}
		answer, err := s.Ask(ctx, c, strconv.Itoa(i))
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
			failed++
			continue
		}
		answers[c.Name] = answer
	}
	if err := kindcase.WriteAnswers(out, answers); err != nil {
		return err
	}
	fmt.Printf("%d answers\n", len(answers))
	if failed > 0 {
		return fmt.Errorf("%d cases could not be asked", failed)
	}
	return nil
}
