package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/apiserver"
)

var (
	podKind = examplev1.SchemeGroupVersion.WithKind("Pod")
	pods    = examplev1.SchemeGroupVersion.WithResource("pods")
)

// podLocks locks spec.nodeName and the keys of spec.nodeSelector.
func podLocks(t *testing.T) *immutability.Validator {
	t.Helper()
	var s spec.Schema
	err := s.UnmarshalJSON([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"nodeName": {"type": "string", "x-kubernetes-immutable": true},
		"nodeSelector": {"type": "object", "x-kubernetes-immutable-keys": true, "additionalProperties": {"type": "string"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return immutability.MustCompile(&s)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}

// pod is a pod in the internal version, which has no JSON names at all.
func pod(node string, selector ...string) *example.Pod {
	p := &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", ResourceVersion: "1", UID: "u"}}
	p.Spec.NodeName = node
	for _, key := range selector {
		metav1.SetMetaDataLabel(&p.ObjectMeta, key, key)
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[key] = key
	}
	return p
}

func versionedPod(node string) *examplev1.Pod {
	return &examplev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: examplev1.PodSpec{NodeName: node}}
}

func unstructuredPod(apiVersion, node string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": "Pod",
		"metadata": map[string]any{"name": "p", "namespace": "ns"}, "spec": map[string]any{"nodeName": node}}}
}

func unstructuredOther() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": otherKind.GroupVersion().String(), "kind": otherKind.Kind}}
}

func unstructuredAt(address string) *unstructured.Unstructured {
	u := unstructuredOther()
	u.Object["spec"] = map[string]any{"address": address}
	return u
}

const podVersion = "example.apiserver.k8s.io/v1"

func registryOf(t *testing.T) *admission.Registry {
	r := &admission.Registry{}
	r.Put(admission.Kind{GroupKind: podKind.GroupKind(), Resource: "pods", Versions: map[string]admission.Version{"v1": {Validator: podLocks(t)}}})
	r.Put(admission.Kind{GroupKind: otherKind.GroupKind(), Resource: "others", Versions: map[string]admission.Version{"v1": {Validator: lockOf(t, "text", "words", "spec", "address")}}})
	r.SetComplete()
	return r
}

// lockOf locks texts in objects, each given by the name of its object and its own.
func lockOf(t *testing.T, names ...string) *immutability.Validator {
	t.Helper()
	properties := map[string]any{}
	for i := 0; i < len(names); i += 2 {
		properties[names[i]] = map[string]any{"type": "object", "properties": map[string]any{names[i+1]: map[string]any{"type": "string", "x-kubernetes-immutable": true}}}
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	var s spec.Schema
	if err := s.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return immutability.MustCompile(&s)
}

var (
	otherKind = schema.GroupVersionKind{Group: "other.dev", Version: "v1", Kind: "Other"}
	others    = otherKind.GroupVersion().WithResource("others")
)

// other has a part that writes its own JSON, in which no lock can be found in Go.
type other struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Text              words `json:"text"`
	Spec              struct {
		NodeName string     `json:"nodeName"`
		Address  netip.Addr `json:"address"`
	} `json:"spec"`
}

func (o *other) DeepCopyObject() runtime.Object { c := *o; return &c }

type words []string

func (w words) MarshalJSON() ([]byte, error) {
	if len(w) > 1 {
		return nil, errors.New("this text has no JSON form")
	}
	return json.Marshal(map[string]string{"words": w[0]})
}

func wordy(text ...string) *other {
	o := &other{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Text: text}
	o.SetGroupVersionKind(otherKind)
	return o
}

// at is an object with an address.
func at(address string) *other {
	o := wordy("a")
	o.Spec.Address = netip.MustParseAddr(address)
	return o
}

// likePod is another Go type for the kind of pods.
type likePod struct{ examplev1.Pod }

