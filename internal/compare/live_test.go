package compare

import (
	"slices"
	"testing"
)

// TestServerRefusals: what a dry run refuses is listed, unless a lock explains it.
func TestServerRefusals(t *testing.T) {
	for _, test := range []struct {
		name, reason string
		breach       breach
		refusal      ServerRefusal
		want         []string // "path lock"
	}{
		{"same field", "it is reported once", breach{path: "spec.class", lock: "immutable"}, ServerRefusal{"spec.class", "field is immutable"}, []string{"spec.class immutable"}},
		{"parent", "some kinds name the spec only", breach{path: "spec.serviceName", lock: "immutable"}, ServerRefusal{"spec", "Forbidden: updates"}, []string{"spec.serviceName immutable"}},
		{"child", "a lock covers a subtree", breach{path: "spec.template", lock: "immutable"}, ServerRefusal{"spec.template.spec", "x"}, []string{"spec.template immutable"}},
		{"mirrored list", "clusterIPs for clusterIP", breach{path: "spec.clusterIP", lock: "rule"}, ServerRefusal{"spec.clusterIPs[0]", "x"}, []string{"spec.clusterIP rule"}},
		{"another field", "the server knows more", breach{path: "spec.b", lock: "immutable"}, ServerRefusal{"spec.a", "x"}, []string{"spec.a server", "spec.b immutable"}},
		{"a field that begins alike", "it is another one", breach{path: "spec.class", lock: "immutable"}, ServerRefusal{"spec.className", "x"}, []string{"spec.class immutable", "spec.className server"}},
		{"no field", "a webhook's refusal is not hidden by a lock", breach{path: "spec.b", lock: "immutable", message: "field is immutable"}, ServerRefusal{"", "denied"}, []string{" server", "spec.b immutable"}},
		{"no field, the same rule", "a rule at the root", breach{path: "", lock: "rule", message: "the size may only grow"}, ServerRefusal{"", "Invalid value: the size may only grow"}, []string{" rule"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := verdict{breaches: []breach{test.breach}}
			v.addServer([]ServerRefusal{test.refusal})
			var got []string
			for _, b := range v.breaches {
				got = append(got, b.path+" "+b.lock)
				if b.lock == lockServer && b.change == "" {
					t.Error("an acceptance of it would accept the next refusal too")
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
