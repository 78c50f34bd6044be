package celrun

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/fieldlock/fieldlock/internal/pointer"
)

// Shared keeps the rules that an API server's code has compiled for schema nodes: versions of a CRD, and CRDs of one
// project, have most of their rules in common. It keeps the last conversions of schemas too. The zero value is ready to
// use. It is safe for concurrent use.
type Shared struct {
	mu        sync.Mutex
	nodes     map[sharedID]*sharedNode
	rules     int // so far, for their labels
	converted map[*spec.Schema]*apiextensions.JSONSchemaProps
}

// manyConverted bounds how many conversions are kept.
const manyConverted = 8

// Convert is the function Convert for schemas that several chapters of an audit convert. The result must not be
// changed.
func (c *Shared) Convert(s *spec.Schema) (*apiextensions.JSONSchemaProps, error) {
	c.mu.Lock()
	known := c.converted[s]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := Convert(s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.converted == nil || len(c.converted) == manyConverted {
		c.converted = map[*spec.Schema]*apiextensions.JSONSchemaProps{}
	}
	c.converted[s] = made
	return made, nil
}

// sharedID identifies a schema node with its rules: their hash, and how many equal nodes come before in the same
// schema. Equal nodes need different labels.
type sharedID struct {
	hash  [sha256.Size]byte
	alike int
}

// sharedNode has the rules of one schema node. Their shared labels are numbered from first.
type sharedNode struct {
	once      sync.Once
	validator *cel.Validator
	first     int
}

// manyShared bounds how many schema nodes are kept.
const manyShared = 2000

// node returns what is kept for id, a node with a number of rules.
func (c *Shared) node(id sharedID, rules int) *sharedNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes[id] == nil {
		if c.nodes == nil || len(c.nodes) == manyShared {
			c.nodes = map[sharedID]*sharedNode{}
		}
		c.nodes[id] = &sharedNode{first: c.rules}
		c.rules += rules
	}
	return c.nodes[id]
}

// sharedLabel finds the shared label of a rule in a message.
var sharedLabel = regexp.MustCompile("\x00shared [0-9]+\x00")

// compiled returns the server's validator of the rules of one schema node.
func (p *program) compiled(r *ruled) *cel.Validator {
	alone, rules := *r.bare, r.rules
	alone.XValidations = slices.Clone(rules)
	for i := range rules {
		alone.XValidations[i].Message = ""
	}
	text, err := json.Marshal([]any{alone, r.isRoot})
	if err != nil { // a schema always encodes
		alone.XValidations = rules
		return cel.NewValidator(&alone, r.isRoot, celconfig.PerCallLimit)
	}
	hash := sha256.Sum256(text)
	n := p.shared.node(sharedID{hash, p.alike[hash]}, len(rules))
	p.alike[hash]++
	for i := range rules {
		alone.XValidations[i].Message = fmt.Sprintf("\x00shared %d\x00", n.first+i)
		p.labels[alone.XValidations[i].Message] = rules[i].Message
	}
	n.once.Do(func() {
		n.validator = cel.NewValidator(&alone, r.isRoot, celconfig.PerCallLimit)
		n.validator.Schema = nil // onNode has the schema
	})
	return n.validator
}

// bare returns s without rules and descriptions.
func bare(s *structuralschema.Structural) *structuralschema.Structural {
	copied := s.DeepCopy()
	(&structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		s.XValidations, s.Description, s.Title = nil, "", ""
		return true
	}}).Visit(copied)
	return copied
}

// compileShared compiles all rules of the schema from the shared conversion.
func (v *Validator) compileShared() (*program, error) {
	internal, err := v.shared.Convert(v.schema)
	if err != nil {
		return v.compile(v.rules, false) // the parts of the schema with rules may convert
	}
	p, err := programOf(internal)
	if err != nil {
		return nil, err
	}
	labeled := map[string]apiextensionsv1.ValidationRules{}
	for i, r := range v.rules {
		EditAt(p.structural, pointer.Names(r.SchemaPath), func(s *structuralschema.Structural) {
			one := s.XValidations[r.Index]
			one.Message = label(i)
			labeled[r.SchemaPath] = append(labeled[r.SchemaPath], one)
		})
	}
	for path, rules := range labeled {
		EditAt(p.structural, pointer.Names(path), func(s *structuralschema.Structural) { s.XValidations = rules })
	}
	return p, nil
}

// ruled is a schema node that has rules, or has nodes with rules below it.
type ruled struct {
	bare   *structuralschema.Structural    // the node without rules and descriptions; nil if it has no rules
	rules  apiextensionsv1.ValidationRules // with labels
	isRoot bool

	validator     *cel.Validator // of the rules, once they were needed
	properties    map[string]*ruled
	items, values *ruled
}