func TestPlugin(t *testing.T) {
	s := scheme()
	for _, row := range []struct {
		name, reason string
		operation    k8sadmission.Operation
		kind         schema.GroupVersionKind
		resource     schema.GroupVersionResource
		sub          string
		obj, old     runtime.Object
		code         int
		want         int32 // 0: allowed
		text         string
	}{
		{name: "unchanged", reason: "nothing locked differs", obj: pod("a"), old: pod("a")},
		{name: "changed", reason: "internal objects are converted to the version of the request", obj: pod("b"), old: pod("a"), want: 422, text: "spec.nodeName: Invalid value: \"b\": field is immutable"},
		{name: "bad request", reason: "the proposal's status", obj: pod("b"), old: pod("a"), code: http.StatusBadRequest, want: 400, text: "field is immutable"},
		{name: "key added", reason: "key locks as well", obj: pod("a", "k", "l"), old: pod("a", "k"), want: 422, text: "spec.nodeSelector[l]"},
		{name: "key added to an absent map", reason: "an absent map has no keys", obj: pod("a", "k"), old: pod("a"), want: 422, text: "spec.nodeSelector[k]"},
		{name: "versioned", reason: "already of the version of the request", obj: versionedPod("b"), old: versionedPod("a"), want: 422, text: "spec.nodeName"},
		{name: "unstructured", reason: "as custom resources are", obj: unstructuredPod(podVersion, "b"), old: unstructuredPod(podVersion, "a"), want: 422, text: "spec.nodeName"},
		{name: "status", reason: "a subresource with whole objects", sub: "status", obj: pod("b"), old: pod("a"), want: 422, text: "spec.nodeName"},
		{name: "other kind", reason: "nothing is locked there", kind: examplev1.SchemeGroupVersion.WithKind("ReplicaSet"), resource: examplev1.SchemeGroupVersion.WithResource("replicasets"),
			obj: &example.ReplicaSet{}, old: &example.ReplicaSet{}},
		{name: "create", reason: "locks hold from creation on", operation: k8sadmission.Create, obj: pod("b")},
		{name: "delete", reason: "objects may go", operation: k8sadmission.Delete, old: pod("a")},
		{name: "no old object", reason: "nothing to compare with", obj: pod("a"), want: 500, text: "has no oldObject"},
		{name: "a nil pointer as the old object", reason: "the same", obj: pod("a"), old: (*example.Pod)(nil), want: 500, text: "has no oldObject"},
		{name: "objects that cannot be written", reason: "their locks are in a part that writes itself, so they are converted", kind: otherKind, resource: others, obj: wordy("a", "no JSON"), old: wordy("a"), want: 500, text: "cannot be read"},
		{name: "an old object that cannot be written", reason: "the same", kind: otherKind, resource: others, obj: wordy("a"), old: wordy("a", "no JSON"), want: 500, text: "cannot be read"},
		{name: "objects that are converted", reason: "they differ in a locked field", kind: otherKind, resource: others, obj: wordy("b"), old: wordy("a"), want: 422, text: "text.words: Invalid value"},
		{name: "a field that a method writes", reason: "the value is what is written, not what its Go type holds", kind: otherKind, resource: others, obj: at("10.0.0.2"), old: at("10.0.0.1"), want: 422, text: "spec.address: Invalid value: \"10.0.0.2\""},
		{name: "a field that a method writes, unchanged", reason: "it is written alike", kind: otherKind, resource: others, obj: at("10.0.0.1"), old: at("10.0.0.1")},
		{name: "other version", reason: "locks are known for v1 only", kind: podKind.GroupKind().WithVersion("v2"), resource: pods.GroupResource().WithVersion("v2"), obj: pod("a"), old: pod("a"), want: 500, text: "without version v2"},
		{name: "kind of another resource", reason: "it would be checked against no locks", kind: examplev1.SchemeGroupVersion.WithKind("ReplicaSet"), obj: &example.ReplicaSet{}, old: &example.ReplicaSet{}, want: 500, text: "holds objects of kind Pod"},
		{name: "old object of another type", reason: "it cannot be converted either", obj: pod("a"), old: &example.ReplicaSet{}, want: 500, text: "cannot be converted"},
		{name: "object of another type", reason: "it cannot be converted", obj: &example.ReplicaSet{}, old: pod("a"), want: 500, text: "cannot be converted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.operation == "" {
				row.operation = k8sadmission.Update
			}
			if row.kind.Empty() {
				row.kind = podKind
			}
			if row.resource.Empty() {
				row.resource = pods
			}
			plugins := k8sadmission.NewPlugins()
			var opts []admission.Option
			if row.code != 0 {
				opts = append(opts, admission.WithStatusCode(row.code))
			}
			apiserver.Register(plugins, registryOf(t), opts...)
			chain, err := plugins.NewFromPlugins([]string{apiserver.PluginName}, noConfig{}, k8sadmission.PluginInitializers{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			attributes := k8sadmission.NewAttributesRecord(row.obj, row.old, row.kind, "ns", "p", row.resource, row.sub, row.operation, nil, false, nil)
			if chain.Handles(row.operation) != (row.operation == k8sadmission.Update) {
				t.Errorf("%s is handled: %t", row.operation, chain.Handles(row.operation))
			}
			err = chain.(k8sadmission.ValidationInterface).Validate(context.Background(), attributes, k8sadmission.NewObjectInterfacesFromScheme(s))
			var status apierrors.APIStatus
			switch {
			case row.want == 0 && err != nil:
				t.Errorf("%v: %s", err, row.reason)
			case row.want == 0:
			case !errors.As(err, &status) || status.Status().Code != row.want || !strings.Contains(err.Error(), row.text):
				t.Errorf("%v, want status %d with %q: %s", err, row.want, row.text, row.reason)
			}
		})
	}
}

