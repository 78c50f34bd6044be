// Command kubevirt asks KubeVirt's admission webhooks about updates: the cases of fieldlock's catalogue. hack/operators
// runs it.
package main

import (
	"context"
	"io"
	"log"

	admissionv1 "k8s.io/api/admission/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	kubevirtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/kubecli"
	kubevirtlog "kubevirt.io/client-go/log"

	preferences "kubevirt.io/kubevirt/pkg/instancetype/preference/webhooks"
	instancetypes "kubevirt.io/kubevirt/pkg/instancetype/webhooks"
	storage "kubevirt.io/kubevirt/pkg/storage/admitters"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api/webhooks"
	"kubevirt.io/kubevirt/pkg/virt-api/webhooks/mutating-webhook/mutators"
	"kubevirt.io/kubevirt/pkg/virt-api/webhooks/validating-webhook/admitters"
	virtconfig "kubevirt.io/kubevirt/pkg/virt-config"
	operator "kubevirt.io/kubevirt/pkg/virt-operator/webhooks"

	"github.com/fieldlock/fieldlock/examples/operators/ask"
	"github.com/fieldlock/fieldlock/examples/operators/askserver"
)

// admitter is a validating webhook of KubeVirt; mutator is a mutating one.
type admitter interface {
	Admit(ctx context.Context, review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse
}

type mutator interface {
	Mutate(review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse
}

// judge answers as the webhooks of a kind do. The mutating ones are asked about updates too, and refuse some.
func judge(apiVersion, kind string, m mutator, a admitter) ask.Judge {
	var mutate askserver.Handler
	if m != nil {
		mutate = m.Mutate
	}
	return askserver.MutatedReview(schema.FromAPIVersionAndKind(apiVersion, kind), mutate,
		func(review *admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return a.Admit(context.Background(), review)
		})
}

// informer is one that is never started: it knows nothing but what is put into its store.
func informer(of runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, of,
		0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// config is the configuration of a KubeVirt that was installed without options.
func config() (*virtconfig.ClusterConfig, error) {
	installed := informer(&kubevirtv1.KubeVirt{})
	err := installed.GetStore().Add(&kubevirtv1.KubeVirt{
		ObjectMeta: metav1.ObjectMeta{Name: "kubevirt", Namespace: "kubevirt", ResourceVersion: "1"},
		Status:     kubevirtv1.KubeVirtStatus{Phase: kubevirtv1.KubeVirtPhaseDeployed, DefaultArchitecture: "amd64"},
	})
	if err != nil {
		return nil, err
	}
	return virtconfig.NewClusterConfig(informer(&extv1.CustomResourceDefinition{}), installed, "kubevirt")
}

func main() {
	kubevirtlog.Log.SetIOWriter(io.Discard)
	config, err := config()
	if err != nil {
		log.Fatal(err)
	}
	client, err := kubecli.GetKubevirtClientFromRESTConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		log.Fatal(err)
	}
	presets := informer(&kubevirtv1.VirtualMachineInstancePreset{})
	judges := map[string]ask.Judge{}
	add := func(apiVersion, kind string, m mutator, a admitter) {
		judges[apiVersion+" "+kind] = ask.Defaulted(`{"status": {}}`, judge(apiVersion, kind, m, a)) // as the API server has it
	}
	add("kubevirt.io/v1", "VirtualMachine", mutators.NewVMsMutator(config, client),
		admitters.NewVMsAdmitter(config, client, &virtapi.Informers{}, nil))
	add("kubevirt.io/v1", "VirtualMachineInstance",
		&mutators.VMIsMutator{ClusterConfig: config, VMIPresetInformer: presets},
		admitters.NewVMIUpdateAdmitter(config, nil))
	add("kubevirt.io/v1", "VirtualMachineInstanceMigration", nil, &admitters.MigrationUpdateAdmitter{})
	add("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", nil, &admitters.VMIRSAdmitter{ClusterConfig: config})
	add("kubevirt.io/v1", "VirtualMachineInstancePreset", nil, &admitters.VMIPresetAdmitter{})
	add("kubevirt.io/v1", "KubeVirt", nil, operator.NewKubeVirtUpdateAdmitter(client, config))
	add("pool.kubevirt.io/v1beta1", "VirtualMachinePool", nil, &admitters.VMPoolAdmitter{ClusterConfig: config})
	add("migrations.kubevirt.io/v1alpha1", "MigrationPolicy", nil, admitters.NewMigrationPolicyAdmitter())
	add("clone.kubevirt.io/v1beta1", "VirtualMachineClone", nil, admitters.NewVMCloneAdmitter(config, client))
	add("snapshot.kubevirt.io/v1beta1", "VirtualMachineSnapshot", nil, storage.NewVMSnapshotAdmitter(config, client))
	add("snapshot.kubevirt.io/v1beta1", "VirtualMachineRestore", nil, storage.NewVMRestoreAdmitter(config, client, nil))
	add("export.kubevirt.io/v1beta1", "VirtualMachineExport", nil, storage.NewVMExportAdmitter(config))
	add("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype", nil, &instancetypes.InstancetypeAdmitter{})
	add("instancetype.kubevirt.io/v1beta1",
		"VirtualMachineClusterInstancetype", nil, &instancetypes.ClusterInstancetypeAdmitter{})
	add("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", nil, &preferences.PreferenceAdmitter{})
	add("instancetype.kubevirt.io/v1beta1",
		"VirtualMachineClusterPreference", nil, &preferences.ClusterPreferenceAdmitter{})
	ask.Main(context.Background(), judges)
}
