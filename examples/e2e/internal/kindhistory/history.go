package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// history is a run over one repository.
type history struct {
	skip, most, crds               int
	strangers, clientSide, verbose bool
	namespace                      string
	kinds                          *builtin.Kinds
	server                         *ask.Server
	custom                         map[schema.GroupKind]custom

	found []update

	mu                                                                                       sync.Mutex
	updates, refused, named, unknown, falseAlarms, misses, otherCauses, unreadable, notValid int
}

// custom is a kind of custom resources.
type custom struct {
	crd        []byte
	namespaced bool
}

// addCRDs gives the server the CRDs of a file that it does not have yet.
func (h *history) addCRDs(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents, err := yamldoc.Read(file, text)
	if err != nil {
		return err
	}
	for _, d := range documents {
		spec, _ := d.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		kind := schema.GroupKind{Group: fmt.Sprint(spec["group"]), Kind: fmt.Sprint(names["kind"])}
		if _, ok := h.custom[kind]; ok || d.Object["kind"] != "CustomResourceDefinition" {
			continue
		}
		ask.Bare(d.Object)
		err := h.server.Request(ctx, tool.Replace, d.Object, nil)
		if err == nil || apierrors.IsAlreadyExists(err) {
			err = h.server.Established(ctx, d.Object)
		}
		if err != nil {
			fmt.Printf("NOT A KIND: %s: %v\n", file, err)
			continue
		}
		crd, err := json.Marshal(d.Object)
		if err != nil {
			return err
		}
		h.custom[kind] = custom{crd, spec["scope"] != "Cluster"}
	}
	return nil
}

func kindOf(object map[string]any) schema.GroupKind {
	return schema.FromAPIVersionAndKind(fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"])).GroupKind()
}

// namespaced reports whether objects of a kind are in namespaces. ok is false if neither package builtin nor a CRD has
// the kind.
func (h *history) namespaced(object map[string]any) (is, ok bool) {
	if known, ok := h.kinds.Find(fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"])); ok {
		return known.Namespaced, true
	}
	c, ok := h.custom[kindOf(object)]
	return c.namespaced, ok
}

// document is an object as a file has it, and as the server gets it.
type document struct {
	name   string // what makes it that object: kind, namespace and name
	text   []byte
	object map[string]any
}

// update is a change of an object.
type update struct{ new, old document }

// read collects the updates of a repository, each once.
func (h *history) read(r *repository) error {
	versions, err := r.versions()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	crds := 0
	objects := map[string][]document{}
	for _, blobs := range versions {
		var last map[string]document
		for i := 0; i < len(blobs); i += h.skip {
			data, err := r.blob(blobs[i])
			if err != nil {
				return err
			}
			documents := h.documents(data)
			for name, is := range documents {
				if h.strangers {
					kind := kindOf(is.object).String()
					if key := fmt.Sprint(is.object); !seen[key] {
						seen[key] = true
						objects[kind] = append(objects[kind], is)
					}
					continue
				}
				was, ok := last[name]
				key := fmt.Sprint(was.object, is.object)
				if !ok || seen[key] || reflect.DeepEqual(is.object, was.object) {
					continue
				}
				seen[key] = true
				if is.object["kind"] == "CustomResourceDefinition" {
					if crds++; crds > h.crds {
						continue
					}
				}
				if h.found = append(h.found, update{is, was}); len(h.found) >= h.most {
					return nil
				}
			}
			last = documents
		}
	}
	h.pair(objects)
	return nil
}

// pair makes random updates of objects, by kind: one of them becomes another, under its name.
func (h *history) pair(objects map[string][]document) {
	random := rand.New(rand.NewPCG(uint64(h.most), 1))
	kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(objects)), func(kind string) bool {
		return len(objects[kind]) < 2 || kind == "CustomResourceDefinition.apiextensions.k8s.io"
	})
	for tries := 0; len(kinds) > 0 && tries < 2*h.most && len(h.found) < h.most; tries++ {
		of := objects[kinds[random.IntN(len(kinds))]]
		was, is := of[random.IntN(len(of))], of[random.IntN(len(of))]
		is.object = kindcase.Clone(is.object).(map[string]any)
		is.object["metadata"].(map[string]any)["name"] = was.object["metadata"].(map[string]any)["name"]
		if was.text, is.text = []byte(show(was.object)), []byte(show(is.object)); !bytes.Equal(was.text, is.text) {
			h.found = append(h.found, update{is, was})
		}
	}
}

// documents returns the objects of a file that are of kinds that are known, by kind, namespace and name.
func (h *history) documents(data []byte) map[string]document {
	if bytes.Contains(data, []byte("{{")) {
		return nil
	}
	documents := map[string]document{}
	for _, text := range bytes.Split(data, []byte("\n---")) {
		var object map[string]any
		if yaml.Unmarshal(text, &object) != nil {
			continue
		}
		metadata, _ := object["metadata"].(map[string]any)
		if name, _ := metadata["name"].(string); name == "" || !h.server.Served(object) ||
			(tool.Applier{}).Recreated(object) {
			continue
		}
		id := fmt.Sprint(kindOf(object), " ", metadata["namespace"], "/", metadata["name"])
		if namespaced, ok := h.namespaced(object); !ok {
			continue
		} else if namespaced {
			metadata["namespace"] = h.namespace
		} else {
			delete(metadata, "namespace")
		}
		delete(metadata, "managedFields")
		documents[id] = document{id, text, kindcase.Clone(object).(map[string]any)}
	}
	return documents
}

