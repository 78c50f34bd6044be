package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// The input: a tree, which of its files hold objects as they are written, and which of them are left out.

// Side is one tree, and which of its files to read.
type Side struct {
	Tree Tree
	// Files are the files that hold objects as they are written, unless a unit reads them. They are not parsed yet.
	Files []manifest.File
	// Read returns the content of one of Files; nil reads it from the tree.
	Read func(f *manifest.File) ([]byte, error)
	// Paths select the units that read a file there; nil selects all. With paths, Others returns the files like Files
	// that they do not name.
	Paths  []string
	Others func() []manifest.File
	// Partial is set where a part of the tree is in another repository and may differ: a submodule at another commit.
	Partial bool
}

func (s *Side) content(f *manifest.File) ([]byte, error) {
	if s.Read != nil {
		return s.Read(f)
	}
	return s.Tree.ReadFile(f.Path)
}

// id identifies the content of one of Files.
func (s *Side) id(f *manifest.File) string {
	if s.Read == nil {
		if id, err := s.Tree.ID(f.Path); err == nil {
			return id
		}
		return ""
	}
	data, err := s.Read(f)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// selects reports whether a unit reads a file that the paths of the side name.
func (s *Side) selects(u *Unit) bool {
	if s.Paths == nil {
		return true
	}
	for _, p := range s.Paths {
		if rendered.Below(u.File, p) ||
			u.tree == nil && slices.ContainsFunc(u.Reads, func(name string) bool { return rendered.Below(name, p) }) {
			return true
		}
	}
	return false
}

// names reports whether the paths of the side name a file.
func (s *Side) names(file string) bool {
	return s.Paths == nil || slices.ContainsFunc(s.Paths, func(p string) bool { return rendered.Below(file, p) })
}

// Parse reads files of the side.
func (s *Side) Parse(files []manifest.File) []manifest.File {
	var parsed []manifest.File
	for _, f := range files {
		parsed = append(parsed, s.parse(f, &yamldoc.Shared{}, nil))
	}
	return parsed
}

// parse reads one of the files.
func (s *Side) parse(f manifest.File, shared *yamldoc.Shared, wanted func(text []byte) bool) manifest.File {
	if f.Err != nil {
		return f
	}
	data, err := s.content(&f)
	if err != nil {
		f.Err = &yamldoc.Error{File: f.Name, Message: "cannot be read: " + manifest.Cause(err).Error()}
		return f
	}
	f.ParseSome(data, shared, wanted)
	return f
}

// Excluded is the reason of NotCovered for a file that Options.Exclude leaves out, or that is expected output of tests.
const Excluded = "exclude in the settings leaves it out"

// expectedDirectory matches a path through a directory that may hold expected output.
var expectedDirectory = regexp.MustCompile(`(?:^|/)(?:testdata|golden|__snapshots__|tests?)/`)

// isExpected reports whether a file is expected output of tests, as its directory says: testdata, golden and
// __snapshots__ anywhere, and test and tests below a chart or a module, as env/test is an environment. A file that in
// names by a path there is read.
func (s *side) isExpected(in *Side, name string) bool {
	if s.ReadExpected || !expectedDirectory.MatchString(name) {
		return false
	}
	inModule := false
	dir := "."
	for _, step := range strings.Split(path.Dir(name), "/") {
		for _, file := range [...]string{"Chart.yaml", "go.mod", "package.json"} {
			inModule = inModule || exists(s.tree, path.Join(dir, file))
		}
		dir = path.Join(dir, step)
		switch {
		case step == "testdata", step == "golden", step == "__snapshots__",
			inModule && (step == "test" || step == "tests"):
			return !slices.ContainsFunc(in.Paths, func(p string) bool { return rendered.Below(p, dir) })
		}
	}
	return false
}

// takeExcluded returns the side without the files that are left out, which it returns as well. states tells what the
// tree has at these, and at the files that only units read which are left out.
func (s *side) takeExcluded(in *Side) (rest *Side, excluded []manifest.File, states map[string]string) {
	kept := *in
	kept.Files = nil
	states = map[string]string{}
	read := map[string]bool{}
	for _, f := range in.Files {
		switch {
		case (s.Exclude == nil || !s.Exclude(f.Path)) && (!s.isExpected(in, f.Path) || s.isInput(f.Path)):
			kept.Files = append(kept.Files, f)
			read[f.Path] = true
			continue
		case s.isInput(f.Path): // a unit that is not left out reads it
		case f.Err != nil:
			states[f.Path] = mistakeIn(&f)
		default:
			states[f.Path] = "file " + in.id(&f)
		}
		excluded = append(excluded, f)
	}
	for _, u := range s.excluded {
		for _, name := range u.Reads {
			if _, known := states[name]; !known && !read[name] && in.names(name) && !s.isInput(name) {
				states[name] = state(s.tree, name)
			}
		}
	}
	return &kept, excluded, states
}

// mayHoldObject reports whether a file has an object, or cannot be read and may have one. A template of Helm may print
// one that it names nowhere.
func mayHoldObject(f *manifest.File) bool {
	if f.Err == nil {
		return slices.ContainsFunc(f.Documents, func(d *yamldoc.Document) bool { return d.Object["kind"] != nil })
	}
	template, ok := errors.AsType[*manifest.TemplateError](f.Err)
	return !ok || template.MayHoldObject || strings.Contains("/"+f.Path, "/templates/")
}

// unreadable returns why nobody knows what a file becomes, "" for most files.
func unreadable(f *manifest.File) string {
	var template *manifest.TemplateError
	switch {
	case f.Elsewhere:
		return mistakeIn(f)
	case errors.As(f.Err, &template):
		return "it is a template, not YAML"
	case errors.Is(f.Err, yamldoc.ErrEncrypted):
		return "it is encrypted by git-crypt"
	}
	return ""
}

// mistakeIn returns what is wrong with a file, without its name.
func mistakeIn(f *manifest.File) string { return strings.TrimPrefix(f.Err.Error(), f.Name+": ") }

// missingUnits lists the units whose files are not in the tree, and whose definitions are in files that the side names.
func (s *side) missingUnits(in *Side, changed func(u *Unit) bool) []result.NotCovered {
	var list []result.NotCovered
	for _, u := range s.elsewhere {
		if in.names(u.File) {
			n := s.notCovered(u, u.Err)
			n.Line = u.document.Position().Line
			if n.Changed = changed(u); n.Changed {
				s.placeEdit(&n, u)
			}
			list = append(list, n)
		}
	}
	return list
}
