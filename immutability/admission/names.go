package admission

import (
	"fmt"

	"github.com/fieldlock/fieldlock/internal/jsonscan"
)

// names are the member names of one object that were seen.
type names struct {
	common uint32 // by index in commonNames
	rest   map[string]bool
}

// commonNames are those that nearly every review and object has. They are told apart without allocating.
var commonNames = [...]string{
	"apiVersion", "kind", "metadata", "spec", "status", "request", "uid", "resource", "subResource", "requestKind",
	"requestResource", "requestSubResource", "name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "options",
}

// add returns an error where a name comes a second time: two readers could take two different values.
func (n *names) add(name []byte) error {
	for i, c := range commonNames {
		if string(name) == c {
			if n.common&(1<<i) != 0 {
				return fmt.Errorf("the member %q appears twice", name)
			}
			n.common |= 1 << i
			return nil
		}
	}
	if n.rest[string(name)] {
		return fmt.Errorf("the member %q appears twice", name)
	}
	if n.rest == nil {
		n.rest = map[string]bool{}
	}
	n.rest[string(name)] = true
	return nil
}

// eachMember calls f for each member of the JSON object doc, in their order, with its name and its undecoded value. It
// ends with the first error of f. A repeated name is an error.
func eachMember(doc []byte, f func(name, value []byte) error) error {
	var seen names
	t := jsonscan.NewText(doc)
	for m := range t.Members() {
		if err := seen.add(m.Name); err != nil {
			return err
		}
		value := t.Skip()
		if t.Failed() {
			break
		}
		if err := f(m.Name, value); err != nil {
			return err
		}
	}
	return t.End()
}
