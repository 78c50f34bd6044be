// Command fieldlock checks immutability in Kubernetes-style APIs, driven by the schema.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/worker"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/markers/analyzer"
)

func main() {
	if asVettool(os.Args[1:]) {
		unitchecker.Main(analyzer.Analyzer)
	}
	// Helm's packages log remarks about the charts that they read, whether these have changed or not.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if worker.Asked(os.Args) {
		os.Exit(worker.Main(unit.Renderers()))
	}
	s := streams{os.Stdin, os.Stdout, os.Stderr}
	root := newRoot(s)
	if runsAsPlugin(os.Args[0]) {
		asPlugin(root)
	}
	ballast := make([]byte, 16<<20) // nobody touches it, so it takes no memory; the collector waits longer
	collect(50)                     // large runs take less memory, and small ones do not collect
	status := execute(root, os.Args[1:], s)
	runtime.KeepAlive(ballast)
	os.Exit(status)
}

// collect makes the garbage collector run when the heap has grown by some percent, unless the environment says when.
func collect(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// collectRarely is for work whose allocations are nearly all garbage at once: the heap may grow to five times what is
// in use, as long as the program takes less than 768 MB, or three times what it takes now that it has read its input.
// The environment wins.
func collectRarely() {
	if os.Getenv("GOGC")+os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	debug.SetMemoryLimit(int64(max(768<<20, 3*now.Sys)))
	collect(400)
}

// asVettool reports whether the go command runs this program as `go vet -vettool=fieldlock` and `go fix
// -fixtool=fieldlock` do: with -V=full, with -flags, or with flags and the description of a package.
func asVettool(args []string) bool {
	if len(args) == 1 && (args[0] == "-V=full" || args[0] == "-flags") {
		return true
	}
	return len(args) > 0 && strings.HasSuffix(args[len(args)-1], ".cfg") &&
		!slices.ContainsFunc(args[:len(args)-1], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}

// run executes the command line args and returns the exit status.
func run(args []string, s streams) int { return execute(newRoot(s), args, s) }

func execute(root *cobra.Command, args []string, s streams) int {
	root.SetArgs(args)
	switch err := root.Execute(); {
	case err == nil:
		return exitClean
	case errors.Is(err, errRefused):
		return exitRefused
	default:
		text := strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n\t", "\n  ") // cobra's suggestions have tabs
		fmt.Fprintf(s.err, "fieldlock: %s\n", report.PrintableLines(text))
		return exitUnread
	}
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "fieldlock",
		Short: "Find changes that a Kubernetes API server will refuse as immutable",
		Long: `fieldlock finds the changes that an API server will refuse because a field is immutable, before you deploy them. It checks
Kubernetes' own kinds, custom resources, and the parameters of operators. Begin with

  fieldlock check --git origin/main... deploy/

It also finds the ways around the locks and CEL rules of CRDs and proves them with objects (lint), and converts locks to CEL
rules and back (export, import).

Exit status: 0 clean, 1 violations, lint errors or refused parameters, 2 bad usage or unreadable input.`,
		Version:       report.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.AddCommand(newCheck(s), newRender(s), newLint(s), newLocks(s), newExport(s), newImport(s), newParams(s))
	root.AddCommand(newMarkers(s), newVersion(s))
	groupVerbs(root)
	return root
}

// groupVerbs arranges the verbs by who uses them: most people deploy.
func groupVerbs(root *cobra.Command) {
	for _, group := range [...]struct {
		id, title string
		verbs     []string
	}{
		{"deploy", "Deploy:", []string{"check", "render", "locks"}},
		{"crds", "Write CRDs:", []string{"lint", "export", "import", "markers"}},
		{"operators", "Write operators with parameters:", []string{"params"}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range root.Commands() {
			if slices.Contains(group.verbs, command.Name()) {
				command.GroupID = group.id
			}
		}
	}
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of fieldlock",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.out, report.Version())
			return err
		},
	}
}

// streams are the standard streams of one run of the command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// errRefused ends a command whose report, already printed, is a refusal.
var errRefused = errors.New("refused")

// The exit statuses.
const (
	exitClean   = 0
	exitRefused = 1 // violations, lint errors or refused parameters
	exitUnread  = 2 // bad usage or unreadable input
)

// pluginName is the name under which kubectl runs the command as "kubectl fieldlock".
const pluginName = "kubectl-fieldlock"

// runsAsPlugin reports whether the program was started under the name of the plugin.
func runsAsPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName
}

// asPlugin makes help, usage and completion speak of "kubectl fieldlock".
func asPlugin(root *cobra.Command) {
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = "kubectl fieldlock"

	var verbs []string
	for _, command := range root.Commands() {
		verbs = append(verbs, command.Name())
	}
	call := regexp.MustCompile(`\bfieldlock (` + strings.Join(verbs, "|") + `)\b`)
	var rename func(*cobra.Command)
	rename = func(command *cobra.Command) {
		command.Long = call.ReplaceAllString(command.Long, "kubectl fieldlock $1")
		command.Example = call.ReplaceAllString(command.Example, "kubectl fieldlock $1")
		for _, child := range command.Commands() {
			rename(child)
		}
	}
	rename(root)
}

// completeWith lets the shell complete a flag with one of the values, instead of the names of files.
func completeWith[T ~string](command *cobra.Command, flag string, values ...T) {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = string(value)
	}
	complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command does not have the flag
	}
}

// completeMinors lets the shell complete --kubernetes-version, the newest minor first.
func completeMinors(command *cobra.Command) {
	minors := builtin.Minors()
	slices.Reverse(minors)
	completeWith(command, "kubernetes-version", minors...)
}

// completeKinds completes a built-in kind: in lower case, or as manifests write it if the word begins with a capital
// letter. A kind that several groups have carries its group. Without such a kind the shell completes the names of
// files.
func completeKinds(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	kinds, err := builtin.For("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, k := range locked(kinds.All()) {
		name := k.Kind
		if len(named(kinds, name)) > 1 {
			name = strings.TrimSuffix(name+"."+k.Group, ".")
		}
		if word == "" || word != strings.ToUpper(word[:1])+word[1:] {
			name = strings.ToLower(name)
		}
		if strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveDefault
}
