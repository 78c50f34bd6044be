package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	applier "github.com/fieldlock/fieldlock/internal/tool"
)

// carrier carries out the ways out of refusals as check prints them: kubectl's commands in a shell, and what a
// deployment tool does by the tool's own code.
type carrier struct {
	*cluster
	kinds           *builtin.Kinds
	crds            []byte // those of the cases
	kubectl         string // its path
	kubeconfig, dir string
}

// user is somebody who applies objects: with a tool, and as check sees the tool.
type user struct {
	tool
	by applier.Applier
	// forced applies with what a way asks the tool for in words.
	forced func(ctx context.Context, release string, newObj map[string]any) error
}

// users are those who apply with some of the tools.
func (k carrier) users() ([]user, error) {
	tools, err := allTools(k.cluster, k.kubeconfig)
	if err != nil {
		return nil, err
	}
	forced, err := newFlux(k.cluster, true)
	if err != nil {
		return nil, err
	}
	all := map[string]tool{}
	for _, t := range tools {
		all[t.name] = t
	}
	named := func(name, short string) tool {
		t := all[name]
		t.short = short
		return t
	}
	replace := kubectl{k.kubeconfig, k.dir}.tool("kubectl replace --force", "rf", "replace --force").apply
	argo := func(name, short string, methods ...applier.Method) user {
		return user{named(name, short),
			applier.Applier{Tool: applier.ArgoCD, Methods: methods, Apply: "argocd app sync shop"}, replace}
	}
	flux := applier.Applier{Tool: applier.Flux, Apply: "flux reconcile kustomization shop -n flux-system --with-source"}
	helm := func(apply string, method applier.Method) applier.Applier {
		return applier.Applier{Tool: applier.Helm, Apply: apply, Methods: []applier.Method{method}}
	}
	const upgrade, release = "helm upgrade RELEASE shop", "flux reconcile helmrelease shop --with-source --force"
	return []user{
		{all["kubectl apply"], applier.Applier{Methods: []applier.Method{applier.ClientSide}}, nil},
		{all["kubectl apply --server-side"], applier.Applier{Methods: []applier.Method{applier.ServerSide}}, nil},
		{all["flux"], flux, forced.apply},
		{all["helm 3"], helm(upgrade, applier.ThreeWay), nil}, {all["helm 4"], helm(upgrade, applier.ServerSide), nil},
		{named("helm 4", "hr"), helm(release, applier.ServerSide), nil},
		argo("kubectl apply", "ac", applier.ClientSide), argo("kubectl apply --server-side", "as", applier.ServerSide),
	}, nil
}

// all carries out the ways out of one refused update for each kind and each set of ways.
func (k carrier) all(ctx context.Context, cases []kindcase.Case) (done int, failures []string, err error) {
	users, err := k.users()
	if err != nil {
		return 0, nil, err
	}
	for _, u := range users {
		seen := map[string]bool{}
		for i, one := range cases {
			ways, lock, err := k.waysOut(u, k.named(one.New, "0"), k.named(one.Old, "0"))
			if err != nil {
				return 0, nil, err
			}
			kind, _ := one.New["kind"].(string)
			key := fmt.Sprint(kind, lock == "server", len(ways),
				len(ways) > 0 && strings.HasPrefix(ways[0], "kubectl patch "))
			if len(ways) == 0 || seen[key] {
				continue
			}
			seen[key] = true
			for j := range ways {
				suffix := fmt.Sprintf("%s-%d-%d", u.short, i, j)
				newObj, oldObj := k.named(one.New, suffix), k.named(one.Old, suffix)
				ways, _, err := k.waysOut(u, newObj, oldObj)
				if err != nil {
					return 0, nil, err
				}
				way := decisive(ways[j])
				tried, err := k.carryOut(ctx, u, suffix, newObj, oldObj, way)
				if tried {
					done++
				}
				if err != nil {
					failures = append(failures, fmt.Sprintf("%s, %s (%s): %s: %v",
						one.Name, u.name, u.by.Tool, way, err))
				}
			}
		}
	}
	return done, failures, nil
}

