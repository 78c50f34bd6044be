package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// What a document says that it is does not depend on when it is read: while the review is cut, or from its own bytes.
func TestDocumentsAreReadAlikeInBothWays(t *testing.T) {
	for _, c := range []struct{ name, doc string }{
		{"as it should be", `{"apiVersion":"example.com/v1","kind":"Cluster","spec":{"kind":"Other"}}`},
		{"white space, and in another order", " {\n\"spec\" : {} ,\t\"kind\" : \"Cluster\" , \"apiVersion\":\"v1\" } "},
		{"escapes", `{"apiVersion":"exa\u006dple.com\/v1","\u006bind":"Clus\"ter"}`},
		{"nothing in it", `{}`},
		{"kind twice", `{"apiVersion":"v1","kind":"Cluster","kind":"Other"}`},
		{"kind twice, once in escapes", `{"kind":"Cluster","\u006bind":"Other"}`},
		{"another member twice", `{"apiVersion":"v1","kind":"Cluster","x":1,"x":2}`},
		{"a kind that is not a string", `{"apiVersion":"v1","kind":5}`},
		{"nothing but a kind that is not a string", `{"kind":5}`},
		{"a list as apiVersion", `{"apiVersion":["v1"],"kind":"Cluster"}`},
		{"missing", `null`},
		{"a list", `[{"kind":"Cluster"}]`},
		{"a string", `"Cluster"`},
		{"a number", `5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := []byte(`[` + c.doc + `,true]`)
			text := jsonscan.NewText(body)
			var cut document
			for i := range text.Items() {
				if i < len(body)-len(`true]`) {
					cut = cutDocument("object", text, body)
				}
			}
			if err := text.End(); err != nil {
				t.Fatal(err)
			}
			alone := document{name: "object", raw: cut.raw}
			err, errAlone := cut.identify(), alone.identify()
			if fmt.Sprint(err) != fmt.Sprint(errAlone) {
				t.Errorf("error %v, alone %v", err, errAlone)
			}
			if err == nil && (cut.kind != alone.kind || cut.apiVersion != alone.apiVersion || string(cut.raw) != string(alone.raw)) {
				t.Errorf("%q of %q in %s, alone %q of %q", cut.kind, cut.apiVersion, cut.raw, alone.kind, alone.apiVersion)
			}
		})
	}
}

// TestDocumentOfAnotherCaller: a document that no review was cut from may be anything.
func TestDocumentOfAnotherCaller(t *testing.T) {
	d := document{name: "object", raw: []byte(`{"kind":}`)}
	if err := d.identify(); err == nil || !strings.Contains(err.Error(), "invalid character '}'") {
		t.Errorf("got %v", err)
	}
}
