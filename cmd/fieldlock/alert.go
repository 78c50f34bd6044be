package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/immutability"
)

// alert is a violation or finding as code review tools take it.
type alert struct {
	rule     string
	severity immutability.Severity
	title    string
	message  string
	field    string // "Cluster shop/orders: spec.engine"
	at       place
	lock     place // where the lock stands, when that is another place
}

// place is a line in a file. Without a file it is nowhere; without a line it is the whole file.
type place struct {
	file string
	line int
}

// checkAlerts makes alerts of violations, each at the line of the offending field.
func checkAlerts(found *outcome) []alert {
	var alerts []alert
	for _, r := range found.results {
		d := r.new.document
		object := r.new.kind + " " + r.new.identity.String()
		for i := range r.breaches {
			b := &r.breaches[i]
			path := b.Path.String()
			message := fmt.Sprintf("%s: %s: %s", object, path, b.Message())
			if !b.HasKey && len(b.Differences) == 0 && b.Lock != immutability.Incomparable {
				message += ": " + arrow(b.Old, b.HasOld, b.New, b.HasNew, false)
			}
			alerts = append(alerts, alert{
				rule: string(b.Lock), severity: immutability.Error, title: "locked field: " + path, message: message,
				field: object + ": " + path, at: place{d.File, d.Locate(path).Line},
				lock: place{b.version.CRD().File, b.version.Position(b.SchemaPath).Line},
			})
		}
		if r.more > 0 {
			alerts = append(alerts, alert{
				rule: string(immutability.Immutable), severity: immutability.Error, title: "locked fields",
				message: fmt.Sprintf("%s: and %s", object, count(r.more, "more violation")), field: object, at: place{d.File, d.Position().Line},
			})
		}
	}
	return alerts
}

// writeGitHub prints alerts as workflow commands, which GitHub shows at the lines of a pull request.
func writeGitHub(w io.Writer, alerts []alert) {
	for _, a := range alerts {
		var properties []string
		property := func(name, value string) { properties = append(properties, name+"="+githubProperty.Replace(value)) }
		if a.at.file != "" && a.at.file != stdin {
			property("file", relative(a.at.file))
			if a.at.line > 0 {
				property("line", fmt.Sprint(a.at.line))
			}
		}
		property("title", a.title)
		fmt.Fprintf(w, "::%s %s::%s\n", a.severity, strings.Join(properties, ","), githubData.Replace(a.message))
	}
}

// What stands for the characters that end a workflow command or its properties.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// relative returns file as seen from the working directory, when it is below it.
func relative(file string) string {
	if !filepath.IsAbs(file) {
		return filepath.ToSlash(filepath.Clean(file))
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}

// The parts of a SARIF 2.1.0 log that are written here.
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
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifResult struct {
		RuleID           string          `json:"ruleId"`
		RuleIndex        int             `json:"ruleIndex"`
		Level            string          `json:"level"`
		Message          sarifMessage    `json:"message"`
		Locations        []sarifLocation `json:"locations"`
		RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
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
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
	}
)

// writeSARIF prints alerts as a SARIF 2.1.0 log of one run.
func writeSARIF(w io.Writer, alerts []alert) error {
	driver := sarifDriver{Name: "fieldlock", InformationURI: "https://github.com/fieldlock/fieldlock", Rules: []sarifRule{}}
	var ids []string
	for _, a := range alerts {
		ids = append(ids, a.rule)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		text, isLock := meanings[immutability.Lock(id)]
		if !isLock {
			text = strings.ReplaceAll(id, "-", " ")
		}
		driver.Rules = append(driver.Rules, sarifRule{id, sarifMessage{text}})
	}
	results := make([]sarifResult, len(alerts))
	for i, a := range alerts {
		r := sarifResult{
			RuleID: a.rule, RuleIndex: slices.Index(ids, a.rule), Level: string(a.severity), Message: sarifMessage{a.message},
			Locations: []sarifLocation{{Physical: a.at.physical()}},
		}
		if a.field != "" {
			r.Locations[0].Logical = []sarifLogical{{a.field}}
		}
		if lock := a.lock.physical(); lock != nil {
			r.RelatedLocations = []sarifLocation{{ID: 1, Physical: lock, Message: &sarifMessage{"the lock"}}}
		}
		results[i] = r
	}
	return writeJSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{sarifTool{driver}, results}},
	})
}

// physical returns the place as SARIF has it; nil for standard input, which is no artifact.
func (p place) physical() *sarifPhysical {
	if p.file == "" || p.file == stdin {
		return nil
	}
	file := relative(p.file)
	uri := url.URL{Path: file}
	if filepath.IsAbs(p.file) && file == filepath.ToSlash(p.file) {
		uri.Scheme = "file"
	}
	physical := &sarifPhysical{Artifact: sarifArtifact{uri.String()}}
	if p.line > 0 {
		physical.Region = &sarifRegion{p.line}
	}
	return physical
}
