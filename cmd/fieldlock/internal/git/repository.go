// Package git reads manifests from the trees of a git repository: of a commit, or of the work tree.
//
// A tree under check is not trusted. It is read with git ls-tree, git ls-files and git cat-file only, which run no
// filter, hook or monitor and honour no attribute; links that lead out of it are errors; and nothing in it can name a
// command to run.
package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Repository is a git repository that is only read.
type Repository struct {
	// Root is the work tree; Prefix is the path of the working directory below it, "" or with a slash at its end.
	Root, Prefix string

	shared yamldoc.Shared // what its trees have in common
	blobs  contents       // by their IDs

	format sync.Once
	sha256 bool // its IDs are SHA-256, otherwise SHA-1

	partial   sync.Once
	promises  string                    // as promisor
	unfetched atomic.Pointer[unfetched] // by the last fetchMissing
}

// Root returns the directory at or above dir that has the repository, without running git: the nearest one with a .git.
func Root(dir string) (root string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// Open finds the repository of the directory dir. It runs git only where there may be one.
func Open(dir string) (*Repository, error) {
	if _, ok := Root(dir); !ok && os.Getenv("GIT_DIR") == "" {
		return nil, errors.New("--git: cannot read a git repository here: not a git repository, and neither is any " +
			"parent directory")
	}
	out, err := (&Repository{Root: dir}).run(nil, "rev-parse", "--show-toplevel", "--show-prefix")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("--git needs the command git, which is not installed")
	case err != nil:
		return nil, fmt.Errorf("--git: cannot read a git repository here: %w", err)
	}
	root, prefix, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	return &Repository{Root: filepath.FromSlash(root), Prefix: prefix}, nil
}

// run runs git without anything that the repository could configure to run.
func (r *Repository) run(stdin io.Reader, args ...string) ([]byte, error) {
	return r.runWith(nil, stdin, args...)
}

// runWith is run with more variables in the environment.
func (r *Repository) runWith(env []string, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := r.command(args...)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return nil, errors.New(strings.TrimPrefix(text, "fatal: "))
		}
		return nil, err
	}
	return stdout.Bytes(), nil
}

func (r *Repository) command(args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{
		"--no-pager", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.attributesFile=" + os.DevNull,
	}, args...)...)
	cmd.Dir = r.Root
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return cmd
}

// Path returns the path of a command line argument below the root of the repository, with slashes; "." for the root.
func (r *Repository) Path(arg string) (string, error) {
	below := filepath.FromSlash(r.Prefix + filepath.ToSlash(arg))
	if filepath.IsAbs(arg) {
		rel, err := filepath.Rel(r.Root, arg)
		if err != nil {
			return "", err
		}
		below = rel
	}
	below = filepath.Clean(below)
	if !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s: it is outside of the repository %s", arg, r.Root)
	}
	return filepath.ToSlash(below), nil
}

// Display returns a path below the root as seen from the working directory.
func (r *Repository) Display(below string) string {
	rel, err := filepath.Rel(filepath.FromSlash("/"+r.Prefix), filepath.FromSlash("/"+below))
	if err != nil {
		return below
	}
	return filepath.ToSlash(rel)
}

// Remotes returns the URLs of the remotes.
func (r *Repository) Remotes() []string {
	out, err := r.run(nil, "config", "--null", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil
	}
	var urls []string
	for _, record := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if _, url, ok := strings.Cut(record, "\n"); ok {
			urls = append(urls, url)
		}
	}
	return urls
}

// Refs lists the names of the tags, and of the branches here and of the remotes.
func (r *Repository) Refs() (tags, branches []string) {
	out, err := r.run(nil, "for-each-ref", "--format=%(refname)", "refs/tags", "refs/heads", "refs/remotes")
	if err != nil {
		return nil, nil
	}
	for _, ref := range strings.Fields(string(out)) {
		if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			tags = append(tags, tag)
		} else if branch, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			branches = append(branches, branch)
		} else if _, branch, ok := strings.Cut(strings.TrimPrefix(ref, "refs/remotes/"), "/"); ok {
			branches = append(branches, branch)
		}
	}
	return tags, branches
}

