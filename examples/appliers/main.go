// Command appliers makes updates on a cluster with the deployment tools' own code, and writes down which tool the API server
// refuses. Every case is made anew by every tool: it creates the old object, and then applies the new one.
//
//	appliers -kubeconfig FILE -cases DIR -crds FILE [-run TEXT]
//
// It prints the answers as package applycase reads them. examples/e2e starts the cluster and runs it (hack/appliers).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fieldlock/fieldlock/internal/applycase"
	"github.com/fieldlock/fieldlock/internal/kindcase"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster; every object of the cases is created there, and removed")
	cases := flag.String("cases", "", "a folder of cases, as package kindcase reads them")
	crds := flag.String("crds", "", "a file of the CRDs that the cases need")
	run := flag.String("run", "", "only the cases whose names contain this text")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetLogger(klog.Background())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	answers, err := ask(context.Background(), *kubeconfig, *cases, *crds, *run)
	if err == nil {
		err = applycase.Write(os.Stdout, answers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ask makes all cases with all tools.
func ask(ctx context.Context, kubeconfig, folder, crds, run string) (map[string]applycase.Answer, error) {
	cases, err := kindcase.Read(folder)
	if err != nil {
		return nil, err
	}
	c, err := connect(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, crds); err != nil {
		return nil, err
	}
	tools, err := allTools(c, kubeconfig)
	if err != nil {
		return nil, err
	}
	answers := map[string]applycase.Answer{}
	for i, one := range cases {
		if !strings.Contains(one.Name, run) {
			continue
		}
		answer := applycase.Answer{}
		for _, t := range tools {
			if answer[t.name], err = c.update(ctx, t, one, fmt.Sprintf("%s-%d", t.short, i)); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", one.Name, t.name, err)
			}
		}
		answers[one.Name] = answer
	}
	return answers, nil
}
