package builtin

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// goType returns the Go type of objects of a group, version and kind: of v1, or of the version when it has another
// shape. It returns nil for kinds without locks, and for those that k8s.io/api does not have.
func goType(gvk schema.GroupVersionKind) reflect.Type {
	switch gvk.GroupKind() {
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}:
		return byVersion[resourcev1.ResourceClaim, resourcev1beta1.ResourceClaim, resourcev1beta2.ResourceClaim](gvk.Version)
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:
		return byVersion[resourcev1.ResourceClaimTemplate, resourcev1beta1.ResourceClaimTemplate, resourcev1beta2.ResourceClaimTemplate](gvk.Version)
	case schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"}:
		return byVersion[resourcev1.ResourceSlice, resourcev1beta1.ResourceSlice, resourcev1beta2.ResourceSlice](gvk.Version)
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

func goTypes() map[schema.GroupKind]reflect.Type {
	types := map[schema.GroupKind]reflect.Type{}
	add := func(group string, objects ...any) {
		for _, o := range objects {
			t := reflect.TypeOf(o)
			types[schema.GroupKind{Group: group, Kind: t.Name()}] = t
		}
	}
	add("", corev1.Pod{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.Service{}, corev1.PersistentVolume{},
		corev1.PersistentVolumeClaim{}, corev1.Node{}, corev1.ResourceQuota{}, corev1.Namespace{}, corev1.ReplicationController{})
	add("apps", appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.DaemonSet{}, appsv1.StatefulSet{}, appsv1.ControllerRevision{})
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
	return types
}
