package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/report"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// addOutputs adds -o for results that report prints in several formats, each to standard output or to a file.
func addOutputs(cmd *cobra.Command, has func(report.Format) bool) *report.Outputs {
	outputs := report.OutputsFor(has)
	cmd.Flags().VarP(outputs, "output", "o",
		"what to print: "+strings.Join(outputs.Names(), ", ")+"; FORMAT=FILE writes a file, and may be repeated")
	completeWith(cmd, "output", outputs.Names()...)
	return outputs
}

// The formats of commands that print text or JSON only.
const (
	asText = "text"
	asJSON = "json"
)

// addOutput adds -o, which takes one of formats; the first is the default.
func addOutput(cmd *cobra.Command, formats ...string) *format {
	f := &format{formats[0], formats}
	cmd.Flags().VarP(f, "output", "o", "what to print: "+strings.Join(formats, ", "))
	completeWith(cmd, "output", formats...)
	return f
}

// format is the value of --output.
type format struct {
	value   string
	allowed []string
}

func (f *format) String() string { return f.value }
func (f *format) Type() string   { return "FORMAT" }

func (f *format) Set(value string) error {
	if !slices.Contains(f.allowed, value) {
		return fmt.Errorf("the formats are %s", strings.Join(f.allowed, ", "))
	}
	f.value = value
	return nil
}

// enumerate lists names for a message, the first few of them; none stands for an empty list.
func enumerate(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return compare.Enumerate(names)
}

// oneFile is the error for any other number of arguments than one.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	_, command, _ := strings.Cut(cmd.CommandPath(), " ")
	return fmt.Errorf("%s needs one file, or - for standard input; it has %s", command, enumerate(args, "none"))
}

// joined returns errs as one error that tells how many there are and lists the first of them; nil for none.
func joined(errs []error) error {
	const limit = 20
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	lines := []string{report.Count(len(errs), "mistake") + ":"}
	for i, err := range errs {
		if i == limit {
			lines = append(lines, fmt.Sprintf("and %d more", len(errs)-limit))
			break
		}
		lines = append(lines, err.Error())
	}
	return fmt.Errorf("%s", strings.Join(lines, "\n  "))
}

// progress shows how far the work is, when it takes long enough for anyone to ask: on a terminal in one line that
// changes, in the log of a CI system by a line now and then. Safe for concurrent use; a nil progress shows nothing.
type progress struct {
	w     io.Writer
	stop  chan struct{}
	done  sync.WaitGroup
	ended sync.Once

	mu         sync.Mutex
	verb, noun string
	n, total   int // total 0: unknown
	drawn      bool
	inLog      bool
}

// When progress is shown first, and how often then.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
	progressInLog = 10 * time.Second
)

// newProgress returns a progress that draws until it is ended, or nil where nobody looks: w is neither a terminal nor
// the log of a CI system.
func newProgress(w io.Writer) *progress {
	switch {
	case report.IsTerminal(w):
		return startProgress(&progress{w: w}, progressAfter, progressEvery)
	case isLog(w):
		return startProgress(&progress{w: w, inLog: true}, progressInLog, progressInLog)
	}
	return nil
}

// isLog reports whether a CI system keeps what is written to w.
func isLog(w io.Writer) bool {
	_, isFile := w.(*os.File)
	inCI := func(name string) bool { return os.Getenv(name) != "" }
	return isFile && slices.ContainsFunc([]string{"CI", "JENKINS_URL", "TF_BUILD", "TEAMCITY_VERSION"}, inCI)
}

func startProgress(p *progress, after, every time.Duration) *progress {
	p.stop = make(chan struct{})
	p.done.Go(func() {
		for wait := after; ; wait = every {
			select {
			case <-p.stop:
				return
			case <-time.After(wait):
				p.draw()
			}
		}
	})
	return p
}

// begin starts a phase, such as "reading" files, of total steps; 0 when nobody knows.
func (p *progress) begin(verb, noun string, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verb, p.noun, p.n, p.total = verb, noun, 0, total
}

// step says that one more is done.
func (p *progress) step() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
}

// draw writes the line anew, or a line for the log.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := "reading" // files of git and the output of commands come all at once
	switch {
	case p.noun == "":
		line = cmp.Or(p.verb, line)
	case p.total > 0:
		line = fmt.Sprintf("%s %d of %s", p.verb, p.n, report.Count(p.total, p.noun))
	case p.n > 0:
		line = p.verb + " " + report.Count(p.n, p.noun)
	}
	if p.inLog {
		fmt.Fprintf(p.w, "fieldlock: %s\n", line)
		return
	}
	p.drawn = true
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}

// end stops drawing and clears the line; a second call does nothing.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.ended.Do(func() {
		close(p.stop)
		p.done.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.drawn {
			fmt.Fprint(p.w, "\r\x1b[K")
		}
	})
}
