package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Value decodes the value that begins at data[i] as util/json does. A Text or Pair has read it before, so that nothing
// can be wrong with it.
func Value(data []byte, i int) any {
	value, _ := build(data, i)
	return value
}

// build returns the value that begins at data[i], and its end. The text has been read, so that nothing can be wrong.
func build(data []byte, i int) (any, int) {
	switch data[i] {
	case '{':
		return buildObject(data, i+1)
	case '[':
		return buildList(data, i+1)
	case '"':
		end := stringEnd(data, i)
		return string(unquote(data[i:end])), end
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	}
	return buildNumber(data, i)
}

func buildObject(data []byte, i int) (any, int) {
	object := map[string]any{}
	for i = afterSpace(data, i); data[i] != '}'; i = afterSpace(data, i) {
		if data[i] == ',' {
			i = afterSpace(data, i+1)
		}
		end := stringEnd(data, i)
		name := string(unquote(data[i:end]))
		colon := afterSpace(data, end)
		object[name], i = build(data, afterSpace(data, colon+1))
	}
	return object, i + 1
}

func buildList(data []byte, i int) (any, int) {
	list := []any{}
	for i = afterSpace(data, i); data[i] != ']'; i = afterSpace(data, i) {
		if data[i] == ',' {
			i = afterSpace(data, i+1)
		}
		var item any
		item, i = build(data, i)
		list = append(list, item)
	}
	return list, i + 1
}

// buildNumber returns an int64 where the number is written as one, else a float64.
func buildNumber(data []byte, i int) (any, int) {
	end := numberEnd(data, i)
	digits := string(data[i:end])
	if !bytes.ContainsAny(data[i:end], ".eE") {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return n, end
		}
	}
	f, _ := strconv.ParseFloat(digits, 64)
	return f, end
}

// unquote returns the bytes of a string that has been read: quoted itself, where it holds neither escapes nor invalid
// UTF-8.
func unquote(quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	if isPlain(s) {
		return s
	}
	out := make([]byte, 0, len(s)+utf8.UTFMax)
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c != '\\' && c < utf8.RuneSelf:
			out = append(out, c)
			i++
		case c != '\\':
			r, size := utf8.DecodeRune(s[i:]) // utf8.RuneError where it is invalid
			out = utf8.AppendRune(out, r)
			i += size
		case s[i+1] == 'u':
			r, _ := hexRune(s, i)
			i += 6
			if utf16.IsSurrogate(r) {
				low, _ := hexRune(s, i)
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, unescaped(s[i+1]))
			i += 2
		}
	}
	return out
}

// isPlain reports whether a string is written as it is. The first loop settles it for the short names that most are.
func isPlain(s []byte) bool {
	for i, c := range s {
		if c == '\\' || c >= utf8.RuneSelf {
			return bytes.IndexByte(s[i:], '\\') < 0 && utf8.Valid(s[i:])
		}
	}
	return true
}

// unescaped returns the character that a backslash and c stand for.
func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // a quote, a slash or a backslash
}
