package builtin

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
)

// fieldsOf makes the tree of a kind. Nothing counts as absent in it: the values that are compared have the form of
// their Go types.
func fieldsOf(source *kindSource) (*kind.Field, error) {
	fields := map[string]kind.FieldData{}
	if source.PodSpec != "" {
		var err error
		if fields, err = readPodFields(source.PodSpec); err != nil {
			return nil, err
		}
	}
	for path, f := range source.Fields {
		f.Default = cmp.Or(f.Default, fields[path].Default)
		fields[path] = f
	}
	root, err := kind.NewField(fields, nil)
	if err != nil {
		return nil, err
	}
	root.Normalize = "none"
	return root, nil
}

// goType returns the Go type of objects of a group, version and kind: of v1, or of the version when it has another
// shape. It returns nil for kinds that k8s.io/api does not have.
func goType(gvk schema.GroupVersionKind) reflect.Type {
	switch gvk.GroupKind() {
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}:
		return byVersion[resourcev1.ResourceClaim, resourcev1beta1.ResourceClaim,
			resourcev1beta2.ResourceClaim](gvk.Version)
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:
		return byVersion[resourcev1.ResourceClaimTemplate, resourcev1beta1.ResourceClaimTemplate,
			resourcev1beta2.ResourceClaimTemplate](gvk.Version)
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"}:
		return byVersion[resourcev1.ResourceSlice, resourcev1beta1.ResourceSlice,
			resourcev1beta2.ResourceSlice](gvk.Version)
	}
	return goTypes()[gvk.GroupKind()]
}

// byVersion returns the type of v1, v1beta1 or v1beta2.
func byVersion[V1, V1beta1, V1beta2 any](version string) reflect.Type {
	switch version {
	case "v1beta1":
		return reflect.TypeFor[V1beta1]()
	case "v1beta2":
		return reflect.TypeFor[V1beta2]()
	}
	return reflect.TypeFor[V1]()
}

// goTypes holds the types of v1 by group and kind. It must not be changed.
var goTypes = sync.OnceValue(func() map[schema.GroupKind]reflect.Type {
	types := map[schema.GroupKind]reflect.Type{}
	add := func(group string, objects ...any) {
		for _, o := range objects {
			t := reflect.TypeOf(o)
			types[schema.GroupKind{Group: group, Kind: t.Name()}] = t
		}
	}
	add("", corev1.Pod{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.Service{}, corev1.PersistentVolume{},
		corev1.PersistentVolumeClaim{}, corev1.Node{}, corev1.ResourceQuota{}, corev1.Namespace{},
		corev1.ReplicationController{})
	add("apps", appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.DaemonSet{}, appsv1.StatefulSet{},
		appsv1.ControllerRevision{})
	add("batch", batchv1.Job{})
	add("certificates.k8s.io", certificatesv1.CertificateSigningRequest{}, certificatesv1beta1.ClusterTrustBundle{},
		certificatesv1beta1.PodCertificateRequest{})
	add("coordination.k8s.io", coordinationv1beta1.LeaseCandidate{})
	add("discovery.k8s.io", discoveryv1.EndpointSlice{})
	add("events.k8s.io", eventsv1.Event{})
	add("flowcontrol.apiserver.k8s.io", flowcontrolv1.FlowSchema{}, flowcontrolv1.PriorityLevelConfiguration{})
	add("networking.k8s.io", networkingv1.IngressClass{}, networkingv1.IPAddress{}, networkingv1.ServiceCIDR{},
		networkingv1.NetworkPolicy{})
	add("node.k8s.io", nodev1.RuntimeClass{})
	add("rbac.authorization.k8s.io", rbacv1.RoleBinding{}, rbacv1.ClusterRoleBinding{})
	add("scheduling.k8s.io", schedulingv1.PriorityClass{})
	add("storage.k8s.io", storagev1.StorageClass{}, storagev1.CSIDriver{}, storagev1.CSINode{},
		storagev1.CSIStorageCapacity{}, storagev1.VolumeAttachment{}, storagev1.VolumeAttributesClass{})
	add("storagemigration.k8s.io", storagemigrationv1beta1.StorageVersionMigration{})
	add("apiextensions.k8s.io", apiextensionsv1.CustomResourceDefinition{})
	// Kinds without locks of their own, for external locks.
	add("", corev1.LimitRange{}, corev1.PodTemplate{}, corev1.ServiceAccount{})
	add("admissionregistration.k8s.io", admissionregistrationv1.ValidatingAdmissionPolicy{},
		admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
		admissionregistrationv1.MutatingWebhookConfiguration{},
		admissionregistrationv1.ValidatingWebhookConfiguration{})
	add("autoscaling", autoscalingv2.HorizontalPodAutoscaler{})
	add("batch", batchv1.CronJob{})
	add("coordination.k8s.io", coordinationv1.Lease{})
	add("networking.k8s.io", networkingv1.Ingress{})
	add("policy", policyv1.PodDisruptionBudget{})
	add("rbac.authorization.k8s.io", rbacv1.Role{}, rbacv1.ClusterRole{})
	return types
})

// Missing returns the path of a field that obj lacks and without which no API server stores an object of the kind, such
// as the selector of a Deployment; "" if there is none. It distinguishes a patch from an object. For versions that are
// gone, whose fields had other defaults, it returns "".
func (k *Kind) Missing(obj map[string]any) string {
	if k.undefined() {
		return ""
	}
	gv, err := schema.ParseGroupVersion(fieldpath.Text(obj, "apiVersion"))
	if err != nil || gv.Group != k.Group || !slices.Contains(k.Versions, gv.Version) {
		return ""
	}
	for _, path := range k.source.Required {
		if fieldpath.Parse(path).Lacks(obj) {
			return path
		}
	}
	return ""
}
