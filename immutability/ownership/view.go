package ownership

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// view shows a value of an object, decoded or as JSON. The zero view is a value that is not known.
type view struct {
	value any
	there bool   // value is known, and may be nil
	text  []byte // nil for a decoded value
}

func viewOf[Object map[string]any | []byte](object Object) view {
	if text, ok := any(object).([]byte); ok {
		return view{text: text}
	}
	return view{value: any(object), there: true}
}

// known reports whether there is a value.
func (v view) known() bool { return v.there || v.text != nil }

// member returns the member of an object with that name.
func (v view) member(name string) view {
	if v.text == nil {
		object, _ := v.value.(map[string]any)
		value, ok := object[name]
		return view{value: value, there: ok}
	}
	t := jsonscan.NewText(v.text)
	if t.Kind() != '{' {
		return view{}
	}
	for m := range t.Members() {
		if string(m.Name) == name {
			return view{text: t.Skip()}
		}
	}
	return view{}
}

// item returns the item of a list at an index.
func (v view) item(index int) (item view, ok bool) {
	if v.text == nil {
		list, _ := v.value.([]any)
		if index >= len(list) {
			return view{}, false
		}
		return view{value: list[index], there: true}, true
	}
	t := jsonscan.NewText(v.text)
	if t.Kind() != '[' {
		return view{}, false
	}
	n := 0
	for range t.Items() {
		if n == index {
			return view{text: t.Skip()}, true
		}
		n++
	}
	return view{}, false
}

// decoded returns the value, nil where it cannot be decoded.
func (v view) decoded() any {
	if v.text == nil {
		return v.value
	}
	var value any
	if err := utiljson.Unmarshal(v.text, &value); err != nil {
		return nil
	}
	return value
}
