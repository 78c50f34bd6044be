// Command webhook is an admission webhook that enforces the locks of custom resources. It watches the
// CustomResourceDefinitions of a cluster, reads the locks in their annotation fieldlock.dev/locks, and refuses updates
// that break one. The API server itself runs their CEL rules. README.md says how to deploy the webhook.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/fieldlock/fieldlock/immutability/admission"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return // the flag set has printed the flags
	}
	if err == nil {
		err = start(s)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "webhook: %v\n", err)
		os.Exit(1)
	}
}

func start(s settings) error {
	cluster, err := s.cluster()
	if err != nil {
		return err
	}
	// The context ends with SIGTERM: requests in flight are answered before the process ends.
	return run(ctrl.SetupSignalHandler(), cluster, s)
}

// cluster returns how to reach the API server: by -kubeconfig, else as controller-runtime finds it, which is by
// $KUBECONFIG, the service account of a pod, or ~/.kube/config.
func (s settings) cluster() (*rest.Config, error) {
	if s.kubeconfig == "" {
		return config.GetConfig()
	}
	return clientcmd.BuildConfigFromFlags("", s.kubeconfig)
}

// settings are what the command line says.
type settings struct {
	kubeconfig              string
	port                    int
	certDir, clientCA       string
	healthAddr, metricsAddr string
	readyWithFaults         bool
	options                 []admission.Option
}

// words is a flag that can be given several times.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

func parse(args []string) (settings, error) {
	var s settings
	var mode, policy, gaps, dryRun string
	var code int
	var deleting bool
	var users, groups words
	f := flag.NewFlagSet("webhook", flag.ContinueOnError)
	f.StringVar(&s.kubeconfig, "kubeconfig", "",
		"`file` that says how to reach the API server; $KUBECONFIG, the service account of the pod or ~/.kube/config "+
			"when empty")
	f.IntVar(&s.port, "port", 9443, "port of the webhook, with TLS")
	f.StringVar(&s.certDir, "cert-dir", "/certs", "folder of tls.crt and tls.key; they are read again when they change")
	f.StringVar(&s.clientCA, "client-ca", "",
		"file in -cert-dir: only clients with a certificate of this authority are answered; the API server has to be "+
			"configured to send one")
	f.StringVar(&s.healthAddr, "health-addr", ":8081", "address of /healthz and /readyz")
	f.StringVar(&s.metricsAddr, "metrics-addr", ":8080", "address of /metrics")
	f.StringVar(&mode, "mode", "enforce", "what happens to an update that breaks a lock: enforce, warn or audit")
	f.StringVar(&policy, "failure-policy", "fail", "what happens to an update that cannot be checked: fail or ignore")
	f.StringVar(&gaps, "version-gaps", "warn",
		"what happens to an update through a served version that leaves free what another one locks: enforce, which "+
			"refuses it, warn or audit")
	f.BoolVar(&s.readyWithFaults, "ready-with-faults", false,
		"be ready although the locks of some kinds cannot be read; their updates are refused")
	f.IntVar(&code, "status-code", http.StatusUnprocessableEntity, "status of a refusal: 422 or 400")
	f.BoolVar(&deleting, "exempt-deleting", false, "let updates of objects pass that are being deleted")
	f.StringVar(&dryRun, "exempt-dry-run", "",
		"let dry-run updates of objects with this annotation pass, such as topology.cluster.x-k8s.io/dry-run")
	f.Var(&users, "exempt-user", "let updates by this user pass; may be given several times")
	f.Var(&groups, "exempt-group", "let updates by members of this group pass; may be given several times")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag: the webhook takes only flags", f.Arg(0))
	}
	modes := map[string]admission.Mode{"enforce": admission.ModeEnforce, "warn": admission.ModeWarn,
		"audit": admission.ModeAudit}
	m, ok := modes[mode]
	if !ok {
		return s, fmt.Errorf("-mode is %q: it is enforce, warn or audit", mode)
	}
	g, ok := modes[gaps]
	if !ok {
		return s, fmt.Errorf("-version-gaps is %q: it is enforce, warn or audit", gaps)
	}
	policies := map[string]admissionregistrationv1.FailurePolicyType{"fail": admissionregistrationv1.Fail,
		"ignore": admissionregistrationv1.Ignore}
	p, ok := policies[policy]
	if !ok {
		return s, fmt.Errorf("-failure-policy is %q: it is fail or ignore", policy)
	}
	exempt := admission.Exemptions{Users: users, Groups: groups, Deleting: deleting}
	if dryRun != "" {
		exempt.DryRunAnnotations = []string{dryRun}
	}
	s.options = []admission.Option{
		admission.WithMode(m),
		admission.WithVersionGaps(g),
		admission.WithFailurePolicy(p),
		admission.WithStatusCode(code),
		admission.WithExemptions(exempt),
	}
	return s, nil
}
