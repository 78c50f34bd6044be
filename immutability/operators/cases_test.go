package operators_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// answersOf reads the answers of every version of an operator that was asked, by version.
func answersOf(t *testing.T, operator string) map[string]map[string]kindcase.Answer {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join("testdata", "answers", operator, "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]kindcase.Answer{}
	for _, folder := range folders {
		if all[filepath.Base(folder)], err = kindcase.ReadAnswers(folder); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The verdict on every case equals what the operator's own code answered. hack/operators asked it. Where its versions
// differ, the verdict is unknown. A case that nobody could ask is marked manual, and its rows are marked read.
func TestCases(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := kindcase.Read(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]map[string]map[string]kindcase.Answer{}
	proved := map[string]bool{} // rows that an answer confirms
	for _, c := range cases {
		file, _, _ := strings.Cut(c.Name, "/")
		if answers[file] == nil {
			answers[file] = answersOf(t, file)
		}
		kind, ok := catalogue.Find(c.Old["apiVersion"].(string), c.Old["kind"].(string))
		if !ok {
			t.Errorf("%s: the kind is not known", c.Name)
			continue
		}
		verdict, rows := kind.Check(c.New, c.Old), kind.Rows()
		asked := 0
		newest := newestOf(kind, answers[file], c.Name)
		for version, of := range answers[file] {
			answer, ok := of[c.Name]
			if !ok {
				continue
			}
			asked++
			if wrong := kindcase.Compare(c, answer, wordsOf(verdictOf(verdict, rows), version == newest), version); wrong != "" {
				t.Errorf("%s: %s: %s", version, c.Name, wrong)
			}
			for _, v := range verdict.Violations {
				proved[rowID(kind, &rows[v.Row-1])] = true
			}
			for _, r := range verdict.Unknown {
				if row := &rows[r.Row-1]; answer.Refused && strings.Contains(answer.Error, row.Message) {
					proved[rowID(kind, row)] = true
				}
			}
			if kind.Nothing != "" {
				proved[kind.Kind] = true
			}
		}
		if asked == 0 && !c.Manual {
			t.Errorf("%s: there is no answer", c.Name)
		}
	}
	for _, kind := range catalogue.All() {
		for _, row := range kind.Rows() {
			if id := rowID(kind, &row); !row.Read && !proved[id] {
				t.Errorf("%s is not marked read, and no case proves it", id)
			}
		}
	}
}

// newestOf returns the newest version of a kind's operator that answered a case. The catalogue has its words.
func newestOf(k *operators.Kind, answers map[string]map[string]kindcase.Answer, name string) string {
	for _, version := range slices.Backward(k.Operator.Versions) {
		if _, ok := answers[version][name]; ok {
			return version
		}
	}
	return ""
}

// wordsOf returns a verdict whose texts are compared only when they have to be the operator's.
func wordsOf(v kindcase.Prediction, own bool) kindcase.Prediction {
	for i := range v.Causes {
		if !own {
			v.Causes[i].Message = ""
		}
	}
	return v
}

func rowID(k *operators.Kind, r *builtin.Row) string {
	return strings.Join([]string{k.Group, k.Kind, k.Versions[0], r.Path, fmt.Sprint(r.Locks), r.When, r.Message}, " ")
}

// verdictOf gives a verdict the form that answers are compared with. The operators' texts are compared, not their
// paths: many errors have none.
func verdictOf(v result.Verdict, rows []builtin.Row) kindcase.Prediction {
	out := kindcase.Prediction{Unknown: len(v.Unknown) > 0, Note: len(v.Notes) > 0}
	for _, found := range v.Violations {
		out.Causes = append(out.Causes, kindcase.Cause{Field: found.Path, Message: rows[found.Row-1].Message})
	}
	return out
}

// TestData: every entry can be used, and names a source that can be opened.
func TestData(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	costs := []string{"none", "restart", "downtime", "data", "cascade", "unknown"}
	for _, kind := range catalogue.All() {
		obj := map[string]any{"apiVersion": kind.APIVersion, "kind": kind.Kind, "metadata": map[string]any{"name": "x"}}
		if verdict := kind.Check(obj, obj); !verdict.Allowed() || len(verdict.Unknown)+len(verdict.Notes) > 0 {
			t.Errorf("%s: an object that stays as it is: %+v", kind.Kind, verdict)
		}
		if kind.Operator.Name == "" || !strings.Contains(kind.Operator.Module, "/") && !strings.Contains(kind.Operator.Module, ".") {
			t.Errorf("%s: the operator is %+v", kind.Kind, kind.Operator)
		}
		r := kind.Replacement(obj, result.Verdict{})
		if !slices.Contains(costs, string(r.Cost)) || len(kind.Rows()) > 0 && (r.Message == "" || len(r.How) == 0) {
			t.Errorf("%s: the replacement is %+v", kind.Kind, r)
		}
		for _, row := range kind.Rows() {
			if row.Unknown != "" && !regexp.MustCompile("^refused (unless|if|by) ").MatchString(row.Unknown) {
				t.Errorf("%s: an unknown verdict does not say what decides: %q", kind.Kind, row.Unknown)
			}
		}
		if found, ok := catalogue.Find(kind.APIVersion, kind.Kind); !ok || found != kind {
			t.Errorf("%s is not found", kind.Kind)
		}
		if kind.Plural == "" || kind.Plural != strings.ToLower(kind.Plural) || !strings.HasPrefix(kind.APIVersion, kind.Group+"/") {
			t.Errorf("%s has the plural %q and the apiVersion %s", kind.Kind, kind.Plural, kind.APIVersion)
		}
	}
	// What was asked of an operator is one of the versions that its data names.
	folders, err := filepath.Glob(filepath.Join("testdata", "answers", "*", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal("there are no answers", err)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", folder, err)
		}
		known := slices.ContainsFunc(catalogue.All(), func(k *operators.Kind) bool {
			return slices.Contains(k.Operator.Versions, filepath.Base(folder))
		})
		if !known {
			t.Errorf("%s: no operator of the catalogue has this version", folder)
		}
	}
}

// TestRead: rows that were read do what the name of the case says that the code does.
func TestRead(t *testing.T) {
	catalogue, err := operators.Load()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := kindcase.Read(filepath.Join("testdata", "read"))
	if err != nil || len(cases) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, c := range cases {
		kind, ok := catalogue.Find(c.New["apiVersion"].(string), c.New["kind"].(string))
		if !ok {
			t.Errorf("%s: the kind is not known", c.Name)
			continue
		}
		verdict := kind.Check(c.New, c.Old)
		_, name, _ := strings.Cut(strings.TrimPrefix(c.Name, "operators/"), "/")
		refused := strings.HasPrefix(name, "refused: ")
		got := verdictOf(verdict, kind.Rows())
		if refused != (len(got.Causes) > 0) || c.Unknown != got.Unknown || c.Note != got.Note {
			t.Errorf("%s: refused %v, unknown %v, notes %v", c.Name, got.Causes, verdict.Unknown, verdict.Notes)
		}
	}
}
