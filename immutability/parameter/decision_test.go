package parameter_test

import (
	"errors"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// TestZeroDecision: an operation that nobody decided on is not allowed.
func TestZeroDecision(t *testing.T) {
	unread, err := kudo.Review(t.Context(), []byte("{"), nil, nil)
	if err == nil {
		t.Fatal("half a document is taken for an Instance")
	}
	for name, d := range map[string]parameter.Decision{"zero": {}, "kudo": kudo.Admission{}.Decision, "heat": heat.Preview{}.Decision, "unread": unread.Decision} {
		var refusals parameter.Refusals
		if d.Allowed() || !errors.As(d.Err(), &refusals) {
			t.Errorf("%s: allowed %t, %v", name, d.Allowed(), d.Err())
		}
	}
	if d := (&kudo.OperatorVersion{Name: "without-parameters-1.0"}).Install(nil).Decision; !d.Allowed() || d.Err() != nil || d.Resulting == nil {
		t.Errorf("an operator without parameters: %v", d.Err())
	}
	template, err := heat.ReadTemplate([]byte("heat_template_version: 2021-04-16"))
	if err != nil {
		t.Fatal(err)
	}
	if d := template.Validate().Decision; !d.Allowed() || d.Err() != nil {
		t.Errorf("a template without parameters: %v", d.Err())
	}
}
