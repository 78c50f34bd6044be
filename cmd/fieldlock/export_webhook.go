package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/convert"
)

// webhookOptions are the flags for a webhook that checks what CEL does not.
type webhookOptions struct {
	wanted                bool
	service, path         string
	caBundle, certManager string
}

func (o *webhookOptions) flags(command *cobra.Command) {
	command.Flags().BoolVar(&o.wanted, "webhook-for-rest", false, "add the ValidatingWebhookConfiguration for the locks that are not exported")
	command.Flags().StringVar(&o.service, "service", "fieldlock-system/fieldlock", "`NAMESPACE/NAME` of the webhook's service")
	command.Flags().StringVar(&o.path, "path", "/", "`PATH` of the webhook at its service")
	command.Flags().StringVar(&o.caBundle, "ca-bundle", "", "`FILE` with the certificates of the authority that signed the webhook's, in PEM")
	command.Flags().StringVar(&o.certManager, "cert-manager", "", "`NAMESPACE/NAME` of the Certificate of cert-manager whose authority signs the webhook's")
}

// target returns where the webhook runs, or nil if none is wanted.
func (o *webhookOptions) target() (*convert.Webhook, error) {
	namespace, name, ok := namespaced(o.service)
	if !ok {
		return nil, fmt.Errorf("--service is %q: it should be NAMESPACE/NAME of the webhook's service", o.service)
	}
	if _, _, ok := namespaced(o.certManager); o.certManager != "" && !ok {
		return nil, fmt.Errorf("--cert-manager is %q: it should be NAMESPACE/NAME of a Certificate", o.certManager)
	}
	switch {
	case !o.wanted && (o.caBundle != "" || o.certManager != ""):
		return nil, fmt.Errorf("--ca-bundle and --cert-manager are for the webhook: add --webhook-for-rest")
	case !o.wanted:
		return nil, nil
	case o.caBundle != "" && o.certManager != "":
		return nil, fmt.Errorf("--ca-bundle and --cert-manager are two ways to say the same: give one of them")
	}
	webhook := &convert.Webhook{Namespace: namespace, Service: name, Path: o.path, CertManager: o.certManager}
	if o.caBundle == "" {
		return webhook, nil
	}
	data, err := os.ReadFile(o.caBundle)
	if err != nil {
		return nil, fmt.Errorf("--ca-bundle: %w", err)
	}
	if err := convert.CheckCABundle(data); err != nil {
		return nil, fmt.Errorf("--ca-bundle %s: %w", o.caBundle, err)
	}
	webhook.CABundle = data
	return webhook, nil
}

// namespaced cuts NAMESPACE/NAME.
func namespaced(text string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(text, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}
