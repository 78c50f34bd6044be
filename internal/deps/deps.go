// Package deps holds the module requirements until their packages land.
package deps

import (
	_ "github.com/google/cel-go/parser"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/spf13/cobra"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/tools/go/packages"
	_ "k8s.io/api/admission/v1"
	_ "k8s.io/api/admissionregistration/v1"
	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	_ "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	_ "k8s.io/apimachinery/pkg/util/json"
	_ "k8s.io/apimachinery/pkg/util/validation/field"
	_ "k8s.io/apiserver/pkg/admission"
	_ "k8s.io/apiserver/pkg/registry/rest"
	_ "k8s.io/kube-openapi/pkg/common"
	_ "k8s.io/kube-openapi/pkg/validation/spec"
	_ "sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	_ "sigs.k8s.io/structured-merge-diff/v4/typed"
	_ "sigs.k8s.io/yaml"
)
