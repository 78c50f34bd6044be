package git

import (
	"fmt"
	"strings"
)

// Range is what to compare: a commit with another one, or with the work tree when New is "".
type Range struct {
	Old, New string // IDs of commits
}

// Resolve resolves REV, REV..REV2, REV...REV2 or "REV...". With three dots OLD is the merge base, as in git diff; where
// REV2 is left out NEW is the work tree, and the merge base is that with HEAD.
func (r *Repository) Resolve(text string) (Range, error) {
	oldRev, newRev, threeDots := strings.Cut(text, "...")
	twoDots := false
	if !threeDots {
		oldRev, newRev, twoDots = strings.Cut(text, "..")
	}
	if oldRev == "" || twoDots && newRev == "" {
		return Range{}, fmt.Errorf("--git is %q: it is REV, REV..REV2, REV...REV2 or REV... (from the merge base)", text)
	}
	var out Range
	var err error
	if out.Old, err = r.commit(oldRev); err != nil {
		return Range{}, err
	}
	head := "HEAD"
	if newRev != "" {
		head = newRev
	}
	if newRev == "" && !threeDots {
		return out, nil
	}
	newCommit, err := r.commit(head)
	if err != nil {
		return Range{}, err
	}
	if newRev != "" {
		out.New = newCommit
	}
	if threeDots {
		base, err := r.run(nil, "merge-base", out.Old, newCommit)
		if err != nil {
			return Range{}, fmt.Errorf("--git: %s and %s have no common ancestor here%s", oldRev, head, r.shallow(oldRev))
		}
		out.Old = strings.TrimSpace(string(base))
	}
	return out, nil
}

// commit returns the ID of the commit that a revision names.
func (r *Repository) commit(rev string) (string, error) {
	out, err := r.run(nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("--git: the revision %q is not known here%s", rev, r.shallow(rev))
	}
	return strings.TrimSpace(string(out)), nil
}

// shallow explains what a shallow clone lacks; "" for a complete one.
func (r *Repository) shallow(rev string) string {
	out, err := r.run(nil, "rev-parse", "--is-shallow-repository")
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		return ""
	}
	remote, branch, ok := strings.Cut(rev, "/")
	if !ok {
		remote, branch = "origin", rev
	}
	return fmt.Sprintf("; the clone is shallow: fetch the revision with git fetch --depth=1 %s %s, or, for a merge base, the whole history with git fetch --unshallow (fetch-depth: 0 in actions/checkout)", remote, branch)
}
