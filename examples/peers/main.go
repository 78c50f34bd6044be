// Command peers measures what fieldlock costs against what else can compare two objects, in one run, and prints every
// ratio with its target. It exits with status 1 when a target is missed.
//
//	go run ./peers              # in the folder examples
//	go run ./peers -svg FILE    # and draws the ratios
//	go run ./peers -only Go     # measures only the groups with this text in their title
//	go test -run '^$' -bench . -count 6 ./peers > peers.txt && benchstat -col /subject peers.txt
//	GOEXPERIMENT=jsonv2 go run ./peers  # decodes with encoding/json/v2, too
//
// What decodes objects is measured with the decoder of API servers, which the targets are about, and with faster ones.
//
// A round runs the two subjects of each row one right after the other, so that a busy machine is busy for both; the
// median of the ratios of all rounds is printed. Times are processor times on Linux. Those of the garbage collector are
// included: a subject that leaves garbage runs until it is collected. The CRDs of other projects are read from their Go
// modules, which go mod download gets.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	svg := flag.String("svg", "", "draw the ratios into this `file`")
	only := flag.String("only", "", "measure only the groups of rows with this `text` in their title")
	rounds := flag.Int("rounds", 11, "how many rounds to run")
	flag.Parse()
	missed, err := run(*rounds, *only, *svg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("\n%d targets are missed\n", missed)
		os.Exit(1)
	}
}

// questions are what is measured.
var questions = []func() ([]group, error){inMemory, largeLists, refusedUpdates, goTypes, onText, inKeyedLists, inWebhook, besideServer}

func run(rounds int, only, svg string) (missed int, err error) {
	var groups []group
	for _, of := range questions {
		some, err := of()
		if err != nil {
			return 0, err
		}
		some = slices.DeleteFunc(some, func(g group) bool { return !strings.Contains(g.title, only) })
		measure(rounds, some)
		groups = append(groups, some...)
	}
	missed = printTable(os.Stdout, groups)
	for _, line := range leftOut() {
		fmt.Println("\n" + line)
	}
	if svg != "" {
		err = os.WriteFile(svg, drawing(groups), 0o644)
	}
	return missed, err
}
