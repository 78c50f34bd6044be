package unit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/argo"
	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// A source of Flux or Argo CD names a revision of its repository. At a tag or a commit, a unit is rendered from the
// files there; at a branch, from the tree under check, since that is what the branch becomes.

// Repository is what the tree under check is a revision of.
type Repository interface {
	// Tags lists the names of the tags.
	Tags() []string
	// HasBranch reports whether a branch is known, here or of a remote.
	HasBranch(name string) bool
	// At returns the tree of a commit, named by its ID, which may be abbreviated, or as refs/tags/NAME. done ends what
	// the tree has started.
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

// revisions are those that sources ask for. Safe for concurrent use.
type revisions struct {
	repository Repository // nil if it is not known

	mu     sync.Mutex
	byName map[string]revision
}

func newRevisions(of Repository) *revisions {
	return &revisions{repository: of, byName: map[string]revision{}}
}

func (s *revisions) close() {
	for _, r := range s.byName {
		if r.err == nil {
			r.done()
		}
	}
}

// treeAt returns the tree of a commit or tag, the same one each time.
func (s *revisions) treeAt(name string) (Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.byName[name]
	switch {
	case ok:
	case len(s.byName) >= maxRevisions:
		return nil, fmt.Errorf("sources ask for more than %d revisions", maxRevisions)
	default:
		r.tree, r.done, r.err = s.repository.At(name)
		s.byName[name] = r
	}
	return r.tree, r.err
}

const noVersion = "%s, and no tag here is a version of that range; git fetch --tags brings those that exist"

// notHere says where a source is that the repository does not have.
func notHere(format, name string) *rendered.NotCovered {
	return &rendered.NotCovered{Reason: "its source is at " + fmt.Sprintf(format, name)}
}

// atTag returns the tree of a tag.
func (s *revisions) atTag(tag string) (Tree, error) {
	if !slices.Contains(s.repository.Tags(), tag) {
		return nil, notHere("the tag %s, which is not here; git fetch --tags brings it if it exists", tag)
	}
	return s.treeAt("refs/tags/" + tag)
}

// atCommit returns the tree of a commit.
func (s *revisions) atCommit(id string) (Tree, error) {
	t, err := s.treeAt(strings.ToLower(id))
	if err != nil {
		return nil, notHere("the commit %s, which is not here; git fetch origin %[1]s brings it if it exists", id)
	}
	return t, nil
}

var (
	commitID    = regexp.MustCompile(`^[0-9A-Fa-f]{40}$`)
	shortCommit = regexp.MustCompile(`^[0-9A-Fa-f]{7,}$`)
)

// argoRevision returns the tree of a target revision of Argo CD, nil for the tree under check. The rules are those of
// lsRemote in util/git/client.go and MaxVersion in util/versions/tags.go (github.com/argoproj/argo-cd at 37ee0097cf85).
// A name that nothing here has counts as a branch, since clones often have only one, unless it looks like a version or
// a commit.
func (s *revisions) argoRevision(name string) (Tree, error) {
	if s.repository == nil || name == "" || name == "HEAD" {
		return nil, nil
	}
	if commitID.MatchString(name) {
		return s.atCommit(name)
	}
	_, versionErr := semver.NewVersion(name)
	constraint, err := semver.NewConstraint(name)
	isRange := versionErr != nil && err == nil
	if isRange {
		if tag := newest(s.repository.Tags(), constraint, semver.NewVersion); tag != "" {
			return s.atTag(tag)
		}
	}
	branch, isBranch := strings.CutPrefix(name, "refs/heads/")
	tag, isTag := strings.CutPrefix(name, "refs/tags/")
	switch {
	case isBranch || s.repository.HasBranch(branch):
		return nil, nil
	case isTag || slices.Contains(s.repository.Tags(), name):
		return s.atTag(tag)
	case shortCommit.MatchString(name):
		return s.atCommit(name)
	case versionErr == nil:
		return s.atTag(name)
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

// fluxRevision returns the tree of the reference of a GitRepository, nil for the tree under check. Its fields count in
// the order of gogit.Client.Clone (github.com/fluxcd/pkg/git): commit, name, tag, semver, branch.
func (s *revisions) fluxRevision(source map[string]any) (Tree, error) {
	field := func(name string) string {
		text := fieldpath.Text(source, "spec", "ref", name)
		return text
	}
	if s.repository == nil {
		return nil, nil
	}
	name := field("name")
	tag, isTag := strings.CutPrefix(name, "refs/tags/")
	switch {
	case field("commit") != "":
		if id := field("commit"); commitID.MatchString(id) {
			return s.atCommit(id)
		}
		return nil, fmt.Errorf("its source is at the commit %q, which is not the ID of one", field("commit"))
	case isTag:
		return s.atTag(strings.TrimSuffix(tag, "^{}"))
	case name != "" && !strings.HasPrefix(name, "refs/heads/"):
		return nil, notHere("%s, which is neither a branch nor a tag", name)
	case name != "":
		return nil, nil
	case field("tag") != "":
		return s.atTag(field("tag"))
	case field("semver") == "":
		return nil, nil
	}
	constraint, err := semver.NewConstraint(field("semver"))
	if err != nil {
		return nil, fmt.Errorf("its source is at the range %q: %w", field("semver"), err)
	}
	if tag := newest(s.repository.Tags(), constraint, fluxVersion); tag != "" {
		return s.atTag(tag)
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
func (s *revisions) revisionOf(a *argo.Application, inTree []bool) (Tree, error) {
	var names []string
	for i, source := range a.Sources {
		if inTree[i] {
			names = append(names, source.TargetRevision)
		}
	}
	return s.oneRevision(names)
}

// oneRevision returns the tree of target revisions of Argo CD, which have to lead to the same one.
func (s *revisions) oneRevision(names []string) (tree Tree, err error) {
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
