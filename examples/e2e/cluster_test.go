package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// cluster is what all tests share: a stock API server on its etcd. Each test has custom resources of its own group.
var cluster struct {
	config *rest.Config // of a member of system:masters
	client dynamic.Interface

	// What a further API server on the same etcd needs, and the tests that build programs.
	dir        string // of the binaries
	etcd       string // its URL
	key        string // file of the key that signs service accounts' tokens
	tokens     string // file of the tokens
	adminToken string
}

// startTimeout is how long building and starting may take where nothing is cached and other work is going on.
const startTimeout = 25 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() {
		fmt.Println("end-to-end tests need minutes to build a kube-apiserver: skipped with -short")
		return 0
	}
	dir, err := os.MkdirTemp("", "fieldlock-e2e")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	stop, err := startCluster(ctx, dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer stop()
	return m.Run()
}

// startCluster builds etcd and kube-apiserver from their modules into dir and starts them.
func startCluster(ctx context.Context, dir string) (stop func(), err error) {
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the servers: %w\n%s", err, out)
	}
	cluster.dir = dir
	cluster.key = filepath.Join(dir, "service-account.key")
	if err := writeKey(cluster.key); err != nil {
		return nil, err
	}
	cluster.adminToken = rand.Text()
	cluster.tokens = filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(cluster.tokens, []byte(cluster.adminToken+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return nil, err
	}
	for attempt := range 3 {
		data := filepath.Join(dir, fmt.Sprintf("attempt-%d", attempt))
		var failed error
		if stop, failed = startServers(ctx, data); failed == nil {
			return stop, nil
		}
		err = errors.Join(err, failed)
	}
	return nil, err
}

func startServers(ctx context.Context, data string) (stop func(), err error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	var running []*process
	stop = func() {
		for i := len(running) - 1; i >= 0; i-- {
			running[i].stop()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	etcd, err := startProcess("etcd", filepath.Join(cluster.dir, "etcd"),
		"--data-dir", filepath.Join(data, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	running = append(running, etcd)
	if err := etcd.await(ctx, func(ctx context.Context) error { return healthy(ctx, http.DefaultClient, client+"/health") }); err != nil {
		return nil, err
	}
	cluster.etcd = client
	certificates := filepath.Join(data, "certificates")
	server, err := startAPIServer(ctx, ports[2], certificates)
	if err != nil {
		return nil, err
	}
	running = append(running, server)
	cluster.config = adminConfig(ports[2], certificates)
	cluster.client, err = dynamic.NewForConfig(cluster.config)
	return stop, err
}

// startAPIServer starts a kube-apiserver on the cluster's etcd and waits until it is ready. It serves with the
// certificate in a folder, which it makes if the folder is empty.
func startAPIServer(ctx context.Context, port int, certificates string) (*process, error) {
	server, err := startProcess("kube-apiserver", filepath.Join(cluster.dir, "kube-apiserver"),
		"--etcd-servers", cluster.etcd,
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
		"--cert-dir", certificates,
		"--token-auth-file", cluster.tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", cluster.key, "--service-account-signing-key-file", cluster.key,
		"--service-cluster-ip-range", "10.0.0.0/24",
		// A refused update under load must be the webhook's doing: no request waits in a queue.
		"--enable-priority-and-fairness=false", "--max-requests-inflight=0", "--max-mutating-requests-inflight=0")
	if err != nil {
		return nil, err
	}
	err = server.await(ctx, func(ctx context.Context) error {
		config := adminConfig(port, certificates)
		c, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		return healthy(ctx, c, config.Host+"/readyz")
	})
	if err != nil {
		server.stop()
		return nil, err
	}
	return server, nil
}

// adminConfig says how a member of system:masters reaches the API server at a port.
func adminConfig(port int, certificates string) *rest.Config {
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     cluster.adminToken,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certificates, "apiserver.crt")},
	}
}

func healthy(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s\n%s", url, resp.Status, body)
	}
	return nil
}

func writeKey(file string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
}
