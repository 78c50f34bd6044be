package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// webhookOptions say whether and how a webhook is to check what CEL does not.
type webhookOptions struct {
	wanted  bool
	service string // NAMESPACE/NAME
	path    string
}

func (o *webhookOptions) flags(command *cobra.Command) {
	command.Flags().BoolVar(&o.wanted, "webhook-for-rest", false, "add the ValidatingWebhookConfiguration for the locks that are not exported")
	command.Flags().StringVar(&o.service, "service", "fieldlock-system/fieldlock", "NAMESPACE/NAME of the webhook's service")
	command.Flags().StringVar(&o.path, "path", "/", "path of the webhook at its service")
}

func (o *webhookOptions) check() error {
	namespace, name, ok := strings.Cut(o.service, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("--service is %q: it is NAMESPACE/NAME of the webhook's service", o.service)
	}
	return nil
}

// configuration is the ValidatingWebhookConfiguration for the versions of c that have locks without a rule. The API
// server converts requests of other versions to one of these, so that a write through them does not get around it.
func (o *webhookOptions) configuration(c *crd.CRD, versions []string) any {
	namespace, name, _ := strings.Cut(o.service, "/")
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   map[string]any{"name": "fieldlock." + c.Name},
		"webhooks": []any{map[string]any{
			"name":                    "fieldlock." + c.Name,
			"admissionReviewVersions": []any{"v1"},
			"sideEffects":             "None",
			"failurePolicy":           "Fail",
			"matchPolicy":             "Equivalent",
			"clientConfig":            map[string]any{"service": map[string]any{"namespace": namespace, "name": name, "path": o.path}},
			"rules": []any{map[string]any{
				"apiGroups":   []any{c.Group},
				"apiVersions": versions,
				"operations":  []any{"UPDATE"},
				"resources":   []any{c.Plural, c.Plural + "/*"},
				"scope":       "*",
			}},
		}},
	}
}