// At returns the tree of a commit, which is named as a revision. Messages call it so, too.
func (r *Repository) At(revision string) (*Tree, error) {
	commit, err := r.commit(revision)
	if err != nil {
		return nil, err
	}
	return r.Commit(commit, strings.TrimPrefix(revision, "refs/tags/"))
}

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
		return Range{}, fmt.Errorf("--git is %q: it is REV, REV..REV2, REV...REV2 or REV... (from the merge base)",
			text)
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
			return Range{}, fmt.Errorf("--git: %s and %s have no common ancestor here%s; %s without the dots "+
				"compares with all that it has",
				oldRev, head, r.shallow("HEAD"), oldRev)
		}
		out.Old = strings.TrimSpace(string(base))
	}
	return out, nil
}

// OtherBases returns the merge bases of a range with three dots that [Repository.Resolve] did not take: branches that
// were merged into each other have several.
func (r *Repository) OtherBases(text string, resolved Range) ([]string, error) {
	oldRev, newRev, threeDots := strings.Cut(text, "...")
	if !threeDots {
		return nil, nil
	}
	if newRev == "" {
		newRev = "HEAD"
	}
	oldCommit, err := r.commit(oldRev)
	if err != nil {
		return nil, err
	}
	newCommit, err := r.commit(newRev)
	if err != nil {
		return nil, err
	}
	all, err := r.run(nil, "merge-base", "--all", oldCommit, newCommit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(string(all)), func(id string) bool { return id == resolved.Old }), nil
}

// commit returns the ID of the commit that a revision names. In a repository without commits, HEAD is the empty tree:
// pre-commit runs before the first one.
func (r *Repository) commit(rev string) (string, error) {
	out, err := r.run(nil, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil && rev == "HEAD" {
		if any, anyErr := r.run(nil, "rev-list", "--all", "--max-count=1"); anyErr == nil && len(any) == 0 {
			out, err = r.run(strings.NewReader(""), "hash-object", "-t", "tree", "--stdin")
		}
	}
	if err != nil {
		return "", fmt.Errorf("--git: the revision %q is not known here%s", rev, r.unknown(rev))
	}
	return strings.TrimSpace(string(out)), nil
}

// unknown explains why a revision is not known, and what helps.
func (r *Repository) unknown(rev string) string {
	if text := r.shallow(rev); text != "" {
		return text
	}
	if base, _, isParent := strings.Cut(rev, "~"); isParent || strings.HasSuffix(rev, "^") {
		if _, err := r.commit(strings.TrimRight(base, "^")); err == nil {
			return "; its history does not go back that far: the first commit has nothing to be compared with"
		}
	}
	out, err := r.run(nil, "for-each-ref", "--count=5", "--format=%(refname:lstrip=2)", "refs/heads", "refs/remotes")
	branches := strings.Fields(string(out))
	if err != nil || len(branches) == 0 {
		return "; the repository has no commits yet"
	}
	text := "; name a revision that this clone has, such as " + strings.Join(branches, ", ")
	if remote, ref := r.remoteOf(rev); ref != "" && r.hasRemote(remote) {
		text += ", or fetch it: git fetch " + fetchArguments(remote, ref, rev)
	}
	return text
}

// shallow explains what a shallow clone lacks; "" for a complete one.
func (r *Repository) shallow(rev string) string {
	out, err := r.run(nil, "rev-parse", "--is-shallow-repository")
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		return ""
	}
	const whole = "the whole history with git fetch --unshallow (fetch-depth: 0 in actions/checkout)"
	remote, ref := r.remoteOf(rev)
	if ref == "" {
		return "; the clone is shallow: fetch " + whole
	}
	one := "git fetch --depth=1 " + fetchArguments(remote, ref, rev)
	return fmt.Sprintf("; the clone is shallow: fetch the revision with %s, or, for a merge base, %s", one, whole)
}

// fetchArguments returns the arguments of git fetch for a revision. After the fetch, the revision has its own name or
// the name FETCH_HEAD: a clone of one branch keeps another branch only if the arguments say where.
func fetchArguments(remote, ref, rev string) string {
	switch {
	case isHash(rev):
		return remote + " " + ref
	case strings.HasPrefix(rev, "refs/tags/"):
		return remote + " " + ref + ":" + ref
	case ref != rev:
		return remote + " " + ref + ":refs/remotes/" + remote + "/" + ref
	}
	return remote + " " + ref + " (and name FETCH_HEAD)"
}

