package celrule

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDropped: rules before and after an update of the CRD.
func TestDropped(t *testing.T) {
	var cases []struct {
		Name, Reason string
		Old, New     json.RawMessage
		Findings     []struct{ Rule, Path, Severity, Message string }
	}
	readCases(t, "testdata/dropped.yaml", &cases)
	for _, c := range cases {
		var a Audit
		got := a.Dropped(version(t, c.Name, c.Old).schema, version(t, c.Name, c.New).schema)
		if len(got) != len(c.Findings) {
			t.Errorf("%s: %+v, want %+v (%s)", c.Name, got, c.Findings, c.Reason)
			continue
		}
		for i, want := range c.Findings {
			if f := got[i]; f.Rule != want.Rule || f.Path != want.Path || string(f.Severity) != want.Severity || !strings.Contains(f.Message, want.Message) || len(f.Fields) == 0 {
				t.Errorf("%s: %+v, want %+v (%s)", c.Name, f, want, c.Reason)
			}
		}
	}
}
