package fieldpath

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestUnder(t *testing.T) {
	for _, row := range []struct {
		reason string
		err    *field.Error
		at     *field.Path
		want   string
	}{
		{"a property", field.Invalid(field.NewPath("class"), nil, ""), field.NewPath("spec"), "spec.class"},
		{"a key of a map", field.Invalid(field.NewPath("x").Key("a"), nil, ""), field.NewPath("spec"), "spec.x[a]"},
		{"a key of the whole", &field.Error{Field: "[a]"}, field.NewPath("spec").Index(1), "spec[1][a]"},
		{"the whole", field.InternalError(nil, errors.New("x")), field.NewPath("spec"), "spec"},
		{"more violations", field.Forbidden(field.NewPath(""), ""), field.NewPath("spec"), "spec"},
		{"no path", field.Invalid(field.NewPath("class"), nil, ""), nil, "class"},
	} {
		if got := Under(row.at, field.ErrorList{row.err})[0].Field; got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
