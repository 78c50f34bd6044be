package audit

import (
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// LocksOfKinds lists the locks of built-in kinds.
func LocksOfKinds(kinds []*builtin.Kind) *Locks {
	l := &Locks{Fields: []Field{}}
	for _, k := range kinds {
		g := Group{Kind: k.Kind, Name: k.APIVersion(), Versions: []string{k.APIVersion()}}
		for _, row := range k.Rows() {
			g.Fields = append(g.Fields, Field{
				APIVersion: k.APIVersion(), Kind: k.Kind, Path: row.Path, Locks: strings.Split(row.Lock, ","), Rule: row.Rule, When: row.When,
				Except: row.Except, Message: row.Message, Unknown: row.Unknown, Note: row.Note, Holes: []Hole{},
			})
		}
		l.Groups = append(l.Groups, g)
		l.Fields = append(l.Fields, g.Fields...)
	}
	return l
}

// Add adds the locks of other to l.
func (l *Locks) Add(other *Locks) {
	l.Fields = append(l.Fields, other.Fields...)
	l.Groups = append(l.Groups, other.Groups...)
	l.Rules += other.Rules
}
