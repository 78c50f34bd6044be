package markers

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// annotationKey carries the keys of all versions through a stock API server: version → schema path → keys.
const annotationKey = "fieldlock.dev/locks"

// annotate writes the annotation of the CRDs in a file whose schemas are written.
func (s *Source) annotate(w *Written) error {
	docs, err := parse(w.Data)
	if err != nil {
		return err
	}
	e := newEditor(w.Data)
	for _, doc := range docs {
		if crd := s.crd(doc); crd != nil {
			if err := annotate(crd, e); err != nil {
				return err
			}
		}
	}
	if e.count == 0 {
		return nil
	}
	w.Keys += e.count
	w.Data, err = e.result(docs)
	return err
}

func annotate(crd *yaml.Node, e *editor) error {
	locks := map[string]map[string]map[string]any{}
	if versions := child(child(crd, "spec"), "versions"); versions != nil {
		for _, version := range versions.Content {
			paths := map[string]map[string]any{}
			ownKeys(child(child(version, "schema"), "openAPIV3Schema"), "", paths)
			if len(paths) > 0 {
				locks[text(version, "name")] = paths
			}
		}
	}
	metadata := child(crd, "metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		return errors.New("the CRD has no metadata to write the annotation into")
	}
	annotations := child(metadata, "annotations")
	if there := child(annotations, annotationKey); there != nil {
		var was map[string]map[string]map[string]any
		if err := json.Unmarshal([]byte(there.Value), &was); err != nil || !reflect.DeepEqual(was, asJSON(locks)) {
			return errors.New("the annotation " + annotationKey + " in line " + strconv.Itoa(there.Line) +
				" does not hold what the schemas say: remove it, so that it is written anew")
		}
		return nil
	}
	if len(locks) == 0 {
		return nil
	}
	value, err := json.Marshal(locks)
	if err != nil {
		return err
	}
	entry := map[string]string{annotationKey: string(value)}
	if annotations == nil {
		return e.insert(metadata, map[string]any{"annotations": entry})
	}
	return e.insert(annotations, map[string]any{annotationKey: string(value)})
}

// asJSON returns locks as they read when they come from JSON.
func asJSON(locks map[string]map[string]map[string]any) map[string]map[string]map[string]any {
	data, err := json.Marshal(locks)
	if err != nil {
		return nil
	}
	var out map[string]map[string]map[string]any
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// ownKeys collects fieldlock's keys of the schema n and below it, by schema path.
func ownKeys(n *yaml.Node, path string, out map[string]map[string]any) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		switch {
		case isOwn(key):
			var decoded any
			if value.Decode(&decoded) == nil {
				if out[path] == nil {
					out[path] = map[string]any{}
				}
				out[path][key] = decoded
			}
		case key == "properties" && value.Kind == yaml.MappingNode:
			for j := 0; j+1 < len(value.Content); j += 2 {
				ownKeys(value.Content[j+1], path+"/properties/"+pointer.Escape(value.Content[j].Value), out)
			}
		case key == "items", key == "additionalProperties":
			ownKeys(value, path+"/"+key, out)
		}
	}
}
