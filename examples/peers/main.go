// Command peers measures what fieldlock costs against what else can compare two objects, in one run, and prints every
// ratio with its target. It exits with status 1 when a target is missed.
//
//	go run ./peers              # in the folder examples
//	go run ./peers -svg FILE    # and draws the ratios
//
// Each round runs every subject once, so that a busy machine is busy for all of them; a ratio is that of the processor
// times of one round, and the median of the rounds is printed. Times are processor times on Linux, those of the garbage
// collector included where there is garbage. The CRDs of other projects are read from their Go modules, which go mod download gets.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	svg := flag.String("svg", "", "draw the ratios into this `file`")
	rounds := flag.Int("rounds", 15, "how many rounds to run")
	flag.Parse()
	missed, err := run(*rounds, *svg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
	if missed > 0 {
		fmt.Printf("\n%d targets are missed\n", missed)
		os.Exit(1)
	}
}

func run(rounds int, svg string) (missed int, err error) {
	var rows []row
	for _, group := range []func() ([]row, error){inMemory, goTypes, onText, inKeyedLists, besideServer} {
		of, err := group()
		if err != nil {
			return 0, err
		}
		rows = append(rows, of...)
	}
	measure(rounds, rows)
	missed = printTable(os.Stdout, rows)
	if svg != "" {
		err = os.WriteFile(svg, drawing(rows), 0o644)
	}
	return missed, err
}
