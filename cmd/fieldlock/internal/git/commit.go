package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of what is read, so that a hostile tree cannot fill the memory.
const (
	maxFile  = 32 << 20
	maxTotal = 256 << 20
)

// Commit returns the tree of a commit. Messages call it rev; with "" they name its files as the work tree does.
func (r *Repository) Commit(commit, rev string) (*Tree, error) {
	out, err := r.run(nil, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
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
		ids.WriteString(b.entries[name].id + "\n")
	}
	cmd.Stdin, cmd.Stderr = &ids, &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	err = readBatch(bufio.NewReaderSize(out, 1<<16), contents, errs)
	if err != nil {
		// cat-file ends when nobody reads its output any more.
		out.Close()
	}
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("git cat-file: %w: %s", waitErr, strings.TrimSpace(stderr.String()))
	}
	return contents, errs, err
}

// readBatch reads the output of cat-file --batch: "ID TYPE SIZE\nDATA\n", or "ID missing\n", for each request. The data of
// what is not a file is read over, so that it is not taken for the answers to the next requests.
func readBatch(r *bufio.Reader, contents [][]byte, errs []error) error {
	total := 0
	for i := range contents {
		head, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file ended early: %w", err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 {
			errs[i] = errors.New("its content is not in this clone; fetch the whole history, without --filter")
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
			if _, err := io.CopyN(io.Discard, r, int64(size)+1); err != nil {
				return err
			}
			continue
		}
		if total += size; total > maxTotal {
			return fmt.Errorf("--git: the files have more than %d bytes together; name fewer paths", maxTotal)
		}
		contents[i] = make([]byte, size)
		if _, err := io.ReadFull(r, contents[i]); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
	return nil
}
