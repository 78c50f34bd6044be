package compare

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/applycase"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/tool"
)

// answersMinor is the minor of the API server that has answered, as examples/e2e/go.mod says.
const answersMinor = "1.36"

// columns are the deployment tools of testdata/appliers, with what check is told about each.
var columns = map[string]tool.Applier{
	"flux":                        {Tool: tool.Flux},
	"kubectl apply --server-side": {Tool: kubectl, Methods: []tool.Method{tool.ServerSide}},
	"helm 4":                      {Tool: tool.Helm, Methods: []tool.Method{tool.ServerSide}},
	"kubectl apply":               {Tool: kubectl, Methods: []tool.Method{tool.ClientSide}},
	"helm 3":                      {Tool: tool.Helm, Methods: []tool.Method{tool.ThreeWay}},
	"helm 4 --server-side=false":  {Tool: tool.Helm, Methods: []tool.Method{tool.ThreeWay}},
	"kubectl replace":             {Tool: kubectl, Methods: []tool.Method{tool.Replace}},
	"helm 3 --force":              {Tool: tool.Helm, Methods: []tool.Method{tool.Replace}},
	"helm 4 --server-side=false --force-replace": {Tool: tool.Helm, Methods: []tool.Method{tool.Replace}},
}

// kubectl is a tool without marks of its own.
const kubectl tool.Name = "kubectl"

// undecided are the cases that only the cluster can decide, by the tools that it decides for; "" stands for all of
// them.
var undecided = map[string][]string{
	"apps/deployment/uid":             {""}, // the object's own is accepted
	"apps/deployment/resourceVersion": {""}, // the same
	"core/service/cluster address":    {""}, // the same
	"core/service/family":             {""}, // that of the cluster is accepted
	"core/claim/grows":                {""}, // the claim was not bound
	"core/claim/shrinks":              {""}, // the same
	// No controller has bound the claim, so a PUT drops nothing.
	"core/claim/mode explicit":                puts,
	"core/claim/the same size in other words": puts,
	// A manifest can have what admission adds to a Pod.
	"core/pod/image":            puts,
	"core/pod/label":            puts,
	"core/pod/tolerations":      puts,
	"core/pod/account explicit": puts,
}

var puts = []string{"kubectl replace", "helm 3 --force", "helm 4 --server-side=false --force-replace"}

