package params

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

func change(name, oldText, newText string) parameter.Change {
	return parameter.Change{Name: name, Old: parameter.Value{Text: oldText}, HasOld: oldText != "", New: parameter.Value{Text: newText}, HasNew: newText != ""}
}

// TestReports: what the params commands print, as text and as JSON.
func TestReports(t *testing.T) {
	refusals := parameter.Refusals{{Parameter: "class", Rule: "immutable", Message: "class is immutable"}, {Parameter: "class", Rule: "constraint", Message: "class is not one of a, b"},
		{Parameter: "gone", Rule: "unknown", Message: "gone is not known"}, {Parameter: "gone", Rule: "unknown", Message: "gone is not known, twice"}, {Parameter: "gone", Rule: "immutable", Message: "gone is immutable"}, {Message: "there is no definition"}}
	hidden := change("secret", "a", "b")
	hidden.Hidden = true
	empty := change("empty", "a", "b")
	empty.Old, empty.New = parameter.Value{Text: ""}, parameter.Value{Text: "-"}
	changes := []parameter.Change{change("added", "", "x"), change("class", "a", "b"), empty, change("long", strings.Repeat("y", 61), strings.Repeat("z", 60)), change("odd\tname", " a", "b\nc"), change("removed", "x", ""), hidden}
	for _, c := range []struct {
		name       string
		report     func() *Report
		text, json string
	}{
		{"valid definitions", func() *Report { return Definitions("validate a.yaml", nil) }, "validate a.yaml: the definitions are valid\n", `{"allowed":true}`},
		{"mistaken definitions", func() *Report { return Definitions("validate a.yaml", refusals[:1]) }, "validate a.yaml: refused\n\n- class is immutable\n",
			`{"allowed":false,"errors":[{"parameter":"class","message":"class is immutable"}]}`},
		{"allowed without a change", func() *Report {
			return Decision("update", parameter.Decision{Resulting: parameter.Values{"a": {Text: "b", Data: "b"}}})
		}, "update: allowed\n\nno value changes\n",
			`{"allowed":true,"resulting":{"a":"b"}}`},
		{"allowed", func() *Report {
			r := Decision("update", parameter.Decision{Changes: changes, Resulting: parameter.Values{}})
			r.SetRestarts([]string{"class", "long"})
			return r
		}, `update: allowed

Parameter    Old                                                           New                                                           Plan
added        -                                                             x                                                             is set
class        a                                                             b                                                             changes, restarts the pods
empty        ""                                                            "-"                                                           changes
long         yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…  zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz  changes, restarts the pods
"odd\tname"  " a"                                                          "b\nc"                                                        changes
removed      x                                                             -                                                             is removed
secret       ******                                                        ******                                                        changes

pods restart, because of class, long
`, `{"allowed":true,"resulting":{},"restart":true}`},
		{"refused", func() *Report {
			r := Decision("update", parameter.Decision{Changes: []parameter.Change{change("class", "a", "c"), change("free", "a", "b")}, Refusals: refusals, Resulting: parameter.Values{"class": {Text: "a", Data: "a"}}})
			r.SetRestarts([]string{"class"})
			r.SetChildren([]Child{{Child: kudo.Child{Task: "a"}}})
			return r
		}, `update: refused, nothing changes

Parameter  Old  New  Plan
class      a    c    refused: immutable, constraint
free       a    b    would change
gone                 refused: unknown, immutable

- class is immutable
- class is not one of a, b
- gone is not known
- gone is not known, twice
- gone is immutable
- there is no definition
`, `{"allowed":false,"errors":[{"parameter":"class","message":"class is immutable"},{"parameter":"class","message":"class is not one of a, b"},{"parameter":"gone","message":"gone is not known"},{"parameter":"gone","message":"gone is not known, twice"},{"parameter":"gone","message":"gone is immutable"},{"parameter":"","message":"there is no definition"}]}`},
		{"no restart, one child", func() *Report {
			r := Decision("update", parameter.Decision{Resulting: parameter.Values{}})
			r.SetRestarts(nil)
			r.SetChildren([]Child{{Child: kudo.Child{Task: "db", Present: true, Because: "WITH_DB"}, Before: "absent"}, {Child: kudo.Child{Task: "old", Present: true}, Dropped: true}})
			return r
		}, `update: allowed

no value changes

pods do not restart

child instance of db: absent → present, because of WITH_DB

child instance of old: stays as it is; the new version has no task for it, and nothing uninstalls it
`, `{"allowed":true,"resulting":{},"restart":false,"child":"present"}`},
		{"several children", func() *Report {
			r := Decision("update", parameter.Decision{Resulting: parameter.Values{}})
			r.SetChildren([]Child{{Child: kudo.Child{Task: "db", Present: true}, Before: "present"}, {Child: kudo.Child{Task: "cache"}}})
			return r
		}, `update: allowed

no value changes

child instance of db: present, it is unconditional

child instance of cache: absent, it is unconditional
`, `{"allowed":true,"resulting":{},"children":{"cache":"absent","db":"present"}}`},
		{"what only Heat can check", func() *Report {
			r := Decision("update", parameter.Decision{Resulting: parameter.Values{}})
			r.Unchecked = []heat.Unchecked{{Parameter: "key", Constraint: "custom_constraint: nova.keypair"}, {Parameter: "zone", Constraint: "custom_constraint: nova.zone"}}
			return r
		}, `update: allowed, as far as fieldlock can check

no value changes

- only Heat can check "custom_constraint: nova.keypair" of key
- only Heat can check "custom_constraint: nova.zone" of zone
`, `{"allowed":true,"resulting":{},"unchecked":[{"parameter":"key","constraint":"custom_constraint: nova.keypair"},{"parameter":"zone","constraint":"custom_constraint: nova.zone"}]}`},
		{"a list of parameters", func() *Report {
			r := Definitions("list", refusals[:1])
			r.Rows = []parameter.Row{{Name: "class", Default: "a", Immutable: true}, {Name: "size", Required: true}}
			return r
		}, `Name   Default  Required  Immutable
class  a        false     true
size            true      false

- class is immutable
`, `{"allowed":false,"errors":[{"parameter":"class","message":"class is immutable"}],"rows":[{"name":"class","default":"a","required":false,"immutable":true},{"name":"size","default":"","required":true,"immutable":false}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text, json strings.Builder
			if err := c.report().Print(&text, "text"); err != nil {
				t.Fatal(err)
			}
			if err := c.report().Print(&json, "json"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.text, text.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff(strings.Join(strings.Fields(c.json), ""), strings.Join(strings.Fields(json.String()), "")); diff != "" {
				t.Errorf("JSON, without white space (-want +got):\n%s", diff)
			}
		})
	}
}
