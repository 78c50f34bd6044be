package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

// forecaster holds what check --live says about an update against what the tool then gets.
type forecaster struct {
	*cluster
	fieldlock, kubeconfig, dir string
}

// methods are the words of --applier by the names of tools. Without the flag, check finds out itself who applies, but
// nothing shows that somebody is about to send a PUT.
var methods = map[string][]string{
	"flux":                        {"", "server-side"},
	"kubectl apply --server-side": {"", "server-side"},
	"kubectl apply":               {"", "client-side"},
	"kubectl replace":             {"replace"},
	"helm 3":                      {"", "helm"},
	"helm 3 --force":              {"replace"},
	"helm 4":                      {"", "server-side"},
	"helm 4 --server-side=false":  {"", "helm"},
	"helm 4 --server-side=false --force-replace": {"replace"},
}

// all asks about all cases, and returns the number of answers and the wrong ones.
func (f forecaster) all(ctx context.Context, cases []kindcase.Case,
	tools []tool) (asked int, wrong []string, err error) {
	for i, one := range cases {
		for _, t := range tools {
			metadata, _ := one.New["metadata"].(map[string]any)
			if methods[t.name] == nil || metadata["uid"] != nil || metadata["resourceVersion"] != nil {
				continue // check leaves out of a manifest what only the server writes
			}
			if isHook(one.New) || isHook(one.Old) {
				continue // a manifest outside of a chart has no hooks
			}
			n, failures, err := f.one(ctx, one, t, fmt.Sprintf("%s-%d", t.short, i))
			if err != nil {
				return asked, wrong, fmt.Errorf("%s: %s: %w", one.Name, t.name, err)
			}
			asked += n
			wrong = append(wrong, failures...)
		}
	}
	return asked, wrong, nil
}

func isHook(object map[string]any) bool {
	annotations, _, _ := unstructured.NestedStringMap(object, "metadata", "annotations")
	return annotations["helm.sh/hook"] != ""
}

func (f forecaster) one(ctx context.Context, one kindcase.Case, t tool,
	suffix string) (asked int, wrong []string, err error) {
	newObj, oldObj := f.named(one.New, suffix), f.named(one.Old, suffix)
	if err := t.create(ctx, suffix, clone(oldObj)); err != nil {
		return 0, nil, err
	}
	defer f.remove(context.WithoutCancel(ctx), oldObj)
	if oldObj["kind"] == "CustomResourceDefinition" {
		if err := f.established(ctx, oldObj); err != nil {
			return 0, nil, err
		}
	}
	text, err := yaml.Marshal(newObj)
	if err != nil {
		return 0, nil, err
	}
	file := filepath.Join(f.dir, suffix+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return 0, nil, err
	}
	type answer struct {
		applier string
		allowed bool
		text    string
	}
	var answers []answer
	for _, method := range methods[t.name] {
		args := []string{"check", "--live", "--kubeconfig", f.kubeconfig, "-n", namespace, "-o", "json", file}
		if method != "" {
			args = append(args, "--applier", method)
		}
		out, err := exec.CommandContext(ctx, f.fieldlock, args...).Output()
		var r struct {
			Allowed *bool
			Unknown []json.RawMessage
			Errors  []json.RawMessage
		}
		if json.Unmarshal(out, &r) != nil || r.Allowed == nil || len(r.Errors) > 0 {
			return 0, nil, fmt.Errorf("%q: %w\n%s", args, err, out)
		}
		if len(r.Unknown) == 0 {
			answers = append(answers, answer{method, *r.Allowed, strings.Join(strings.Fields(string(out)), " ")})
		}
	}
	got := t.apply(ctx, suffix, clone(newObj))
	for _, a := range answers {
		if a.allowed != (got == nil) {
			wrong = append(wrong, fmt.Sprintf("%s: %s, --applier %q: the tool gets %v; check says %s",
				one.Name, t.name, a.applier, got, a.text))
		}
	}
	return len(answers), wrong, nil
}

// forecast holds check --live against the tools.
func forecast(ctx context.Context, kubeconfig, folder, crds, run, fieldlock string) error {
	cases, err := kindcase.Read(folder)
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(one kindcase.Case) bool { return !strings.Contains(one.Name, run) })
	c, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, crds); err != nil {
		return err
	}
	tools, err := allTools(c, kubeconfig)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "live")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	asked, wrong, err := forecaster{c, fieldlock, kubeconfig, dir}.all(ctx, cases, tools)
	fmt.Printf("%d answers of check --live were compared\n", asked)
	if len(wrong) > 0 {
		err = errors.Join(err, fmt.Errorf("%d of them are wrong:\n%s", len(wrong), strings.Join(wrong, "\n")))
	}
	return err
}
