package cluster

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// request is the request of an apply, and what it would store if nothing refused it.
type request struct {
	kind    apitypes.PatchType
	body    []byte
	options metav1.PatchOptions
	merge   func() (map[string]any, error)
	// exact is false where the server would merge otherwise than the tool does.
	exact bool
}

// encoded returns the JSON of an object.
func encoded(u *unstructured.Unstructured) ([]byte, error) { return json.Marshal(u.Object) }
