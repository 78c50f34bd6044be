// Command kindjudge compares package builtin with Kubernetes' own code on random updates:
//
//	go run ./internal/kindjudge -n 20000 -seed 1 [-kind StatefulSet]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/klog/v2"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/judge"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/kindcase"
)

func main() {
	n := flag.Int("n", 20000, "how many updates of each kind")
	seed := flag.Uint64("seed", 1, "the same seed gives the same updates")
	only := flag.String("kind", "", "only this kind")
	folder := flag.String("cases", "../../immutability/builtin/testdata/cases", "the folder of the cases")
	manifests := flag.String("manifests", "", "a folder of more manifests to start from, such as the source of the module k8s.io/kubernetes")
	flag.Parse()
	klog.SetOutput(io.Discard) // Kubernetes' code logs what it refuses
	klog.LogToStderr(false)
	if err := run(*n, *seed, *only, *folder, *manifests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int, seed uint64, only, folder, manifests string) error {
	cases, err := kindcase.Read(folder)
	if err != nil {
		return err
	}
	kinds, err := builtin.For("1.36")
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
	bad := 0
	for _, kind := range j.Kinds() {
		if only != "" && only != kind {
			continue
		}
		r, err := judge.Run(j, kinds, cases, kind, n, seed)
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