// judgeAll judges all updates, four at a time; those of one kind and name one after the other, as they are in one
// namespace now.
func (h *history) judgeAll(ctx context.Context) {
	const workers = 4
	var queues [workers][]update
	for _, u := range h.found {
		hash := fnv.New32a()
		metadata, _ := u.old.object["metadata"].(map[string]any)
		fmt.Fprint(hash, u.old.object["kind"], metadata["name"])
		i := hash.Sum32() % workers
		queues[i] = append(queues[i], u)
	}
	var group sync.WaitGroup
	for _, queue := range queues {
		group.Go(func() {
			for _, u := range queue {
				h.judge(ctx, u)
			}
		})
	}
	group.Wait()
}

// judge compares the verdict on one update with the server's answer.
func (h *history) judge(ctx context.Context, u update) {
	report, wrong := h.check(u)
	answer, err := h.server.Update(ctx, u.new.object, u.old.object, h.clientSide)
	if err == nil && answer.Refused {
		err = h.server.Valid(ctx, u.new.object, h.clientSide) // what no server would create is refused for other reasons
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.notValid++
		if h.verbose || !errors.Is(err, ask.ErrNotValid) {
			h.print("NOT VALID", strings.SplitN(err.Error(), "\n", 3)[min(1, strings.Count(err.Error(), "\n"))], u,
				h.verbose && !errors.Is(err, ask.ErrNotValid))
		}
		return
	}
	h.updates++
	if answer.Refused {
		h.refused++
	}
	refuses := wrong == nil && len(report.Violations) > 0
	switch {
	case wrong != nil:
		h.unreadable++
		h.print("UNREADABLE", wrong.Error(), u, h.verbose)
	case refuses && answer.Refused:
		h.named++
		if !sameCause(report, answer) {
			h.otherCauses++
			h.print("OTHER CAUSE", fmt.Sprint(report.Violations[0].Path, ": ", report.Violations[0].Message,
				" / server: ", answer), u, true)
		}
	case len(report.Unknown) > 0:
		h.unknown++
		if h.verbose || answer.Refused {
			h.print(fmt.Sprintf("UNKNOWN (refused: %t)", answer.Refused),
				fmt.Sprint(report.Unknown[0].Path, ": ", report.Unknown[0].Message, " / server: ", answer), u,
				h.verbose)
		}
	case refuses:
		h.falseAlarms++
		h.print("FALSE ALARM", report.Violations[0].Path+": "+report.Violations[0].Message, u, true)
	case answer.Refused:
		h.misses++
		h.print("MISS", fmt.Sprint(answer), u, true)
	}
}

// check asks fieldlock about an update, with the texts of the files.
func (h *history) check(u update) (*compare.Report, error) {
	c := h.custom[kindOf(u.new.object)]
	file := func(name string, text []byte) (files []manifest.File) {
		for path, text := range map[string][]byte{"object.yaml": text, "crd.yaml": c.crd} {
			f := manifest.File{Name: name, Path: path}
			f.Parse(text)
			files = append(files, f)
		}
		return files
	}
	by := tool.ServerSide
	if h.clientSide {
		by = tool.ClientSide
	}
	report, err := compare.Check(compare.Input{New: file("new.yaml", u.new.text), Old: file("old.yaml", u.old.text)},
		compare.Options{Builtin: h.kinds, Applier: by, Now: time.Now()})
	switch {
	case err != nil:
		return nil, err
	case len(report.Errors) > 0:
		return nil, errors.New(report.Errors[0].Text)
	}
	want := 1
	if c.crd != nil {
		want = 2
	}
	if report.Updated != want {
		return nil, fmt.Errorf("%d objects are compared, want %d", report.Updated, want)
	}
	return report, nil
}

// sameCause reports whether one of the server's causes is at, above or below each violation.
func sameCause(report *compare.Report, answer kindcase.Answer) bool {
	for _, v := range report.Violations {
		found := len(answer.Causes) == 0
		for _, cause := range answer.Causes {
			found = found || strings.HasPrefix(v.Path, cause.Field) || strings.HasPrefix(cause.Field, v.Path) ||
				strings.Contains(cause.Message, after(v.Message))
		}
		if !found {
			return false
		}
	}
	return true
}

// after returns a message without the kind of error: the server's has the value there.
func after(message string) string {
	if _, text, ok := strings.Cut(message, ": "); ok {
		return text
	}
	return message
}

// print prints a finding, with both manifests when all is set.
func (h *history) print(what, text string, u update, all bool) {
	fmt.Printf("%s %s: %s\n", what, u.old.name, text)
	if all {
		fmt.Printf("  old %s\n  new %s\n", show(u.old.object), show(u.new.object))
	}
}

func show(object map[string]any) string {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err.Error()
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
