package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportCELAuthority: the API server has to trust the webhook's certificate, and the report says what is missing.
func TestExportCELAuthority(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.pem", certificate)
	private := write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	broken := write("broken.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}))
	text := write("text", []byte("no certificate"))
	for _, row := range []struct {
		name, reason string
		args         []string
		status       int
		out, report  string // texts in the configuration and in the report
		omits        string // a text that the report lacks
	}{
		{"bundle", "the certificate of the authority", []string{"--webhook-for-rest", "--ca-bundle", ca}, exitClean, "caBundle: " + base64.StdEncoding.EncodeToString(certificate)[:40], "run the webhook behind the Service fieldlock-system/fieldlock", "who signed"},
		{"cert-manager", "it fills the bundle in", []string{"--webhook-for-rest", "--cert-manager", "ns/cert"}, exitClean, "cert-manager.io/inject-ca-from: ns/cert", "Certificate ns/cert", "who signed"},
		{"neither", "the report says what is missing", []string{"--webhook-for-rest"}, exitClean, "failurePolicy: Fail", "say who signed the webhook's certificate", ""},
		{"as JSON", "the same for programs", []string{"--webhook-for-rest", "-o", "json"}, exitClean, `"todo": [`, "", ""},
		{"both", "one would be ignored", []string{"--webhook-for-rest", "--ca-bundle", ca, "--cert-manager", "ns/cert"}, exitUnread, "", "give one of them", ""},
		{"without webhook", "nothing would use it", []string{"--ca-bundle", ca}, exitUnread, "", "add --webhook-for-rest", ""},
		{"no namespace", "cert-manager needs it", []string{"--webhook-for-rest", "--cert-manager", "cert"}, exitUnread, "", "NAMESPACE/NAME", ""},
		{"no such file", "unreadable input", []string{"--webhook-for-rest", "--ca-bundle", filepath.Join(dir, "none")}, exitUnread, "", "--ca-bundle", ""},
		{"private key", "it must not get into a cluster", []string{"--webhook-for-rest", "--ca-bundle", private}, exitUnread, "", "PRIVATE KEY", ""},
		{"broken", "the API server would refuse it", []string{"--webhook-for-rest", "--ca-bundle", broken}, exitUnread, "", "cannot be read", ""},
		{"text", "the API server would refuse it", []string{"--webhook-for-rest", "--ca-bundle", text}, exitUnread, "", "no certificate in PEM", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, report := onFile(t, row.status, exportedWidgets, append([]string{"export", "cel"}, row.args...)...)
			if !strings.Contains(strings.ReplaceAll(out, "\n", ""), row.out) || !strings.Contains(report, row.report) {
				t.Errorf("%s\n%s\n%s\nwant %q and %q", row.reason, out, report, row.out, row.report)
			}
			if row.omits != "" && strings.Contains(report, row.omits) {
				t.Errorf("the report has %q: %s", row.omits, report)
			}
		})
	}
}