func newPlugin(t *testing.T, r *admission.Registry) k8sadmission.ValidationInterface {
	t.Helper()
	plugin, err := apiserver.NewPlugin(r)
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

// TestPluginRefusesNonsense: mistakes show when the server is built, and not at the first update.
func TestPluginRefusesNonsense(t *testing.T) {
	if _, err := apiserver.NewPlugin(nil); err == nil {
		t.Error("a nil registry is taken")
	}
	if _, err := apiserver.NewPlugin(registryOf(t), admission.WithStatusCode(200)); err == nil {
		t.Error("a refusal with 200 is taken; it would be read as success")
	}
	plugins := k8sadmission.NewPlugins()
	apiserver.Register(plugins, nil)
	if _, err := plugins.NewFromPlugins([]string{apiserver.PluginName}, noConfig{}, k8sadmission.PluginInitializers{}, nil); err == nil {
		t.Error("an admission chain is built with a plugin without a registry")
	}
}

// TestPluginOptions: an API server of somebody's own tries locks out, exempts users and watches what happens, as a
// webhook does.
func TestPluginOptions(t *testing.T) {
	gaps := &admission.Registry{}
	gaps.Put(admission.Kind{GroupKind: podKind.GroupKind(), Resource: "pods", Versions: map[string]admission.Version{
		"v1": {Validator: podLocks(t), Gaps: []string{"spec.host"}}}})
	gaps.SetComplete()
	gardener := &user.DefaultInfo{Name: "gardener", Groups: []string{"gardeners"}}
	deleted := pod("a")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for _, row := range []struct {
		name     string
		opts     []admission.Option
		registry *admission.Registry // nil: registryOf
		obj, old *example.Pod        // nil: spec.nodeName changes from a to b
		refused  string
		warning  string
		decision admission.Decision
		note     string // key in the audit log
	}{
		{name: "enforced", refused: "field is immutable", decision: admission.DecisionRefused},
		{name: "warned", opts: []admission.Option{admission.WithMode(admission.ModeWarn)}, warning: "spec.nodeName: field is immutable", decision: admission.DecisionWarned},
		{name: "audited", opts: []admission.Option{admission.WithMode(admission.ModeAudit)}, decision: admission.DecisionAudited, note: "fieldlock.dev/violations"},
		{name: "an exempt group", opts: []admission.Option{admission.WithExemptions(admission.Exemptions{Groups: []string{"gardeners"}})}, decision: admission.DecisionExempt, note: "fieldlock.dev/exempt"},
		{name: "another user", opts: []admission.Option{admission.WithExemptions(admission.Exemptions{Users: []string{"somebody"}})}, refused: "field is immutable", decision: admission.DecisionRefused},
		{name: "being deleted", old: deleted, opts: []admission.Option{admission.WithExemptions(admission.Exemptions{Deleting: true})}, decision: admission.DecisionExempt, note: "fieldlock.dev/exempt"},
		{name: "not being deleted", opts: []admission.Option{admission.WithExemptions(admission.Exemptions{Deleting: true})}, refused: "field is immutable", decision: admission.DecisionRefused},
		{name: "unchecked", registry: &admission.Registry{}, refused: "not all kinds are loaded", decision: admission.DecisionFailed},
		{name: "unchecked and ignored", registry: &admission.Registry{}, opts: []admission.Option{admission.WithFailurePolicy(admissionregistrationv1.Ignore)},
			warning: "not checked for immutable fields", decision: admission.DecisionIgnored, note: "fieldlock.dev/unchecked"},
		{name: "a gap between versions", registry: gaps, obj: pod("a"), warning: "leaves free what other served versions lock", decision: admission.DecisionAllowed},
		{name: "an enforced gap", registry: gaps, obj: pod("a"), opts: []admission.Option{admission.WithVersionGaps(admission.ModeEnforce)}, refused: "leaves free", decision: admission.DecisionFailed},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.registry == nil {
				row.registry = registryOf(t)
			}
			if row.obj == nil {
				row.obj = pod("b")
			}
			if row.old == nil {
				row.old = pod("a")
			}
			var seen []admission.Observation
			var log strings.Builder
			plugin, err := apiserver.NewPlugin(row.registry, append(row.opts,
				admission.WithObserver(func(_ context.Context, o admission.Observation) { seen = append(seen, o) }),
				admission.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
			if err != nil {
				t.Fatal(err)
			}
			warnings := &warningRecorder{}
			audited := &attributes{Attributes: k8sadmission.NewAttributesRecord(row.obj, row.old, podKind, "ns", "p", pods, "", k8sadmission.Update, nil, false, gardener)}
			err = plugin.Validate(warning.WithWarningRecorder(t.Context(), warnings), audited, k8sadmission.NewObjectInterfacesFromScheme(scheme()))
			if (err != nil) != (row.refused != "") || err != nil && !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%v, want %q", err, row.refused)
			}
			if text := strings.Join(warnings.texts, "\n"); (text != "") != (row.warning != "") || !strings.Contains(text, row.warning) {
				t.Errorf("warnings %q, want %q", text, row.warning)
			}
			if len(seen) != 1 || seen[0].Decision != row.decision || seen[0].Operation != "UPDATE" {
				t.Errorf("observed %+v, want one that is %s", seen, row.decision)
			}
			if logged := strings.Contains(log.String(), "update refused"); logged != (row.refused != "") || logged && !strings.Contains(log.String(), "user=gardener") {
				t.Errorf("logged %q", log.String())
			}
			if (row.note != "") != (len(audited.notes) > 0) || row.note != "" && audited.notes[row.note] == "" {
				t.Errorf("notes %v, want %q", audited.notes, row.note)
			}
		})
	}
}

