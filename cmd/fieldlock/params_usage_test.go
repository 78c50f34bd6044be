package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paramsFiles writes the files of the tests below and returns their folder.
func paramsFiles(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"v1.yaml": `
parameters:
- {name: NODE_COUNT, default: 3, forcePodRestart: false}
- {name: HEAP, default: 1G}
- {name: NUM_TOKENS, default: 256, immutable: true}
- {name: DISK_SIZE, default: 5Gi}
- {name: MONITORING, type: boolean, default: false}
- {name: LEGACY, default: old, required: false}
`,
		"v2.yaml": `
parameters:
- {name: NODE_COUNT, default: 3, forcePodRestart: false}
- {name: HEAP, default: 1G}
- {name: NUM_TOKENS, default: 16, immutable: true}
- {name: DISK_SIZE, default: 5Gi, immutable: true}
- {name: MONITORING, type: boolean, default: false}
- {name: BANNER, default: "  two\nlines"}
`,
		"stored.yaml":   `{NUM_TOKENS: 256, LEGACY: ""}`,
		"task.yaml":     `{name: prometheus, kind: KudoOperator, spec: {package: prometheus, enablingParameter: MONITORING}}`,
		"template.yaml": `parameters: {a: {type: string, default: x}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inFolder replaces the names of the files by their paths.
func inFolder(dir, line string) []string {
	args := strings.Fields(line)
	for i, arg := range args {
		if strings.HasSuffix(arg, ".yaml") {
			args[i] = filepath.Join(dir, arg)
		}
	}
	return args
}

// A plan is what a person reads before anything is done.
func TestParamsPlanText(t *testing.T) {
	dir := paramsFiles(t)
	for _, test := range []struct {
		name, line string
		status     int
		want       string
	}{{
		name:   "an upgrade that is refused",
		line:   "params upgrade --old-definitions v1.yaml --definitions v2.yaml --current stored.yaml --set NUM_TOKENS=16 --set HEAP=2G --set SIZE=1",
		status: exitRefused,
		want: `upgrade: refused, nothing changes

Parameter   Old  New             Plan
BANNER      -    "  two\nlines"  would change
DISK_SIZE                        refused: immutable
HEAP        1G   2G              would change
LEGACY      ""   -               would change
NUM_TOKENS  256  16              refused: immutable
SIZE                             refused: unknown

- parameter "DISK_SIZE" becomes immutable with this upgrade: set its value in the upgrade, for it cannot be changed afterwards (the default is "5Gi")
- parameter "NUM_TOKENS" is immutable: it may not change from "256" to "16"
- parameter "SIZE" is not defined
`,
	}, {
		name: "an upgrade that is allowed",
		line: "params upgrade --old-definitions v1.yaml --definitions v2.yaml --current stored.yaml --old-task task.yaml --task task.yaml" +
			" --set NODE_COUNT=5 --set DISK_SIZE=5Gi --set HEAP=2G --set MONITORING=true",
		want: `upgrade: allowed

Parameter   Old    New             Plan
BANNER      -      "  two\nlines"  is set
HEAP        1G     2G              changes, restarts the pods
LEGACY      ""     -               is removed
MONITORING  false  true            changes, restarts the pods
NODE_COUNT  3      5               changes

pods restart, because of HEAP, MONITORING

child instance of prometheus: absent → present, because of MONITORING
`,
	}, {
		name: "an update without a change",
		line: "params update --definitions v1.yaml --current stored.yaml --task task.yaml --set NODE_COUNT=3",
		want: `update: allowed

no value changes

pods do not restart

child instance of prometheus: absent, because of MONITORING
`,
	}, {
		name: "an installation with a task",
		line: "params install --definitions v1.yaml --task task.yaml --set MONITORING=true",
		want: `install: allowed

Parameter   Old  New   Plan
DISK_SIZE   -    5Gi   is set
HEAP        -    1G    is set
LEGACY      -    old   is set
MONITORING  -    true  is set
NODE_COUNT  -    3     is set
NUM_TOKENS  -    256   is set

child instance of prometheus: present, because of MONITORING
`,
	}, {
		name: "valid definitions",
		line: "params validate --definitions v1.yaml",
		want: "validate: the definitions are valid\n",
	}, {
		name: "the list",
		line: "params list --definitions v1.yaml",
		want: `Name        Default  Required  Immutable
DISK_SIZE   5Gi      true      false
HEAP        1G       true      false
LEGACY      old      false     false
MONITORING  false    true      false
NODE_COUNT  3        true      false
NUM_TOKENS  256      true      true
`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			status, out, errOut := runParamsCommand(inFolder(dir, test.line))
			if status != test.status || out != test.want || errOut != "" {
				t.Errorf("status %d, error %q, output\n%s\nwant status %d and\n%s", status, errOut, out, test.status, test.want)
			}
		})
	}
}

// A flag that would have no effect is bad usage.
func TestParamsUsage(t *testing.T) {
	dir := paramsFiles(t)
	for _, test := range []struct{ line, want string }{
		{"params", "params needs a command"},
		{"params plan", `params has no command "plan"`},
		{"params validate", "--definitions is missing"},
		{"params validate --definitions missing.yaml", "missing.yaml: cannot be read: no such file or directory"},
		{"params validate --definitions v1.yaml v2.yaml", "params validate takes no arguments, but got "},
		{"params validate --definitions v1.yaml --dialect helm", `--dialect is "helm": it should be kudo or heat`},
		{"params validate --definitions v1.yaml -o yaml", `"yaml" for "-o, --output" flag: the formats are text, json`},
		{"params validate --definitions v1.yaml --values stored.yaml", "unknown flag: --values"},
		{"params install --definitions v1.yaml --current stored.yaml", "unknown flag: --current"},
		{"params install --definitions v1.yaml --set NODE_COUNT", "--set NODE_COUNT: it should be NAME=VALUE"},
		{"params install --definitions v1.yaml --set =5", "--set =5: it should be NAME=VALUE"},
		{"params install --definitions v1.yaml --set A=1 --set A=2", "--set has A twice"},
		{"params update --definitions v1.yaml --current - --values -", "standard input is named twice"},
		{"params upgrade --definitions v1.yaml", "--old-definitions is missing: an upgrade"},
		{"params update --definitions v2.yaml --old-definitions v1.yaml", "use fieldlock params upgrade"},
		{"params update --definitions v1.yaml --mode patch", "--mode patch and --clear belong to Heat"},
		{"params update --definitions v1.yaml --clear A", "--mode patch and --clear belong to Heat"},
		{"params update --definitions v1.yaml --mode merge", `--mode is "merge": it should be put or patch`},
		{"params update --dialect heat --definitions template.yaml", "--old-definitions is missing: Heat's update"},
		{"params upgrade --dialect heat --old-definitions template.yaml --definitions template.yaml", "--dialect heat has no upgrade"},
		{"params restart --dialect heat --definitions template.yaml", "--dialect heat has no restart: it has validate, list, install and update"},
		{"params update --dialect heat --definitions template.yaml --old-definitions template.yaml --mode often", `--mode is "often": it should be put or patch`},
		{"params toggle --definitions v1.yaml", "--task is missing"},
		{"params validate --dialect heat --definitions template.yaml --task task.yaml", "--task is a KudoOperator task"},
		{"params toggle --definitions v1.yaml --task stored.yaml", "the task has the kind"},
		{"params update --definitions v1.yaml --task task.yaml --old-task v1.yaml", "v1.yaml: line 2: the task has the kind"},
	} {
		status, out, errOut := runParamsCommand(inFolder(dir, test.line))
		if status != exitUnread || out != "" || !strings.Contains(errOut, test.want) {
			t.Errorf("%s: got status %d, output %q and error %q, want status 2 and %q", test.line, status, out, errOut, test.want)
		}
	}
}

func TestParamsStandardInput(t *testing.T) {
	dir := paramsFiles(t)
	var out, errOut bytes.Buffer
	status := run(inFolder(dir, "params update --definitions v1.yaml --current stored.yaml --values -"),
		streams{in: strings.NewReader("NUM_TOKENS: 512"), out: &out, err: &errOut})
	if status != exitRefused || !strings.Contains(out.String(), `from "256" to "512"`) {
		t.Errorf("got status %d, output %q and error %q, want a refusal", status, out.String(), errOut.String())
	}
}

// --set goes over --values, and takes everything after the first = as it is.
func TestParamsSet(t *testing.T) {
	dir := paramsFiles(t)
	status, out, _ := runParamsCommand(append(inFolder(dir, "params update --definitions v1.yaml --current stored.yaml --values stored.yaml -o json"),
		"--set", "LEGACY=a=b, c: [d]"))
	if status != exitClean || !strings.Contains(out, `"LEGACY": "a=b, c: [d]"`) {
		t.Errorf("got status %d and %s", status, out)
	}
}
