package playground_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWebAssembly: the page links neither the Go toolchain's packages nor a client of clusters.
func TestWebAssembly(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	cmd := exec.Command("go", "list", "-deps", "./wasm")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name := range strings.Lines(string(out)) {
		for _, heavy := range []string{"k8s.io/client-go", "golang.org/x/tools/go/packages", "go.etcd.io", "google.golang.org/grpc\n"} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("it links %s", name)
			}
		}
	}
}
