package convert

import "github.com/fieldlock/fieldlock/immutability/crd"

// Webhook is where the webhook runs that checks what CEL does not.
type Webhook struct {
	Namespace, Service string
	Path               string // at the service
}

// configuration is the ValidatingWebhookConfiguration for the versions of c that have locks without a rule. The API
// server converts requests of other versions to one of these, so that a write through them does not get around it.
func (w *Webhook) configuration(c *crd.CRD, versions []string) any {
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
			"clientConfig":            map[string]any{"service": map[string]any{"namespace": w.Namespace, "name": w.Service, "path": w.Path}},
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
