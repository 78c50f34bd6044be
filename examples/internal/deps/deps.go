// Package deps holds the module requirements until the packages that need them land.
package deps

import (
	_ "github.com/fieldlock/fieldlock/internal/extension"
	_ "github.com/google/cel-go/cel"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "go.etcd.io/etcd/server/v3/embed"
	_ "k8s.io/api/admission/v1"
	_ "k8s.io/api/admissionregistration/v1"
	_ "k8s.io/apiextensions-apiserver/pkg/apiserver"
	_ "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	_ "k8s.io/apimachinery/pkg/util/json"
	_ "k8s.io/apiserver/pkg/cel"
	_ "k8s.io/apiserver/pkg/server"
	_ "k8s.io/client-go/dynamic"
	_ "sigs.k8s.io/controller-runtime"
	_ "sigs.k8s.io/structured-merge-diff/v4/typed"
	_ "sigs.k8s.io/structured-merge-diff/v6/typed"
	_ "sigs.k8s.io/yaml"
)