// TestAppliers holds verdicts against what a real API server answered when the tools' own code made the update: for
// each tool, and for a user of whom nothing is known. hack/appliers has asked.
func TestAppliers(t *testing.T) {
	const data = "testdata/appliers"
	cases, err := kindcase.Read(filepath.Join(data, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := applycase.Read(filepath.Join(data, "answers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crds, err := os.ReadFile(filepath.Join(data, "crds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For(answersMinor)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 || len(answers) != len(cases) {
		t.Fatalf("there are %d cases and %d answers", len(cases), len(answers))
	}
	differ := 0
	for _, c := range cases {
		answer := answers[c.Name]
		ask := func(by tool.Applier) *Report {
			side := func(obj map[string]any) map[string]string {
				text, err := yaml.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				return map[string]string{"crds.yaml": string(crds), "object.yaml": string(text)}
			}
			in := Input{New: appliedBy(by, files(side(c.New))), Old: appliedBy(by, files(side(c.Old)))}
			r, err := Check(in, Options{Builtin: kinds})
			if err != nil || len(r.Errors) > 0 {
				t.Fatalf("%s: %v %v", c.Name, err, r.Errors)
			}
			return r
		}
		refused := 0
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			says, asked := answer[name]
			if !asked {
				t.Errorf("%s: %s was not asked", c.Name, name)
			}
			if says != "" {
				refused++
			}
			r := ask(columns[name])
			unknown := slices.Contains(undecided[c.Name], name) || slices.Contains(undecided[c.Name], "")
			switch {
			case unknown && (len(r.Unknown) == 0 || !r.Allowed):
				t.Errorf("%s: %s: want an unknown verdict, got %s", c.Name, name, found(r))
			case !unknown && (r.Allowed != (says == "") || len(r.Unknown) > 0):
				t.Errorf("%s: %s: got %s; the server says %q", c.Name, name, found(r), says)
			}
		}
		if refused > 0 && refused < len(columns) {
			differ++
		}
		if !strings.HasPrefix(c.Name, "hooks/") { // whoever applies them, an unknown tool may take them for hooks
			checkUnknownApplier(t, c.Name, answer, ask(tool.Applier{}))
		}
	}
	if differ < 20 {
		t.Errorf("the tools differ in %d cases only", differ)
	}
}

// checkUnknownApplier holds the verdict for a user of whom nothing is known: it may be clean or a refusal only where
// both kinds of apply get that answer.
func checkUnknownApplier(t *testing.T, name string, answer applycase.Answer, r *Report) {
	t.Helper()
	refuses := map[bool]bool{}
	for _, tool := range []string{"flux", "kubectl apply --server-side", "kubectl apply"} {
		refuses[answer[tool] != ""] = true
	}
	switch {
	case len(r.Unknown) > 0 && r.Allowed:
		forAll := slices.Contains(undecided[name], "")
		if len(refuses) == 2 && !forAll && !slices.ContainsFunc(r.Unknown, func(u result.Remark) bool {
			return strings.Contains(u.Message, "server-side") && strings.Contains(u.Message, "client-side") || strings.Contains(u.Message, "Flux")
		}) {
			t.Errorf("%s: nobody knows who applies: the message names no appliers: %s", name, fmt.Sprint(r.Unknown))
		}
		if len(refuses) == 1 && !forAll {
			t.Errorf("%s: nobody knows who applies, and all get the same answer: got %s", name, found(r))
		}
	case len(refuses) == 2:
		t.Errorf("%s: nobody knows who applies, and their answers differ: got %s", name, found(r))
	case refuses[true] == r.Allowed:
		t.Errorf("%s: nobody knows who applies: got %s, and the answer is %q", name, found(r), answer["kubectl apply"])
	}
}

// TestServersDefaults: who applies decides whether a default of the server stays, and whether the server then refuses
// the object. The cases of package builtin have the server's answers.
func TestServersDefaults(t *testing.T) {
	const agent = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}], volumes: [{name: v%s}]}}}}"
	const node = "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: node1}, spec: {drivers: [{name: a.example.com, nodeID: p}%s]}}"
	const web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {selector: {matchLabels: {a: b%s}}, template: {metadata: {labels: {a: b, tier: ''}}, spec: {containers: [{name: a, image: b}]}}}}"
	kinds, err := builtin.For("")
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"flux", "kubectl apply --server-side", "kubectl apply", "kubectl replace"}
	for _, row := range []struct {
		reason, text, old, new string
		refused                []string
	}{
		{"a source beside the empty directory that the server chose", agent, "", ", configMap: {name: c}", all[:2]},
		{"null removes the empty directory; Flux does not send null", agent, "", ", emptyDir: null, configMap: {name: c}", all[:1]},
		{"null keeps the mode that the server chose; Flux sends nothing, and the Secret goes", agent, ", secret: {secretName: s}", ", secret: null", all[1:2]},
		{"a client-side apply merges what has the same key", node, "", ", {name: a.example.com, nodeID: p}", []string{all[0], all[1], all[3]}},
		{"null in a map of texts is an empty text, but nothing in a patch", web, "", ", tier: null", []string{all[0], all[1], all[3]}},
		{"the first of those counts", node, "", ", {name: a.example.com, nodeID: q}", []string{all[0], all[1], all[3]}},
	} {
		ask := func(by tool.Applier) *Report {
			side := func(in string) []manifest.File {
				return appliedBy(by, files(map[string]string{"object.yaml": fmt.Sprintf(row.text, in)}))
			}
			r, err := Check(Input{New: side(row.new), Old: side(row.old)}, Options{Builtin: kinds})
			if err != nil || len(r.Errors) > 0 {
				t.Fatalf("%s: %v %v", row.reason, err, r.Errors)
			}
			return r
		}
		for _, name := range all {
			if r := ask(columns[name]); r.Allowed == slices.Contains(row.refused, name) || len(r.Unknown) > 0 {
				t.Errorf("%s: %s: got %s", row.reason, name, found(r))
			}
		}
		if r := ask(tool.Applier{}); !r.Allowed || len(r.Unknown) == 0 {
			t.Errorf("%s: nobody knows who applies, and their answers differ: got %s", row.reason, found(r))
		}
	}
}

