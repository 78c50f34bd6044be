// Package derive makes the data of package crdfacts from CRDs, and proves it.
//
// From reads the transition rules of a CRD as `import cel` does. Prove compares the result with the API server's
// validator on random updates, and withdraws what does not agree. Only facts are kept: fields, locks, defaults of these
// fields, and messages.
package derive

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/internal/celrule"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/crdfacts"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kind"
	"github.com/fieldlock/fieldlock/internal/schema"
)

// maxSays is the length of the messages that a row keeps.
const maxSays = 300

// Proof counts what Prove has compared.
type Proof struct {
	Rules, Locks, Open int      // transition rules; those that rows say as locks; those whose fields are unknown
	Updates            int      // of valid objects
	Refused, Found     int      // by the CRD's transition rules; of these, those that the rows refuse or call unknown
	Refusals           int      // of the rows
	False              int      // of these, those of updates that the CRD accepts
	Unproved           []string // versions without a valid object, and rows that no update broke: they are unknown
}

// Add adds the counts of another proof.
func (p *Proof) Add(q Proof) {
	p.Rules, p.Locks, p.Open, p.Updates = p.Rules+q.Rules, p.Locks+q.Locks, p.Open+q.Open, p.Updates+q.Updates
	p.Refused, p.Found, p.Refusals, p.False = p.Refused+q.Refused, p.Found+q.Found, p.Refusals+
		q.Refusals, p.False+q.False
	p.Unproved = append(p.Unproved, q.Unproved...)
}

// From returns what the transition rules of a CRD say, proved, one kind for each form that its served versions have.
// Rows that the API server's validator contradicts, and those of versions of which no valid object is found, become
// unknown.
func From(c *crd.CRD) ([]*crdfacts.Kind, Proof) {
	var kinds []*crdfacts.Kind
	var proof Proof
	for _, v := range c.Versions {
		if !v.Served {
			continue
		}
		d := newDeriver(v)
		k := d.kind()
		if len(k.Rows) > 0 {
			p := d.prove()
			k = d.kind()
			p.Rules, p.Open = len(d.rules), len(d.opened)
			p.Locks = p.Rules - p.Open
			proof.Add(p)
		}
		same := func(other *crdfacts.Kind) bool {
			return reflect.DeepEqual(k.Rows, other.Rows) && reflect.DeepEqual(k.Fields, other.Fields)
		}
		if i := slices.IndexFunc(kinds, same); i >= 0 {
			kinds[i].Versions = append(kinds[i].Versions, v.Name)
			continue
		}
		kinds = append(kinds, k)
	}
	return kinds, proof
}

// deriver derives the facts of one version.
type deriver struct {
	version *crd.Version
	tree    *schema.Tree
	rules   []celrule.Rule           // the transition rules
	rows    map[string]*crdfacts.Row // by path, those that are unknown with a "?" before it
	opened  map[string]bool          // rules whose fields are unknown
	proved  map[string]bool          // by path: rows that have refused what the CRD refuses
}

func newDeriver(v *crd.Version) *deriver {
	d := &deriver{version: v, tree: schema.Read(v.Schema, nil), rows: map[string]*crdfacts.Row{},
		opened: map[string]bool{}, proved: map[string]bool{}}
	if !slices.ContainsFunc(celrun.Rules(v.Schema), celrun.Transition) {
		return d
	}
	at := map[string]*schema.Location{}
	for _, l := range d.tree.All {
		at[l.Path.Pointer()] = l
	}
	imported := celrule.Import(v.Schema)
	says := map[string][]string{} // by schema path
	for _, r := range imported.Recognized {
		d.rules = append(d.rules, r.Rule)
		for _, lock := range r.Locks {
			if message := literalMessage(r.Rule); message != "" && !slices.Contains(says[lock.SchemaPath], message) {
				says[lock.SchemaPath] = append(says[lock.SchemaPath], message)
			}
		}
	}
	for _, change := range imported.Changes {
		if len(change.SetKeys) > 0 {
			d.lock(at[change.SchemaPath], change.SetKeys, strings.Join(says[change.SchemaPath], "; "))
		}
	}
	for _, r := range imported.Left {
		d.rules = append(d.rules, r.Rule)
		d.open(r.Rule)
	}
	return d
}

// kind returns the facts as they are now.
func (d *deriver) kind() *crdfacts.Kind {
	c := d.version.CRD()
	return d.result(&crdfacts.Kind{Group: c.Group, Kind: c.Kind, Plural: c.Plural, Cluster: c.Scope == "Cluster",
		Versions: []string{d.version.Name}})
}

// literalMessage returns the message of a rule, "" for one that is made by an expression.
func literalMessage(r celrule.Rule) string {
	text := strings.Join(strings.Fields(r.CustomMessage()), " ")
	if r.HasMessageExpression() || len(text) > maxSays {
		return ""
	}
	return text
}

