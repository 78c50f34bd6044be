package builtin

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is one built-in kind as one Kubernetes minor has it.
type Kind struct {
	Group, Kind, Plural string
	ShortNames          []string
	Versions            []string // that Kubernetes serves, newest first
	Namespaced          bool

	minor     int
	source    *kindSource
	canonical *canonicalizer

	once    sync.Once
	fields  *field
	prepare []preparation
	create  []preparation
	checks  []*check
	rules   rules
	err     error
}

func newKind(group string, source *kindSource, minor int, shared *canonicalizer) *Kind {
	return &Kind{
		Group: group, Kind: source.Kind, Plural: source.Plural, ShortNames: source.Short, Namespaced: source.Namespaced,
		minor: minor, source: source, canonical: shared,
	}
}

// APIVersion returns the newest apiVersion of the kind.
func (k *Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Versions[0]}.String()
}

// Locked reports whether the kind has any row.
func (k *Kind) Locked() bool { return len(k.Rows()) > 0 }

// compile makes what Check needs, once.
func (k *Kind) compile() error {
	k.once.Do(func() { k.err = k.doCompile() })
	return k.err
}

func (k *Kind) doCompile() error {
	var err error
	if k.fields, err = fieldsOf(k.source); err != nil {
		return err
	}
	known := preparations()
	if k.source.PodSpec != "" {
		known["podSpec"] = podSpec(k.source.PodSpec)
	}
	if k.prepare, err = pick(known, k.source.Prepare); err != nil {
		return err
	}
	if k.create, err = pick(known, k.source.Create); err != nil {
		return err
	}
	for _, row := range k.Rows() {
		check, err := newCheck(k.fields, row)
		if err != nil {
			return err
		}
		k.checks = append(k.checks, check)
	}
	parents(k.fields, goType(schema.GroupVersionKind{Group: k.Group, Version: k.Versions[0], Kind: k.Kind}))
	k.rules = newRules(k.fields, k.checks)
	return nil
}

// pick returns the preparations of those names.
func pick(known map[string]preparation, names []string) ([]preparation, error) {
	picked := make([]preparation, len(names))
	for i, name := range names {
		if picked[i] = known[name]; picked[i] == nil {
			return nil, errorf("there is no preparation %q", name)
		}
	}
	return picked, nil
}

// update returns what an API server holds before and after newObj is applied over oldObj.
func (k *Kind) update(newObj, oldObj map[string]any) *update {
	u := &update{newObj: newObj, oldObj: oldObj, stored: k.store(oldObj)}
	for _, rule := range k.create {
		rule(u.stored)
	}
	u.applied = k.store(k.fields.apply(u.stored, oldObj, newObj))
	return u
}

// store returns obj as the API server stores it: each field in its canonical form, with what the server fills in.
func (k *Kind) store(obj map[string]any) map[string]any {
	gvk := schema.FromAPIVersionAndKind(text(obj, "apiVersion"), k.Kind)
	gvk.Group = k.Group
	stored, _ := k.canonical.value(obj, goType(gvk)).(map[string]any)
	if stored == nil {
		stored = map[string]any{}
	}
	for _, rule := range k.prepare {
		rule(stored)
	}
	k.fields.fill(stored)
	return stored
}

// Rows returns the locks of the kind, in the order of the data.
func (k *Kind) Rows() []Row {
	var rows []Row
	for i := range k.source.Rows {
		source := &k.source.Rows[i]
		s, err := spanOf(source.Since, source.Until)
		if err != nil || !s.has(k.minor) {
			continue
		}
		fields := source.Fields
		if source.Field != "" {
			fields = append([]string{source.Field}, fields...)
		}
		if source.Annotation != "" {
			fields = append(fields, "metadata.annotations["+source.Annotation+"]")
		}
		for _, field := range fields {
			rows = append(rows, newRow(source, field))
		}
	}
	return rows
}