type warningRecorder struct{ texts []string }

func (w *warningRecorder) AddWarning(_, text string) { w.texts = append(w.texts, text) }

// attributes keep the notes for the audit log.
type attributes struct {
	k8sadmission.Attributes
	notes map[string]string
}

func (a *attributes) AddAnnotation(key, value string) error {
	if a.notes == nil {
		a.notes = map[string]string{}
	}
	a.notes[key] = value
	return a.Attributes.AddAnnotation(key, value)
}

// TestPluginFollowsTheRegistry: one plugin enforces the locks that the registry holds now, from one update to the next.
func TestPluginFollowsTheRegistry(t *testing.T) {
	s := scheme()
	registry := registryOf(t)
	plugin := newPlugin(t, registry)
	update := func(obj, old runtime.Object) error {
		return plugin.Validate(context.Background(), k8sadmission.NewAttributesRecord(obj, old, podKind, "ns", "p", pods, "", k8sadmission.Update, nil, false, nil), k8sadmission.NewObjectInterfacesFromScheme(s))
	}
	refused := func(err error) bool { return apierrors.IsInvalid(err) }
	for range 2 {
		if err := update(pod("b"), pod("a")); !refused(err) {
			t.Errorf("a locked field changes: %v", err)
		}
		if err := update(pod("a"), pod("a")); err != nil {
			t.Errorf("nothing changes: %v", err)
		}
		if err := update(unstructuredPod(podVersion, "b"), unstructuredPod(podVersion, "a")); !refused(err) {
			t.Errorf("a locked field of an unstructured object changes: %v", err)
		}
		like := [2]likePod{{*versionedPod("a")}, {*versionedPod("b")}}
		like[0].SetGroupVersionKind(podKind)
		like[1].SetGroupVersionKind(podKind)
		if err := update(&like[1], &like[0]); !refused(err) {
			t.Errorf("a locked field of another Go type changes: %v", err)
		}
	}
	registry.Put(admission.Kind{GroupKind: podKind.GroupKind(), Resource: "pods", Versions: map[string]admission.Version{"v1": {Validator: lockOf(t, "spec", "hostname")}}})
	named := pod("b")
	named.Spec.Hostname = "h"
	for range 2 {
		if err := update(pod("b"), pod("a")); err != nil {
			t.Errorf("the field is not locked any more: %v", err)
		}
		if err := update(named, pod("b")); !refused(err) || !strings.Contains(err.Error(), "spec.hostname") {
			t.Errorf("another field is locked now: %v", err)
		}
	}
	registry.Put(admission.Kind{GroupKind: podKind.GroupKind(), Resource: "pods", Versions: map[string]admission.Version{"v9": {Validator: podLocks(t)}}})
	if err := update(pod("a"), pod("a")); err == nil || !strings.Contains(err.Error(), "this update cannot be checked for immutable fields: ") {
		t.Errorf("the version has no locks any more: %v", err)
	}
}

