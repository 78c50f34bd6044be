package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/compare"
)

// liveServer answers GET requests by their path, with YAML, and dry runs with refusal. It fails the test on any other
// write.
func liveServer(t *testing.T, answers map[string]string, refusal string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, ok := answers[r.URL.Path]
		switch {
		case r.Method == http.MethodPatch && r.URL.Query().Get("dryRun") == "All":
			text = refusal
		case r.Method != http.MethodGet:
			t.Errorf("%s %s is a write", r.Method, r.URL)
		case !ok:
			text = "{kind: Status, apiVersion: v1, status: Failure, reason: NotFound, code: 404, message: not found}"
		}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Error(err)
		}
		var status struct{ Code int }
		if json.Unmarshal(data, &status) == nil && status.Code > 0 {
			w.WriteHeader(status.Code)
		}
		w.Write(data)
	}))
	t.Cleanup(s.Close)
	return `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "` + s.URL + `"}}], users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a, namespace: ns}}]}`
}

// TestCheckLive: the objects, CRDs and version of a cluster are what NEW is compared with.
func TestCheckLive(t *testing.T) {
	const (
		version     = "{major: '1', minor: '36'}"
		apps        = "{kind: APIResourceList, groupVersion: apps/v1, resources: [{name: deployments, kind: Deployment, namespaced: true}]}"
		core        = "{kind: APIResourceList, groupVersion: v1, resources: [{name: persistentvolumeclaims, kind: PersistentVolumeClaim, namespaced: true}, {name: persistentvolumeclaims/status, kind: PersistentVolumeClaim, namespaced: true}]}"
		example     = "{kind: APIResourceList, groupVersion: example.com/v1, resources: [{name: widgets, kind: Widget, namespaced: true}]}"
		deployment  = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns}, spec: {replicas: 2, selector: {matchLabels: {a: LABEL}}, template: {metadata: {labels: {a: LABEL}}, spec: {containers: [{name: c, image: d}]}}}}"
		widget      = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: x, namespace: ns}, spec: {class: CLASS}}"
		refused     = "{kind: Status, apiVersion: v1, status: Failure, reason: Invalid, code: 422, message: refused, details: {causes: [{field: spec.other, message: the server says so}]}}"
		notAsked    = "{kind: Status, apiVersion: v1, status: Failure, reason: Forbidden, code: 403, message: 'User u cannot patch resource x'}"
		claim       = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns, uid: u1}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, volumeMode: Filesystem, resources: {requests: {storage: SIZE}}}, status: {phase: PHASE, capacity: {storage: 3Gi}}}"
		claimPath   = "/api/v1/namespaces/ns/persistentvolumeclaims/c"
		resized     = "{kind: Status, apiVersion: v1, status: Failure, reason: Forbidden, code: 403, message: 'persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized'}"
		webhooks    = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
		policies    = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
		noWebhook   = "{kind: ValidatingWebhookConfigurationList, apiVersion: admissionregistration.k8s.io/v1, items: []}"
		noPolicy    = "{kind: ValidatingAdmissionPolicyList, apiVersion: admissionregistration.k8s.io/v1, items: []}"
		webhook     = "{kind: ValidatingWebhookConfigurationList, apiVersion: admissionregistration.k8s.io/v1, items: [{metadata: {name: w}, webhooks: [{name: w.example.com, rules: [{apiGroups: ['*'], apiVersions: [v1], resources: [WHAT], operations: [WHEN]}]}]}]}"
		policy      = "{kind: ValidatingAdmissionPolicyList, apiVersion: admissionregistration.k8s.io/v1, items: [{metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], resources: ['*'], operations: ['*']}]}}}]}"
		forbidden   = "{kind: Status, apiVersion: v1, status: Failure, reason: Forbidden, code: 403, message: not for you}"
		crdPath     = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
		unconverted = "{kind: Status, apiVersion: v1, status: Failure, reason: InternalError, code: 500, message: 'failed to convert merged object to last applied version: .spec.new: field not declared in schema'}"
		busy        = "{kind: Status, apiVersion: v1, status: Failure, reason: ServiceUnavailable, code: 503, message: come back later}"
	)
	label := func(v string) string { return strings.ReplaceAll(deployment, "LABEL", v) }
	size := func(v, phase string) string { return strings.NewReplacer("SIZE", v, "PHASE", phase).Replace(claim) }
	hook := func(resources, operation string) string {
		return strings.NewReplacer("WHAT", resources, "WHEN", operation).Replace(webhook)
	}
	class := func(v string) string { return strings.ReplaceAll(widget, "CLASS", v) }
	answers := func(more ...string) map[string]string {
		all := map[string]string{"/version": version, "/apis/apps/v1": apps, "/apis/example.com/v1": example,
			"/api/v1": core, claimPath: size("5Gi", "Pending"), "/apis/apps/v1/namespaces/ns/deployments/web": label("b"), "/apis/example.com/v1/namespaces/ns/widgets/x": class("b"), crdPath: classLocked}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, row := range []struct {
		name, reason string
		answers      map[string]string
		new          string
		refusal      string
		flags        []string
		status       int
		paths        []string // of the violations
		text         string   // in the report or the error output
	}{
		{"a built-in kind", "as the cluster's minor has it, and what else the server refuses", answers(), label("c"), refused, nil, exitRefused, []string{"spec.other", "spec.selector"}, "the server says so"},
		{"a CRD of the cluster", "its locks count without --schema", answers(), class("c"), notAsked, nil, exitRefused, []string{"spec.class"}, "no dry run was possible for 1 object"},
		{"an apply that the server cannot convert", "its answer is a refusal, although nothing locked changes", answers(), class("b"), unconverted, nil, exitRefused, []string{""}, "field not declared in schema"},
		{"a server that gives no answer", "that is an error, and the locks are judged", answers(), class("c"), busy, nil, exitUnread, []string{"spec.class"}, "the dry run of an apply failed: come back later"},
		{"nothing changes", "the cluster has the same", answers(), label("b") + "\n---\n" + class("b"), notAsked, nil, exitClean, nil, ""},
		{"an object that is new", "the cluster does not have it", answers(), strings.Replace(class("c"), "name: x", "name: z", 1), "", nil, exitClean, nil, ""},
		{"a kind that the cluster does not serve", "an apply fails", answers(), "{apiVersion: other.dev/v1, kind: Gadget, metadata: {name: x}}", "", nil, exitClean, nil, "the cluster does not serve Gadget of other.dev/v1"},
		{"a CRD that may not be read", "its locks are not known", answers(crdPath, forbidden), class("c"), notAsked, nil, exitUnread, nil, "give it with --schema: not for you"},
		{"a CRD that may not be read, given", "the file has them", answers(crdPath, forbidden), class("c"), notAsked, []string{"--schema", "crd.yaml"}, exitRefused, []string{"spec.class"}, "give it with --schema: not for you"},
		{"an object that may not be read", "it is not compared", answers("/apis/apps/v1/namespaces/ns/deployments/web", forbidden), label("c"), "", nil, exitUnread, nil, "the cluster cannot be asked for it: not for you"},
		{"a minor that nobody knows", "the newest known one", answers("/version", "{major: '1', minor: '99'}"), label("c"), notAsked, nil, exitRefused, []string{"spec.selector"}, "warning: built-in kinds are checked as Kubernetes 1.37 has them"},
		{"a minor that the user names", "it goes before the cluster's", answers("/version", "{major: '1', minor: '99'}"), label("c"), notAsked, []string{"--kubernetes-version", "1.35"}, exitRefused, []string{"spec.selector"}, ""},
		{"an unbound claim that grows", "its status says that it has no volume", answers(), size("6Gi", "Bound"), notAsked, nil, exitRefused, []string{"spec.resources.requests"}, "spec is immutable after creation"},
		{"a bound claim that grows", "its class decides", answers(claimPath, size("5Gi", "Bound")), size("6Gi", "Pending"), notAsked, nil, exitClean, nil, `"path": "spec.resources.requests"`},
		{"a bound claim that grows, refused", "the same change is not refused and unknown", answers(claimPath, size("5Gi", "Bound")), size("6Gi", "Bound"), resized, nil, exitRefused, []string{""}, `"unknown": []`},
		{"a bound claim that shrinks", "its volume is as large", answers(claimPath, size("5Gi", "Bound")), size("3Gi", "Bound"), notAsked, nil, exitRefused, []string{"spec.resources.requests"}, "field can not be less than status.capacity"},
		{"a bound claim that shrinks to more than its volume", "an expansion has failed", answers(claimPath, size("5Gi", "Bound")), size("4Gi", "Bound"), notAsked, nil, exitClean, nil, `"unknown": []`},
		{"an unbound claim that shrinks", "it may not change", answers(), size("4Gi", "Bound"), notAsked, nil, exitRefused, []string{"spec.resources.requests"}, `"unknown": []`},
		{"another uid", "the cluster has one", answers(), strings.ReplaceAll(size("5Gi", "Pending"), "u1", "u2"), notAsked, nil, exitRefused, []string{"metadata.uid"}, "leave metadata.uid out"},
		{"a lock that nothing enforces", "the cluster has no webhook", answers(webhooks, noWebhook, policies, noPolicy), class("c"), notAsked, nil, exitClean, nil, "not enforced there: "},
		{"a lock in a cluster without policies", "an old server does not know them", answers(webhooks, noWebhook), class("c"), notAsked, nil, exitClean, nil, "not enforced there: "},
		{"a lock that a webhook may enforce", "it looks at updates of the kind", answers(webhooks, hook("widgets", "UPDATE"), policies, noPolicy), class("c"), notAsked, nil, exitRefused, []string{"spec.class"}, ""},
		{"a webhook for other kinds", "it does not see the update", answers(webhooks, hook("gadgets", "UPDATE"), policies, noPolicy), class("c"), notAsked, nil, exitClean, nil, "not enforced there: "},
		{"a webhook for creation", "it does not see the update", answers(webhooks, hook("widgets", "CREATE"), policies, noPolicy), class("c"), notAsked, nil, exitClean, nil, "not enforced there: "},
		{"a lock that a policy may enforce", "it looks at updates of the kind", answers(webhooks, noWebhook, policies, policy), class("c"), notAsked, nil, exitRefused, []string{"spec.class"}, ""},
		{"webhooks that may not be read", "nobody can tell", answers(webhooks, forbidden), class("c"), notAsked, nil, exitRefused, []string{"spec.class"}, ""},
		{"a lock that the dry run does not meet", "the server accepts the change", answers(webhooks, hook("widgets", "UPDATE")), class("c"), class("c"), nil, exitClean, nil, "the API server accepts the change in a dry run"},
		{"what may not be read is not new", "whether the cluster has it is not known", answers(claimPath, forbidden), size("6Gi", "Bound"), notAsked, nil, exitUnread, nil, `"checked": 0`},
		{"no NEW", "there is nothing to apply", answers(), label("c"), "", []string{}, exitUnread, nil, "check --live needs NEW only"},
		{"with --git", "the old side is the cluster", answers(), label("c"), "", []string{"--git", "HEAD"}, exitUnread, nil, "check --live needs NEW only"},
		{"a NEW that is not there", "it is read first", answers(), "", "", nil, exitUnread, nil, "new.yaml: cannot be read"},
		{"a schema that is not there", "it is read first", answers(), label("c"), "", []string{"--schema", "none.yaml"}, exitUnread, nil, "none.yaml: cannot be read"},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{"config": liveServer(t, row.answers, row.refusal), "crd.yaml": classLocked}
			if row.new != "" {
				files["new.yaml"] = row.new
			}
			t.Chdir(writeFiles(t, files))
			args := append([]string{"check", "--live", "--kubeconfig", "config", "-o", "json"}, row.flags...)
			if row.flags == nil || len(row.flags) > 0 {
				args = append(args, "new.yaml")
			}
			c := runCommand("", args...)
			var report compare.Report
			if err := json.Unmarshal([]byte(c.out), &report); err != nil && c.out != "" {
				t.Fatal(err)
			}
			var paths []string
			for _, v := range report.Violations {
				paths = append(paths, v.Path)
			}
			slices.Sort(paths)
			if c.status != row.status || !slices.Equal(paths, row.paths) || !strings.Contains(c.out+c.err, row.text) {
				t.Errorf("status %d, violations at %q, want %d, %q and %q: %s\n%s%s", c.status, paths, row.status, row.paths, row.text, row.reason, c.out, c.err)
			}
		})
	}
}

