package audit

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/finding"
)

// little is a hundredth of the usual effort, so that the tests are quick. A search may go over it by what it is doing
// at the moment.
func little() effort {
	e := usual()
	return effort{e.glance / 100, e.search / 100, e.thorough / 100, e.decide / 100, e.states / 100, e.show / 100, e.shrink / 100}
}

const overshoot = 100_000

// growing is a case of testdata/growth.yaml.
type growing struct {
	Name, Reason string
	Ratio        float64
	Spec         string
	Ceiling      bool
	Findings     []struct{ Rule, Severity string }
}

// crd makes the CRD of a number, as one line of JSON.
func (g *growing) crd(t *testing.T, n int) []*crd.CRD {
	t.Helper()
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	var text strings.Builder
	if err := template.Must(template.New(g.Name).Parse(g.Spec)).Execute(&text, numbers); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.YAMLToJSON([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return crds(t, "c.yaml", "Widget", "None", string(spec))
}

// TestGrowth: four times the CRD is about four times the steps. What takes more ends at the ceiling, and a note says
// what was not looked at.
func TestGrowth(t *testing.T) {
	data, err := os.ReadFile("testdata/growth.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []growing
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	e := little()
	most := e.glance + e.search + e.thorough + e.decide + e.states + e.show + e.shrink + overshoot
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			var steps [2]int
			var cut *Finding
			for i, n := range []int{8, 32} {
				r, err := CRDs(c.crd(t, n), nil, Options{Explain: true, effort: little()})
				if err != nil {
					t.Fatal(err)
				}
				steps[i], cut = r.steps, nil
				for n := range r.Findings {
					if r.Findings[n].Rule == finding.NotLookedAt {
						cut = &r.Findings[n]
					}
				}
			}
			t.Logf("steps %d and %d", steps[0], steps[1])
			switch ratio := float64(steps[1]) / float64(steps[0]); {
			case steps[0] < 50:
				t.Errorf("%d steps are not counted", steps[0])
			case steps[1] > most:
				t.Errorf("%d steps are above the ceiling", steps[1])
			case (cut != nil) != c.Ceiling:
				t.Errorf("the ceiling is reached: %v (%s)", cut != nil, c.Reason)
			case c.Ceiling && (cut.Severity != immutability.SeverityNote || string(cut.Severity) != c.Findings[0].Severity || !strings.HasPrefix(cut.Message, "lint did not look for ")):
				t.Errorf("the note is %+v", cut)
			case !c.Ceiling && ratio > c.Ratio:
				t.Errorf("four times the CRD takes %.1f times the steps, from %d to %d (%s)", ratio, steps[0], steps[1], c.Reason)
			}
		})
	}
}

// TestCeiling: what is left out is counted and named, and what was found before stays.
func TestCeiling(t *testing.T) {
	for _, c := range []struct {
		name    string
		fields  []string
		untried []string
		want    string
	}{
		{"nothing", nil, nil, ""},
		{"fields", []string{"spec.a", "spec.b"}, nil, "lint did not look for all ways around the CEL rules on spec.a, spec.b"},
		{"findings", nil, []string{"spec.b"}, "lint did not look for objects that show 1 finding, at spec.b"},
		{"both", []string{"spec.a"}, []string{"spec.c", "spec.b"}, "lint did not look for all ways around the CEL rules on spec.a and did not look for objects that show 2 findings, at spec.b, spec.c"},
	} {
		f, ok := notLookedAt(crds(t, "c.yaml", "Widget", "None", free)[0], c.fields, c.untried, true)
		if ok != (c.want != "") || ok && (!strings.HasPrefix(f.Message, c.want+": ") || f.Severity != immutability.SeverityNote || f.CRD != "widgets.example.com" || f.Position.Line != 1) {
			t.Errorf("%s: %v, %+v", c.name, ok, f)
		}
	}
}

// TestManyUntried: holes that nobody looked at are listed up to a number, and counted above it.
func TestManyUntried(t *testing.T) {
	for _, c := range []struct{ locked, listed int }{{maxUntried, maxUntried}, {maxUntried + 1, 0}} {
		var parents []string
		for i := range c.locked {
			parents = append(parents, fmt.Sprintf("p%d: {type: object, properties: {f: {type: string, x-kubernetes-immutable: true}}}", i))
		}
		few := usual()
		few.show = 0
		list := crds(t, "c.yaml", "Widget", "None", "{type: object, properties: {"+strings.Join(parents, ", ")+"}}")
		r, err := CRDs(list, nil, Options{effort: few})
		if err != nil {
			t.Fatal(err)
		}
		listed, counted := 0, false
		for _, f := range r.Findings {
			if strings.HasPrefix(f.Message, "possible: ") {
				listed++
			}
			counted = counted || strings.Contains(f.Message, fmt.Sprintf("objects that show %d findings, at spec.p0", c.locked))
		}
		if listed != c.listed || !counted {
			t.Errorf("%d locked fields: %d notes, counted: %v", c.locked, listed, counted)
		}
	}
}
