package markers

import (
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// FuzzRead: a line is no marker of fieldlock's, or a problem, or a key with a value that schemas may have.
func FuzzRead(f *testing.F) {
	for _, line := range []string{
		"+immutable", "+immutable=keys", "+immutable=", "+k8s:update=NoSet", "+k8s:eachVal=+k8s:eachVal=+immutable",
		"+k8s:eachVal=", "+k8s:alpha(since: \"1.35\")=+k8s:immutable", "+listMapKey:=`name`", "+normalize=\"zero\"", "+", "+=+",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := read(line, K8sImmutableSetOnce)
		if !got.ours || got.err != "" {
			return
		}
		if _, bad := schema.ReadMarks(map[string]any{got.key: got.value}); len(bad) > 0 {
			t.Errorf("%q gives %s with %v: %v", line, got.key, got.value, bad)
		}
	})
}
