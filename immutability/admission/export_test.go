package admission

import (
	"time"

	"github.com/fieldlock/fieldlock/immutability"
)

// WithMaxBytes and WithReadTimeout set the limits of a handler that a test cannot wait for.

func WithMaxBytes(n int64) Option {
	return option(func(s *settings) error { s.maxBytes = n; return nil })
}

func WithReadTimeout(d time.Duration) Option {
	return option(func(s *settings) error { s.readTimeout = d; return nil })
}

// CheckJSON is Check on encoded objects. It decodes only what the locks need. Nil and null are missing objects.
func (t *Target) CheckJSON(newJSON, oldJSON []byte) (immutability.Report, error) {
	return t.checkDocuments(&document{name: "object", raw: newJSON}, &document{name: "oldObject", raw: oldJSON})
}
