package yamldoc

import (
	"bytes"
	"fmt"
)

// byteOrderMark may precede the first document and, where files were joined, any other.
var byteOrderMark = []byte("\ufeff")

const (
	// maxDocuments bounds the documents of a file, so that a few bytes each cannot fill the memory.
	maxDocuments = 100_000

	// maxNodes bounds the values of one document in YAML, for each of which the parser takes hundreds of bytes.
	maxNodes = 2_000_000
)

// tooMany is the error for a file with more than maxDocuments, of which the first one too many begins in line.
func tooMany(name string, line int) *Error {
	return &Error{File: name, Line: line, Message: fmt.Sprintf("the file has more than %d documents; split it", maxDocuments)}
}

// piece is a part of a file that is read on its own: what is between two lines that begin with "---".
type piece struct {
	name  string // of the file
	data  []byte // from after a byte order mark, when it begins with one
	start int    // offset of data in the file
	line  int    // of the beginning of data, from 0
}

func (p *piece) in() *piece { return p }

// root is the value of one document of a file.
type root struct {
	value    any
	source   source
	repeated []repeated
}

// source finds the place of a value in the text that it was read from.
type source interface {
	// find returns the place of the deepest value that exists on the way along steps: for a member, the place of its name.
	find(steps []any) Position
	// layout returns where the values of the document are in the text of its piece.
	layout() (*element, error)
	in() *piece
}

// maxDepth bounds nesting, as encoding/json does.
const maxDepth = 10_000

// isEmpty reports whether a text has nothing but white space, document markers and comments.
func isEmpty(data []byte) bool {
	for i := jsonStart(data, 0); i < len(data); i = jsonStart(data, i) {
		if data[i] != '#' {
			return false
		}
		end := bytes.IndexByte(data[i:], '\n')
		if end < 0 {
			return true
		}
		i += end
	}
	return true
}

// beginsDocument reports whether a line begins with "---" as a word, after a byte order mark or without.
func beginsDocument(line []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimPrefix(line, byteOrderMark), []byte("---"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// jsonStart returns the offset of the first byte from i on that may belong to a JSON value: after white space, byte order
// marks and document markers.
func jsonStart(data []byte, i int) int {
	for {
		rest := data[i:]
		switch {
		case len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
			i++
		case bytes.HasPrefix(rest, byteOrderMark):
			i += len(byteOrderMark)
		case (i == 0 || data[i-1] == '\n') && beginsDocument(rest):
			i += len("---")
		default:
			return i
		}
	}
}

// lineAt returns the line, from 1, of the byte at offset.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n"))
}
