package schema

// Visit is one look at a location on the way down from the root.
type Visit struct {
	*Location
	At         *Path // the way from the root; differs from Path below a $ref
	InMetadata bool  // in the metadata of the object or of an embedded resource
	InSet      bool  // on or below the items of a set
}

// Walk calls visit for every location, parents first and children in order. What several locations share through a $ref
// is visited once in each context that it is in (metadata or not, set or not), on the first way there, so that the cost
// is linear in the schema.
func (t *Tree) Walk(visit func(Visit)) {
	type context struct {
		body              *Body
		inMetadata, inSet bool
	}
	seen := map[context]bool{}
	var walk func(v Visit)
	walk = func(v Visit) {
		visit(v)
		c := context{v.Body, v.InMetadata, v.InSet}
		if seen[c] {
			return
		}
		seen[c] = true
		for l := range v.Children {
			resource := v.Role == Root || v.Marks.Embedded
			walk(Visit{
				Location:   l,
				At:         v.At.below(l),
				InMetadata: v.InMetadata || resource && l.Role == Property && l.Name == "metadata",
				InSet:      v.InSet || l.Role == Items && v.Marks.ListType == ListSet,
			})
		}
	}
	walk(Visit{Location: t.Root})
}

// Descend calls look for l, which is at path at, and where look returns true for everything below it. What several
// locations share is descended into once.
func (l *Location) Descend(at *Path, look func(l *Location, at *Path) (below bool)) {
	seen := map[*Body]bool{}
	var visit func(l *Location, at *Path)
	visit = func(l *Location, at *Path) {
		if !look(l, at) || seen[l.Body] {
			return
		}
		seen[l.Body] = true
		for child := range l.Children {
			visit(child, at.below(child))
		}
	}
	visit(l, at)
}

// DescendAll is Descend that goes into what several locations share for each of them, but never into itself. Schemas can
// be written in which the number of ways doubles at each level: after limit repeated visits it does what Descend does.
func (l *Location) DescendAll(limit int, look func(l *Location, at *Path) (below bool)) {
	seen, inside := map[*Body]bool{}, map[*Body]bool{}
	var visit func(l *Location, at *Path, again bool)
	visit = func(l *Location, at *Path, again bool) {
		if again {
			limit--
		}
		if !look(l, at) || inside[l.Body] || seen[l.Body] && limit <= 0 {
			return
		}
		again = again || seen[l.Body]
		seen[l.Body], inside[l.Body] = true, true
		for child := range l.Children {
			visit(child, at.below(child), again)
		}
		delete(inside, l.Body)
	}
	visit(l, nil, false)
}

// Holding returns the locations that satisfy is, and all those above them. Cost: linear in the schema.
func (t *Tree) Holding(is func(*Location) bool) map[*Location]bool {
	in := map[*Location]bool{}
	var todo []*Location
	add := func(l *Location) {
		if !in[l] {
			in[l] = true
			todo = append(todo, l)
		}
	}
	for _, l := range t.All {
		if is(l) {
			add(l)
		}
	}
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if l.In != nil {
			for _, site := range l.In.sites {
				add(site)
			}
		}
	}
	return in
}
