// Package judge answers random updates of built-in kinds with Kubernetes' own code, without a server: server-side apply
// as apimachinery does it, then the kind's own registry strategy.
package judge

import (
	crdscheme "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdregistry "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane" // registers the types of all groups
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

// strategy is what a registry asks before it writes.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// kindCode is the code of one kind.
type kindCode struct {
	strategy  strategy
	scheme    *runtime.Scheme
	converter managedfields.TypeConverter
}

// codes returns the code of each kind. Services are left to the real server: their addresses are kept outside the
// strategy. So are ResourceClaims, whose strategy asks the server for namespaces.
func codes() map[string]kindCode {
	native := applyconfigurations.NewTypeConverter(scheme.Scheme)
	deduced := managedfields.NewDeducedTypeConverter()
	all := map[string]kindCode{
		"CustomResourceDefinition": {crdregistry.NewStrategy(crdscheme.Scheme), crdscheme.Scheme, deduced},
	}
	if s, ok := apiservice.NewStrategy(aggregatorscheme.Scheme).(strategy); ok {
		all["APIService"] = kindCode{s, aggregatorscheme.Scheme, deduced}
	}
	for kind, s := range map[string]strategy{
		"Deployment": deployment.Strategy, "ReplicaSet": replicaset.Strategy, "DaemonSet": daemonset.Strategy,
		"StatefulSet": statefulset.Strategy, "ControllerRevision": controllerrevision.Strategy,
		"Job": job.Strategy, "CronJob": cronjob.Strategy,
		"Pod": pod.Strategy, "ConfigMap": configmap.Strategy, "Secret": secret.Strategy,
		"PersistentVolume": persistentvolume.Strategy, "PersistentVolumeClaim": persistentvolumeclaim.Strategy,
		"Node": node.Strategy, "ResourceQuota": resourcequota.Strategy, "Namespace": namespace.Strategy,
		"ReplicationController":      replicationcontroller.Strategy,
		"EndpointSlice":              endpointslice.Strategy,
		"PriorityLevelConfiguration": prioritylevelconfiguration.Strategy,
		"IngressClass":               ingressclass.Strategy, "IPAddress": ipaddress.Strategy,
		"NetworkPolicy": networkpolicy.Strategy,
		"ServiceCIDR":   servicecidr.Strategy, "RuntimeClass": runtimeclass.Strategy,
		"PodDisruptionBudget": poddisruptionbudget.Strategy,
		"RoleBinding":         rolebinding.Strategy, "ClusterRoleBinding": clusterrolebinding.Strategy,
		"ResourceSlice": resourceslice.Strategy, "PriorityClass": priorityclass.Strategy,
		"CSIDriver": csidriver.Strategy, "CSINode": csinode.Strategy, "CSIStorageCapacity": csistoragecapacity.Strategy,
		"StorageClass": storageclass.Strategy, "VolumeAttachment": volumeattachment.Strategy,
		"VolumeAttributesClass": volumeattributesclass.Strategy,
	} {
		all[kind] = kindCode{s, legacyscheme.Scheme, native}
	}
	return all
}
