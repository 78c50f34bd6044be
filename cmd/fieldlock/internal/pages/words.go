package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// This chapter says in words what the data says in locks and in CEL: words.yaml has a sentence for each rule and
// condition.

// lockWords says what each lock of a kind means.
var lockWords = map[string]string{
	"immutable":        "cannot be set, changed or removed",
	"NoModify":         "cannot be changed once set",
	"NoSet":            "cannot be set later",
	"NoUnset":          "cannot be removed",
	"NoSet,NoUnset":    "can be neither added nor removed",
	"NoSet,NoModify":   "can be removed, but neither set later nor changed",
	"NoUnset,NoModify": "can be set once, then neither changed nor removed",
	"addition-only":    "keys can be added but not removed",
	"deletion-only":    "keys can be removed but not added",
}

// words are the sentences for CEL.
type words struct {
	conditions, rules map[string]string // by expression, on one line
}

//go:embed words.yaml
var wordsData []byte

// phrase is an entry of words.yaml: the sentence of a condition or rule, and updates that show what it means.
type phrase struct {
	When, Rule, Words string
	Holds, Fails      []map[string][2]any // the old and the new value of each field; nil means absent
}

func readPhrases() (data struct{ Conditions, Rules []phrase }) {
	if err := yaml.UnmarshalStrict(wordsData, &data); err != nil {
		panic(err) // the data is part of the program
	}
	return data
}

func readWords() words {
	data := readPhrases()
	w := words{map[string]string{}, map[string]string{}}
	for _, c := range data.Conditions {
		w.conditions[c.When] = c.Words
	}
	for _, r := range data.Rules {
		w.rules[r.Rule] = r.Words
	}
	return w
}

// condition returns the condition of a row in words, such as "if the object is named `x`", and false if we have no
// words for it.
func (w words) condition(row builtin.Row) (text string, ok bool) {
	when := oneLine(row.When)
	if names, ok := strings.CutPrefix(when, "self.metadata.name in ['"); ok {
		return fmt.Sprintf("if the object is named `%s`",
			strings.ReplaceAll(strings.TrimSuffix(names, "']"), "', '", "` or `")), true
	}
	if field, ok := setOnBothSides(when); ok {
		if field == row.Path {
			return "", true
		}
		return fmt.Sprintf("while `%s` is set", field), true
	}
	text, ok = w.conditions[when]
	return text, ok
}

// setOnBothSides returns the field that a condition asks for in the old and in the new object.
//
//	has(self.spec.auth) && has(oldSelf.spec.auth)   spec.auth
func setOnBothSides(when string) (field string, ok bool) {
	sides := setField.FindAllStringSubmatch(when, -1)
	if len(sides) != 2 || sides[0][0]+" && "+sides[1][0] != when || sides[0][1]+sides[0][3] == sides[1][1]+sides[1][3] {
		return "", false
	}
	field = strings.ReplaceAll(sides[0][2]+sides[0][4], "?", "")
	return field, field == strings.ReplaceAll(sides[1][2]+sides[1][4], "?", "")
}

var setField = regexp.MustCompile(`has\((self|oldSelf)\.([\w.?]+)\)|(self|oldSelf)\.([\w.?]+)\.hasValue\(\)`)

const ifWorkloads = "where the feature `WorkloadWithJob` is on; by default it is off, and the server drops the field"

// exceptions are what a row accepts nevertheless where a function decides, by kind and field.
var exceptions = map[string]string{
	"Job spec.scheduling.schedulingConstraints": ifWorkloads,
	"Job spec.scheduling.disruptionMode":        ifWorkloads,
	"Job spec.scheduling.resourceClaims":        ifWorkloads,
	"Node spec.podCIDRs":                        "but a list whose first range is not `spec.podCIDR` is ignored",
	"PersistentVolume spec.nodeAffinity":        "except that beta labels may be replaced with the stable ones",
	"PersistentVolumeClaim spec.dataSourceRef": "except for a reference to another namespace, of which only the " +
		"cluster can decide",
	"PersistentVolumeClaim metadata.annotations[volume.beta.kubernetes.io/storage-class]": "except that " +
		"it may be replaced with `spec.storageClassName`",
}

// judgedWith names the field whose rows judge another one too, by kind and field: the server copies its value there, or
// a rule reads both. The row on egress rules without effect names spec.policyTypes, which may change.
var judgedWith = map[string]string{
	"Job spec.parallelism":                "spec.completions",
	"NetworkPolicy spec.egress":           "spec.policyTypes",
	"NetworkPolicy spec.policyTypes":      "spec.egress",
	"Node spec.podCIDR":                   "spec.podCIDRs",
	"ReplicationController spec.selector": "spec.template.metadata.labels",
	"Secret stringData":                   "data",
}

// ignoredFields are those whose changes have no effect without a row that says so, by kind and field, with the reason.
var ignoredFields = map[string]string{
	"Pod spec.serviceAccount": "the server keeps `spec.serviceAccountName`, which it was copied to",
}
