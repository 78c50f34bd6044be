package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// junitFormat is the XML of JUnit, which most CI systems show as tests: Jenkins, GitLab, Azure, CircleCI.
var junitFormat = Format{
	Name: "junit",
	Check: func(w io.Writer, r *compare.Report) error {
		return writeJUnit(w, "check", headline(r, false), checkAlerts(r))
	},
	Lint: func(w io.Writer, r *audit.Report) error {
		return writeJUnit(w, "lint", lintSummary(r, false), lintAlerts(r))
	},
}

type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Cases     []junitCase `xml:"testcase"`
		SystemOut string      `xml:"system-out"`

		seen map[[2]string]bool // classes and names
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		File    string       `xml:"file,attr,omitempty"` // in GitLab, which links it; other readers may refuse it
		Failure *junitResult `xml:"failure"`
		Error   *junitResult `xml:"error"`
		Skipped *junitResult `xml:"skipped"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit prints alerts as one suite. An alert that fails the run is a failure, an input that cannot be read an
// error; the others are skipped tests, which show their message without failing. If nothing fails, one test has passed,
// since many readers take a file without tests for a mistake.
//
// It uses what the schema of Jenkins' xUnit plugin knows, since that plugin refuses a file that has more (xunit-plugin
// at 8c515de: types/JUnitInputMetric.java, types/model/xsd/junit-10.xsd).
func writeJUnit(w io.Writer, verb, summary string, alerts []alert) error {
	suite := junitSuite{Name: "fieldlock " + verb, SystemOut: PrintableLines(summary)}
	for i := range alerts {
		suite.add(&alerts[i], verb)
	}
	if suite.Failures+suite.Errors == 0 {
		suite.Cases = append(suite.Cases,
			junitCase{Name: strings.TrimPrefix(PrintableLines(summary), "✓ "), Class: "fieldlock." + verb})
	}
	suite.Tests = len(suite.Cases)
	var b bytes.Buffer
	b.WriteString(xml.Header)
	encoder := xml.NewEncoder(&b)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{
		Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors,
		Suites: []junitSuite{suite},
	}); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

func (s *junitSuite) add(a *alert, verb string) {
	// GitLab shows the text of a result without its message; Jenkins shows both, and of a skipped test the message
	// alone.
	result := &junitResult{Message: Printable(a.message), Type: Printable(a.rule), Text: PrintableLines(a.text())}
	at := a.where()
	if at != "" {
		result.Text += "\n" + Printable(at)
	}
	c := junitCase{Name: Printable(a.field), Class: "fieldlock." + verb + "." + Printable(a.rule)}
	if c.Name == "" {
		c.Name = Printable(a.message)
	}
	file := ""
	if manifest.IsFile(a.at.Filename) {
		file = Printable(relative(a.at.Filename))
	}
	s.distinguish(&c, file)
	if file != "" && os.Getenv("GITLAB_CI") != "" {
		c.File = Printable(inRepository(a.at.Filename))
	}
	switch {
	case a.rule == alertUnreadable:
		c.Error = result
		s.Errors++
	case a.fails:
		c.Failure = result
		s.Failures++
	default:
		result.Type, result.Message = "", Printable(a.about())
		if at != "" {
			result.Message += "; " + Printable(at)
		}
		c.Skipped = result
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// distinguish gives a test a name that no other test of its class has: of two, GitLab shows the last one only. The same
// object can be refused in several files, and in one file for several units.
func (s *junitSuite) distinguish(c *junitCase, file string) {
	if s.seen == nil {
		s.seen = map[[2]string]bool{}
	}
	name := c.Name
	if s.seen[[2]string{c.Class, name}] && file != "" {
		name += " in " + file
	}
	unique := name
	for n := 2; s.seen[[2]string{c.Class, unique}]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	c.Name = unique
	s.seen[[2]string{c.Class, unique}] = true
}
