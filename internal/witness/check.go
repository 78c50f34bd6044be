package witness

import (
	"fmt"
	"strings"
)

// Verdict is what an API server says about an update.
type Verdict struct {
	// Invalid says why the old or the new object is not a valid one, whatever the other is; nil for two valid objects.
	Invalid []string
	// Refused are the locks and transition rules that refuse the update, in the order of their paths.
	Refused []Refusal
}

// Update judges an update of complete objects, each in the version that its apiVersion says. The error is about an object
// of another kind or of an unknown version, or a schema that an API server would refuse.
func (k *Kind) Update(newObj, oldObj map[string]any) (Verdict, error) {
	var versions []*Version
	for _, obj := range []map[string]any{oldObj, newObj} {
		v, err := k.versionOf(obj)
		if err != nil {
			return Verdict{}, err
		}
		versions = append(versions, v)
	}
	s := &sequence{versions: versions, objects: []map[string]any{oldObj, newObj}, stored: k.stored(versions[0])}
	problems, refusals := judge(s)
	verdict := Verdict{Refused: refusals}
	for _, p := range problems {
		side := "the old object"
		if p.at == 1 {
			side = "the new object"
		}
		switch {
		case p.kind == unreadable, p.kind == invalid:
			verdict.Invalid = append(verdict.Invalid, side+": "+p.message)
		case p.kind == brokenRule && !versions[p.at].transition[*p.rule]:
			verdict.Invalid = append(verdict.Invalid, side+": "+p.message+" (rule: "+p.rule.Text+")")
		}
	}
	return verdict, nil
}

// versionOf returns the version of an object, ready to judge.
func (k *Kind) versionOf(obj map[string]any) (*Version, error) {
	var known []string
	for _, v := range k.Versions {
		if obj["apiVersion"] == v.APIVersion && obj["kind"] == v.Kind {
			return v, v.compile()
		}
		known = append(known, v.APIVersion)
	}
	return nil, fmt.Errorf("%v of %v is not the kind %s in %s", obj["kind"], obj["apiVersion"], k.Versions[0].Kind, strings.Join(known, ", "))
}