// appliedBy says who applies the objects of files.
func appliedBy(by tool.Applier, files []manifest.File) []manifest.File {
	for i := range files {
		files[i].AppliedBy = by
	}
	return files
}

// TestAgree: where the ways of applying differ, each refusal names the ways that get it with this message, and those
// that do not.
func TestAgree(t *testing.T) {
	refused := func(broken ...string) verdict {
		var v verdict
		for _, b := range broken {
			path, message, _ := strings.Cut(b, ": ")
			v.Violations = append(v.Violations, result.Violation{Path: path, Message: message})
		}
		return v
	}
	server, client, flux, put := requestType{builtin.ApplierServerSide, "server-side apply"}, requestType{builtin.ApplierClientSide, "client-side apply"}, requestType{fluxApply, "the server-side apply of Flux"}, requestType{builtin.ApplierReplace, "a PUT"}
	noted := verdict{Verdict: result.Verdict{Unknown: []result.Remark{{Path: "u", Message: "who knows"}}, Notes: []result.Remark{{Path: "n", Message: "noted"}}}}
	for _, row := range []struct {
		name        string
		predictions []prediction
		refuses     []string
		unknown     []string
		notes       int
	}{
		{"all accept", []prediction{{server, noted}, {client, noted}}, nil, []string{"u: who knows"}, 1},
		{"all refuse", []prediction{{server, refused("b: x")}, {client, refused("a: y", "b: x")}}, []string{"a: y", "b: x"}, nil, 0},
		{"one refuses", []prediction{{server, refused("a: x")}, {client, noted}}, nil,
			[]string{"u: who knows", "a: refused by server-side apply: x; accepted by client-side apply; --applier says who applies"}, 0},
		{"two refuse in two ways", []prediction{{server, refused("a: x")}, {client, refused("a: y")}, {put, verdict{}}}, nil,
			[]string{"a: refused by server-side apply: x; accepted by a PUT; --applier says who applies", "a: refused by client-side apply: y; accepted by a PUT; --applier says who applies"}, 0},
		{"two refuse two fields in the same words", []prediction{{server, refused("a: x")}, {client, refused("b: x")}, {put, verdict{}}}, nil,
			[]string{"a: refused by server-side apply: x; accepted by a PUT; --applier says who applies", "b: refused by client-side apply: x; accepted by a PUT; --applier says who applies"}, 0},
		{"three ways", []prediction{{server, refused("a: x")}, {flux, refused("a: x")}, {client, refused("a: x")}, {put, verdict{}}}, nil,
			[]string{"a: refused by server-side apply and client-side apply: x; accepted by a PUT; --applier says who applies"}, 0},
	} {
		v := agree(row.predictions, flags().WhoApplies)
		var refuses, unknown []string
		for _, b := range v.Violations {
			refuses = append(refuses, b.Path+": "+b.Message)
		}
		for _, r := range v.Unknown {
			unknown = append(unknown, r.Path+": "+r.Message)
		}
		if !slices.Equal(refuses, row.refuses) || !slices.Equal(unknown, row.unknown) || len(v.Notes) != row.notes {
			t.Errorf("%s: refuses %q, unknown %q, %d notes", row.name, refuses, unknown, len(v.Notes))
		}
	}
}
