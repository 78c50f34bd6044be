package main

import (
	"encoding/json"
	"net/http"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// restored returns an answer with the keys in the schemas of its CRDs; nil where there is nothing to restore.
func restored(body []byte) []byte {
	var document map[string]any
	if err := utiljson.Unmarshal(body, &document); err != nil {
		return nil
	}
	switch document["kind"] {
	case "CustomResourceDefinition":
		unpack(document)
	case "CustomResourceDefinitionList":
		items, _ := document["items"].([]any)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				unpack(item)
			}
		}
	default:
		return nil
	}
	return encode(document)
}

// encode writes what was decoded from JSON, which cannot fail.
func encode(document map[string]any) []byte {
	body, err := json.Marshal(document)
	if err != nil {
		return nil
	}
	return body
}

// eventWriter restores the keys in the CRDs of a watch, one event a line.
type eventWriter struct {
	http.ResponseWriter
	line []byte
}

func (e *eventWriter) Write(p []byte) (int, error) {
	for i, b := range p {
		e.line = append(e.line, b)
		if b != '\n' {
			continue
		}
		if _, err := e.ResponseWriter.Write(restoredEvent(e.line)); err != nil {
			return i + 1, err
		}
		e.line = e.line[:0]
	}
	return len(p), nil
}

// Unwrap returns the writer below, which the API server flushes after each event.
func (e *eventWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func restoredEvent(line []byte) []byte {
	var event map[string]any
	if err := utiljson.Unmarshal(line, &event); err != nil {
		return line
	}
	object, ok := event["object"].(map[string]any)
	if !ok || object["kind"] != "CustomResourceDefinition" {
		return line
	}
	unpack(object)
	return append(encode(event), '\n')
}
