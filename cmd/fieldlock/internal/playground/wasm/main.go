//go:build js && wasm

// Command wasm is fieldlock for the playground. It sets two functions of the object fieldlock: about, and run, which
// takes a verb and the text of a playground.Input. Both return the text of a JSON object.
package main

import (
	"encoding/json"
	"syscall/js"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/playground"
)

func main() {
	object := js.Global().Get("Object").New()
	object.Set("about", js.FuncOf(func(js.Value, []js.Value) any { return text(playground.Offers()) }))
	object.Set("run", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var in playground.Input
		if err := json.Unmarshal([]byte(args[1].String()), &in); err != nil {
			return text(playground.Answer{Error: err.Error()})
		}
		return text(playground.Run(args[0].String(), in))
	}))
	js.Global().Set("fieldlock", object)
	select {} // the functions live as long as the page
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // its types have no other values than texts and numbers
	}
	return string(data)
}
