package unit

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A template may print another value each time: a password, a date. A changed unit that may is rendered twice from NEW,
// and a place at which the two differ is compared with nothing, if it differs between renderings of OLD as well. For
// example:
//
//	                       NEW, twice        OLD, twice
//	password: {{ rand }}   Xk3, q8T          q2w, Zn1      not compared
//	class: {{ rand }}      slow-a, slow-b    fast, fast    a random value in place of a fixed one: compared
//	class: slow            slow, slow        fast, fast    compared

// withoutRandom gives the objects of OLD the values of NEW that differ between two renderings on both sides, such as
// random passwords and dates, so that they are not compared. A random value in place of a fixed one is a change.
func (c *comparison) withoutRandom(p unitPair, news, olds []Object) (kept []Object) {
	if !p.new.random || !c.news.draws(p.new) {
		return olds
	}
	again, _, err := c.news.renderAnew(p.new)
	if err != nil || len(again) != len(news) {
		return olds
	}
	kept = slices.Clone(olds)
	var drawn []Object // of OLD
	for i, o := range news {
		var places [][]any
		differences(o.Object, again[i].Object, nil, &places)
		if len(places) == 0 {
			continue
		}
		if (o.Role == rendered.Test || o.Role == rendered.Hook) && nameOf(o.Object) != nameOf(again[i].Object) {
			kept = slices.DeleteFunc(kept, func(old Object) bool { return isGone(old, o, news) })
			continue
		}
		if drawn == nil {
			drawn = c.drawAgain(p.old)
		}
		for j, old := range kept {
			if old.Object["kind"] == o.Object["kind"] && nameOf(old.Object) == nameOf(o.Object) {
				kept[j].Document = with(kept[j].Document, o.Object, drawnPlaces(old, drawn, places))
			}
		}
	}
	return kept
}

// drawAgain renders a unit of OLD anew, twice: a value that is one of two can be the same once more.
func (c *comparison) drawAgain(u *Unit) []Object {
	drawn := []Object{}
	for range 2 {
		again, _, _ := c.olds.renderAnew(u) // it did not fail before
		drawn = append(drawn, again...)
	}
	return drawn
}

// drawnPlaces returns the places at which an object of OLD differs from one of its kind and name that was drawn again.
func drawnPlaces(old Object, drawn []Object, places [][]any) [][]any {
	return slices.DeleteFunc(slices.Clone(places), func(at []any) bool {
		return !slices.ContainsFunc(drawn, func(again Object) bool {
			return again.Object["kind"] == old.Object["kind"] && nameOf(again.Object) == nameOf(old.Object) &&
				!jsonvalue.Equal(fieldpath.Value(again.Object, at...), fieldpath.Value(old.Object, at...))
		})
	})
}

// isGone reports whether an object of OLD is the hook or test of the same template as o, under a name that NEW does not
// have. A template that prints a new name each time deletes nothing that way.
func isGone(old, o Object, news []Object) bool {
	return old.Role == o.Role && old.File == o.File && old.Object["kind"] == o.Object["kind"] &&
		!slices.ContainsFunc(news, func(n Object) bool {
			return n.Object["kind"] == old.Object["kind"] && nameOf(n.Object) == nameOf(old.Object)
		})
}

// draws reports whether the templates of a unit may print something else each time. An archive may hold such a
// template.
func (s *side) draws(u *Unit) bool {
	return drawsIn(u.spec) || slices.ContainsFunc(u.Reads, func(name string) bool {
		data, err := s.tree.ReadFile(name)
		return err != nil || strings.HasSuffix(name, ".tgz") || drawsIn(data)
	})
}

// action is an action of a template, and drawing one that calls a function with another result each time: of chance, of
// time, or in the order of a map.
var (
	action  = regexp.MustCompile(`\{\{(?:[^}]|\}[^}])*\}\}`)
	drawing = regexp.MustCompile(`[\s({|-](?:rand[A-Z]\w*|uuidv4|shuffle|now|ago|date\w*|htmlDate\w*|gen[A-Z]\w*|bcrypt|htpasswd|encryptAES|getHostByName|keys|values)[\s)}|-]`)
)

func drawsIn(data []byte) bool {
	if !bytes.Contains(data, []byte("{{")) || !drawing.Match(data) {
		return false
	}
	return slices.ContainsFunc(action.FindAll(data, -1), drawing.Match)
}

// differences lists the places at which two values differ.
func differences(a, b any, at []any, places *[][]any) {
	x, isObject := a.(map[string]any)
	y, both := b.(map[string]any)
	if isObject && both {
		for name, value := range x {
			if other, ok := y[name]; ok {
				differences(value, other, append(at[:len(at):len(at)], name), places)
			} else {
				*places = append(*places, append(at[:len(at):len(at)], name))
			}
		}
		return
	}
	list, isList := a.([]any)
	others, both := b.([]any)
	if isList && both && len(list) == len(others) {
		for i := range list {
			differences(list[i], others[i], append(at[:len(at):len(at)], i), places)
		}
		return
	}
	if !jsonvalue.Equal(a, b) {
		*places = append(*places, at)
	}
}

// with returns a copy of a document that has the texts and numbers of another object at some places.
func with(d *yamldoc.Document, other map[string]any, places [][]any) *yamldoc.Document {
	changed := *d
	for _, at := range places {
		switch fieldpath.Value(changed.Object, at...).(type) {
		case map[string]any, []any, nil:
			continue
		}
		object, _ := fieldpath.Path(at).Set(changed.Object, fieldpath.Value(other, at...))
		changed.Object, _ = object.(map[string]any)
	}
	return &changed
}