// waysOut returns the ways out of an update that check refuses, and the lock that it names first; nil for all others.
func (k carrier) waysOut(u user, newObj, oldObj map[string]any) (ways []string, lock string, err error) {
	side := func(obj map[string]any) ([]manifest.File, error) {
		text, err := yaml.Marshal(obj)
		if err != nil {
			return nil, err
		}
		files := []manifest.File{{Name: "crds.yaml", Path: "crds.yaml", Found: true},
			{Name: k.file(), Path: k.file(), Found: true}}
		for i, content := range [][]byte{k.crds, text} {
			files[i].AppliedBy = u.by
			files[i].Parse(content)
		}
		return files, nil
	}
	news, err := side(newObj)
	if err != nil {
		return nil, "", err
	}
	olds, err := side(oldObj)
	if err != nil {
		return nil, "", err
	}
	r, err := compare.Check(compare.Input{New: news, Old: olds}, compare.Options{Builtin: k.kinds})
	if err != nil || r.Allowed || len(r.Replacements) == 0 {
		return nil, "", err
	}
	return r.Replacements[0].How, r.Violations[0].Lock, nil
}

func (k carrier) file() string { return filepath.Join(k.dir, "new.yaml") }

// decisive returns the step of a way that makes the change; "" for a way that moves or keeps data, or goes between two
// changes. The other steps need the controllers of Kubernetes, with which TestClaims of examples/e2e carries out all of
// them.
func decisive(way string) string {
	_, steps := applier.Steps(way)
	if len(steps) == 1 {
		return steps[0]
	}
	for _, other := range []string{"claimRef", "before data moves", "merge the change", "two changes",
		"--all-namespaces"} {
		if strings.Contains(way, other) {
			return ""
		}
	}
	around := []string{"create the headless Service", "the claims that exist", "kubectl patch pvc/",
		"kubectl rollout restart", "scale the pods", "kubectl label pods", "kubectl drain"}
	for _, step := range steps {
		if !slices.ContainsFunc(around, func(begin string) bool { return strings.HasPrefix(step, begin) }) {
			return step
		}
	}
	return ""
}

// marks are the annotations that ways ask for.
var marks = regexp.MustCompile(`(kustomize\.toolkit\.fluxcd\.io/force|helm\.sh/hook-delete-policy|helm\.sh/hook): ([a-z,-]+)`)

// edits are the ways that change the manifest: without a field, or with a field that comes one change later.
var edits = regexp.MustCompile(`^(?:remove (\S+) from the manifest|change the apiVersion .*, and set (\S+) with the next one)`)

// carryOut makes the old object, sees the new one refused, and carries out one way. tried is false for a way that is
// for people to think about. The new object has to be there then, and it has to be another object if the way says so.
func (k carrier) carryOut(ctx context.Context, u user, release string, newObj, oldObj map[string]any,
	way string) (tried bool, err error) {
	command, _, _ := strings.Cut(way, applier.Comment)
	isCommand := strings.HasPrefix(command, "kubectl ") || strings.HasPrefix(command, "argocd ")
	edited := edits.FindStringSubmatch(way)
	inWords := strings.Contains(way, "annotation") || strings.Contains(way, "spec.force: true") || edited != nil
	later := strings.Contains(way, "before data moves")
	if !isCommand && !inWords || later {
		return false, nil
	}
	if err := u.create(ctx, release, clone(oldObj)); err != nil {
		return true, fmt.Errorf("creating the old object: %w", err)
	}
	defer k.remove(context.WithoutCancel(ctx), oldObj)
	if oldObj["kind"] == "CustomResourceDefinition" {
		if err := k.established(ctx, oldObj); err != nil {
			return true, err
		}
	}
	before, err := k.uid(ctx, oldObj)
	if err != nil {
		return true, err
	}
	if err := u.apply(ctx, release, clone(newObj)); err == nil {
		return true, fmt.Errorf("the update is not refused")
	}
	controllers, stop := context.WithCancel(ctx)
	defer stop()
	go k.finalize(controllers, oldObj)
	if isCommand {
		err = k.command(ctx, u, release, newObj, command)
	} else {
		err = k.inWords(ctx, u, release, newObj, way)
	}
	if err != nil {
		return true, err
	}
	after, err := k.uid(ctx, newObj)
	n := unstructured.Unstructured{Object: newObj}
	if apierrors.IsNotFound(err) && n.GetAnnotations()["helm.sh/hook-delete-policy"] == "hook-succeeded" {
		return true, nil // Helm has made the hook and deleted it
	}
	if err != nil {
		return true, err
	}
	if replaced, stays := before != after, edited != nil ||
		strings.Contains(command, "kubectl patch "); replaced == stays {
		return true, fmt.Errorf("the object is replaced: %t", replaced)
	}
	// The tool has nothing left to do.
	if strings.HasPrefix(way, "make the Job a hook") {
		return true, nil // it does so with each upgrade
	}
	if edited != nil && strings.HasPrefix(way, "remove ") {
		unstructured.RemoveNestedField(newObj, strings.Split(edited[1], ".")...)
	}
	if err := u.apply(ctx, release, clone(newObj)); err != nil {
		return true, fmt.Errorf("the next apply: %w", err)
	}
	if last, err := k.uid(ctx, newObj); err != nil || last != after {
		return true, fmt.Errorf("the next apply replaces the object again: %v", err)
	}
	return true, nil
}

