package git

import (
	"errors"
	"fmt"
	"strings"
)

// A partial clone (git clone --filter=blob:none) has only the contents of files that somebody has asked for, and fetches others from
// the remote that promised them. Git would fetch them one by one.

// unfetched is what could not be fetched, and why.
type unfetched struct {
	ids map[string]bool
	err error
}

// request returns what asks git cat-file for an object. For one that could not be fetched, it is the name of no object: git would
// try again.
func (r *Repository) request(id string) string {
	if u := r.unfetched.Load(); u != nil && u.ids[id] {
		return "unfetched:" + id + "\n"
	}
	return id + "\n"
}

// promisor returns the remote that has what a partial clone lacks, "" for a complete clone.
func (r *Repository) promisor() string {
	r.partial.Do(func() {
		out, err := r.run(nil, "config", "--get-regexp", `^remote\..*\.promisor$`)
		if name, _, ok := strings.Cut(string(out), ".promisor true\n"); err == nil && ok {
			r.promises = name[strings.LastIndex(name, "remote.")+len("remote."):]
		}
	})
	return r.promises
}

// fetchMissing fetches what a partial clone lacks of a commit, all of it at once. What cannot be fetched is missing when it is read.
func (r *Repository) fetchMissing(commit string) {
	remote := r.promisor()
	for before := 0; remote != ""; { // trees that are fetched can name files that are not
		lacks := r.lacks(commit)
		if len(lacks) == 0 || len(lacks) == before {
			return
		}
		before = len(lacks)
		ids := strings.NewReader(strings.Join(lacks, "\n") + "\n")
		_, err := r.run(ids, "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
			"--recurse-submodules=no", "--filter=blob:none", "--stdin", "--end-of-options", remote)
		if err != nil {
			missing := map[string]bool{}
			for _, id := range lacks {
				missing[id] = true
			}
			r.unfetched.Store(&unfetched{missing, fmt.Errorf("git fetch %s failed: %w", remote, err)})
			return
		}
	}
}

// lacks lists the objects that a commit names and the clone does not have.
func (r *Repository) lacks(commit string) []string {
	out, err := r.run(nil, "rev-list", "--objects", "--no-walk", "--missing=print", "--end-of-options", commit)
	if err != nil {
		return nil
	}
	var ids []string
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutPrefix(line, "?"); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// missing is the error of a file whose content the clone does not have.
func (r *Repository) missing() error {
	if u := r.unfetched.Load(); u != nil {
		return fmt.Errorf("its content is not in this clone, which is partial (--filter), and %w", u.err)
	}
	return errors.New("its content is not in this clone; git fetch --refetch brings it")
}
