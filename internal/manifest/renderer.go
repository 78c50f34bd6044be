package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Renderer runs commands that print manifests, such as helm template.
type Renderer struct {
	// Timeout is how long each command may take.
	Timeout time.Duration
	// Stderr gets what the commands print there, line by line.
	Stderr io.Writer

	shared yamldoc.Shared
}

// maxRendered bounds the output of one command.
const maxRendered = 256 << 20

// Render runs a command in dir and reads the manifests that it prints. The command is split into words with the quoting
// of a shell; nothing is expanded, and no shell runs unless the command is one. When ctx ends, the command and all that
// it has started are killed.
func (r *Renderer) Render(ctx context.Context, command, dir string) (File, error) {
	words, err := splitWords(command)
	if err != nil {
		return File{}, fmt.Errorf("--render %q: %w", command, err)
	}
	inTime, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	cmd := exec.CommandContext(inTime, words[0], words[1:]...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	killWithChildren(cmd)
	var stderr bytes.Buffer
	stdout := &limited{left: maxRendered}
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err = cmd.Run()
	if r.Stderr != nil {
		r.Stderr.Write(stderr.Bytes())
	}
	switch {
	case ctx.Err() != nil:
		return File{}, fmt.Errorf("--render %q was interrupted", command)
	case inTime.Err() != nil:
		return File{}, fmt.Errorf("--render %q took longer than %s", command, r.Timeout)
	case stdout.left < 0:
		return File{}, fmt.Errorf("--render %q prints more than %d bytes", command, maxRendered)
	case err != nil:
		return File{}, fmt.Errorf("--render %q failed: %w", command, err)
	}
	f := File{Name: "$(" + command + ")", Path: "$(" + command + ")", Found: true}
	f.ParseShared(stdout.buffer.Bytes(), &r.shared)
	return f, nil
}

// limited is a buffer that fails when it is full.
type limited struct {
	buffer bytes.Buffer // not embedded: io.Copy would call its ReadFrom, which has no limit
	left   int
}

func (l *limited) Write(data []byte) (int, error) {
	if l.left -= len(data); l.left < 0 {
		return 0, errors.New("the output is too large")
	}
	return l.buffer.Write(data)
}

// splitWords splits a command into words as a shell does: at white space, except in quotes and after backslashes.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, c := range text {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\\\"$`", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty; give a command that prints manifests")
	}
	return words, nil
}