// ruledOf returns the nodes with rules in s, whose CEL type is of; nil for a schema without rules. Like the server, it
// skips untyped nodes.
func ruledOf(s *structuralschema.Structural, of *apiservercel.DeclType, isRoot bool) *ruled {
	if of == nil {
		return nil
	}
	r := &ruled{isRoot: isRoot}
	if r.rules = s.XValidations; len(r.rules) > 0 {
		r.bare = bare(s)
	}
	for name, property := range s.Properties {
		var typed *apiservercel.DeclType
		if escaped, ok := apiservercel.Escape(name); !ok {
			typed = model.SchemaDeclType(&property, property.XEmbeddedResource)
		} else if field, ok := of.Fields[escaped]; ok {
			typed = field.Type
		}
		if below := ruledOf(&property, typed, property.XEmbeddedResource); below != nil {
			if r.properties == nil {
				r.properties = map[string]*ruled{}
			}
			r.properties[name] = below
		}
	}
	if s.Items != nil {
		r.items = ruledOf(s.Items, of.ElemType, s.Items.XEmbeddedResource)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		values := s.AdditionalProperties.Structural
		r.values = ruledOf(values, of.ElemType, values.XEmbeddedResource)
	}
	if r.bare == nil && r.properties == nil && r.items == nil && r.values == nil {
		return nil
	}
	return r
}

// reduced returns s without the properties that none of values has, and without those that no rule reads: outside of
// rules, nodes are kept that have rules below them, which r says; a nil r is for what is inside. Each time that a rule
// reads a field, the server's CEL copies the schemas of all properties beside it; those of fields that are absent
// decide nothing.
func reduced(s *structuralschema.Structural, r *ruled, values ...any) *structuralschema.Structural {
	if r != nil && r.bare != nil {
		r = nil
	}
	var items, members []any
	byName := map[string][]any{}
	for _, value := range values {
		switch value := value.(type) {
		case []any:
			items = append(items, value...)
		case map[string]any:
			for name, member := range value {
				if r == nil || r.properties[name] != nil {
					byName[name] = append(byName[name], member)
				}
				members = append(members, member)
			}
		}
	}
	var below ruled
	if r != nil {
		below = *r
	}
	out := *s
	if s.Properties != nil {
		out.Properties = make(map[string]structuralschema.Structural, len(byName))
	}
	for name, values := range byName {
		if property, ok := s.Properties[name]; ok {
			out.Properties[name] = *reduced(&property, below.properties[name], values...)
		}
	}
	if s.Items != nil && (r == nil || r.items != nil) {
		out.Items = reduced(s.Items, below.items, items...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil && (r == nil || r.values != nil) {
		additional := *s.AdditionalProperties
		additional.Structural = reduced(additional.Structural, below.values, members...)
		out.AdditionalProperties = &additional
	}
	return &out
}

// on returns the server's validator with the schema of p, reduced for the values that an object and the one before
// have. It compiles the rules of those schema nodes alone.
func (p *program) on(newObj, oldObj any, shared *Shared) *cel.Validator {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared == nil {
		p.ruled = ruledOf(p.structural, model.SchemaDeclType(p.structural, true), true)
		p.shared, p.alike, p.labels = shared, map[[sha256.Size]byte]int{}, map[string]string{}
	}
	if p.ruled == nil {
		return nil
	}
	return p.onNode(reduced(p.structural, p.ruled, newObj, oldObj), p.ruled)
}

// onNode is on for a schema node.
func (p *program) onNode(s *structuralschema.Structural, r *ruled) *cel.Validator {
	var out cel.Validator
	if r.bare != nil {
		if r.validator == nil {
			r.validator = p.compiled(r)
		}
		out = *r.validator
	}
	out.Schema, out.Properties = s, nil
	for name, below := range r.properties {
		property, ok := s.Properties[name]
		if !ok {
			continue
		}
		if v := p.onNode(&property, below); v != nil {
			if out.Properties == nil {
				out.Properties = map[string]cel.Validator{}
			}
			out.Properties[name] = *v
		}
	}
	if r.items != nil {
		out.Items = p.onNode(s.Items, r.items)
	}
	if r.values != nil {
		out.AdditionalProperties = p.onNode(s.AdditionalProperties.Structural, r.values)
	}
	if r.bare == nil && out.Properties == nil && out.Items == nil && out.AdditionalProperties == nil {
		return nil
	}
	return &out
}

// label returns the label of a rule by its shared label.
func (p *program) label(shared string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.labels[shared]
}
