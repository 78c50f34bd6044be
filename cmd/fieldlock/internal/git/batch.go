package git

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// batch is a git cat-file --batch that answers one request after another. It ends with the program, or when it is closed.
// Safe for concurrent use.
type batch struct {
	repo *Repository

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

// blob returns the content of one blob.
func (b *batch) blob(id string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil {
		if err := b.start(); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(b.in, b.repo.request(id)); err != nil {
		return nil, b.ended(err)
	}
	contents, errs := make([][]byte, 1), make([]error, 1)
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
