package git

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxLinks bounds how many links lead to one file, and maxText how long the text of a link is, as Linux does.
const (
	maxLinks = 40
	maxText  = 4095
)

// nowhereError is the error for a path that leads to nothing in the tree.
type nowhereError struct {
	links  int // how many links the path has led through
	reason string
}

func (e *nowhereError) Error() string { return e.reason }

// resolve returns the path below the root that a path leads to, without links on it: the path of an entry or a directory.
// It goes step by step, as the system does: after a link to a directory, ".." is the parent of that directory. What follows
// the path of a submodule is left as it is.
//
// A path that leads nowhere, or in a circle, has a *nowhereError; any other error is about a link that leads out of the tree
// or cannot be read.
func (t *Tree) resolve(name string) (string, error) {
	at, links, text := ".", 0, name
	for steps := strings.Split(name, "/"); len(steps) > 0; {
		step := steps[0]
		steps = steps[1:]
		e, isEntry := t.entries[at]
		switch {
		case isEntry && e.kind >= submodule && step != "" && step != "." && step != "..":
			return strings.Join(append([]string{at, step}, steps...), "/"), nil
		case isEntry && e.kind >= submodule:
		case isEntry:
			return "", &nowhereError{links, fmt.Sprintf("it is a link to %s, but %s is a file", path.Join(at, step, path.Join(steps...)), at)}
		}
		next := path.Join(at, step)
		switch {
		case step == ".." && at != ".":
			at = path.Dir(at)
			continue
		case step == ".." || strings.EqualFold(step, ".git") && links > 0:
			return "", leadsOut(text)
		}
		switch e, isEntry := t.entries[next]; {
		case isEntry && e.kind == link:
			if links++; links > maxLinks {
				return "", &nowhereError{links, "its links lead in a circle"}
			}
			var err error
			if text, err = t.readLink(next); err != nil {
				return "", err
			}
			if len(text) > maxText {
				return "", &nowhereError{links, fmt.Sprintf("it is a link with more than %d bytes", maxText)}
			}
			if path.IsAbs(text) || strings.Contains(text, "\x00") {
				return "", leadsOut(text)
			}
			steps = append(strings.Split(text, "/"), steps...)
		case isEntry || t.children[next] != nil:
			at = next
		default:
			return "", &nowhereError{links, fmt.Sprintf("it is a link to %s, which the tree does not have", path.Join(next, path.Join(steps...)))}
		}
	}
	return at, nil
}

func leadsOut(text string) error {
	return fmt.Errorf("it is a link that leads out of the repository, to %s", text)
}

// readLink returns the text of a link. The first call reads all links of the tree.
func (t *Tree) readLink(name string) (string, error) {
	if t.links == nil {
		t.links = map[string]string{}
		var names []string
		for _, other := range t.sorted {
			if t.entries[other].kind == link {
				names = append(names, other)
			}
		}
		contents, errs, err := t.reader.read(names)
		if err != nil {
			return "", err
		}
		for i, other := range names {
			if errs[i] == nil {
				t.links[other] = string(contents[i])
			}
		}
	}
	text, ok := t.links[name]
	if !ok {
		return "", errors.New("it is a link that cannot be read")
	}
	return text, nil
}
