package immutability

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/schema"
)

// Option changes how Compile and Lint read a schema. A nil Option changes nothing.
type Option interface{ apply(*config) }

type config struct {
	order       MapListOrder
	resolve     func(ref string) (*spec.Schema, error) // nil: the definitions of the schema
	redacted    map[string]bool                        // schema paths
	unknownKeys bool                                   // are allowed
	aliases     schema.Aliases
	external    []schema.External
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

// MapListOrder says whether the order of items counts when two lists of list-type map are compared as part of a locked
// value. It counts for the zero value and every other one than MapListOrderIgnored, as the proposal says.
type MapListOrder string

// MapListOrderIgnored compares lists of list-type map by key, as CEL does.
const MapListOrderIgnored MapListOrder = "ignored"

// WithMapListOrder sets the order of lists of list-type map for all locks. The key x-fieldlock-map-list-order: ignored
// on a node sets MapListOrderIgnored for the locks of that node.
func WithMapListOrder(order MapListOrder) Option {
	return option(func(c *config) { c.order = order })
}

// WithResolver sets the function that returns the schema for a $ref, for instance from the definitions of an OpenAPI
// document. It is called only while compiling. By default "#/definitions/NAME" is looked up in the definitions of the
// schema itself.
func WithResolver(resolve func(ref string) (*spec.Schema, error)) Option {
	return option(func(c *config) { c.resolve = resolve })
}

// WithRedacted hides the values at these schema paths, JSON pointers such as "/properties/spec/properties/token", and
// everything below them: reports have the string "(redacted)" in their place, also inside the value of a parent. A
// schema with format: password is redacted without being named. What is below a $ref is hidden for every $ref to the
// same definition. A path that the schema does not have is an error.
func WithRedacted(schemaPaths ...string) Option {
	return option(func(c *config) {
		for _, path := range schemaPaths {
			c.redacted[path] = true
		}
	})
}

// WithUnknownKeys makes Compile accept extension keys that are most likely misspelled: unknown ones that begin with
// x-fieldlock-, and those within two edits of a key that it reads. Such a key locks nothing. Lint then warns about it.
func WithUnknownKeys() Option {
	return option(func(c *config) { c.unknownKeys = true })
}

func configure(opts []Option) *config {
	c := &config{redacted: map[string]bool{}, aliases: schema.Aliases{}}
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	return c
}
