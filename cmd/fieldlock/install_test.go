package main

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"text/template"
)

// TestInstall runs the README's commands for a fresh machine: it installs the release's archive, built here as
// .goreleaser.yaml says, in an empty folder, and runs the first command with it. It builds all anew, with the flags of a
// release, so it runs only where FIELDLOCK_INSTALL is set.
func TestInstall(t *testing.T) {
	if os.Getenv("FIELDLOCK_INSTALL") == "" {
		t.Skip("FIELDLOCK_INSTALL is not set")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^curl .*$`).FindString(string(readme))
	const releases = "https://github.com/fieldlock/fieldlock/releases/latest/download"
	if !strings.Contains(line, releases) {
		t.Fatalf("the README has no line that installs from %s", releases)
	}
	archives := t.TempDir()
	writeArchive(t, archives)
	examples, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}

	empty := t.TempDir()
	install := exec.Command("bash", "-o", "pipefail", "-c", strings.Replace(line, releases, "file://"+archives, 1))
	install.Dir = empty
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	if err := os.Symlink(examples, filepath.Join(empty, "testdata")); err != nil {
		t.Fatal(err)
	}
	check := exec.Command("./fieldlock", "check", "testdata/examples/shop/old", "testdata/examples/shop/new")
	check.Dir = empty
	out, _ := check.Output()
	if check.ProcessState.ExitCode() != exitRefused || !strings.Contains(string(out), "StatefulSet shop/orders") {
		t.Errorf("exit status %d\n%s", check.ProcessState.ExitCode(), out)
	}
}

// writeArchive writes the archive that goreleaser makes for this machine.
func writeArchive(t *testing.T, dir string) {
	t.Helper()
	var config struct {
		Builds []struct {
			Main                string
			Env, Flags, Ldflags []string
		}
		Archives []struct {
			NameTemplate string `yaml:"name_template"`
			Files        []string
		}
	}
	readYAML(t, ".goreleaser.yaml", &config)
	build, archive := config.Builds[0], config.Archives[0]

	var name strings.Builder
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	names, err := template.New("name").Funcs(template.FuncMap{"title": title}).Parse(archive.NameTemplate)
	if err != nil {
		t.Fatal(err)
	}
	if err := names.Execute(&name, map[string]string{"Os": runtime.GOOS, "Arch": runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}

	binary := filepath.Join(t.TempDir(), "fieldlock")
	args := append([]string{"build", "-buildvcs=false", "-o", binary, "-ldflags", strings.Join(build.Ldflags, " ")}, build.Flags...)
	compile := exec.Command("go", append(args, build.Main)...)
	compile.Dir, compile.Env = "../..", append(os.Environ(), build.Env...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	file, err := os.Create(filepath.Join(dir, name.String()+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(file)
	out := tar.NewWriter(zipped)
	add := func(path, name string, mode int64) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range archive.Files {
		add(filepath.Join("../..", name), name, 0o644)
	}
	add(binary, "fieldlock", 0o755)
	for _, c := range []interface{ Close() error }{out, zipped, file} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
