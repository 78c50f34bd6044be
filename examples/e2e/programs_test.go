package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// buildProgram builds a command of another module of the repository and returns its file.
func buildProgram(t *testing.T, module, pkg string) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-C", module, "-o", dir+string(filepath.Separator), pkg)
	if pkg == "./cmd/fieldlock" {
		build.Env = commandEnv()
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return filepath.Join(dir, filepath.Base(pkg))
}

// commandEnv is the environment to build the command in: its module needs the workspace of the repository, which these
// tests run without.
func commandEnv() []string { return append(os.Environ(), "GOWORK=") }

// writeKubeconfig writes a file that says how to reach an API server, and returns it.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const name = "e2e"
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
