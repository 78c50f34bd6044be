package unit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// A source of Flux or Argo CD names a revision of its repository. At a tag or a commit, a unit is rendered from the files there; at a
// branch, from the tree under check, since that is what the branch becomes.

// Repository is what the tree under check is a revision of.
type Repository interface {
	// Tags lists the names of the tags.
	Tags() []string
	// HasBranch reports whether a branch is known, here or of a remote.
	HasBranch(name string) bool
	// At returns the tree of a commit, named by its ID, which may be abbreviated, or as refs/tags/NAME. done ends what the tree has
	// started.
	At(revision string) (t Tree, done func(), err error)
}

// maxRevisions bounds the revisions that a tree can ask for.
const maxRevisions = 50

// revision is one that a source asks for.
type revision struct {
	tree Tree
	done func()
	err  error
}

// at returns the tree of a commit or tag, the same one each time.
func (e *engine) at(name string) (Tree, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := e.revisions[name]
	switch {
	case ok:
	case len(e.revisions) >= maxRevisions:
		return nil, fmt.Errorf("sources ask for more than %d revisions", maxRevisions)
	default:
		r.tree, r.done, r.err = e.Repository.At(name)
		e.revisions[name] = r
	}
	return r.tree, r.err
}

const noVersion = "%s, and no tag here is a version of that range; git fetch --tags brings those that exist"

// notHere says where a source is that the repository does not have.
func notHere(format, name string) *rendered.NotCovered {
	return &rendered.NotCovered{Reason: "its source is at " + fmt.Sprintf(format, name)}
}

// atTag returns the tree of a tag.
func (e *engine) atTag(tag string) (Tree, error) {
	if !slices.Contains(e.Repository.Tags(), tag) {
		return nil, notHere("the tag %s, which is not here; git fetch --tags brings it if it exists", tag)
	}
	return e.at("refs/tags/" + tag)
}

// atCommit returns the tree of a commit.
func (e *engine) atCommit(id string) (Tree, error) {
	t, err := e.at(strings.ToLower(id))
	if err != nil {
		return nil, notHere("the commit %s, which is not here; git fetch origin %[1]s brings it if it exists", id)
	}
	return t, nil
}

var (
	commitID    = regexp.MustCompile(`^[0-9A-Fa-f]{40}$`)
	shortCommit = regexp.MustCompile(`^[0-9A-Fa-f]{7,}$`)
)

// argoRevision returns the tree of a target revision of Argo CD, nil for the tree under check. The rules are those of lsRemote in
// util/git/client.go and MaxVersion in util/versions/tags.go (github.com/argoproj/argo-cd at 37ee0097cf85). A name that nothing here
// has counts as a branch, since clones often have only one, unless it looks like a version or a commit.
func (e *engine) argoRevision(name string) (Tree, error) {
	if e.Repository == nil || name == "" || name == "HEAD" {
		return nil, nil
	}
	if commitID.MatchString(name) {
		return e.atCommit(name)
	}
	_, versionErr := semver.NewVersion(name)
	constraint, err := semver.NewConstraint(name)
	isRange := versionErr != nil && err == nil
	if isRange {
		if tag := newest(e.Repository.Tags(), constraint, semver.NewVersion); tag != "" {
			return e.atTag(tag)
		}
	}
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	tag, isTag := strings.CutPrefix(name, "refs/tags/")
	switch {
	case isBranch || e.Repository.HasBranch(branch):
		return nil, nil
	case isTag || slices.Contains(e.Repository.Tags(), name):
		return e.atTag(tag)
	case shortCommit.MatchString(name):
		return e.atCommit(name)
	case versionErr == nil:
		return e.atTag(name)
	case isRange:
		return nil, notHere(noVersion, name)
	}
	return nil, nil
}

// newest returns the tag with the highest version that a range has, "" for none.
func newest(tags []string, in *semver.Constraints, parse func(string) (*semver.Version, error)) (tag string) {
	var best *semver.Version
	for _, name := range tags {
		if v, err := parse(name); err == nil && in.Check(v) && (best == nil || v.GreaterThan(best)) {
			tag, best = name, v
		}
	}
	return tag
}

// fluxRevision returns the tree of the reference of a GitRepository, nil for the tree under check. Its fields count in the order of
// gogit.Client.Clone (github.com/fluxcd/pkg/git): commit, name, tag, semver, branch.
func (e *engine) fluxRevision(source map[string]any) (Tree, error) {
	field := func(name string) string {
		text, _ := yamldoc.At(source, "spec", "ref", name).(string)
		return text
	}
	if e.Repository == nil {
		return nil, nil
	}
	name := field("name")
	tag, isTag := strings.CutPrefix(name, "refs/tags/")
	switch {
	case field("commit") != "":
		if id := field("commit"); commitID.MatchString(id) {
			return e.atCommit(id)
		}
		return nil, fmt.Errorf("its source is at the commit %q, which is not the ID of one", field("commit"))
	case isTag:
		return e.atTag(strings.TrimSuffix(tag, "^{}"))
	case name != "" && !strings.HasPrefix(name, "refs/heads/"):
		return nil, notHere("%s, which is neither a branch nor a tag", name)
	case name != "":
		return nil, nil
	case field("tag") != "":
		return e.atTag(field("tag"))
	case field("semver") == "":
		return nil, nil
	}
	constraint, err := semver.NewConstraint(field("semver"))
	if err != nil {
		return nil, fmt.Errorf("its source is at the range %q: %w", field("semver"), err)
	}
	if tag := newest(e.Repository.Tags(), constraint, fluxVersion); tag != "" {
		return e.atTag(tag)
	}
	return nil, notHere(noVersion, field("semver"))
}

// fluxVersion reads a tag as a version. Flux takes three numbers only (github.com/fluxcd/pkg/version).
func fluxVersion(tag string) (*semver.Version, error) {
	if strings.Count(tag, ".") < 2 {
		return nil, semver.ErrInvalidSemVer
	}
	return semver.NewVersion(tag)
}

// revisionOf returns the tree that the sources of an Application are read from, nil for the tree under check.
func (s *side) revisionOf(a *argo.Application, inTree []bool) (Tree, error) {
	var names []string
	for i, source := range a.Sources {
		if inTree[i] {
			names = append(names, source.TargetRevision)
		}
	}
	return s.oneRevision(names)
}

// oneRevision returns the tree of target revisions of Argo CD, which have to lead to the same one.
func (s *side) oneRevision(names []string) (tree Tree, err error) {
	for i, name := range names {
		t, err := s.argoRevision(name)
		if err != nil {
			return nil, err
		}
		if i > 0 && t != tree {
			return nil, &rendered.NotCovered{Reason: "it reads several revisions of the repository at once"}
		}
		tree = t
	}
	return tree, nil
}
