package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
)

func TestMain(m *testing.M) {
	if Asked(os.Args) {
		os.Exit(Main(map[string]Renderer{"try": try}))
	}
	os.Exit(m.Run())
}

// spins keeps a loop from being empty.
var spins int

// try does what a hostile unit would like to do: the directory says what.
func try(_ context.Context, files fstest.MapFS, job *Job) ([]rendered.Object, error) {
	switch job.Dir {
	case "echo":
		return []rendered.Object{{YAML: files["a"].Data, File: string(job.Spec)}}, nil
	case "hang":
		for n := 0; ; n++ {
			spins = n
		}
	case "grow":
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 1<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = byte(len(all))
			}
		}
	case "repeat":
		return []rendered.Object{{YAML: []byte(strings.Repeat("a", 1<<32))}}, nil
	case "recurse":
		var down func(n int) int
		down = func(n int) int { return down(n+1) + 1 }
		return nil, fmt.Errorf("%d", down(0))
	case "panic":
		panic("a bug")
	case "missing":
		return nil, &rendered.NotCovered{File: "a", Line: 2, Reason: "it is elsewhere"}
	case "open":
		_, err := os.ReadFile("/etc/hostname")
		return nil, fmt.Errorf("open: %w", err)
	case "connect":
		_, err := net.DialTimeout("tcp", "127.0.0.1:9", time.Second)
		return nil, fmt.Errorf("connect: %w", err)
	case "start":
		return nil, fmt.Errorf("start: %w", exec.Command("/bin/true").Run())
	case "environment":
		return nil, fmt.Errorf("%q %q", os.Getenv("HOME"), os.Getenv("PATH"))
	}
	return nil, errors.New("a mistake")
}

// TestRender: each job ends as it should, and one that is stopped does not touch the next.
func TestRender(t *testing.T) {
	p := NewPool(Limits{Unit: 3 * time.Second, Memory: 256 << 20})
	defer p.Close()
	for _, c := range []struct{ dir, want string }{
		{"echo", ""},
		{"other", "a mistake"},
		{"hang", "hang: rendering it took more than 3s and was stopped"},
		{"grow", "grow: rendering it took more than 256 MB of memory and was stopped"},
		{"repeat", "repeat: rendering it took more than 256 MB of memory and was stopped"},
		{"panic", "panic: the renderer failed: a bug"},
		{"missing", "a:2: it is elsewhere"},
		{"environment", `"" ""`},
		{"open", "open: open /etc/hostname: too many open files"},
		{"connect", "connect: dial tcp 127.0.0.1:9: socket: too many open files"},
		{"start", "start: open /dev/null: too many open files"},
	} {
		if runtime.GOOS != "linux" && (c.dir == "open" || c.dir == "connect" || c.dir == "start" || c.dir == "repeat") {
			continue
		}
		_, _, err := p.Render(&Job{Kind: "try", Dir: c.dir})
		if c.dir != "echo" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %s", c.dir, err, c.want)
		}
		objects, _, err := p.Render(&Job{Kind: "try", Dir: "echo", Spec: []byte("spec"), Files: map[string][]byte{"a": []byte("text")}})
		if err != nil || len(objects) != 1 || string(objects[0].YAML) != "text" || objects[0].File != "spec" {
			t.Errorf("after %s: %v, %v", c.dir, objects, err)
		}
	}
	if _, _, err := p.Render(&Job{Kind: "try", Dir: "recurse"}); err == nil {
		t.Error("endless recursion has no error")
	}
	var missing *rendered.NotCovered
	if _, _, err := p.Render(&Job{Kind: "try", Dir: "missing"}); !errors.As(err, &missing) {
		t.Errorf("what is missing: %v", err)
	}
}

// TestAllTogether: the time of all jobs is limited too.
func TestAllTogether(t *testing.T) {
	p := NewPool(Limits{Unit: time.Minute, All: time.Second})
	defer p.Close()
	if _, _, err := p.Render(&Job{Kind: "try", Dir: "hang"}); err == nil || !strings.Contains(err.Error(), "more than 1s") {
		t.Errorf("the first: %v", err)
	}
	if _, _, err := p.Render(&Job{Kind: "try", Dir: "echo"}); err == nil || !strings.Contains(err.Error(), "all units together took more than 1s") {
		t.Errorf("the second: %v", err)
	}
}
