package witness

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// texts returns about limit strings for s, the simplest first, that keep its format, pattern and lengths where that is
// possible.
func texts(s *spec.Schema, limit int) []string {
	least, most := 0, longest
	if s.MinLength != nil {
		least = int(min(*s.MinLength, longest))
	}
	if s.MaxLength != nil {
		most = int(min(*s.MaxLength, longest))
	}
	var found []string
	seen := map[string]bool{}
	add := func(text string) {
		if n := len([]rune(text)); n >= least && n <= most && !seen[text] {
			seen[text] = true
			found = append(found, text)
		}
	}
	if s.Pattern != "" {
		for _, text := range matching(s.Pattern, least, limit) {
			add(text)
		}
	}
	for _, text := range formatted[s.Format] {
		add(text)
	}
	if s.Pattern == "" && (s.Format == "" || formatted[s.Format] == nil) {
		for _, text := range []string{"a", "b", "c"} {
			if pad := least - len(text); pad > 0 {
				text += strings.Repeat(text, pad)
			}
			add(text)
		}
		if least == 0 {
			add("")
		}
	}
	return found
}

// formatted has strings for the formats that the API server checks.
var formatted = map[string][]string{
	"date-time":    {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"datetime":     {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"date":         {"2024-01-01", "2025-01-01"},
	"duration":     {"1s", "2s", "1h"},
	"byte":         {"YQ==", "Yg=="},
	"uri":          {"https://a.example", "https://b.example"},
	"uuid":         {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid3":        {"00000000-0000-3000-8000-000000000000", "00000000-0000-3000-8000-000000000001"},
	"uuid4":        {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid5":        {"00000000-0000-5000-8000-000000000000", "00000000-0000-5000-8000-000000000001"},
	"ipv4":         {"10.0.0.1", "10.0.0.2"},
	"ipv6":         {"2001:db8::1", "2001:db8::2"},
	"cidr":         {"10.0.0.0/8", "10.0.0.0/16"},
	"mac":          {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"email":        {"a@example.com", "b@example.com"},
	"hostname":     {"a.example", "b.example"},
	"bsonobjectid": {"507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"},
	"isbn":         {"9780306406157", "0306406152"},
	"isbn10":       {"0306406152", "0198526636"},
	"isbn13":       {"9780306406157", "9780198526636"},
	"creditcard":   {"4111111111111111", "5555555555554444"},
	"ssn":          {"111-11-1111", "222-22-2222"},
	"hexcolor":     {"#000000", "#ffffff"},
	"rgbcolor":     {"rgb(0,0,0)", "rgb(1,1,1)"},

	"k8s-short-name":                    {"a", "b"},
	"k8s-long-name":                     {"a.example", "b.example"},
	"k8s-label-value":                   {"a", "b"},
	"k8s-uuid":                          {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"k8s-resource-fully-qualified-name": {"a.example/a", "b.example/b"},
}

// usual are strings of the forms that rules most often ask for.
var usual = []string{
	"1", "0", "1Gi", "2Gi", "100m", "1s", "10m", "1h", "v1", "1.0.0", "v1.0.0", "v1.30.0", "a/b", "*", "Always",
	"example.com", "a.example.com", "https://a.example", "http://a.example",
	"oci://a.example/b", "10.0.0.1", "10.0.0.0/8", "192.168.0.0/16", "2001:db8::1", "2001:db8::/32", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z",
	"arn:aws:iam::123456789012:role/a", "ami-0123456789abcdef0", "00000000-0000-4000-8000-000000000000", "aGVsbG8=", "a@example.com", "example.com/a", "50%",
}

// matching returns at most limit strings that a pattern matches, the shortest first, with at least minLength characters
// where repetitions in the pattern allow that. Nil for a pattern that does not compile.
func matching(pattern string, minLength, limit int) []string {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var found []string
	seen := map[string]bool{}
	for _, repeats := range []int{0, 1, 2, 3, 8, minLength, minLength/2 + 1} {
		for choice := range 4 {
			w := patternWriter{repeats: repeats, choice: choice}
			w.write(tree)
			text := w.b.String()
			if !seen[text] && len([]rune(text)) >= minLength && compiled.MatchString(text) {
				seen[text] = true
				if found = append(found, text); len(found) == limit {
					return found
				}
			}
		}
	}
	return found
}

// patternWriter writes one string that a pattern matches. repeats is how often an unbounded repetition is written
// beyond its minimum, choice which alternatives and characters are taken.
type patternWriter struct {
	b               strings.Builder
	repeats, choice int
}

func (w *patternWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		w.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		w.b.WriteRune(w.character(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.b.WriteByte("abcd"[w.choice%4])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[w.choice%len(re.Sub)])
	case syntax.OpStar:
		w.times(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.times(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		w.times(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		w.times(re.Sub[0], re.Min, re.Max)
	}
}

// longest bounds the strings that are written, as repetitions can be nested.
const longest = 2000

func (w *patternWriter) times(re *syntax.Regexp, least, most int) {
	n := least + w.repeats
	if most >= 0 {
		n = min(n, most)
	}
	for i := 0; i < n && w.b.Len() < longest; i++ {
		w.write(re)
	}
}

// character picks a readable character of a class.
func (w *patternWriter) character(ranges []rune) rune {
	const readable = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_. /:@"
	skip := w.choice
	first := rune(-1)
	for _, c := range readable {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				if first < 0 {
					first = c
				}
				if skip == 0 {
					return c
				}
				skip--
			}
		}
	}
	if first >= 0 {
		return first
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := ranges[i]; c <= ranges[i+1]; c++ {
			if unicode.IsPrint(c) {
				return c
			}
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'a'
}
