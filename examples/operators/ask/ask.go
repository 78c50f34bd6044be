// Package ask is what the programs that ask operators have in common. Each reads a JSON list of {name, old, new} and
// prints {name: {refused, error}}, the answers of the operator's own code to the cases of fieldlock's catalogue.
//
// A case is judged as the API server does it with kubectl apply: the old manifest is created, with the operator's
// defaults, and what changed from the old to the new manifest is merged into it, with the defaults once more.
package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
)

// Judge returns why an operator refuses an update; nil where it accepts it. The objects are manifests in JSON.
type Judge func(ctx context.Context, newJSON, oldJSON []byte) error

// Main answers the questions on stdin with the judges of their kinds, by "apiVersion Kind". A question about another
// kind has no answer: another version of the operator has the kind.
func Main(ctx context.Context, judges map[string]Judge) {
	var questions []struct {
		Name     string
		Old, New json.RawMessage
	}
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fail(err)
	}
	type answer struct {
		Refused bool   `json:"refused"`
		Error   string `json:"error,omitempty"`
	}
	answers := map[string]answer{}
	for _, q := range questions {
		var meta struct{ APIVersion, Kind string }
		if err := json.Unmarshal(q.Old, &meta); err != nil {
			fail(fmt.Errorf("%s: %w", q.Name, err))
		}
		judge, ok := judges[meta.APIVersion+" "+meta.Kind]
		if !ok {
			continue
		}
		err := judge.recovered(ctx, q.New, q.Old)
		switch {
		case errors.Is(err, errOtherVersion):
		case err != nil:
			answers[q.Name] = answer{true, addresses.ReplaceAllString(err.Error(), "0x0")}
		default:
			answers[q.Name] = answer{}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fail(err)
	}
}

// addresses are pointers in an error, which differ in every run.
var addresses = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// recovered is the judge's answer. A webhook that panics refuses the request.
func (j Judge) recovered(ctx context.Context, newJSON, oldJSON []byte) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	return j(ctx, newJSON, oldJSON)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// errOtherVersion says that a question has no answer: only another version of the operator has a field of the objects.
var errOtherVersion = errors.New("another version has a field of the objects")

// Strict is a judge that leaves questions about objects with fields that T lacks to other versions of the operator.
func Strict[T any](judge Judge) Judge {
	return func(ctx context.Context, newJSON, oldJSON []byte) error {
		for _, object := range [][]byte{newJSON, oldJSON} {
			decoder := json.NewDecoder(bytes.NewReader(object))
			decoder.DisallowUnknownFields()
			if decoder.Decode(new(T)) != nil {
				return errOtherVersion
			}
		}
		return judge(ctx, newJSON, oldJSON)
	}
}

// Defaulted is a judge that sees the defaults of the CRD's schema, an object in JSON. A list in it has the defaults of
// each item.
func Defaulted(defaults string, judge Judge) Judge {
	return func(ctx context.Context, newJSON, oldJSON []byte) error {
		return judge(ctx, filled(newJSON, defaults), filled(oldJSON, defaults))
	}
}

func filled(object []byte, defaults string) []byte {
	var in, from any
	err := errors.Join(json.Unmarshal(object, &in), json.Unmarshal([]byte(defaults), &from))
	if err != nil {
		fail(err)
	}
	data, err := json.Marshal(fill(in, from))
	if err != nil {
		fail(err)
	}
	return data
}

// fill returns value with the members of defaults that it lacks.
func fill(value, defaults any) any {
	switch defaults := defaults.(type) {
	case map[string]any:
		if value == nil {
			value = map[string]any{}
		}
		if object, isObject := value.(map[string]any); isObject {
			for name, member := range defaults {
				if filled := fill(object[name], member); filled != nil {
					object[name] = filled
				}
			}
		}
	case []any:
		items, _ := value.([]any)
		for i := range items {
			items[i] = fill(items[i], defaults[0])
		}
	default:
		if value == nil {
			return defaults
		}
	}
	return value
}

// badCase begins the error about a case that no cluster can have.
const badCase = "the old object"

