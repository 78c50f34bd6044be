package builtin

// preparation is one rule of how an API server stores an object, beyond the canonical form of each field and the
// defaults in the data. It changes obj.
type preparation func(obj map[string]any)

// child returns the object under a name, and makes it if it is missing.
func child(of map[string]any, name string) map[string]any {
	if of == nil {
		return map[string]any{}
	}
	if c, ok := of[name].(map[string]any); ok {
		return c
	}
	c := map[string]any{}
	if _, taken := of[name]; !taken {
		of[name] = c
	}
	return c
}

// initial sets a member that is absent.
func initial(of map[string]any, name string, value any) {
	if _, ok := of[name]; !ok && of != nil {
		of[name] = value
	}
}
