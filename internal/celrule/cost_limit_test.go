package celrule

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// TestCostLimits: the limits are those of the API server.
func TestCostLimits(t *testing.T) {
	if staticCostLimit != validation.StaticEstimatedCostLimit || staticCRDCostLimit != validation.StaticEstimatedCRDCostLimit {
		t.Errorf("the API server has %d and %d", validation.StaticEstimatedCostLimit, validation.StaticEstimatedCRDCostLimit)
	}
}
