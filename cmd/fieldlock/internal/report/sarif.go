package report

import (
	"fmt"
	"go/token"
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/finding/catalogue"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// sarifFormat is SARIF 2.1.0, for code scanning.
var sarifFormat = Format{
	Name:  "sarif",
	Check: func(w io.Writer, r *compare.Report) error { return writeSARIF(w, checkAlerts(r)) },
	Lint:  func(w io.Writer, r *audit.Report) error { return writeSARIF(w, lintAlerts(r)) },
}

// The parts of a SARIF log that reports have.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		FullDescription  sarifMessage `json:"fullDescription"`
		Help             sarifHelp    `json:"help"`
	}
	sarifHelp struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifResult struct {
		RuleID           string             `json:"ruleId"`
		RuleIndex        int                `json:"ruleIndex"`
		Level            string             `json:"level"`
		Message          sarifMessage       `json:"message"`
		Locations        []sarifLocation    `json:"locations"`
		RelatedLocations []sarifLocation    `json:"relatedLocations,omitempty"`
		Fingerprints     map[string]string  `json:"partialFingerprints"`
		Suppressions     []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// maxResults is how many results of a run GitHub takes; it refuses a log that has more.
const maxResults = 25_000

// writeSARIF prints alerts as a SARIF 2.1.0 log of one run. Of more than maxResults, the last ones of the lowest level
// are left out, and one more result counts them.
func writeSARIF(w io.Writer, alerts []alert) error {
	if left := len(alerts) - (maxResults - 1); left > 1 {
		levels := []string{"error", "warning", "note"}
		alerts = slices.SortedStableFunc(slices.Values(alerts), func(a, b alert) int {
			return slices.Index(levels, a.level) - slices.Index(levels, b.level)
		})
		alerts = append(alerts[:maxResults-1], alert{rule: alertNote, level: "note", message: fmt.Sprintf(
			"%s left out: GitHub takes %d results; -o text prints everything", Count(left, "more result"), maxResults)})
	}
	driver := sarifDriver{Name: "fieldlock", Version: Version(),
		InformationURI: "https://github.com/fieldlock/fieldlock", Rules: []sarifRule{}}
	var ids []string
	for _, a := range alerts {
		ids = append(ids, a.rule)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		driver.Rules = append(driver.Rules, describeRule(id))
	}
	results := make([]sarifResult, len(alerts))
	seen := map[string]int{}
	for i := range alerts {
		a := &alerts[i]
		r := sarifResult{
			RuleID: a.rule, RuleIndex: slices.Index(ids, a.rule), Level: a.level,
			Message:      sarifMessage{sarifText(a.text())},                // with the reason: GitHub reads no suppressions
			Locations:    []sarifLocation{{Physical: physical(a.place())}}, // GitHub takes no result without one
			Fingerprints: map[string]string{"fieldlock/v1": a.fingerprint(seen)},
		}
		if a.field != "" {
			r.Locations[0].Logical = []sarifLogical{{a.field}}
		}
		if lock := physical(a.lock); lock != nil {
			r.RelatedLocations = []sarifLocation{{ID: 1, Physical: lock, Message: &sarifMessage{"the lock"}}}
		}
		if a.accepted != "" {
			r.Suppressions = []sarifSuppression{{"external", a.accepted}}
		}
		results[i] = r
	}
	return WriteJSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{sarifTool{driver}, results}},
	})
}

// describeRule explains a lock, a rule of the catalogue or another alert.
func describeRule(id string) sarifRule {
	if r, ok := catalogue.Find(id); ok {
		return sarifRule{id, sarifMessage{r.Text}, sarifMessage{jsonvalue.Excerpt(r.Why, 0, maxDescription)},
			sarifHelp{r.Help(), r.Help()}}
	}
	meaning := meanings[immutability.Lock(id)]
	help := meaning + ".\n\n" + helps[id]
	if helps[id] == "" {
		help = "Lock " + id + ": " + meaning + ".\n\n" + refusedHelp
	}
	return sarifRule{id, sarifMessage{meaning}, sarifMessage{help}, sarifHelp{help, help}}
}

// maxDescription is how many characters of a description GitHub takes.
const maxDescription = 1000

// refusedHelp says what to do about a violation.
const refusedHelp = "The API server refuses the update. Keep the old value, take one of the ways out in the message, " +
	"or accept the change in " +
	manifest.AcceptFile + ", with the reason. See https://github.com/fieldlock/fieldlock/blob/main/docs/deploy.md"

// helps says what to do about alerts that are not locks of a schema.
var helps = map[string]string{
	"rule":   refusedHelp,
	"server": refusedHelp,
	"deletion": "Keep the object, or at least its data, with one of the ways in the message. Nothing fails for it, " +
		"unless --refuse-deletions refuses " +
		"its cost; then it can be accepted in " + manifest.AcceptFile + ", with the reason.",
	string(immutability.LockIncomparable): refusedHelp,
	alertUnknown: "The verdict depends on the object's status, on another object, or on a value that the server " +
		"chose. " +
		"fieldlock check --live asks the cluster; --strict makes unknown verdicts fail.",
	alertNotCovered: "What the file or unit deploys is not known here, such as the objects of a chart that is not in " +
		"the repository. " +
		"fieldlock check --fetch gets charts and bases; --strict makes it fail; an entry with its path and change in " +
		manifest.AcceptFile + " accepts it.",
	alertUncheckedKind: "Neither a CRD nor the catalogue has all rules of the kind. Give the CRD with --schema, or " +
		"keep it in the repository.",
	alertNote: "The change does not do what it seems to do. Nothing fails for it.",
	alertUnreadable: "Nothing is known about the objects in the input, so the exit status is 2. Mend the input, or " +
		"name the files to check " +
		"so that it is not among them.",
}

// physical returns a place as SARIF has it; nil for standard input, which is not an artifact.
func physical(p token.Position) *sarifPhysical {
	if !manifest.IsFile(p.Filename) {
		return nil
	}
	file := inRepository(p.Filename)
	uri := url.URL{Path: file}
	if filepath.IsAbs(p.Filename) && file == filepath.ToSlash(p.Filename) {
		uri.Scheme = "file"
	}
	place := &sarifPhysical{Artifact: sarifArtifact{uri.String()}}
	if p.Line > 0 {
		place.Region = &sarifRegion{p.Line, p.Column}
	}
	return place
}
