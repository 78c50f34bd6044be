package convert

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/fieldlock/fieldlock/immutability/crd"
)

// Webhook says where the webhook runs that checks what CEL does not, and who vouches for its certificate.
type Webhook struct {
	Namespace, Service string
	Path               string // at the service

	// CABundle is the certificates of the authority, in PEM. CertManager is the Certificate whose authority
	// cert-manager fills in, as NAMESPACE/NAME. At most one of them is set; without either, the authority is still to
	// be added.
	CABundle    []byte
	CertManager string
}

// CheckCABundle returns an error unless data holds certificates in PEM, and nothing else.
func CheckCABundle(data []byte) error {
	n := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it holds a %s: give the certificates of the authority only", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d cannot be read: %w", n+1, err)
		}
		n++
	}
	if n == 0 {
		return errors.New("it holds no certificate in PEM")
	}
	return nil
}

// configuration is the ValidatingWebhookConfiguration for the versions of c that have locks without a rule. The API
// server converts requests of other versions to one of these, so that a write through them does not get around it.
func (w *Webhook) configuration(c *crd.CRD, versions []string) any {
	metadata := map[string]any{"name": "fieldlock." + c.Name}
	client := map[string]any{"service": map[string]any{"namespace": w.Namespace, "name": w.Service, "path": w.Path}}
	switch {
	case w.CertManager != "":
		metadata["annotations"] = map[string]any{"cert-manager.io/inject-ca-from": w.CertManager}
	case w.CABundle != nil:
		client["caBundle"] = base64.StdEncoding.EncodeToString(w.CABundle)
	}
	return map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   metadata,
		"webhooks": []any{map[string]any{
			"name":                    "fieldlock." + c.Name,
			"admissionReviewVersions": []any{"v1"},
			"sideEffects":             "None",
			"failurePolicy":           "Fail",
			"matchPolicy":             "Equivalent",
			"clientConfig":            client,
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

// remaining lists what is still to do before the configuration works.
func (w *Webhook) remaining() []string {
	service := w.Namespace + "/" + w.Service
	todo := []string{fmt.Sprintf("run the webhook behind the Service %s before you apply this: its failurePolicy is "+
		"Fail, so updates are refused until it answers", service)}
	switch {
	case w.CertManager != "":
		todo = append(todo, fmt.Sprintf("let the Certificate %s issue the webhook's certificate, for %s.%s.svc: "+
			"cert-manager copies its authority into caBundle", w.CertManager, w.Service, w.Namespace))
	case w.CABundle == nil:
		todo = append(todo, "say who signed the webhook's certificate: --ca-bundle FILE, or --cert-manager "+
			"NAMESPACE/CERTIFICATE; without it the API server trusts only authorities of its own host")
	}
	return todo
}
