// Package yamldoc reads the objects of YAML and JSON files, tells where in the file each value is, and writes changes
// to the objects back into the text.
//
//	documents, err := yamldoc.Read("deploy.yaml", data)
//	for _, d := range documents {
//		line := d.Position("spec", "replicas").Line
//	}
//
// YAML means what kubectl takes it for, by the rules of sigs.k8s.io/yaml: tags, YAML 1.1 booleans and merge keys
// included. Text that would lose information is an error: a key that has two values in a mapping, text that is not
// UTF-8, a number that JSON cannot write. Only Shared reads a key with two values as kubectl does, which takes the last
// one, and lists such keys. A file may have several documents, JSON objects one after another, and lists of any kind,
// whose items count as objects of their own. A document that cannot be read does not keep the others from being read.
//
// To change a file, change the objects that Parse returns and ask for the bytes: comments, order, quoting and line
// breaks of everything else stay as they are.
//
//	file, err := yamldoc.Parse("crd.yaml", data)
//	file.Documents[0].Object["metadata"].(map[string]any)["name"] = "other"
//	data, err = file.Bytes()
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Document is one object of a YAML or JSON file, with the means to find its parts in the file again.
type Document struct {
	File   string // as given by the caller, for messages
	Number int    // of the document in the file, from 1; the items of a List share it

	// Object holds map[string]any, []any, string, bool, int64, float64 and nil. Integers are int64 where they fit.
	Object map[string]any

	// Place, unless nil, returns the place that decides the value at steps, for an object that a tool has made of
	// several files.
	Place func(steps []any) Place
	// Unknown are the places, as JSON pointers, whose values the files do not have.
	Unknown []string

	source source
	prefix []any // steps from the document's root to Object: nil, or into the items of a List
}

// Read reads every object of a file: YAML of one or more documents, JSON, or JSON objects one after another. The items
// of a List count as objects of their own; empty documents are skipped. The name is used in messages only.
//
// Read returns the objects that it can read, in the order of the file. The error joins one *Error for each document or
// item that it cannot read, with file and line: text that is not UTF-8 or is malformed, a key that has two values in a
// mapping, a value that JSON does not have, a document that is not an object (ErrNotObject). Cost: one pass over the
// text.
func Read(name string, data []byte) ([]*Document, error) {
	roots, errs := readStrictly(name, data)
	return expand(name, roots, errs)
}

// readStrictly is readAll for those to whom a key with two values is an error; such a document has no value.
func readStrictly(name string, data []byte) ([]root, []*Error) {
	roots, errs := readAll(name, data, (*piece).read)
	for _, r := range repeatsOf(name, roots) {
		if root := &roots[r.Document-1]; root.value != nil {
			errs, root.value = append(errs, r.Err()), nil
		}
	}
	return roots, errs
}

// expand makes documents of the values of a file, and joins the errors.
func expand(name string, roots []root, errs []*Error) ([]*Document, error) {
	var documents []*Document
	for i, root := range roots {
		if root.value == nil {
			continue
		}
		object, ok := root.value.(map[string]any)
		if !ok {
			errs = append(errs, &Error{File: name, Line: root.source.find(nil).Line, Document: i + 1,
				cause: ErrNotObject,
				Message: fmt.Sprintf("it is %s; a document is an object with apiVersion and kind",
					Describe(root.value))})
			continue
		}
		d := &Document{File: name, Number: i + 1, Object: object, source: root.source}
		documents = d.appendTo(documents, &errs)
	}
	slices.SortStableFunc(errs, func(a, b *Error) int { return a.Line - b.Line })
	var err error
	if len(errs) > 0 {
		all := make([]error, len(errs))
		for i, e := range errs {
			all[i] = e
		}
		err = errors.Join(all...)
	}
	return documents, err
}

// Place is a place in one of several files.
type Place struct {
	File string
	Position
	// From is the file that the value came through, where several places may have made it; otherwise it is "".
	From string
}

// Position is a place in a file, counted from 1 in lines and characters. The zero Position is an unknown place.
type Position struct{ Line, Column int }

// String returns "line:column", or "" where the position is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// Position returns the place of the value that steps lead to, each step a member name (string) or an index (int): for a
// member the place of its name. Where the way ends early it is the place of the last value on it; for a document that
// was not read from a file, the zero Position. Cost: O(members) per step, for JSON a scan of the text up to the place.
func (d *Document) Position(steps ...any) Position {
	if d == nil || d.source == nil {
		return Position{}
	}
	return d.source.find(append(slices.Clone(d.prefix), steps...))
}

// Derived returns a document that is not in the file as it is, but made of what is there: locate returns the place of
// what the value at the end of steps was made of.
func Derived(file string, object map[string]any, locate func(steps []any) Position) *Document {
	return &Document{File: file, Object: object, source: derived(locate)}
}

var _ source = derived(nil)

type derived func(steps []any) Position

func (d derived) find(steps []any) Position { return d(steps) }

func (d derived) layout() (*element, error) {
	return nil, errors.New("it is not in the file in this form, so it cannot be changed there")
}

func (d derived) in() *piece { return nil } // it has no layout, so nobody asks

// Errorf makes an error about the value that steps lead to, at the place that decides it.
func (d *Document) Errorf(steps []any, format string, args ...any) *Error {
	at := Place{File: d.File, Position: d.Position(steps...)}
	if d.Place != nil {
		at = d.Place(steps)
	}
	return &Error{File: at.File, Line: at.Line, Document: d.Number, Object: NameOf(d.Object),
		Path:    fieldpath.Path(steps).String(),
		Message: fmt.Sprintf(format, args...)}
}

// NameOf returns the kind, namespace and name of an object for messages, as far as it has them: "Widget ns/a".
func NameOf(object map[string]any) string {
	kind, _ := object["kind"].(string)
	name := fieldpath.Text(object, "metadata", "name")
	if namespace := fieldpath.Text(object, "metadata", "namespace"); namespace != "" && name != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(kind + " " + name)
}

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
	return &Error{File: name, Line: line,
		Message: fmt.Sprintf("the file has more than %d documents; split it", maxDocuments)}
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
	// find returns the place of the deepest value that exists on the way along steps: for a member, the place of its
	// name.
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

// jsonStart returns the offset of the first byte from i on that may belong to a JSON value: after white space, byte
// order marks and document markers.
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

// readAll reads the documents of a file, and the errors of those that cannot be read. Pieces are independent, so large
// files are read on all processors, each piece by read.
func readAll(name string, data []byte, read func(*piece) ([]root, *Error)) ([]root, []*Error) {
	if IsEncrypted(data) {
		return nil, []*Error{{File: name, Message: "the file is encrypted by git-crypt", cause: ErrEncrypted}}
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, []*Error{{File: name, Line: lineAt(data, i),
			Message: "the text is not UTF-8, as YAML and JSON have to be"}}
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