type noConfig struct{}

func (noConfig) ConfigFor(string) (io.Reader, error) {
	return nil, nil
}

func TestOrder(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		in, want     []string
	}{
		{"recommended", "after mutation, before what validates for users",
			[]string{"NamespaceLifecycle", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"},
			[]string{"NamespaceLifecycle", "MutatingAdmissionWebhook", "FieldImmutability", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"}},
		{"no webhooks", "at the end", []string{"NamespaceLifecycle"}, []string{"NamespaceLifecycle", "FieldImmutability"}},
		{"first", "before it, and not at the end", []string{"ValidatingAdmissionWebhook", "ResourceQuota"}, []string{"FieldImmutability", "ValidatingAdmissionWebhook", "ResourceQuota"}},
		{"there", "once is enough", []string{"FieldImmutability", "X"}, []string{"FieldImmutability", "X"}},
		{"empty", "alone", nil, []string{"FieldImmutability"}},
	} {
		before := slices.Clone(row.in)
		if got := apiserver.Order(row.in); !slices.Equal(got, row.want) || !slices.Equal(row.in, before) {
			t.Errorf("%s: %q, want %q: %s", row.name, got, row.want, row.reason)
		}
	}
}

// strategy is an update strategy with a rule of its own. It embeds what an update does not ask for: those methods
// differ between versions of Kubernetes.
type strategy struct {
	rest.RESTUpdateStrategy
	scheme *runtime.Scheme
}

func (s strategy) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return s.scheme.ObjectKinds(obj)
}
func (strategy) NamespaceScoped() bool       { return true }
func (strategy) Canonicalize(runtime.Object) {}
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// PrepareForUpdate puts a forbidden change back, as strategies do for the status.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if p, ok := obj.(*example.Pod); ok && p.Spec.NodeName == "prepared" {
		p.Spec.NodeName = old.(*example.Pod).Spec.NodeName
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	if p, ok := obj.(*example.Pod); ok && p.Spec.NodeName == "own" {
		return field.ErrorList{field.Forbidden(field.NewPath("spec"), "the strategy's own rule")}
	}
	return nil
}

type declarative struct{ strategy }

func (declarative) ValidateDeclaratively() {}

func TestUpdateStrategy(t *testing.T) {
	s := scheme()
	ctx := genericapirequest.WithNamespace(context.Background(), "ns")
	locks := locksOf(t, podLocks(t), s)
	wrapped, err := apiserver.NewUpdateStrategy(strategy{scheme: s}, locks)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, reason string
		obj          *example.Pod
		want         []string
	}{
		{"unchanged", "nothing locked differs", pod("a"), nil},
		{"changed", "refused with the text that tools look for", pod("b"), []string{"spec.nodeName", "field is immutable"}},
		{"put back", "the check comes after preparation", pod("prepared"), nil},
		{"own rule", "errors of both", pod("own"), []string{"the strategy's own rule", "spec.nodeName", "field is immutable"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := rest.BeforeUpdate(wrapped, ctx, row.obj, pod("a"))
			if (err != nil) != (row.want != nil) || err != nil && !apierrors.IsInvalid(err) {
				t.Fatalf("%v: %s", err, row.reason)
			}
			for _, text := range row.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v has no %q: %s", err, text, row.reason)
				}
			}
		})
	}
}