// Update makes the judge of a kind from its defaults, which may be nil, and its validation. The old object is nil while
// it is created.
func Update[T any](defaults, validate func(ctx context.Context, newObj, oldObj *T) error) Judge {
	if defaults == nil {
		return func(ctx context.Context, newJSON, oldJSON []byte) error {
			oldObj, newObj := new(T), new(T)
			if err := json.Unmarshal(oldJSON, oldObj); err != nil {
				return fmt.Errorf("%s: %w", badCase, err)
			}
			if err := json.Unmarshal(newJSON, newObj); err != nil {
				return err
			}
			return validate(ctx, newObj, oldObj)
		}
	}
	return func(ctx context.Context, newJSON, oldJSON []byte) error {
		oldObj, err := created(ctx, oldJSON, defaults)
		if err != nil {
			return fmt.Errorf("%s: %w", badCase, err)
		}
		newObj := new(T)
		if err := merge(newObj, oldObj, newJSON, oldJSON); err != nil {
			return err
		}
		before, err := stored(oldObj)
		if err != nil {
			return err
		}
		if err := defaults(ctx, newObj, before); err != nil {
			return err
		}
		if newObj, err = stored(newObj); err != nil {
			return err
		}
		return validate(ctx, newObj, oldObj)
	}
}

// created returns the object that is stored when a manifest is created.
func created[T any](ctx context.Context, manifest []byte,
	defaults func(ctx context.Context, newObj, oldObj *T) error) (*T, error) {
	obj := new(T)
	if err := json.Unmarshal(manifest, obj); err != nil {
		return nil, err
	}
	if err := defaults(ctx, obj, nil); err != nil {
		return nil, err
	}
	return stored(obj)
}

// Webhook makes the judge of a kind from its webhook, which has controller-runtime's methods for that kind.
func Webhook[T any, W ~[]string](v interface {
	ValidateUpdate(ctx context.Context, oldObj, newObj *T) (W, error)
}) Judge {
	return webhook[T, *T](v, false)
}

// WebhookOnce is Webhook for defaults that are set only when an object is created.
func WebhookOnce[T any, W ~[]string](v interface {
	ValidateUpdate(ctx context.Context, oldObj, newObj *T) (W, error)
}) Judge {
	return webhook[T, *T](v, true)
}

// Object makes the judge of a kind from its webhook, which has controller-runtime's methods for objects of any kind.
func Object[T, O any, W ~[]string](v interface {
	ValidateUpdate(ctx context.Context, oldObj, newObj O) (W, error)
}) Judge {
	return webhook[T, O](v, false)
}

func webhook[T, O any, W ~[]string](v interface {
	ValidateUpdate(ctx context.Context, oldObj, newObj O) (W, error)
}, once bool) Judge {
	var defaults func(ctx context.Context, newObj, oldObj *T) error
	if d, ok := v.(interface {
		Default(ctx context.Context, obj O) error
	}); ok {
		defaults = func(ctx context.Context, newObj, oldObj *T) error {
			if once && oldObj != nil {
				return nil
			}
			return d.Default(ctx, any(newObj).(O))
		}
	}
	return Update(defaults, func(ctx context.Context, newObj, oldObj *T) error {
		_, err := v.ValidateUpdate(ctx, any(oldObj).(O), any(newObj).(O))
		return err
	})
}

// stored returns an object as a mutating webhook leaves it: without empty values that the types leave out in JSON.
// It returns an error for an object that no client could send.
func stored[T any](obj *T) (*T, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(data, out)
}

// merge makes newObj what oldObj becomes when the changes from oldJSON to newJSON are merged into it.
func merge[T any](newObj, oldObj *T, newJSON, oldJSON []byte) error {
	stored, err := json.Marshal(oldObj)
	if err != nil {
		return err
	}
	var is, was, in any
	for _, part := range []struct {
		data []byte
		into *any
	}{{newJSON, &is}, {oldJSON, &was}, {stored, &in}} {
		if err := json.Unmarshal(part.data, part.into); err != nil {
			return err
		}
	}
	merged, err := json.Marshal(changed(is, was, in))
	if err != nil {
		return err
	}
	return json.Unmarshal(merged, newObj)
}

// changed returns in with what is different in newVal and oldVal. Lists are replaced.
func changed(newVal, oldVal, in any) any {
	newMap, isMap := newVal.(map[string]any)
	if !isMap {
		if reflect.DeepEqual(newVal, oldVal) {
			return in
		}
		return newVal
	}
	oldMap, _ := oldVal.(map[string]any)
	inMap, _ := in.(map[string]any)
	out := map[string]any{}
	for name, member := range inMap {
		if _, kept := newMap[name]; kept || oldMap[name] == nil {
			out[name] = member
		}
	}
	for name, member := range newMap {
		out[name] = changed(member, oldMap[name], inMap[name])
	}
	return out
}
