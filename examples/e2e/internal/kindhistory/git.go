package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// repository reads the blobs of a git repository, with one process for all of them.
type repository struct {
	dir  string
	cmd  *exec.Cmd
	ask  io.WriteCloser
	read *bufio.Reader
}

func open(dir string) (*repository, error) {
	r := &repository{dir: dir, cmd: exec.Command("git", "--git-dir="+dir, "cat-file", "--batch")}
	var err error
	if r.ask, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.read = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *repository) close() {
	_ = r.ask.Close()
	_ = r.cmd.Wait()
}

// blob returns the content of a blob; nil when the repository does not have it.
func (r *repository) blob(id string) ([]byte, error) {
	if _, err := fmt.Fprintln(r.ask, id); err != nil {
		return nil, err
	}
	head, err := r.read.ReadString('\n')
	fields := strings.Fields(head)
	if err != nil || len(fields) != 3 {
		return nil, err
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // a newline follows
	_, err = io.ReadFull(r.read, data)
	return data[:size], err
}

// versions returns the blobs that each YAML file had, oldest first, in the order of the files' names.
func (r *repository) versions() ([][]string, error) {
	out, err := exec.Command("git", "--git-dir="+r.dir, "log", "--reverse", "--no-renames", "--raw", "--no-abbrev",
		"--format=", "--", "*.yaml", "*.yml").Output()
	if err != nil {
		return nil, err
	}
	files := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		head, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(head)
		if ok && len(fields) == 5 && fields[4] != "D" {
			files[name] = append(files[name], fields[3])
		}
	}
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, files[name])
	}
	return all, nil
}