// TestUpdateStrategyNormalizes: a normalized field is compared as if its zero value were absent, and the object is
// stored as it was sent.
func TestUpdateStrategyNormalizes(t *testing.T) {
	var schema spec.Schema
	err := schema.UnmarshalJSON([]byte(`{"type": "object", "properties": {"spec": {"type": "object", "properties": {
		"terminationGracePeriodSeconds": {"type": "integer", "x-kubernetes-immutable": true, "x-kubernetes-normalize": "zero"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := scheme()
	wrapped, err := apiserver.NewUpdateStrategy(strategy{scheme: s}, locksOf(t, immutability.MustCompile(&schema), s))
	if err != nil {
		t.Fatal(err)
	}
	after := func(seconds *int64) *example.Pod {
		p := pod("a")
		p.Spec.TerminationGracePeriodSeconds = seconds
		return p
	}
	zero, five := int64(0), int64(5)
	for _, row := range []struct {
		name     string
		new, old *int64
		refused  bool
	}{
		{"absent becomes zero", &zero, nil, false},
		{"zero becomes absent", nil, &zero, false},
		{"zero becomes a value", &five, &zero, true},
		{"a value becomes absent", nil, &five, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			sent := after(row.new)
			err := rest.BeforeUpdate(wrapped, genericapirequest.WithNamespace(context.Background(), "ns"), sent, after(row.old))
			if apierrors.IsInvalid(err) != row.refused || !row.refused && err != nil {
				t.Fatalf("refused is %t, want %t: %v", err != nil, row.refused, err)
			}
			if got := sent.Spec.TerminationGracePeriodSeconds; !reflect.DeepEqual(got, row.new) {
				t.Errorf("%v is stored, not what was sent", got)
			}
		})
	}
}

func TestLocks(t *testing.T) {
	s := scheme()
	locks, without := locksOf(t, podLocks(t), s), locksOf(t, podLocks(t), nil)
	s.AddKnownTypeWithName(otherKind, &other{})
	wordyLocks, err := apiserver.NewLocks(lockOf(t, "spec", "nodeName"), otherKind, s)
	if err != nil {
		t.Fatal(err)
	}
	addressLocks, err := apiserver.NewLocks(lockOf(t, "spec", "address"), otherKind, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, reason string
		locks        *apiserver.Locks
		obj, old     runtime.Object
		want         string // "": allowed
	}{
		{"internal", "converted", locks, pod("b"), pod("a"), "field is immutable"},
		{"versioned", "as it is", locks, versionedPod("b"), versionedPod("a"), "field is immutable"},
		{"one of each", "both come to the version of the locks", locks, versionedPod("a"), pod("a"), ""},
		{"unstructured", "needs no scheme", without, unstructuredPod(podVersion, "b"), unstructuredPod(podVersion, "a"), "field is immutable"},
		{"unstructured of another version", "its fields may have other names", locks, unstructuredPod("example.apiserver.k8s.io/v2", "b"), unstructuredPod("example.apiserver.k8s.io/v2", "a"), "cannot be checked"},
		{"typed without scheme", "an internal type has no JSON names, so no lock would be found", without, pod("b"), pod("a"), "give a scheme"},
		{"another type", "the locks are of pods", locks, &example.ReplicaSet{}, &example.ReplicaSet{}, "cannot be checked"},
		{"a type that the scheme cannot convert to the group", "the locks are of pods", locksOf(t, podLocks(t), withOthers()), &metav1.Status{}, &metav1.Status{}, "cannot be checked"},
		{"another kind of the version", "the locks are of pods", locksOf(t, podLocks(t), withOthers()), &metav1.APIGroup{}, &metav1.APIGroup{}, "the locks are of example.apiserver.k8s.io/v1, Kind=Pod"},
		{"a kind without a Go type", "its objects are unstructured", locksOf(t, podLocks(t), untyped()), unstructuredPod(podVersion, "b"), unstructuredPod(podVersion, "a"), "field is immutable"},
		{"no old object", "nothing to compare with", locks, pod("a"), nil, "missing"},
		{"nil pointer", "nothing to compare with", locks, versionedPod("a"), (*examplev1.Pod)(nil), "missing"},
		{"nil pointer of another type", "the same, without converting it", locks, (*example.Pod)(nil), versionedPod("a"), "missing"},
		{"nil pointer of an unstructured object", "the same", without, unstructuredPod(podVersion, "a"), (*unstructured.Unstructured)(nil), "missing"},
		{"a Go type of the kind that no scheme has", "the locks are of pods", locks, wordy("a"), versionedPod("a"), "cannot be checked"},
		{"an object that cannot be written", "one of each form, so it is converted", wordyLocks, wordy("a", "no JSON"), unstructuredOther(), "cannot be read"},
		{"an old object that cannot be written", "the same", wordyLocks, unstructuredOther(), wordy("a", "no JSON"), "cannot be read"},
		{"one of each form, with a field that a method writes", "the text of one is the value of the other", addressLocks, at("10.0.0.1"), unstructuredAt("10.0.0.1"), ""},
		{"one of each form, with another address", "the texts differ", addressLocks, at("10.0.0.1"), unstructuredAt("10.0.0.2"), "field is immutable"},
		{"one of each form", "both are converted", locks, versionedPod("b"), unstructuredPod(podVersion, "a"), "field is immutable"},
		{"no locks", "nothing is converted", locksOf(t, immutability.MustCompile(nil), nil), pod("b"), pod("a"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			errs := row.locks.ValidateUpdate(context.Background(), row.obj, row.old)
			if (len(errs) > 0) != (row.want != "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), row.want) {
				t.Errorf("%v, want %q: %s", errs, row.want, row.reason)
			}
		})
	}
}

// withOthers knows more kinds than the one with locks.
func withOthers() *runtime.Scheme {
	s := scheme()
	s.AddKnownTypes(examplev1.SchemeGroupVersion, &metav1.APIGroup{})
	s.AddKnownTypes(schema.GroupVersion{Group: "other.dev", Version: "v1"}, &metav1.Status{})
	return s
}

// untyped is a scheme in which pods have no Go type, as custom resources.
func untyped() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(podKind, &unstructured.Unstructured{})
	return s
}

func TestNewUpdateStrategyRefuses(t *testing.T) {
	s := scheme()
	locks := locksOf(t, podLocks(t), s)
	for _, row := range []struct {
		name, reason string
		inner        rest.RESTUpdateStrategy
		locks        *apiserver.Locks
		want         string
	}{
		{"no strategy", "nothing to wrap", nil, locks, "there is no strategy"},
		{"no locks", "no locks by mistake", strategy{scheme: s}, nil, "there are no locks"},
		{"declarative", "the wrapper would hide its declarative validation", declarative{strategy{scheme: s}}, locks, "declarative validates declaratively"},
	} {
		if _, err := apiserver.NewUpdateStrategy(row.inner, row.locks); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q: %s", row.name, err, row.want, row.reason)
		}
	}
}

func locksOf(t *testing.T, v *immutability.Validator, s *runtime.Scheme) *apiserver.Locks {
	t.Helper()
	locks, err := apiserver.NewLocks(v, podKind, s)
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func TestNewLocksRefuses(t *testing.T) {
	for _, row := range []struct {
		name, reason string
		validator    *immutability.Validator
		kind         schema.GroupVersionKind
		want         string
	}{
		{"no validator", "no locks by mistake", nil, podKind, "no validator"},
		{"unknown kind", "nothing could be converted to it", podLocks(t), podKind.GroupKind().WithVersion("v9"), "does not know"},
		{"another type's schema", "nothing would enforce the lock", lockOf(t, "spec", "nodeNames"), podKind, "nodeNames"},
	} {
		if _, err := apiserver.NewLocks(row.validator, row.kind, scheme()); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q: %s", row.name, err, row.want, row.reason)
		}
	}
}

// TestPluginComparesInPlace: objects of the version of the request are not converted to maps.
func TestPluginComparesInPlace(t *testing.T) {
	plugin := newPlugin(t, registryOf(t))
	object := func() *examplev1.Pod {
		p := versionedPod("a")
		p.SetGroupVersionKind(podKind)
		return p
	}
	attributes := k8sadmission.NewAttributesRecord(object(), object(), podKind, "ns", "p", pods, "", k8sadmission.Update, nil, false, nil)
	interfaces := k8sadmission.NewObjectInterfacesFromScheme(scheme())
	n := testing.AllocsPerRun(50, func() {
		if err := plugin.Validate(context.Background(), attributes, interfaces); err != nil {
			t.Fatal(err)
		}
	})
	if n > 5 {
		t.Errorf("%v allocations", n)
	}
}

// TestLocksAllocateNothing: objects of the version of the locks are compared in place.
func TestLocksAllocateNothing(t *testing.T) {
	locks := locksOf(t, podLocks(t), scheme())
	newObj, oldObj := versionedPod("a"), versionedPod("a")
	if n := testing.AllocsPerRun(100, func() { locks.ValidateUpdate(context.Background(), newObj, oldObj) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
