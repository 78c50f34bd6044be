package witness

import (
	"github.com/fieldlock/fieldlock/internal/pointer"
)

// sequence is objects in the order of writing, each in a version. One object alone is only created.
type sequence struct {
	versions []*Version
	objects  []map[string]any // as written
	stored   *Version
	edits    int // how many the search has made
	size     int // of the objects as JSON, once id was asked for

	// gone and target are where the middle object lacks a value, and the guarded value in the others; nil for ways that
	// are not staged.
	gone, target path
}

// judge returns the problems of s, and where s has several objects the reasons for which the direct update from the first
// to the last is refused.
func judge(s *sequence) ([]problem, []Refusal) {
	var problems []problem
	prepared := make([]map[string]any, len(s.objects))
	for i, obj := range s.objects {
		v := s.versions[i]
		var err error
		if prepared[i], err = v.prepare(obj); err != nil {
			return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
		}
		var old map[string]any
		if i > 0 {
			if old, err = v.read(prepared[i-1], s.stored); err != nil {
				return append(problems, problem{at: i, kind: unreadable, message: err.Error()}), nil
			}
		}
		problems = append(problems, v.step(i, prepared[i], old)...)
	}
	last := len(s.objects) - 1
	if last == 0 {
		return problems, nil
	}
	v := s.versions[last]
	old, err := v.read(prepared[0], s.stored)
	if err != nil {
		return append(problems, problem{at: last, kind: unreadable, message: err.Error()}), nil
	}
	refusals := v.refused(prepared[last], old)
	if len(refusals) == 0 {
		problems = append(problems, problem{at: last, kind: notRefused})
	}
	return problems, refusals
}

// patternOf turns a schema path into the pattern of the values there.
func patternOf(schemaPath string) []string {
	pattern := []string{}
	for steps := pointer.Names(schemaPath); len(steps) > 0; {
		switch {
		case steps[0] == "properties" && len(steps) > 1:
			pattern = append(pattern, steps[1])
			steps = steps[2:]
		case (steps[0] == "allOf" || steps[0] == "anyOf" || steps[0] == "oneOf") && len(steps) > 1:
			steps = steps[2:]
		default:
			pattern = append(pattern, anyStep)
			steps = steps[1:]
		}
	}
	return pattern
}
