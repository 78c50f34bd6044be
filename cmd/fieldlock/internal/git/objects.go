package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// batch is a git cat-file --batch that answers one request after another. It ends with the program, or when it is
// closed. Safe for concurrent use.
type batch struct {
	repo *Repository

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	rooms  [][]byte // of scans that have ended
}

// blob returns the content of one blob.
func (b *batch) blob(id string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read(id, nil)
}

// scan calls do with the content of one blob, which do may not keep.
func (b *batch) scan(id string, do func(data []byte)) error {
	data, err := b.borrow(id)
	if err != nil {
		return err
	}
	do(data)
	if cap(data) <= maxKeptFile {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rooms = append(b.rooms, data)
	}
	return nil
}

// borrow reads one blob into the room of a scan that has ended.
func (b *batch) borrow(id string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var room []byte
	if last := len(b.rooms) - 1; last >= 0 {
		room, b.rooms = b.rooms[last], b.rooms[:last]
	}
	return b.read(id, room)
}

// read reads one blob, into room if it has enough.
func (b *batch) read(id string, room []byte) ([]byte, error) {
	if b.cmd == nil {
		if err := b.start(); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(b.in, b.repo.request(id)); err != nil {
		return nil, b.ended(err)
	}
	contents, errs := [][]byte{room}, make([]error, 1)
	if err := b.repo.readBatch(b.out, contents, errs); err != nil {
		return nil, b.ended(err)
	}
	return contents[0], errs[0]
}

func (b *batch) start() error {
	cmd := b.repo.command("cat-file", "--batch")
	cmd.Stderr = &b.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cmd, b.in, b.out = cmd, in, bufio.NewReaderSize(out, 1<<16)
	return nil
}

// ended stops git after an error, so that the next request starts it again.
func (b *batch) ended(err error) error {
	b.in.Close()
	waitErr := b.cmd.Wait()
	b.cmd = nil
	if waitErr != nil {
		return fmt.Errorf("git cat-file: %w: %s", waitErr, strings.TrimSpace(b.stderr.String()))
	}
	return err
}

// close ends git. The next request starts it again.
func (b *batch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd != nil {
		b.in.Close()
		b.cmd.Wait()
		b.cmd = nil
	}
}

// A partial clone (git clone --filter=blob:none) has the contents of few files, and fetches the others from its remote
// when they are read. Git would fetch them one by one.

// unfetched is what could not be fetched, and why.
type unfetched struct {
	ids map[string]bool
	err error
}

// request returns what asks git cat-file for an object. For one that could not be fetched, it is the name of no object:
// git would try again.
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

// fetchMissing fetches what a partial clone lacks of a commit, all of it at once. What cannot be fetched is missing
// when it is read.
func (r *Repository) fetchMissing(commit string) {
	remote := r.promisor()
	for before := 0; remote != ""; { // trees that are fetched can name files that are not
		lacks := r.lacks(commit)
		if len(lacks) == 0 || len(lacks) == before {
			return
		}
		before = len(lacks)
		ids := strings.NewReader(strings.Join(lacks, "\n") + "\n")
		_, err := r.run(ids, "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags",
			"--no-write-fetch-head",
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
