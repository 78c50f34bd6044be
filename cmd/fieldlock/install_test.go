package main

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"text/template"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/fieldlock/fieldlock/internal/testing/page"
)

// onlyInCI skips a test that takes minutes on an empty machine, such as one that builds other programs, unless
// FIELDLOCK_INSTALL is set: steps of .ci/run set it.
func onlyInCI(t *testing.T) {
	t.Helper()
	if os.Getenv("FIELDLOCK_INSTALL") == "" {
		t.Skip("FIELDLOCK_INSTALL is not set")
	}
}

// TestPageReleases runs the commands of the README and the pages in docs that need a release, each in an empty folder,
// with a release of this tree: an archive as .goreleaser.yaml says, and a module proxy. It builds all anew, with the
// flags of a release.
func TestPageReleases(t *testing.T) {
	onlyInCI(t)
	archives, bin := t.TempDir(), t.TempDir()
	writeArchive(t, archives)
	version, env := newReleaseProxy(t)
	env = append(env, "GOBIN="+bin, "GOFLAGS=-modcacherw")
	ran := map[string]bool{}
	for _, b := range readPages(t) {
		for _, command := range b.Commands() {
			if page.PlaceOf(command) != page.PlaceRelease || ran[command] {
				continue
			}
			ran[command] = true
			t.Run(command, func(t *testing.T) {
				dir := t.TempDir()
				run := func(command string) {
					t.Helper()
					shell := exec.Command("bash", "-o", "pipefail", "-c", command)
					shell.Dir, shell.Env = dir, env
					if out, err := shell.CombinedOutput(); err != nil {
						t.Fatalf("%s: %v\n%s", command, err, out)
					}
				}
				switch {
				case strings.HasPrefix(command, "go get "): // then all is there that the README's Go needs
					run("go mod init example.com/shop && " + command)
					writeFile(t, filepath.Join(dir, "check.go"), readmeGo(t))
					run("go mod tidy && go vet .")
				case strings.HasPrefix(command, "go install "): // needs no workspace and no replace directive
					run(command)
					if got := checkInstalled(t, filepath.Join(bin, "fieldlock")); got != version {
						t.Errorf("fieldlock version: %s, want %s", got, version)
					}
				default:
					run(strings.Replace(command, "https://github.com/fieldlock/fieldlock/releases/latest/download", "file://"+archives, 1))
					checkInstalled(t, filepath.Join(dir, "fieldlock"))
				}
			})
		}
	}
	if len(ran) < 3 {
		t.Errorf("ran %v", ran)
	}
}

// checkInstalled runs the README's first command with a program, and returns its version.
func checkInstalled(t *testing.T, program string) string {
	t.Helper()
	check := exec.Command(program, "check", "testdata/examples/shop/old", "testdata/examples/shop/new")
	check.Dir = "../.."
	out, _ := check.Output()
	if check.ProcessState.ExitCode() != exitRefused || !strings.Contains(string(out), "StatefulSet shop/orders") {
		t.Errorf("exit status %d\n%s", check.ProcessState.ExitCode(), out)
	}
	version, err := exec.Command(program, "version").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, version)
	}
	return strings.TrimSpace(string(version))
}

// readmeGo is the README's Go, made a whole file.
func readmeGo(t *testing.T) string {
	t.Helper()
	for _, b := range readPages(t) {
		if b.File == "README.md" && b.Language == "go" {
			return goParts["README.md"][0] + b.Text + goParts["README.md"][1]
		}
	}
	t.Fatal("the README has no Go")
	return ""
}

const libraryPath = "github.com/fieldlock/fieldlock"

// newReleaseProxy makes a module proxy that has the next release of this tree's three modules, and returns its version
// and the environment to use it in.
func newReleaseProxy(t *testing.T) (version string, env []string) {
	t.Helper()
	file, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	command, err := modfile.Parse("go.mod", file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, require := range command.Require {
		if require.Mod.Path == libraryPath {
			version = require.Mod.Version
		}
	}
	proxy := t.TempDir()
	addModule(t, proxy, "../..", module.Version{Path: libraryPath, Version: version})
	addModule(t, proxy, ".", module.Version{Path: libraryPath + "/cmd/fieldlock", Version: version})
	addModule(t, proxy, "../../immutability/admission/controllerruntime", module.Version{Path: libraryPath + "/immutability/admission/controllerruntime", Version: version})
	settings, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, proxies, _ := strings.Cut(strings.TrimSpace(string(settings)), "\n")
	// The other modules come from the cache, where go.sum has judged them; a cache of its own keeps this release out of
	// it.
	return version, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOSUMDB=off", "GOMODCACHE="+t.TempDir(),
		"GOPROXY=file://"+proxy+",file://"+cache+"/cache/download,"+proxies)
}

// addModule adds the module in dir to a file proxy.
func addModule(t *testing.T, proxy, dir string, m module.Version) {
	t.Helper()
	versions := filepath.Join(proxy, m.Path, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"list":              m.Version + "\n",
		m.Version + ".info": `{"Version": "` + m.Version + `"}`,
		m.Version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := os.Create(filepath.Join(versions, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, m, dir); err != nil {
		t.Fatal(err)
	}
}

// TestPreCommitInstall runs the two installs of pre-commit in a fresh clone: `go install ./...`, which covers the
// library alone, and the additional dependencies of the hooks.
func TestPreCommitInstall(t *testing.T) {
	onlyInCI(t)
	clone, bin := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "clone", "-q", "--depth=1", "file://"+root, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var hooks []struct {
		ID           string
		Dependencies []string `yaml:"additional_dependencies"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	for _, hook := range hooks {
		for _, target := range append([]string{"./..."}, hook.Dependencies...) {
			install := exec.Command("go", "install", target)
			install.Dir, install.Env = clone, append(os.Environ(), "GOBIN="+bin, "GOWORK=")
			if out, err := install.CombinedOutput(); err != nil {
				t.Fatalf("%s: go install %s: %v\n%s", hook.ID, target, err, out)
			}
		}
		if _, err := os.Stat(filepath.Join(bin, "fieldlock")); err != nil {
			t.Errorf("%s: %v", hook.ID, err)
		}
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
