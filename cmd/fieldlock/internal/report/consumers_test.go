package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
)

// outputsOf returns what a format prints for a check and a lint with something of every sort, and for clean ones.
func outputsOf(t *testing.T, f Format) map[string][]byte {
	t.Helper()
	strict := checkReport()
	strict.Strict = true
	every := &audit.Report{CRDs: 1}
	for _, r := range catalogue.All() {
		finding := lintReport().Findings[0]
		finding.Rule = r.ID
		every.Findings = append(every.Findings, finding)
	}
	outputs := map[string][]byte{}
	for name, r := range map[string]*compare.Report{"check": checkReport(), "strict": strict, "clean check": {Allowed: true, Updated: 1, Checked: 1}} {
		var b bytes.Buffer
		if err := f.Check(&b, r); err != nil {
			t.Fatal(err)
		}
		outputs[name] = b.Bytes()
	}
	for name, r := range map[string]*audit.Report{"lint": lintReport(), "clean lint": {CRDs: 1}, "unreadable lint": {Errors: []string{"x.yaml:3: malformed"}}, "every rule": every} {
		var b bytes.Buffer
		if err := f.Lint(&b, r); err != nil {
			t.Fatal(err)
		}
		outputs[name] = b.Bytes()
	}
	return outputs
}

// sarifSchema returns the JSON Schema of SARIF 2.1.0, a constant in the source of go-sarif.
func sarifSchema(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", reflect.TypeFor[sarif.Report]().PkgPath()).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := strconv.Unquote(file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSARIFForGitHub: the log passes the schema of SARIF 2.1.0, and has what GitHub asks for beyond the schema:
// each result has a place in the repository, each rule a help and two descriptions, the tool a version.
func TestSARIFForGitHub(t *testing.T) {
	schema := sarifSchema(t)
	if result, err := schema.Validate(gojsonschema.NewStringLoader(`{"version": "2.1.0", "runs": [{"tool": {"driver": {}}, "more": 1}]}`)); err != nil || len(result.Errors()) != 2 {
		t.Fatalf("the schema finds %v, %v in a log without the name of the tool and with an unknown key", result, err)
	}
	for name, text := range outputsOf(t, sarifFormat) {
		result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
		if err != nil || !result.Valid() {
			t.Errorf("%s: it is not valid by the schema: %v, %v", name, result.Errors(), err)
		}
		var log sarif.Report
		if err := json.Unmarshal(text, &log); err != nil {
			t.Fatal(err)
		}
		driver := log.Runs[0].Tool.Driver
		if *driver.Version == "" {
			t.Errorf("%s: the tool has no version", name)
		}
		for _, r := range driver.Rules {
			if *r.ShortDescription.Text == "" || *r.FullDescription.Text == "" || *r.Help.Text == "" || *r.Help.Markdown == "" || len(*r.FullDescription.Text) > 4*maxDescription {
				t.Errorf("%s: the rule %s has no description or help, or a long one", name, *r.ID)
			}
		}
		var fingerprints []string
		for _, r := range log.Runs[0].Results {
			if len(r.Locations) != 1 || r.Locations[0].PhysicalLocation == nil || *r.Locations[0].PhysicalLocation.ArtifactLocation.URI == "" ||
				r.Locations[0].PhysicalLocation.Region == nil || *r.Locations[0].PhysicalLocation.Region.StartLine < 1 {
				t.Errorf("%s: the result %q has no place", name, *r.Message.Text)
			}
			fingerprints = append(fingerprints, r.PartialFingerprints["fieldlock/v1"])
		}
		unique(t, name, fingerprints)
	}
	text := outputsOf(t, sarifFormat)["check"]
	for _, part := range []string{
		`"uri": ".fieldlock.yaml"`, // for what standard input has
		`To apply this change, the Widget must be replaced (cost: data): deleting the object can lose data\n• keep the old values\n• delete it: kubectl delete widget a\n• in one step: kubectl replace a"`,
	} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("no %s in the log", part)
		}
	}
}

// TestSARIFLimit: GitHub refuses a log with more than 25,000 results, so the least are left out, and counted.
func TestSARIFLimit(t *testing.T) {
	for _, c := range []struct {
		alerts int
		left   string
	}{{25_000, ""}, {25_001, "2 more results left out"}, {30_000, "5001 more results left out"}} {
		alerts := make([]alert, c.alerts)
		for i := range alerts {
			alerts[i] = alert{rule: alertNote, level: "note", message: "a note", field: strconv.Itoa(i)}
		}
		alerts[c.alerts-1] = alert{rule: "immutable", level: "error", message: "the last one is refused", field: "last"}
		var b bytes.Buffer
		if err := writeSARIF(&b, alerts); err != nil {
			t.Fatal(err)
		}
		var log sarif.Report
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		results := log.Runs[0].Results
		if len(results) != 25_000 || !bytes.Contains(b.Bytes(), []byte("the last one is refused")) {
			t.Errorf("%d alerts: %d results, or the error is missing", c.alerts, len(results))
		}
		if last := *results[len(results)-1].Message.Text; c.left != "" && !strings.Contains(last, c.left) {
			t.Errorf("%d alerts: the last result is %q", c.alerts, last)
		}
	}
}

