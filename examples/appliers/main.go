// Command appliers makes updates on a cluster with the deployment tools' own code, and writes down which tool the API
// server refuses. Every case is made anew by every tool: it creates the old object, and then applies the new one.
//
//	appliers -kubeconfig FILE -cases DIR -crds FILE [-run TEXT] [-ways -kubectl FILE] [-live FIELDLOCK]
//
// It prints the answers as package applycase reads them. With -ways, it carries out the ways out of refusals instead,
// as check prints them, and fails if one does not do what it says. With -live, it asks the command fieldlock first what
// each tool will get, by check --live. examples/e2e starts the cluster and runs it (hack/appliers).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/testing/applycase"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster; every object of the cases is created there, and removed")
	cases := flag.String("cases", "", "a folder of cases, as package kindcase reads them")
	crds := flag.String("crds", "", "a file of the CRDs that the cases need")
	run := flag.String("run", "", "only the cases whose names contain this text")
	ways := flag.Bool("ways", false, "carry out the ways out of refusals")
	kubectl := flag.String("kubectl", "", "with -ways: the path of kubectl")
	live := flag.String("live", "", "hold check --live of this command against the tools")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	log.SetLogger(klog.Background())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	err := func() error {
		if *ways {
			return tryWays(context.Background(), *kubeconfig, *cases, *crds, *run, *kubectl)
		}
		if *live != "" {
			return forecast(context.Background(), *kubeconfig, *cases, *crds, *run, *live)
		}
		answers, err := ask(context.Background(), *kubeconfig, *cases, *crds, *run)
		if err != nil {
			return err
		}
		return applycase.Write(os.Stdout, answers)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tryWays carries out the ways out of the cases that are refused.
func tryWays(ctx context.Context, kubeconfig, folder, crds, run, kubectl string) error {
	cases, err := kindcase.Read(folder)
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(one kindcase.Case) bool { return !strings.Contains(one.Name, run) })
	kinds, err := builtin.For("")
	if err != nil {
		return err
	}
	c, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, crds); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ways")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(crds)
	if err != nil {
		return err
	}
	done, failures, err := carrier{c, kinds, text, kubectl, kubeconfig, dir}.all(ctx, cases)
	if err != nil {
		return err
	}
	fmt.Printf("%d ways were carried out\n", done)
	if len(failures) > 0 {
		return fmt.Errorf("%d of them do not do what they say:\n%s", len(failures), strings.Join(failures, "\n"))
	}
	return nil
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
