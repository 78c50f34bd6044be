// Command vettool runs the analyzer alone: it starts faster than fieldlock itself, which is a vet tool too, and go vet
// starts it once for each import.
//
//	go build -o vettool . && go vet -vettool=$PWD/vettool ./api/...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/fieldlock/fieldlock/markers/analyzer"
)

func main() { unitchecker.Main(analyzer.Analyzer) }