func unique(t *testing.T, name string, fingerprints []string) {
	t.Helper()
	slices.Sort(fingerprints)
	if n := len(fingerprints); len(slices.Compact(fingerprints)) != n || slices.Contains(fingerprints, "") {
		t.Errorf("%s: the fingerprints are not unique: %v", name, fingerprints)
	}
}

// TestGitLabCodeQuality: the report has every key that GitLab requires, with the values that it knows, and no others.
func TestGitLabCodeQuality(t *testing.T) {
	known := []string{"info", "minor", "major", "critical", "blocker"}
	for name, text := range outputsOf(t, gitlabFormat) {
		var list []struct {
			Description, Fingerprint, Severity string
			CheckName                          string `json:"check_name"`
			Location                           struct {
				Path  string
				Lines struct{ Begin int }
			}
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&list); err != nil || list == nil {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		var fingerprints []string
		for _, issue := range list {
			at := issue.Location
			if issue.Description == "" || issue.CheckName == "" || !slices.Contains(known, issue.Severity) || at.Lines.Begin < 1 || at.Path == "" || at.Path != path.Clean(at.Path) {
				t.Errorf("%s: %+v", name, issue)
			}
			fingerprints = append(fingerprints, issue.Fingerprint)
		}
		unique(t, name, fingerprints)
	}
	// A fingerprint stays when the file moves by lines and when the values change, so that GitLab shows what is new.
	before, after := checkAlerts(checkReport())[0], checkAlerts(checkReport())[0]
	after.at.Line, after.message = 99, "another value"
	if before.fingerprint(map[string]int{}) != after.fingerprint(map[string]int{}) {
		t.Error("another line or value changes the fingerprint")
	}
	after.field = "Widget ns/a: spec.other"
	if before.fingerprint(map[string]int{}) == after.fingerprint(map[string]int{}) {
		t.Error("two fields have the same fingerprint")
	}
}

// TestJUnit: the counts are those of the tests in the file, and what fails the run is what fails there.
func TestJUnit(t *testing.T) {
	type counts struct{ tests, failures, errors, skipped int }
	want := map[string]counts{
		"check":           {20, 8, 2, 10}, // eight violations are neither accepted nor requested
		"strict":          {20, 13, 2, 5},
		"clean check":     {1, 0, 0, 0},
		"lint":            {7, 1, 0, 6},
		"clean lint":      {1, 0, 0, 0},
		"unreadable lint": {1, 0, 1, 0},
		"every rule":      {len(catalogue.All()), len(catalogue.All()), 0, 0},
	}
	for name, text := range outputsOf(t, junitFormat) {
		var suites junitSuites
		if err := xml.Unmarshal(text, &suites); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		suite := suites.Suites[0]
		var got counts
		for _, c := range suite.Cases {
			got.tests++
			if c.Failure != nil {
				got.failures++
			}
			if c.Error != nil {
				got.errors++
			}
			if c.Skipped != nil {
				got.skipped++
			}
			if c.Name == "" || c.Class == "" {
				t.Errorf("%s: a test without a name: %+v", name, c)
			}
		}
		if said := (counts{suite.Tests, suite.Failures, suite.Errors, suite.Skipped}); got != want[name] || said != got || suites.Tests != suite.Tests || suites.Failures != suite.Failures || suites.Errors != suite.Errors {
			t.Errorf("%s: the tests count %v, the suite says %v, want %v", name, got, said, want[name])
		}
		if !strings.Contains(suite.SystemOut, "checked") && !strings.Contains(suite.SystemOut, "CRD") {
			t.Errorf("%s: the summary is %q", name, suite.SystemOut)
		}
	}
}

// junitSchema says what the elements of a JUnit file may have: attributes, those with "!" required, and children. It
// restates the schema of Jenkins' xUnit plugin (xunit-plugin at 8c515de: types/model/xsd/junit-10.xsd).
var junitSchema = map[string]struct{ attributes, children string }{
	"":           {"", "testsuites testsuite"},
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite": {"name! tests! failures! errors! group time skipped timestamp hostname id package file log url version",
		"testsuite properties testcase system-out system-err"},
	"testcase":   {"name! time classname group", "skipped error failure rerunFailure rerunError flakyFailure flakyError system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"skipped":    {"type message", ""},
	"system-out": {"", ""},
}

// TestJUnitSchema: Jenkins' xUnit plugin takes the file.
func TestJUnitSchema(t *testing.T) {
	t.Setenv("GITLAB_CI", "")
	if mistakes := junitMistakes(t, []byte(`<testsuites skipped="1"><testsuite name="a"><testcase file="b"/></testsuite></testsuites>`)); len(mistakes) != 6 {
		t.Errorf("the schema finds %q", mistakes)
	}
	for name, text := range outputsOf(t, junitFormat) {
		if mistakes := junitMistakes(t, text); len(mistakes) > 0 {
			t.Errorf("%s: %q", name, mistakes)
		}
	}
}

func junitMistakes(t *testing.T, text []byte) (mistakes []string) {
	t.Helper()
	parents := []string{""}
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			return mistakes
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, parent := token.Name.Local, parents[len(parents)-1]
			if !slices.Contains(strings.Fields(junitSchema[parent].children), name) {
				mistakes = append(mistakes, name+" in "+parent)
			}
			known := strings.Fields(junitSchema[name].attributes)
			for _, a := range token.Attr {
				known = slices.DeleteFunc(known, func(k string) bool { return k == a.Name.Local+"!" })
				if !slices.Contains(strings.Fields(strings.ReplaceAll(junitSchema[name].attributes, "!", "")), a.Name.Local) {
					mistakes = append(mistakes, name+" has "+a.Name.Local)
				}
			}
			for _, k := range known {
				if strings.HasSuffix(k, "!") {
					mistakes = append(mistakes, name+" lacks "+k)
				}
			}
			parents = append(parents, name)
		case xml.EndElement:
			parents = parents[:len(parents)-1]
		}
	}
}

