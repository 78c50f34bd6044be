package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/crd"
)

// Locks exported as CEL rules, with no webhook at all: a stock API server takes the CRD under strict validation and
// gives the verdicts of the locks.
func TestExportedCEL(t *testing.T) {
	w := &world{t: t, ctx: t.Context(), group: strings.ToLower(t.Name()) + ".fieldlock.test", registry: &admission.Registry{}}
	document := w.read("widgets.yaml")
	c, err := crd.FromObject(&unstructured.Unstructured{Object: document})
	if err != nil {
		t.Fatal(err)
	}
	exported, err := celrule.Export(c.Versions[0].Schema)
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, lock := range exported.Rest {
		rest = append(rest, lock.Path)
	}
	if len(rest) > 0 {
		t.Fatalf("locks without a rule: %q", rest)
	}
	var schema map[string]any
	if err := json.Unmarshal(mustJSON(exported.Schema), &schema); err != nil {
		t.Fatal(err)
	}
	versions := document["spec"].(map[string]any)["versions"].([]any)
	versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": numbers(schema)}
	w.strict = true
	w.installCRD(document)

	for i, c := range readCases[change](t, "changes.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			name := fmt.Sprintf("w-%d", i)
			before := w.create(name)
			_, err := w.widgets().Patch(w.ctx, name, types.JSONPatchType, []byte(c.JSON), metav1.PatchOptions{})
			if len(c.Paths) == 0 {
				checkVerdict(t, err, nil)
				return
			}
			status, ok := err.(apierrors.APIStatus)
			if !ok || status.Status().Code != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "field is immutable") {
				t.Errorf("got %v, want 422 with \"field is immutable\": %s", err, c.Reason)
			}
			if w.get(name).GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("a refused update was stored")
			}
		})
	}
}
