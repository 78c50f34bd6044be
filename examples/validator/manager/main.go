// Command manager runs the webhook of package validator in a manager of controller-runtime, with locks from a file: an
// OpenAPI or JSON Schema for Deployments, and a CRD with locks for the objects of its first version, which need no Go
// type.
package main

import (
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/fieldlock/fieldlock/examples/validator"
	"github.com/fieldlock/fieldlock/immutability/admission/controllerruntime"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/openapi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	flags := flag.NewFlagSet("manager", flag.ExitOnError) // controller-runtime has flags of its own in the set of all programs
	kubeconfig := flags.String("kubeconfig", "", "`file` that says how to reach the API server")
	port := flags.Int("port", 9443, "port of the webhooks, with TLS")
	certDir := flags.String("cert-dir", "/certs", "folder of tls.crt and tls.key")
	deployments := flags.String("deployments", "", "`file` with a schema of Deployments")
	custom := flags.String("crd", "", "`file` with a CRD")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}

	cluster, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		return err
	}
	m, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Port: *port, CertDir: *certDir}),
	})
	if err != nil {
		return err
	}
	if err := guardDeployments(m, *deployments); err != nil {
		return err
	}
	if err := guardCustom(m, *custom); err != nil {
		return err
	}
	return m.Start(ctrl.SetupSignalHandler())
}

// guardDeployments serves /validate-apps-v1-deployment with the locks of a schema.
func guardDeployments(m ctrl.Manager, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	document, err := openapi.Read(file, data)
	if err != nil {
		return err
	}
	locks, err := document.Compile(document.Root)
	if err != nil {
		return err
	}
	return validator.SetUp(m, locks)
}

// guardCustom serves /validate-custom with the locks of the first version of a CRD. The builder of webhooks is for
// kinds that the scheme knows, so this one is registered by its path.
func guardCustom(m ctrl.Manager, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crds, err := crd.Read(file, data)
	if err != nil {
		return err
	}
	if len(crds) == 0 {
		return fmt.Errorf("%s has no CRD", file)
	}
	updates, err := controllerruntime.ForCRD[*unstructured.Unstructured](crds[0].Versions[0], nil)
	if err != nil {
		return err
	}
	m.GetWebhookServer().Register("/validate-custom", admission.WithValidator(m.GetScheme(), updates))
	return nil
}
