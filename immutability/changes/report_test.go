package changes

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// TestReport: Result has every field of the command's report, under the same JSON name and of the same form. What
// concerns files and units is left out, and errors are returned.
func TestReport(t *testing.T) {
	left := map[string]bool{"units": true, "notCovered": true, "excluded": true, "errors": true, "version": true, "unit": true, "from": true}
	var same func(path string, want, got reflect.Type)
	same = func(path string, want, got reflect.Type) {
		if want.Kind() != got.Kind() {
			t.Errorf("%s is a %s, want a %s", path, got, want)
			return
		}
		switch want.Kind() {
		case reflect.Slice:
			same(path+"[]", want.Elem(), got.Elem())
		case reflect.Struct:
			have := membersOf(got)
			for name, w := range membersOf(want) {
				g, ok := have[name]
				if left[name] {
					continue
				}
				if !ok {
					t.Errorf("%s.%s is missing", path, name)
					continue
				}
				same(path+"."+name, w, g)
			}
		}
	}
	same("", reflect.TypeFor[compare.Report](), reflect.TypeFor[Result]())
}

// membersOf returns the JSON members of a struct with their types.
func membersOf(t reflect.Type) map[string]reflect.Type {
	members := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			for name, member := range membersOf(f.Type) {
				members[name] = member
			}
		case name != "" && name != "-":
			members[name] = f.Type
		}
	}
	return members
}

// TestAdvice: no advice names a flag of the command.
func TestAdvice(t *testing.T) {
	gadget := func(spec string) []byte {
		return []byte("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, spec: {a: " + spec + "}}")
	}
	r, err := Check(t.Context(), gadget("x"), gadget("y"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(r.Warnings, "\n")
	if !strings.Contains(text, "with WithSchemas") || strings.Contains(text, "--") {
		t.Errorf("the warnings are %q", text)
	}
	if r.Complete || len(r.SkippedKinds) != 1 || r.SkippedKinds[0].Kind != "Gadget" {
		t.Errorf("complete %t, skipped %v", r.Complete, r.SkippedKinds)
	}
}