// command runs kubectl's part of a command line in a shell, and lets the tool do the rest.
func (k carrier) command(ctx context.Context, u user, release string, newObj map[string]any, line string) error {
	text, err := yaml.Marshal(newObj)
	if err != nil {
		return err
	}
	if err := os.WriteFile(k.file(), text, 0o600); err != nil {
		return err
	}
	own, ofTool := "", ""
	if u.by.Apply != "" {
		own, ofTool, _ = strings.Cut(line, u.by.Apply)
		own, ofTool = strings.TrimSuffix(own, " && "), u.by.Apply+ofTool
	} else {
		own = line
	}
	if own != "" {
		sh := exec.CommandContext(ctx, "sh", "-c", own)
		sh.Env = append(os.Environ(), "PATH="+filepath.Dir(k.kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"),
			"KUBECONFIG="+k.kubeconfig, "HOME="+k.dir)
		if out, err := sh.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	switch {
	case ofTool == "":
		return nil
	case strings.HasSuffix(ofTool, " --force --replace"):
		return u.forced(ctx, release, clone(newObj))
	}
	return u.apply(ctx, release, clone(newObj))
}

// inWords carries out a way that asks for annotations.
func (k carrier) inWords(ctx context.Context, u user, release string, newObj map[string]any, way string) error {
	if edited := edits.FindStringSubmatch(way); edited != nil {
		without := clone(newObj)
		unstructured.RemoveNestedField(without, strings.Split(edited[1]+edited[2], ".")...)
		if strings.Contains(way, "add a label") {
			(&unstructured.Unstructured{Object: without}).SetLabels(map[string]string{"moved": "yes"})
		}
		return u.apply(ctx, release, without)
	}
	marked := unstructured.Unstructured{Object: clone(newObj)}
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, m := range marks.FindAllStringSubmatch(way, -1) {
		annotations[m[1]] = m[2]
	}
	if strings.Contains(way, "Force=true,Replace=true") || strings.Contains(way, "spec.force: true") {
		return u.forced(ctx, release, clone(newObj))
	}
	marked.SetAnnotations(annotations)
	if err := u.apply(ctx, release, clone(marked.Object)); err != nil {
		return err
	}
	if !strings.HasPrefix(way, "make the Job a hook") {
		return nil
	}
	first, err := k.uid(ctx, newObj)
	if err != nil {
		return err
	}
	if err := u.apply(ctx, release, marked.Object); err != nil {
		return err
	}
	if second, err := k.uid(ctx, newObj); err != nil || first == second {
		return fmt.Errorf("the next upgrade leaves the hook as it is: %v", err)
	}
	return nil
}

func (k carrier) uid(ctx context.Context, obj map[string]any) (types.UID, error) {
	resource, err := k.resource(obj)
	if err != nil {
		return "", err
	}
	u := unstructured.Unstructured{Object: obj}
	stored, err := resource.Get(ctx, u.GetName(), metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if stored.GetDeletionTimestamp() != nil {
		return "", fmt.Errorf("%s is being deleted", u.GetName())
	}
	return stored.GetUID(), nil
}

// done is the status of a Job that has run.
const done = `{"status":{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:01Z","succeeded":1,` +
	`"uncountedTerminatedPods":{},"conditions":[{"type":"SuccessCriteriaMet","status":"True","lastTransitionTime":"2026-01-01T00:00:01Z"},` +
	`{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:00:01Z"}]}}`

// finalize does what controllers do that this cluster does not have: the garbage collector orphans, others give an
// object free, and a Job is done.
func (k carrier) finalize(ctx context.Context, obj map[string]any) {
	resource, err := k.resource(obj)
	if err != nil || obj["kind"] == "CustomResourceDefinition" { // the API server itself runs its finalizer
		return
	}
	u := unstructured.Unstructured{Object: obj}
	for ctx.Err() == nil {
		stored, err := resource.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err == nil && stored.GetDeletionTimestamp() != nil && len(stored.GetFinalizers()) > 0 {
			patch := fmt.Sprintf(`{"metadata":{"finalizers":null,"uid":%q}}`, stored.GetUID())
			_, _ = resource.Patch(ctx, u.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		}
		if err == nil && obj["kind"] == "Job" && stored.GetDeletionTimestamp() == nil {
			_, _ = resource.Patch(ctx, u.GetName(), types.MergePatchType, []byte(done), metav1.PatchOptions{}, "status")
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
