package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkTree runs check as a program on 10,000 Deployments of 1 KB in 200 files on each side, of which one in ten
// has changed: two directories, and two revisions of a repository; and on a change of three of them. It reports the
// time on all processors and the most memory, of which the program itself takes about 50 MB.
func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	command := filepath.Join(dir, "fieldlock")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", command, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	git := func(args ...string) {
		b.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "--quiet")
	for _, tag := range []string{"v1", "v2", "v3"} {
		writeTree(b, filepath.Join(dir, tag), tag)
		if err := os.RemoveAll(filepath.Join(dir, "deploy")); err != nil {
			b.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(filepath.Join(dir, tag))); err != nil {
			b.Fatal(err)
		}
		git("add", "deploy")
		git("commit", "--quiet", "-m", tag)
		git("tag", tag)
	}
	const tenth, three = "20 objects refused, 20 violations: 10000 objects checked", "1 object refused, 1 violation: 150 objects checked"
	for _, row := range []struct {
		name, want string
		args       []string
	}{
		{"directories", tenth, []string{"v1", "v2"}},
		{"git", tenth, []string{"--git", "v1..v2", "deploy"}},
		{"pull-request", three, []string{"--git", "v1..v3", "deploy"}},
	} {
		b.Run("trees="+row.name, func(b *testing.B) {
			var usage syscall.Rusage
			for b.Loop() {
				cmd := exec.Command(command, append([]string{"check"}, row.args...)...)
				cmd.Dir = dir
				out, _ := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != exitRefused || !strings.Contains(string(out), row.want) {
					b.Fatalf("got status %d and\n%.2000s", cmd.ProcessState.ExitCode(), out)
				}
				usage = *cmd.ProcessState.SysUsage().(*syscall.Rusage)
			}
			b.ReportMetric(float64(usage.Maxrss)/1024, "MB")
			b.ReportMetric(float64(usage.Utime.Nano()+usage.Stime.Nano())/1e9, "CPU-s")
		})
	}
}

// writeTree writes 200 files of 50 Deployments. In v2 every tenth has another image, and 20 have another selector. In
// v3 three have another image, and one of them another selector.
func writeTree(b *testing.B, dir, tag string) {
	b.Helper()
	for file := range 200 {
		var text strings.Builder
		for i := file * 50; i < file*50+50; i++ {
			image, app := "v1", fmt.Sprintf("app-%d", i)
			if tag == "v2" && i%10 == 0 || tag == "v3" && i%4000 == 1 {
				image = tag
			}
			if tag == "v2" && i%500 == 0 || tag == "v3" && i == 1 {
				app += "x"
			}
			fmt.Fprintf(&text, treeDeployment, i, i%20, app, image)
		}
		writeFile(b, filepath.Join(dir, fmt.Sprintf("apps-%d.yaml", file)), text.String())
	}
}

const treeDeployment = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
  namespace: team-%[2]d
  labels:
    app.kubernetes.io/name: app-%[1]d
    app.kubernetes.io/part-of: shop
spec:
  replicas: 2
  selector:
    matchLabels:
      app: %[3]s
  template:
    metadata:
      labels:
        app: %[3]s
      annotations:
        prometheus.io/scrape: "true"
    spec:
      serviceAccountName: app-%[1]d
      containers:
      - name: main
        image: registry.example.com/shop/app-%[1]d:%[4]s
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LOG_LEVEL
          value: info
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        resources:
          requests: {cpu: 100m, memory: 128Mi}
          limits: {memory: 256Mi}
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
          periodSeconds: 10
`
