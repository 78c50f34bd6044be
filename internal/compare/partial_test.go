package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestPartial: what no API server can have stored is not an old object. Nothing that a change does makes a whole object
// of OLD a partial one.
func TestPartial(t *testing.T) {
	kinds, err := builtin.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	deployment := func(spec string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: a}\nspec: {" + spec + "}\n"
	}
	const template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: manager, image: i}]}}"
	whole, other := deployment("selector: {matchLabels: {a: b}}, "+template), deployment("selector: {matchLabels: {a: c}}, "+template)
	patch := deployment("template: {spec: {containers: [{name: manager, args: [x]}]}}")
	const replace = "strategy: {type: Recreate, rollingUpdate: null}, "
	required := strings.Replace(classLocked, "type: object\n              properties:\n                free", "type: object\n              required: [class]\n              properties:\n                free", 1)
	withDefault := strings.Replace(required, "class: {type: string, ", "class: {type: string, default: p, ", 1)
	p, q, free := widget("v1", "a", "x", "{class: p}"), widget("v1", "a", "x", "{class: q}"), widget("v1", "a", "x", "{free: a}")
	type dir = map[string]string
	for _, test := range []struct {
		name, reason string
		olds, news   dir
		want         []string
	}{
		{"a patch, and a new object of its name", "the new one is a create", dir{"patch.yaml": patch}, dir{"manager.yaml": whole}, nil},
		{"a patch, and two new ones", "in two overlays", dir{"patch.yaml": patch}, dir{"a/manager.yaml": whole, "b/manager.yaml": other}, nil},
		{"a patch that becomes an object", "it is a create, too", dir{"x.yaml": patch}, dir{"x.yaml": whole}, nil},
		{"a patch beside its object", "the object is compared with itself", dir{"patch.yaml": patch, "manager.yaml": whole}, dir{"patch.yaml": patch, "manager.yaml": other}, []string{"a/manager spec.selector immutable"}},
		{"a patch beside its object, which moves", "", dir{"patch.yaml": patch, "manager.yaml": whole}, dir{"patch.yaml": patch, "base/manager.yaml": other}, []string{"a/manager spec.selector immutable"}},
		{"both move", "the patch pairs with the patch", dir{"patch.yaml": patch, "manager.yaml": whole}, dir{"base/patch.yaml": patch, "base/manager.yaml": whole}, nil},
		{"the object becomes a patch", "an apply of it removes the selector, if it changes anything at all", dir{"x.yaml": whole}, dir{"x.yaml": patch}, []string{"a/manager spec.selector immutable"}},
		{"the object becomes a patch in another file", "", dir{"x.yaml": whole}, dir{"y.yaml": patch}, []string{"a/manager spec.selector immutable"}},
		{"the object goes, and its patch changes", "the patch may be all that is applied", dir{"x.yaml": whole, "patch.yaml": patch}, dir{"patch.yaml": deployment(replace + "template: {}")}, []string{"unknown a/manager metadata.name"}},
		{"the object goes, and its patch stays", "nothing of it changes", dir{"x.yaml": whole, "patch.yaml": patch}, dir{"patch.yaml": patch}, nil},
		{"an object of a version whose selector had a default", "it was stored; which default it got is not known", dir{"x.yaml": strings.Replace(patch, "apps/v1", "extensions/v1beta1", 1)}, dir{"y.yaml": other}, []string{"unknown a/manager spec.selector"}},

		{"a custom resource without a required field", "no server stores it", dir{"crd.yaml": required, "x.yaml": free}, dir{"crd.yaml": required, "y.yaml": q}, nil},
		{"in the same file", "a webhook may have filled in the field", dir{"crd.yaml": required, "x.yaml": free}, dir{"crd.yaml": required, "x.yaml": q}, []string{"unknown a/x metadata.name"}},
		{"with a default", "the server fills it in", dir{"crd.yaml": withDefault, "x.yaml": free}, dir{"crd.yaml": withDefault, "y.yaml": q}, []string{"a/x spec.class immutable"}},
		{"required in NEW only", "a change cannot make an old object partial", dir{"crd.yaml": classLocked, "x.yaml": free}, dir{"crd.yaml": required, "y.yaml": q}, []string{"a/x spec.class immutable"}},
		{"another required field in NEW", "", dir{"crd.yaml": classLocked, "x.yaml": p}, dir{"crd.yaml": strings.ReplaceAll(required, "[class]", "[class, free]"), "y.yaml": q}, []string{"a/x spec.class immutable"}},
		{"a second CRD in NEW that requires more", "", dir{"crd.yaml": classLocked, "x.yaml": p}, dir{"crd.yaml": classLocked, "crd2.yaml": strings.ReplaceAll(required, "[class]", "[class, free]"), "y.yaml": q}, []string{"a/x spec.class immutable"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := check(t, test.news, test.olds, Options{Builtin: kinds})
			got := slices.DeleteFunc(found(r), func(line string) bool { return strings.HasPrefix(line, "widgets.example.com") })
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s%+v", test.reason, diff, r.Violations)
			}
		})
	}
}
