// Command peers measures what fieldlock costs against what else can compare two objects, in one run, and prints every
// ratio with its target. It exits with status 1 when a target is missed.
//
//	go run ./peers              # in the folder examples
//	go run ./peers -svg FILE    # and draws the ratios
//	go run ./peers -only Go     # measures only the groups with this text in their title
//
// Each round runs every subject once, so that a busy machine is busy for all of them; a ratio compares the processor
// times of one round, and the median of the rounds is printed. Times are processor times on Linux, those of the garbage
// collector included where there is garbage. The CRDs of other projects are read from their Go modules, which go mod download gets.
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
	rounds := flag.Int("rounds", 15, "how many rounds to run")
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

func run(rounds int, only, svg string) (missed int, err error) {
	var rows []row
	for _, group := range []func() ([]row, error){inMemory, goTypes, onText, inKeyedLists, besideServer} {
		of, err := group()
		if err != nil {
			return 0, err
		}
		rows = append(rows, of...)
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(r.group, only) })
	measure(rounds, rows)
	missed = printTable(os.Stdout, rows)
	if svg != "" {
		err = os.WriteFile(svg, drawing(rows), 0o644)
	}
	return missed, err
}