// TestCheckLiveUnits: NEW is what a tool would deploy from a directory, unless --plain compares the files.
func TestCheckLiveUnits(t *testing.T) {
	const live = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: prod-x, namespace: ns}, spec: {class: b}}"
	t.Chdir(writeFiles(t, map[string]string{
		"config": liveServer(t, map[string]string{
			"/version": "{major: '1', minor: '36'}", "/apis/example.com/v1/namespaces/ns/widgets/prod-x": live,
			"/apis/example.com/v1": "{kind: APIResourceList, groupVersion: example.com/v1, resources: [{name: widgets, kind: Widget, namespaced: true}]}",
			"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com": classLocked,
		}, "{kind: Status, apiVersion: v1, status: Failure, reason: Forbidden, code: 403, message: 'User u cannot patch resource x'}"),
		"prod/kustomization.yaml":   "resources: [x.yaml]\nnamePrefix: prod-\n",
		"prod/x.yaml":               "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x, namespace: ns}\nspec:\n  class: c\n",
		"remote/kustomization.yaml": "resources:\n- https://example.com/base.yaml\n",
	}))
	for _, row := range []struct {
		reason string
		args   []string
		status int
		place  string
	}{
		{"the overlay names the object", []string{"prod"}, exitRefused, "prod/x.yaml:5"},
		{"what cannot be rendered is said", []string{"prod", "remote"}, exitRefused, "prod/x.yaml:5"},
		{"the file names another one", []string{"--plain", "prod"}, exitClean, ""},
	} {
		c := runCommand("", append([]string{"check", "--live", "--kubeconfig", "config", "-o", "json"}, row.args...)...)
		var report compare.Report
		if err := json.Unmarshal([]byte(c.out), &report); err != nil {
			t.Fatalf("%v: %s%s", err, c.out, c.err)
		}
		at := ""
		for _, v := range report.Violations {
			at += place(v.File, v.Line)
		}
		if c.status != row.status || at != row.place || len(report.NotCovered) != len(row.args)/2-strings.Count(row.args[0], "--plain") {
			t.Errorf("%s: status %d, violations at %q\n%s%s", row.reason, c.status, at, c.out, c.err)
		}
	}
}