// TestJUnitReaders: GitLab shows the text of a result and the file of its test, which is in the repository (gitlabhq at
// 028d8ac9fdde: lib/gitlab/ci/parsers/test/junit.rb; Hash.from_xml of Active Support casts a text whose element has a
// type such as "file"). Jenkins shows the message, and of a skipped test nothing else (junit-plugin at c64aedde:
// CaseResult.java: getSkippedMessage).
func TestJUnitReaders(t *testing.T) {
	casts := strings.Fields("symbol date datetime duration integer float decimal boolean string yaml base64Binary hexBinary file array nil")
	t.Setenv("GITLAB_CI", "true")
	for name, text := range outputsOf(t, junitFormat) {
		var suites junitSuites
		if err := xml.Unmarshal(text, &suites); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, c := range suites.Suites[0].Cases {
			for _, r := range []*junitResult{c.Failure, c.Error, c.Skipped} {
				if r == nil {
					continue
				}
				first, _, _ := strings.Cut(r.Text, "\n")
				says := r != c.Skipped || strings.HasPrefix(r.Message, first)
				place, _, isFile := strings.Cut(r.Text[strings.LastIndex(r.Text, "\n")+1:], ".yaml:")
				if slices.Contains(casts, r.Type) || r.Message == "" || !says || isFile && c.Error == nil && c.File != "cmd/fieldlock/internal/report/"+place+".yaml" {
					t.Errorf("%s: %+v: %+v", name, c, r)
				}
			}
		}
	}
}

// TestJUnitNames: GitLab keeps one test of each class and name, so that no two alerts may share them.
func TestJUnitNames(t *testing.T) {
	alerts := make([]alert, 5)
	for i, file := range []string{"a.yaml", "b.yaml", "b.yaml", "", ""} {
		alerts[i] = alert{rule: "immutable", level: "error", fails: true, message: "field is immutable", field: "Widget a: spec.class", at: token.Position{Filename: file, Line: 1}}
	}
	var b bytes.Buffer
	if err := writeJUnit(&b, "check", "✗", alerts); err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range suites.Suites[0].Cases {
		names = append(names, c.Name)
	}
	want := []string{"Widget a: spec.class", "Widget a: spec.class in b.yaml", "Widget a: spec.class in b.yaml (2)", "Widget a: spec.class (2)", "Widget a: spec.class (3)"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// TestAlertMessages: a message has what changed, once.
func TestAlertMessages(t *testing.T) {
	one := []result.Difference{{Path: "spec.selector.app", Old: raw(`"a"`), New: raw(`"b"`)}}
	for _, c := range []struct {
		name, want string
		v          result.Violation
	}{
		{"a built-in kind", `Job a: spec.selector: field is immutable: app  "a" → "b"`, result.Violation{Path: "spec.selector", Message: "field is immutable", Differences: one}},
		{"a lock of a CRD, whose message lists them", `Job a: spec.selector: field is immutable: …`, result.Violation{Path: "spec.selector", Message: "field is immutable: …", Differences: one, LockFile: "crd.yaml"}},
		{"a value", `Job a: spec.a: field is immutable: 1 → absent`, result.Violation{Path: "spec.a", Message: "field is immutable", Old: raw("1")}},
		{"a key", `Job a: spec.a: field is immutable: "k" may not be removed`, result.Violation{Path: "spec.a", Message: `field is immutable: "k" may not be removed`, Key: raw(`"k"`), Old: raw("{}")}},
		{"a Secret", `Job a: data: field is immutable`, result.Violation{Path: "data", Message: "field is immutable", Redacted: true}},
	} {
		c.v.Kind, c.v.Object = "Job", "a"
		if got := checkAlerts(&compare.Report{Violations: []result.Violation{c.v}})[0].message; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
