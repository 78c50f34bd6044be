package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	action3 "helm.sh/helm/v3/pkg/action"
	chart3 "helm.sh/helm/v3/pkg/chart"
	action4 "helm.sh/helm/v4/pkg/action"
	common4 "helm.sh/helm/v4/pkg/chart/common"
	chart4 "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// tool creates and updates objects as one deployment tool does it in one of its modes. A release is what Helm calls
// one.
type tool struct {
	name, short string
	create      func(ctx context.Context, release string, obj map[string]any) error
	apply       func(ctx context.Context, release string, newObj map[string]any) error
}

// allTools returns the tools. Argo CD applies with kubectl's code (gitops-engine's pkg/utils/kube/resource_ops.go),
// with and without --server-side, and with kubectl replace where an object asks for Replace=true.
func allTools(c *cluster, kubeconfig string) ([]tool, error) {
	flux, err := newFlux(c, false)
	if err != nil {
		return nil, err
	}
	cache, err := os.MkdirTemp("", "appliers")
	if err != nil {
		return nil, err
	}
	k := kubectl{kubeconfig, cache}
	getter := genericclioptions.NewConfigFlags(false)
	getter.KubeConfig = &kubeconfig
	namespace := namespace
	getter.Namespace = &namespace
	return []tool{
		flux,
		k.tool("kubectl apply --server-side", "ks", "apply --server-side --force-conflicts"),
		k.tool("kubectl apply", "kc", "apply"),
		k.tool("kubectl replace", "kr", "replace"),
		helm3(getter, "helm 3", "h3", false),
		helm3(getter, "helm 3 --force", "f3", true),
		helm4(getter, "helm 4", "h4", true, false),
		helm4(getter, "helm 4 --server-side=false", "c4", false, false),
		helm4(getter, "helm 4 --server-side=false --force-replace", "f4", false, true),
	}, nil
}

// newFlux returns what a Flux Kustomization does: kustomize-controller's reconciler normalizes the objects and hands
// them to ResourceManager.ApplyAll.
func newFlux(c *cluster, force bool) (tool, error) {
	kube, err := client.New(c.config, client.Options{Mapper: c.mapper})
	if err != nil {
		return tool{}, err
	}
	manager := ssa.NewResourceManager(kube,
		nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	options := ssa.DefaultApplyOptions()
	options.ForceSelector = map[string]string{"kustomize.toolkit.fluxcd.io/force": "enabled"}
	options.Force, options.WaitTimeout = force, time.Minute
	apply := func(ctx context.Context, _ string, obj map[string]any) error {
		objects := []*unstructured.Unstructured{{Object: obj}}
		if err := normalize.UnstructuredList(objects); err != nil {
			return err
		}
		_, err := manager.ApplyAll(ctx, objects, options)
		return err
	}
	return tool{"flux", "fl", apply, apply}, nil
}

// kubectl runs kubectl's own command.
type kubectl struct{ kubeconfig, cache string }

// tool returns the tool that updates with a command. It creates with kubectl apply, or with kubectl create for kubectl
// replace, as its users do.
func (k kubectl) tool(name, short, update string) tool {
	create := update
	if update == "replace" {
		create = "create"
	}
	return tool{name, short,
		func(_ context.Context, _ string, obj map[string]any) error { return k.run(create, obj) },
		func(_ context.Context, _ string, newObj map[string]any) error { return k.run(update, newObj) },
	}
}

// run runs kubectl in this process; its fatal errors panic instead of ending it.
func (k kubectl) run(verb string, obj map[string]any) (err error) {
	text, err := yaml.Marshal(obj)
	if err != nil {
		return err
	}
	type fatal struct{ message string }
	cmdutil.BehaviorOnFatal(func(message string, _ int) { panic(fatal{message}) })
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case fatal:
			err = errors.New(strings.TrimPrefix(failed.message, "error: "))
		default:
			err = fmt.Errorf("kubectl panics: %v", failed) // it does for a binding without a role; Argo CD recovers, too
		}
	}()
	file := filepath.Join(k.cache, "object.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: io.Discard}
	flags := genericclioptions.NewConfigFlags(true)
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{ConfigFlags: flags, IOStreams: streams})
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	command.SetArgs(append(strings.Fields(verb), "--kubeconfig", k.kubeconfig, "--cache-dir", k.cache, "-f", file))
	return command.Execute()
}

// helm3 returns what Helm 3 does with a chart of one object: helm install and helm upgrade. Its releases are Secrets,
// which check --live reads.
func helm3(getter genericclioptions.RESTClientGetter, name, short string, force bool) tool {
	config := &action3.Configuration{}
	err := config.Init(getter, namespace, "secret", func(string, ...any) {})
	chart := func(obj map[string]any) (*chart3.Chart, error) {
		text, err := yaml.Marshal(obj)
		return &chart3.Chart{
			Metadata:  &chart3.Metadata{APIVersion: "v2", Name: "case", Version: "1.0.0"},
			Templates: []*chart3.File{{Name: "templates/object.yaml", Data: text}},
		}, err
	}
	return tool{name, short,
		func(ctx context.Context, release string, obj map[string]any) error {
			c, chartErr := chart(obj)
			if err := errors.Join(err, chartErr); err != nil {
				return err
			}
			install := action3.NewInstall(config)
			install.ReleaseName, install.Namespace = release, namespace
			_, err := install.RunWithContext(ctx, c, nil)
			return err
		},
		func(ctx context.Context, release string, newObj map[string]any) error {
			c, err := chart(newObj)
			if err != nil {
				return err
			}
			upgrade := action3.NewUpgrade(config)
			upgrade.Namespace, upgrade.Force = namespace, force
			_, err = upgrade.RunWithContext(ctx, release, c, nil)
			return err
		},
	}
}

// helm4 is helm3 for Helm 4, which applies server-side unless it is told otherwise.
func helm4(getter genericclioptions.RESTClientGetter, name, short string, serverSide, force bool) tool {
	config := action4.NewConfiguration()
	err := config.Init(getter, namespace, "secret")
	chart := func(obj map[string]any) (*chart4.Chart, error) {
		text, err := yaml.Marshal(obj)
		return &chart4.Chart{
			Metadata:  &chart4.Metadata{APIVersion: "v2", Name: "case", Version: "1.0.0"},
			Templates: []*common4.File{{Name: "templates/object.yaml", Data: text}},
		}, err
	}
	return tool{name, short,
		func(ctx context.Context, release string, obj map[string]any) error {
			c, chartErr := chart(obj)
			if err := errors.Join(err, chartErr); err != nil {
				return err
			}
			install := action4.NewInstall(config)
			install.ReleaseName, install.Namespace, install.ServerSideApply = release, namespace, serverSide
			install.WaitStrategy = "hookOnly"
			_, err := install.RunWithContext(ctx, c, nil)
			return err
		},
		func(ctx context.Context, release string, newObj map[string]any) error {
			c, err := chart(newObj)
			if err != nil {
				return err
			}
			upgrade := action4.NewUpgrade(config)
			upgrade.Namespace, upgrade.ForceReplace, upgrade.WaitStrategy = namespace, force, "hookOnly"
			_, err = upgrade.RunWithContext(ctx, release, c, nil) // server-side as it was installed
			return err
		},
	}
}
