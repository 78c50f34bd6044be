// Command crrandom compares what check predicts with what an API server answers, on random updates of custom resources:
//
//	go run ./internal/crrandom -server https://127.0.0.1:6443 -token TOKEN -n 40 -seed 1 ../../../shared/crds/*/*.yaml
//
// The server is one without controllers, such as cmd/kube-apiserver, and may lose its CRDs. Every update is tried by
// server-side apply, client-side apply and PUT. LOST is an update that the server refuses for a reason that is not one
// of the new object alone, and that check accepts; FALSE ALARM is the reverse.
//
// With -stricter, the stored objects are not valid: they were stored before the CRD got the rules that it has, which
// forgive what an update leaves as it was.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

func main() {
	server := flag.String("server", "", "the URL of an API server without controllers")
	token := flag.String("token", "", "the token of a member of system:masters")
	o := options{tally: &tally{counts: map[string]int{}}}
	flag.IntVar(&o.pairs, "n", 40, "how many updates of each version of a CRD")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed gives the same updates")
	flag.BoolVar(&o.stricter, "stricter", false, "store objects that are not valid")
	flag.BoolVar(&o.unknown, "unknown", false, "print refused updates that check does not know about, too")
	workers := flag.Int("workers", 3, "how many CRDs to ask about at once")
	flag.Parse()
	klog.SetOutput(io.Discard) // Kubernetes' code logs what it refuses
	klog.LogToStderr(false)
	ctx := context.Background()
	var err error
	if o.server, err = ask.New(ctx,
		&rest.Config{Host: *server, BearerToken: *token, QPS: -1, WarningHandler: rest.NoWarnings{},
			TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, namespace); err == nil {
		err = o.run(ctx, flag.Args(), *workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	*tally
	server            *ask.Server
	pairs             int
	seed              uint64
	stricter, unknown bool
}

// run judges the CRDs of files; those of one name one after the other.
func (o options) run(ctx context.Context, files []string, workers int) error {
	byName := map[string][]*yamldoc.Document{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		documents, err := yamldoc.Read(file, text)
		if err != nil {
			return err
		}
		for _, d := range documents {
			if name, _ := fieldpath.Get(d.Object, "metadata", "name"); d.Object["kind"] == "CustomResourceDefinition" {
				byName[fmt.Sprint(name)] = append(byName[fmt.Sprint(name)], d)
			}
		}
	}
	names := make(chan string)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for name := range names {
				for _, d := range byName[name] {
					if err := o.judge(ctx, d.File, d.Object); err != nil {
						o.print("NOT JUDGED %s: %v", d.File, err)
						o.count("CRDs not judged", 1)
					}
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		names <- name
	}
	close(names)
	group.Wait()
	for _, what := range slices.Sorted(maps.Keys(o.counts)) {
		fmt.Printf("%7d %s\n", o.counts[what], what)
	}
	if bad := o.counts[lost] + o.counts[falseAlarm]; bad > 0 {
		return fmt.Errorf("%d disagreements", bad)
	}
	return nil
}

// tally counts and prints for several workers.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) count(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

func (t *tally) print(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}
