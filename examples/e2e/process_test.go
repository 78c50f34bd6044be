package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/lifetime"
)

// process is a server that runs beside the tests and ends with them.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   tail
	input io.Closer     // closing it ends the process
	done  chan struct{} // closed when the process has ended
}

// startProcess starts a binary. The process ends with stop, and when this one ends in whatever way.
func startProcess(name, binary string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), lifetime.EnvName+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	input, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the process and waits for its end.
func (p *process) stop() {
	_ = p.input.Close()
	<-p.done
}

// await polls ready until it succeeds. It fails when the process ends or ctx does, with the end of the process's log.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready; its log ends with:\n%s", p.name, p.log.String())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; its log ends with:\n%s", p.name, err, p.log.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailSize = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if more := t.buf.Len() - tailSize; more > 0 {
		t.buf.Next(more)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// freePorts returns n ports of 127.0.0.1 that nobody listened on a moment ago. Somebody may take one before it is
// used: whoever starts a server with them tries again with others.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
