package compare

import (
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// TestEncrypted: SOPS writes other texts each time.
func TestEncrypted(t *testing.T) {
	const (
		one, other = "'ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]'", "'ENC[AES256_GCM,data:d,iv:e,tag:f,type:str]'"
		sops, next = "sops: {lastmodified: '2026-01-01T00:00:00Z', mac: " + one + "}\n", "sops: {lastmodified: '2026-02-01T00:00:00Z', mac: " + other + "}\n"
	)
	secret := func(fields string) string { return "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + fields }
	claim := func(class, block string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], storageClassName: " + class +
			", resources: {requests: {storage: 1Gi}}}\n" + block
	}
	crd := widgets("None", "list: {type: array, x-kubernetes-immutable: true, items: {type: string}}\nsize: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf}]}", "")
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, reason string
		old, new     string
		want         string // refused, unknown or allowed
	}{
		{"a Secret", "", secret("data: {a: " + one + "}\n" + sops), secret("data: {a: " + other + "}\n" + next), "allowed"},
		{"an immutable Secret", "nobody can tell whether the value is another", secret("immutable: true\ndata: {a: " + one + "}\n" + sops), secret("immutable: true\ndata: {a: " + other + "}\n" + next), "unknown"},
		{"an immutable Secret in clear text", "the server keeps it in data", secret("immutable: true\nstringData: {a: " + one + "}\n" + sops), secret("immutable: true\nstringData: {a: " + other + "}\n" + next), "unknown"},
		{"only the block", "it is not part of the object", secret("immutable: true\ndata: {a: " + one + "}\n" + sops), secret("immutable: true\ndata: {a: " + one + "}\n" + next), "allowed"},
		{"another key", "keys are not encrypted", secret("immutable: true\ndata: {a: " + one + "}\n" + sops), secret("immutable: true\ndata: {b: " + other + "}\n" + next), "refused"},
		{"a clear value beside it", "it is refused whatever the other is", secret("immutable: true\ndata: {a: " + one + ", b: YQ==}\n" + sops), secret("immutable: true\ndata: {a: " + other + ", b: Yg==}\n" + next), "refused"},
		{"a Secret that becomes encrypted", "", secret("immutable: true\ndata: {a: YQ==}\n"), secret("immutable: true\ndata: {a: " + other + "}\n" + next), "unknown"},
		{"without the block", "no tool decrypts it", secret("immutable: true\ndata: {a: YQ==}\n"), secret("immutable: true\ndata: {a: " + other + "}\n"), "refused"},
		{"a locked field", "", claim(one, sops), claim(other, next), "allowed"},
		{"a locked field that becomes encrypted", "", claim("fast", ""), claim(other, next), "unknown"},
		{"a locked field that only looks so", "no tool decrypts it", claim("fast", ""), claim("'ENC[slow]'", ""), "refused"},
		{"a locked field beside it", "", claim("fast", sops), claim("slow", next), "refused"},
		{"an item of a list", "", widget("v1", "", "a", "{list: [x, "+one+"]}"), widget("v1", "", "a", "{list: [x, "+other+"]}"), "allowed"},
		{"nothing else, under a rule that refuses what is equal", "no update is sent", widget("v1", "", "a", "{size: 1, list: ["+one+"]}") + sops, widget("v1", "", "a", "{size: 1, list: ["+other+"]}") + next, "allowed"},
		{"a value beside it, under a rule that refuses what is equal", "", widget("v1", "", "a", "{size: 1, list: ["+one+"], free: a}") + sops, widget("v1", "", "a", "{size: 1, list: ["+other+"], free: b}") + next, "refused"},
		{"an item more", "", widget("v1", "", "a", "{list: [x, "+one+"]}"), widget("v1", "", "a", "{list: ["+other+"]}"), "refused"},
	} {
		r := check(t, map[string]string{"o.yaml": c.new, "crd.yaml": crd}, map[string]string{"o.yaml": c.old, "crd.yaml": crd}, Options{Builtin: kinds})
		got := "allowed"
		switch {
		case !r.Allowed:
			got = "refused"
		case len(r.Unknown) > 0:
			got = "unknown"
		}
		if got != c.want || len(r.Errors) > 0 {
			t.Errorf("%s: %s: got %s, want %s\n%s %v %v", c.name, c.reason, got, c.want, strings.Join(found(r), "\n"), r.Unknown, r.Errors)
		}
	}
}
