//go:build js && wasm

// Command wasm is fieldlock for the playground: functions of the object fieldlock, each from texts to the text of a
// JSON object. Mistakes in the input are in its member error; nothing panics.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/convert"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

func main() {
	verbs := map[string]func(args []js.Value) (any, error){
		"about": about,
		"check": check,
		"lint":  lint,
		"locks": locks,
		"cel":   cel,
	}
	object := js.Global().Get("Object").New()
	for name, verb := range verbs {
		object.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any { return answer(verb, args) }))
	}
	js.Global().Set("fieldlock", object)
	select {} // the functions live as long as the page
}

// answer runs a verb and returns its result as the text of a JSON object.
func answer(verb func([]js.Value) (any, error), args []js.Value) string {
	result, err := verb(args)
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	data, err := json.Marshal(result)
	if err != nil {
		data, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return string(data)
}

// about returns the Kubernetes minors that the built-in kinds cover.
func about([]js.Value) (any, error) {
	minors := builtin.Minors()
	return map[string]any{"minors": minors, "newest": minors[len(minors)-1]}, nil
}

// file reads the objects of a text; messages call it name.
func file(name string, text js.Value) manifest.File {
	f := manifest.File{Name: name}
	f.Parse([]byte(text.String()))
	return f
}

// check takes the texts of the CRDs, of the old and of the new objects, and a Kubernetes minor.
func check(args []js.Value) (any, error) {
	schemas := manifest.Objects([]manifest.File{file("schema", args[0])})
	kinds, err := builtin.For(args[3].String())
	if err != nil {
		return nil, err
	}
	catalogue, err := operators.Load()
	if err != nil {
		return nil, err
	}
	return compare.Check(compare.Input{
		Old: []manifest.File{file("old", args[1])}, New: []manifest.File{file("new", args[2])},
		OldSchemas: manifest.Schemas{CRDs: schemas.CRDs}, NewSchemas: manifest.Schemas{CRDs: schemas.CRDs}, Errs: schemas.Errs,
	}, compare.Options{Builtin: kinds, Operators: catalogue})
}

// crds reads the CRDs of a text, of which there has to be one.
func crds(text js.Value) ([]manifest.CRD, error) {
	set := manifest.Objects([]manifest.File{file("schema", text)})
	if len(set.CRDs) == 0 && len(set.Errs) == 0 {
		return nil, errors.New("Paste a CRD into the first editor: this tab is about CRDs.")
	}
	found, repeated := (&manifest.Schemas{CRDs: set.CRDs, Repeated: set.Repeated}).Amended(nil)
	return found, errors.Join(append(set.Errs, repeated...)...)
}

// lint takes the text of CRDs, and gives each hole its witness.
func lint(args []js.Value) (any, error) {
	found, err := crds(args[0])
	if err != nil {
		return nil, err
	}
	var list []*crd.CRD
	for _, c := range found {
		list = append(list, c.CRD)
	}
	return audit.CRDs(list, nil, audit.Options{Explain: true})
}

// locks takes the text of CRDs. An empty one asks for the kinds of the objects in the second text, of a Kubernetes minor or of
// a known operator; without objects, for all kinds of the minor.
func locks(args []js.Value) (any, error) {
	if args[0].String() == "" {
		return locksOfObjects(manifest.Objects([]manifest.File{file("new", args[1])}).Objects, args[2].String())
	}
	found, err := crds(args[0])
	if err != nil {
		return nil, err
	}
	list, mistakes := audit.LocksOf(found)
	return list, errors.Join(mistakes...)
}

func locksOfObjects(objects []*manifest.Object, minor string) (*audit.Locks, error) {
	kinds, err := builtin.For(minor)
	if err != nil {
		return nil, err
	}
	catalogue, err := operators.Load()
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return audit.LocksOfKinds(kinds.All()), nil
	}
	found := audit.LocksOfKinds(nil)
	for _, o := range objects {
		if k, ok := kinds.Find(o.APIVersion, o.Kind); ok {
			found.Add(audit.LocksOfKinds([]*builtin.Kind{k}))
		}
		if k, ok := catalogue.Find(o.APIVersion, o.Kind); ok {
			found.Add(audit.LocksOfOperators([]*operators.Kind{k}))
		}
	}
	return found, nil
}

// cel takes the text of CRDs and returns them with their locks as CEL rules.
func cel(args []js.Value) (any, error) {
	if _, err := crds(args[0]); err != nil {
		return nil, err
	}
	f, err := convert.Read("schema", []byte(args[0].String()))
	if err != nil {
		return nil, err
	}
	export, err := convert.ToCEL(f, nil)
	if err != nil {
		return nil, err
	}
	text, err := f.Bytes()
	if err != nil {
		return nil, fmt.Errorf("the CRD cannot be printed: %w", err)
	}
	return map[string]any{"text": string(text), "export": export}, nil
}
