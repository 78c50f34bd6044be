package cluster

import (
	"sync"
)

// remembered keeps the results of calls that cost much, one for each key. Safe for concurrent use.
type remembered[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]func() (V, error)
}

// of returns what call returned when it was called first for the key.
func (r *remembered[K, V]) of(key K, call func() (V, error)) (V, error) {
	r.mu.Lock()
	once, ok := r.calls[key]
	if !ok {
		if r.calls == nil {
			r.calls = map[K]func() (V, error){}
		}
		once = sync.OnceValues(call)
		r.calls[key] = once
	}
	r.mu.Unlock()
	return once()
}
