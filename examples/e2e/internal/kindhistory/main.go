// Command kindhistory compares package builtin with Kubernetes' own code on the history of a git repository: each object
// of a YAML file that a commit changed is an update.
//
//	go run ./internal/kindhistory -git /path/to/repository/.git [-skip 5]
//
// With -skip, versions further apart are compared: every n-th of those that a file had.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/judge"
	"github.com/fieldlock/fieldlock/immutability/builtin"
)

func main() {
	dir := flag.String("git", ".git", "the git directory")
	skip := flag.Int("skip", 1, "compare every n-th version of a file")
	flag.Parse()
	if err := run(*dir, *skip); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, skip int) error {
	kinds, err := builtin.For("1.36")
	if err != nil {
		return err
	}
	h := &history{dir: dir, judge: judge.New(), kinds: kinds, seen: map[string]bool{}}
	versions, err := h.versions()
	if err != nil {
		return err
	}
	for _, blobs := range versions {
		var last map[string]map[string]any
		for i := 0; i < len(blobs); i += max(skip, 1) {
			objects := h.objects(blobs[i])
			for name, newObj := range objects {
				if oldObj, ok := last[name]; ok {
					h.update(newObj, oldObj)
				}
			}
			last = objects
		}
	}
	fmt.Printf("%s: %d updates, %d refused, %d unknown, %d false alarms, %d misses, %d not valid\n",
		dir, h.updates, h.refused, h.unknown, h.falseAlarms, h.misses, h.notValid)
	if h.falseAlarms+h.misses > 0 {
		return errors.New("they disagree")
	}
	return nil
}

// history is a run over one repository.
type history struct {
	dir   string
	judge *judge.Judge
	kinds *builtin.Kinds
	seen  map[string]bool

	updates, refused, unknown, falseAlarms, misses, notValid int
}

// versions returns the blobs that each YAML file had, oldest first.
func (h *history) versions() (map[string][]string, error) {
	out, err := exec.Command("git", "--git-dir="+h.dir, "log", "--reverse", "--no-renames", "--raw", "--no-abbrev", "--format=", "--", "*.yaml", "*.yml").Output()
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		head, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(head)
		if ok && len(fields) == 5 && fields[4] != "D" {
			files[name] = append(files[name], fields[3])
		}
	}
	return files, nil
}

// objects returns the objects of a blob that the judge knows, by kind, namespace and name.
func (h *history) objects(blob string) map[string]map[string]any {
	data, err := exec.Command("git", "--git-dir="+h.dir, "cat-file", "blob", blob).Output()
	if err != nil || bytes.Contains(data, []byte("{{")) {
		return nil
	}
	objects := map[string]map[string]any{}
	for _, document := range bytes.Split(data, []byte("\n---")) {
		var object map[string]any
		if yaml.Unmarshal(document, &object) != nil {
			continue
		}
		if manifest := h.judge.Manifest(object); manifest != nil {
			metadata := manifest["metadata"].(map[string]any)
			objects[fmt.Sprint(manifest["kind"], metadata["namespace"], metadata["name"])] = manifest
		}
	}
	return objects
}

// update judges one update, each only once.
func (h *history) update(newObj, oldObj map[string]any) {
	key := judge.Show(oldObj) + judge.Show(newObj)
	if reflect.DeepEqual(newObj, oldObj) || h.seen[key] {
		return
	}
	h.seen[key] = true
	stored, err := h.judge.Create(oldObj)
	if err == nil {
		_, err = h.judge.Create(newObj)
	}
	var refused error
	if err == nil {
		refused, err = stored.Update(newObj)
	}
	if err != nil {
		h.notValid++
		return
	}
	h.updates++
	kind := h.kinds.Find(fmt.Sprint(newObj["apiVersion"]), fmt.Sprint(newObj["kind"]))
	if kind == nil {
		return
	}
	verdict := kind.Check(newObj, oldObj)
	if refused != nil {
		h.refused++
	}
	switch found := len(verdict.Violations) > 0; {
	case found == (refused != nil):
	case len(verdict.Unknown) > 0:
		h.unknown++
	case found:
		h.falseAlarms++
		fmt.Printf("FALSE ALARM %s: %s\n  old %s\n  new %s\n", verdict.Violations[0].Path, verdict.Violations[0].Message, judge.Show(oldObj), judge.Show(newObj))
	default:
		h.misses++
		text := refused.Error()
		fmt.Printf("MISS %s\n  old %s\n  new %s\n", slices.Collect(strings.Lines(text))[0], judge.Show(oldObj), judge.Show(newObj))
	}
}