// lock adds the row of a lock, given as keys of a schema.
func (d *deriver) lock(l *schema.Location, keys map[string]any, says string) {
	path := pathOf(l)
	if d.ofStatus(path) {
		return
	}
	row := &crdfacts.Row{Path: path.String(), Says: says}
	for key, value := range keys {
		switch key {
		case schema.KeyUpdate:
			for _, word := range value.([]any) {
				row.Update = append(row.Update, word.(string))
			}
		case schema.KeyNormalize:
			row.Normalize = value.(string)
		case schema.KeyMapListOrder:
		default:
			row.Lock = strings.TrimPrefix(key, "x-kubernetes-")
		}
	}
	_, ignored := keys[schema.KeyMapListOrder]
	row.Ordered = schema.HasMapList(l.Schema) && !ignored &&
		(row.Lock == "immutable" || slices.Contains(row.Update, string(schema.NoModify)))
	d.rows[row.Path] = row
}

// open adds the rows of a rule that equals no lock: for each field that it reads.
func (d *deriver) open(r celrule.Rule) {
	d.opened[r.SchemaPath+"#"+strconv.Itoa(r.Index)] = true
	for _, l := range r.Reads() {
		path := correlated(l)
		if len(path) > 0 {
			d.openAt(path, literalMessage(r))
			continue
		}
		for _, property := range d.tree.Root.Properties {
			d.openAt(fieldpath.Path{property.Name}, literalMessage(r))
		}
	}
}

func (d *deriver) openAt(path fieldpath.Path, says string) {
	if d.ofStatus(path) || path[0] == "metadata" || path[0] == "apiVersion" || path[0] == "kind" {
		return
	}
	key := "?" + path.String()
	switch row := d.rows[key]; {
	case row == nil:
		d.rows[key] = &crdfacts.Row{Path: path.String(), Unknown: true, Says: says}
	case says != "" && !strings.Contains(row.Says, says) && len(row.Says)+len(says) < maxSays:
		row.Says = strings.TrimPrefix(row.Says+"; "+says, "; ")
	}
}

// ofStatus reports whether a path is in the status, which no apply of a manifest writes.
func (d *deriver) ofStatus(path fieldpath.Path) bool {
	return d.version.HasStatus && path[0] == "status"
}

// result returns k with the rows and what a comparison of their fields needs to know. Where an unknown row has another
// one above it, it is left out, as the upper one sees all that the lower one sees.
func (d *deriver) result(k *crdfacts.Kind) *crdfacts.Kind {
	for _, key := range slices.Sorted(maps.Keys(d.rows)) {
		row := d.rows[key]
		covered := false
		if row.Unknown {
			for above := range fieldpath.Parse(row.Path).Prefixes() {
				covered = covered || above != row.Path && d.rows["?"+above] != nil
			}
		}
		if !covered {
			k.Rows = append(k.Rows, *row)
		}
	}
	slices.SortFunc(k.Rows, func(a, b crdfacts.Row) int {
		if a.Path == b.Path {
			return boolOf(a.Unknown) - boolOf(b.Unknown)
		}
		return strings.Compare(a.Path, b.Path)
	})
	if len(k.Rows) > 0 {
		k.Fields = d.fields(k.Rows)
	}
	return k
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fields returns what the API server does with the fields at, above and below the rows.
func (d *deriver) fields(rows []crdfacts.Row) map[string]kind.FieldData {
	fields := map[string]kind.FieldData{}
	for _, l := range d.tree.All {
		path := pathOf(l)
		if len(path) == 0 || !slices.ContainsFunc(rows, func(r crdfacts.Row) bool {
			at := fieldpath.Parse(r.Path)
			return path.Within(at) || at.Within(path) ||
				len(path) > 1 && at.Within(path[:len(path)-1]) && l.Parent().Marks.ListType == schema.ListMap
		}) {
			continue
		}
		f := kind.FieldData{Nullable: l.Schema.Nullable, Password: schema.IsPassword(l.Schema)}
		if row := d.rows[path.String()]; row != nil && row.Normalize == schema.NormalizeZero &&
			len(l.Schema.Type) == 1 {
			f.Type = l.Schema.Type[0]
		}
		if l.Schema.Default != nil {
			value := l.Schema.Default
			f.Default = &value
		}
		switch l.Marks.ListType {
		case schema.ListMap:
			f.Keys = l.Marks.ListMapKeys
		case schema.ListSet:
			f.Set = true
		}
		if f.Nullable || f.Type != "" || f.Password || f.Default != nil || f.Set || len(f.Keys) > 0 {
			fields[path.String()] = f
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// pathOf returns the path of a location.
func pathOf(l *schema.Location) fieldpath.Path {
	if l.Parent() == nil {
		return nil
	}
	path := pathOf(l.Parent())
	switch l.Role {
	case schema.Items:
		return append(path, fieldpath.EachItem)
	case schema.Values:
		return append(path, fieldpath.EachValue)
	}
	return append(path, l.Name)
}

// correlated returns the path of a location, or of the nearest list above it whose items no key pairs.
func correlated(l *schema.Location) fieldpath.Path {
	path := pathOf(l)
	for at := l; at.Parent() != nil; at = at.Parent() {
		if at.Role == schema.Items && at.Parent().Marks.ListType != schema.ListMap {
			path = pathOf(at.Parent())
		}
	}
	return path
}
