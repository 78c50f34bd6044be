package heat_test

import (
	"errors"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

// FuzzReadTemplate reads what the fuzzer finds, as a template and as values. What can be read obeys the law that an
// update to what is stored is allowed and changes nothing; the rest is a ReadError, never a panic.
func FuzzReadTemplate(f *testing.F) {
	suites, err := paramcase.Load("../../../testdata/params")
	if err != nil {
		f.Fatal(err)
	}
	for _, cases := range suites {
		for _, c := range cases {
			f.Add([]byte(c.Definitions))
			if c.Values != nil {
				f.Add([]byte(*c.Values))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := heat.ReadValues(data)
		checkReadError(t, err)
		template, err := heat.ReadTemplate(data)
		checkReadError(t, err)
		if err != nil {
			return
		}
		create := template.Create(values)
		if !create.Allowed() {
			return
		}
		for name, preview := range map[string]heat.Preview{
			"put":   template.Update(create.Resulting, template, create.Resulting),
			"patch": template.Patch(create.Resulting, template, create.Resulting),
		} {
			if !preview.Allowed() || len(preview.Changes) > 0 {
				t.Errorf("%s of what is stored changes %v or is refused: %v", name, preview.Changes, preview.Err())
			}
		}
	})
}

func checkReadError(t *testing.T, err error) {
	t.Helper()
	var unreadable *parameter.ReadError
	if err != nil && (!errors.As(err, &unreadable) || err.Error() == "") {
		t.Errorf("reading failed with %T %q, want a ReadError", err, err)
	}
}
