package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestManifests: the manifests decode without an unknown field, and fit each other and the program.
func TestManifests(t *testing.T) {
	documents := map[string]string{}
	files, err := filepath.Glob("manifests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(data), "\n---\n") {
			var meta metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			documents[meta.Kind] = document
		}
		if name := filepath.Base(file); name != "kustomization.yaml" && !strings.Contains(read(t, "manifests/kustomization.yaml"), "- "+name) {
			t.Errorf("%s is not in the kustomization", name)
		}
	}
	deployment := decode[appsv1.Deployment](t, documents["Deployment"])
	service := decode[corev1.Service](t, documents["Service"])
	budget := decode[policyv1.PodDisruptionBudget](t, documents["PodDisruptionBudget"])
	role := decode[rbacv1.ClusterRole](t, documents["ClusterRole"])
	binding := decode[rbacv1.ClusterRoleBinding](t, documents["ClusterRoleBinding"])
	account := decode[corev1.ServiceAccount](t, documents["ServiceAccount"])
	configuration := decode[admissionregistrationv1.ValidatingWebhookConfiguration](t, documents["ValidatingWebhookConfiguration"])

	pod := deployment.Spec.Template
	container := pod.Spec.Containers[0]
	labels := pod.Labels["app.kubernetes.io/name"]
	for what, selector := range map[string]map[string]string{"Deployment": deployment.Spec.Selector.MatchLabels, "Service": service.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector.MatchLabels} {
		if len(selector) != 1 || selector["app.kubernetes.io/name"] != labels {
			t.Errorf("the %s selects %v, the pods have %q", what, selector, labels)
		}
	}
	settings, err := parse(container.Args)
	if err != nil {
		t.Errorf("the program does not take the arguments %q: %v", container.Args, err)
	}
	target := service.Spec.Ports[0].TargetPort.StrVal
	i := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == target })
	if i < 0 || int(container.Ports[i].ContainerPort) != settings.port {
		t.Errorf("the Service sends to %q, the program listens on %d", target, settings.port)
	}
	if container.VolumeMounts[0].MountPath != settings.certDir {
		t.Errorf("certificates are mounted at %s and read from %s", container.VolumeMounts[0].MountPath, settings.certDir)
	}
	hook := configuration.Webhooks[0]
	if to := hook.ClientConfig.Service; to.Name != service.Name || to.Namespace != service.Namespace || *to.Path != path || *to.Port != service.Spec.Ports[0].Port {
		t.Errorf("the configuration sends to %+v", to)
	}
	if *hook.FailurePolicy != admissionregistrationv1.Fail || *hook.SideEffects != admissionregistrationv1.SideEffectClassNone || !slices.Equal(hook.AdmissionReviewVersions, []string{"v1"}) {
		t.Errorf("the webhook %+v should fail closed, have no side effects, and take v1", hook)
	}
	crds := configuration.Webhooks[1]
	if to := crds.ClientConfig.Service; to.Name != service.Name || to.Namespace != service.Namespace || *to.Path != crdsPath || *to.Port != service.Spec.Ports[0].Port {
		t.Errorf("the configuration sends CRDs to %+v", to)
	}
	if *crds.FailurePolicy != admissionregistrationv1.Ignore {
		t.Error("CRDs of other projects must not wait for the webhook")
	}
	if pod.Spec.ServiceAccountName != account.Name || binding.Subjects[0].Name != account.Name || binding.RoleRef.Name != role.Name {
		t.Error("the pod's account is not the one with the role")
	}
	if verbs := role.Rules[0].Verbs; len(role.Rules) != 1 || !slices.Equal(verbs, []string{"get", "list", "watch"}) {
		t.Errorf("the role has %v: reading CRDs is enough", role.Rules)
	}
	if *deployment.Spec.Replicas <= budget.Spec.MinAvailable.IntVal {
		t.Error("the budget leaves no pod to evict: nodes could not be drained")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode[T any](t *testing.T, document string) T {
	t.Helper()
	var v T
	if document == "" {
		t.Fatalf("there is no %T", v)
	}
	if err := yaml.UnmarshalStrict([]byte(document), &v); err != nil {
		t.Fatalf("%T: %v", v, err)
	}
	return v
}
