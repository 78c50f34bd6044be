package yamldoc

import (
	"bytes"
	"runtime"
	"sync"
	"unicode/utf8"
)

// readAll reads the documents of a file, and the errors of those that cannot be read. Pieces are independent, so large
// files are read on all processors, each piece by read.
func readAll(name string, data []byte, read func(*piece) ([]root, *Error)) ([]root, []*Error) {
	if i := invalidUTF8(data); i >= 0 {
		return nil, []*Error{{File: name, Line: lineAt(data, i), Message: "the text is not UTF-8, as YAML and JSON have to be"}}
	}
	pieces := split(name, data)
	if len(pieces) > maxDocuments {
		return nil, []*Error{tooMany(name, pieces[maxDocuments].line+1)}
	}
	roots, errs := make([][]root, len(pieces)), make([]*Error, len(pieces))
	readPiece := func(i int) { roots[i], errs[i] = read(&pieces[i]) }
	const worthIt = 64 << 10 // bytes
	if workers := min(runtime.GOMAXPROCS(0), len(pieces)); workers > 1 && len(data) > worthIt {
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := w; i < len(pieces); i += workers {
					readPiece(i)
				}
			})
		}
		group.Wait()
	} else {
		for i := range pieces {
			readPiece(i)
		}
	}
	var all []root
	var failed []*Error
	for i := range pieces {
		all = append(all, roots[i]...)
		if e := errs[i]; e != nil {
			e.Document += len(all) // so far it counts within the piece
			failed = append(failed, e)
			all = append(all, root{}) // it keeps its number
		}
	}
	return all, failed
}

// read reads the documents of the piece up to the first mistake.
func (p *piece) read() ([]root, *Error) {
	if !looksLikeJSON(p.data) {
		return p.readYAML()
	}
	roots, err := p.readJSON()
	if err != nil && err.cause == errJSONSyntax {
		// YAML's flow style starts like JSON does.
		if fromYAML, yamlErr := p.readYAML(); yamlErr == nil {
			return fromYAML, nil
		}
	}
	return roots, err
}

// split cuts a file at the lines that begin a document, and leaves out empty documents. Such a line ends a document
// wherever it is, as YAML allows "---" in no scalar at the beginning of a line. Directives belong to the document after
// them, so a line that follows them does not cut.
func split(name string, data []byte) []piece {
	var pieces []piece
	start, line, lineStart := 0, 0, 0
	cut := func(end, lines int) {
		p := piece{name: name, data: data[start:end], start: start, line: lines}
		if i := bytes.LastIndex(p.data[:jsonStart(p.data, 0)], byteOrderMark); i >= 0 {
			i += len(byteOrderMark)
			p.line += bytes.Count(p.data[:i], []byte("\n"))
			p.data, p.start = p.data[i:], start+i
		}
		if start = end; !isEmpty(p.data) {
			pieces = append(pieces, p)
		}
	}
	pieceLine := 0
	for lineStart < len(data) {
		if lineStart > start && beginsDocument(data[lineStart:]) && !endsInDirectives(data[start:lineStart]) {
			cut(lineStart, pieceLine)
			pieceLine = line
		}
		next := bytes.Index(data[lineStart:], []byte("\n"))
		if next < 0 {
			break
		}
		lineStart += next + 1
		line++
	}
	cut(len(data), pieceLine)
	return pieces
}

// endsInDirectives reports whether the last lines of a text are directives, among comments and empty lines, at its
// beginning or after the end of a document.
func endsInDirectives(data []byte) bool {
	found := false
	for end := len(data); end > 0; {
		start := bytes.LastIndexByte(data[:end-1], '\n') + 1
		line := bytes.TrimSpace(bytes.TrimPrefix(data[start:end], byteOrderMark))
		switch {
		case bytes.HasPrefix(line, []byte("%")) && line[0] == bytes.TrimPrefix(data[start:end], byteOrderMark)[0]:
			found = true
		case bytes.Equal(line, []byte("...")):
			return found
		case len(line) > 0 && line[0] != '#':
			return false
		}
		end = start
	}
	return found
}

// looksLikeJSON reports whether the text is an object or a list in JSON's style, after a document marker or without.
func looksLikeJSON(data []byte) bool {
	data = data[jsonStart(data, 0):]
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}