// remoteOf returns the remote to fetch a revision from, and its name there. The name is "" for what only a clone with
// history can resolve, such as HEAD~1 and abbreviated commits.
func (r *Repository) remoteOf(rev string) (remote, ref string) {
	if _, err := r.run(nil, "check-ref-format", "--allow-onelevel", rev); err != nil || strings.HasPrefix(rev, "-") ||
		rev == "HEAD" || isAbbreviated(rev) {
		return "", ""
	}
	before, after, found := strings.Cut(strings.TrimPrefix(rev, "refs/remotes/"), "/")
	if found && r.hasRemote(before) {
		return before, after
	}
	return "origin", rev
}

func (r *Repository) hasRemote(name string) bool {
	remotes, err := r.run(nil, "remote")
	return err == nil && slices.Contains(strings.Fields(string(remotes)), name)
}

// isHash reports whether a revision is the whole ID of a commit.
func isHash(rev string) bool {
	return (len(rev) == 40 || len(rev) == 64) && isHex(rev)
}

// isAbbreviated reports whether a revision looks like the beginning of a commit's ID, which no server can resolve.
func isAbbreviated(rev string) bool {
	return len(rev) >= 7 && len(rev) < 40 && isHex(rev)
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// Bounds of what is read, so that a hostile tree cannot fill the memory.
const (
	maxFile  = 32 << 20
	maxTotal = 256 << 20
)

// Commit returns the tree of a commit. Messages call it rev; with "" they name its files as the work tree does.
func (r *Repository) Commit(commit, rev string) (*Tree, error) {
	r.fetchMissing(commit)
	out, err := r.run(nil, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
	if u := r.unfetched.Load(); err != nil && u != nil {
		err = u.err
	}
	if err != nil {
		return nil, fmt.Errorf("--git: the files of %s cannot be listed: %w", commit, err)
	}
	entries := map[string]entry{}
	for _, record := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// MODE TYPE ID<tab>PATH
		head, name, ok := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 {
			continue
		}
		entries[name] = entry{kindOf(fields[0]), fields[2]}
	}
	blobs := &blobs{repo: r, entries: entries}
	return newTree(r, rev, entries, blobs)
}

var _ blobReader = (*blobs)(nil)

// blobs reads the contents of a commit with git cat-file --batch, which applies no filter.
type blobs struct {
	repo    *Repository
	entries map[string]entry
}

func (b *blobs) read(paths []string) (contents [][]byte, errs []error, err error) {
	contents, errs = make([][]byte, len(paths)), make([]error, len(paths))
	if len(paths) == 0 {
		return contents, errs, nil
	}
	cmd := b.repo.command("cat-file", "--batch")
	var ids, stderr bytes.Buffer
	for _, name := range paths {
		ids.WriteString(b.repo.request(b.entries[name].id))
	}
	cmd.Stdin, cmd.Stderr = &ids, &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	err = b.repo.readBatch(bufio.NewReaderSize(out, 1<<16), contents, errs)
	if err != nil {
		// cat-file ends when nobody reads its output any more.
		out.Close()
	}
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("git cat-file: %w: %s", waitErr, strings.TrimSpace(stderr.String()))
	}
	return contents, errs, err
}

// readBatch reads the output of cat-file --batch: "ID TYPE SIZE\nDATA\n", or "ID missing\n", for each request. The data
// of what is not a file is read over, so that it is not taken for the answers to the next requests. Contents go where
// contents has room.
func (r *Repository) readBatch(out *bufio.Reader, contents [][]byte, errs []error) error {
	total := 0
	for i := range contents {
		head, err := out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file ended early: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 {
			errs[i] = r.missing()
			continue
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return fmt.Errorf("git cat-file wrote %q", head)
		}
		if fields[1] != "blob" {
			errs[i] = fmt.Errorf("it is a %s in the place of a file", fields[1])
		} else if size > maxFile {
			errs[i] = fmt.Errorf("it has more than %d bytes", maxFile)
		}
		if errs[i] != nil {
			if _, err := io.CopyN(io.Discard, out, int64(size)+1); err != nil {
				return err
			}
			continue
		}
		if total += size; total > maxTotal {
			return fmt.Errorf("--git: the files have more than %d bytes together; name fewer paths", maxTotal)
		}
		contents[i] = slices.Grow(contents[i][:0], size)[:size]
		if _, err := io.ReadFull(out, contents[i]); err != nil {
			return err
		}
		if _, err := out.Discard(1); err != nil {
			return err
		}
	}
	return nil
}
