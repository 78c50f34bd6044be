package main

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/testing/modulefs"
)

// realCRD is a CRD that another project ships, with locks added to it.
type realCRD struct {
	module, file string
	marks        []mark
	holes        map[string][]string // rules by locked field, over all versions
	old, new     string
	violations   []string // "path lock"
}

// mark is a line that is added to the node of a version's schema.
type mark struct{ version, schemaPath, line string }

var realCRDs = []realCRD{
	{
		module: "sigs.k8s.io/gateway-api@v1.7.0", file: "config/crd/standard/gateway.networking.k8s.io_gateways.yaml",
		marks: []mark{
			{"v1", "/properties/spec/properties/gatewayClassName", "x-kubernetes-immutable: true"},
			{"v1beta1", "/properties/spec/properties/gatewayClassName", "x-kubernetes-immutable: true"},
			{"v1", "/properties/spec/properties/listeners/items/properties/protocol", "x-kubernetes-immutable: true"},
			{"v1", "/properties/spec/properties/infrastructure", "x-fieldlock-update: [NoUnset]"},
		},
		holes: map[string][]string{
			"spec.gatewayClassName":      nil,
			"spec.listeners[*].protocol": {"renamable-key", "version-unlocked"},
			"spec.infrastructure":        {"version-unlocked"},
		},
		old: `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: istio
  infrastructure: {labels: {team: net}}
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443}
`,
		new: `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: envoy
  listeners:
  - {name: https, protocol: TLS, port: 443}
  - {name: http, protocol: HTTP, port: 8080}
`,
		violations: []string{"spec.gatewayClassName immutable", "spec.infrastructure NoUnset", "spec.listeners[0].protocol immutable"},
	},
	{
		module: "sigs.k8s.io/karpenter@v1.15.0", file: "pkg/apis/crds/karpenter.sh_nodepools.yaml",
		marks: []mark{
			{"v1", "/properties/spec/properties/template/properties/spec/properties/nodeClassRef", "x-kubernetes-immutable: true"},
			{"v1", "/properties/spec/properties/limits", "x-kubernetes-addition-only: true"},
		},
		holes: map[string][]string{
			"spec.template.spec.nodeClassRef": nil,
			"spec.limits":                     nil,
		},
		old: `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 100, memory: 1Ti}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
`,
		new: `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 200, nodes: 5}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default, zone: unknown to the schema}
      requirements: []
      expireAfter: 720h
`,
		violations: []string{"spec.limits addition-only"},
	},
	{
		module: "sigs.k8s.io/cluster-api@v1.14.2", file: "core/config/crd/bases/cluster.x-k8s.io_clusters.yaml",
		marks: []mark{
			{"v1beta1", "/properties/spec/properties/clusterNetwork", "x-kubernetes-immutable: true"},
			{"v1beta2", "/properties/spec/properties/clusterNetwork", "x-kubernetes-immutable: true"},
			{"v1beta2", "/properties/spec/properties/topology/properties/classRef", "x-kubernetes-immutable: true"},
		},
		holes: map[string][]string{
			"spec.clusterNetwork":    {"optional-parent"},
			"spec.topology.classRef": {"optional-parent", "version-unlocked"},
		},
		old: `
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: one, namespace: a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/8]}, services: {cidrBlocks: [10.128.0.0/12]}}
  topology: {class: quick-start, version: v1.30.0}
`,
		new: `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: one, namespace: a}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/8]}, services: {cidrBlocks: [10.96.0.0/12]}}
  topology: {classRef: {name: quick-start}, version: v1.31.0}
`,
		violations: []string{"spec.clusterNetwork immutable", "spec.topology.classRef immutable"},
	},
}

// TestRealCRDs does what a new user would with the CRDs of other projects: lock some fields, look at the locks and the
// holes, and check an update. The CRDs come from the module cache.
func TestRealCRDs(t *testing.T) {
	if testing.Short() {
		t.Skip("it downloads modules")
	}
	for _, r := range realCRDs {
		t.Run(r.module, func(t *testing.T) {
			text := fileOfModule(t, r.module, r.file)
			if c := runCommand(string(text), "lint", "-"); c.status != exitClean {
				t.Errorf("lint of the CRD as it is: got status %d\n%s%s", c.status, c.out, c.err)
			}
			dir := writeFiles(t, map[string]string{"crd.yaml": lockLines(t, text, r.marks), "old.yaml": r.old, "new.yaml": r.new})
			path := func(name string) string { return filepath.Join(dir, name) }

			var locks struct{ Fields []audit.Field }
			decode(t, runCommand("", "locks", "-o", "json", path("crd.yaml")), exitClean, &locks)
			holes := map[string][]string{}
			for _, f := range locks.Fields {
				if f.Rule != "" { // a rule of the CRD's authors
					continue
				}
				holes[f.Path] = append(holes[f.Path], nil...)
				for _, h := range f.Holes {
					if !slices.Contains(holes[f.Path], h.Rule) {
						holes[f.Path] = append(holes[f.Path], h.Rule)
					}
				}
				slices.Sort(holes[f.Path])
			}
			if len(holes) != len(r.holes) {
				t.Errorf("got %d locked fields, want %d: %v", len(holes), len(r.holes), holes)
			}
			for field, want := range r.holes {
				if got, ok := holes[field]; !ok || !slices.Equal(got, want) {
					t.Errorf("%s: got the holes %q, want %q", field, got, want)
				}
			}

			var report compare.Report
			decode(t, runCommand("", "check", "-o", "json", "--strict", "--schema", path("crd.yaml"), path("old.yaml"), path("new.yaml")), exitRefused, &report)
			var got []string
			for _, v := range report.Violations {
				got = append(got, v.Path+" "+v.Lock)
			}
			if !slices.Equal(got, r.violations) {
				t.Errorf("got the violations %q, want %q", got, r.violations)
			}
			decode(t, runCommand("", "check", "-o", "json", "--strict", "--schema", path("crd.yaml"), path("old.yaml"), path("old.yaml")), exitClean, &report)
		})
	}
}

// decode reads the JSON that a command printed.
func decode(t *testing.T, c command, status int, into any) {
	t.Helper()
	if c.status != status {
		t.Fatalf("got status %d, want %d\n%s%s", c.status, status, c.out, c.err)
	}
	if err := json.Unmarshal([]byte(c.out), into); err != nil {
		t.Fatal(err)
	}
}

// lockLines adds the lines of marks to the text of a CRD, each as the first one of its node.
func lockLines(t *testing.T, text []byte, marks []mark) string {
	t.Helper()
	crds, err := crd.Read("crd.yaml", text)
	if err != nil || len(crds) != 1 {
		t.Fatalf("got %d CRDs and the error %v, want one CRD", len(crds), err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for _, m := range marks {
		version, _ := crds[0].Version(m.version)
		at := version.Position(m.schemaPath)
		key := lines[at.Line-1]
		name := m.schemaPath[strings.LastIndex(m.schemaPath, "/")+1:]
		// The text of a line may have grown by the lines that other marks added below its key.
		if first, _, _ := strings.Cut(key, "\n"); strings.TrimSpace(first) != name+":" {
			t.Fatalf("the node %s of version %s stands at line %d, which is %q", m.schemaPath, m.version, at.Line, first)
		}
		lines[at.Line-1] = key + strings.Repeat(" ", at.Column+1) + m.line + "\n"
	}
	return strings.Join(lines, "")
}

// fileOfModule reads a file of a module.
func fileOfModule(t *testing.T, module, name string) []byte {
	t.Helper()
	files, err := modulefs.Open(module)
	if err != nil {
		t.Skip(err)
	}
	defer files.Close()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
