package builtin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// minors lists the Kubernetes minors whose validation was read, oldest first.
var minors = [...]int{35, 36, 37}

// Minors returns the Kubernetes minors that For knows, oldest first.
func Minors() []string {
	names := make([]string, len(minors))
	for i, minor := range minors {
		names[i] = minorName(minor)
	}
	return names
}

func minorName(minor int) string { return "1." + strconv.Itoa(minor) }

// newestMinor is the minor that For("") chooses.
func newestMinor() int { return minors[len(minors)-1] }

// parseMinor reads "1.36", "v1.36" or "1.36.3"; "" is the newest.
func parseMinor(text string) (int, error) {
	if text == "" {
		return newestMinor(), nil
	}
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) >= 2 && len(parts) <= 3 && parts[0] == "1" {
		if minor, err := strconv.Atoi(parts[1]); err == nil && slices.Contains(minors[:], minor) {
			return minor, nil
		}
	}
	return 0, fmt.Errorf("the Kubernetes version is %q; the known ones are %s", text, strings.Join(Minors(), ", "))
}

// span is a range of minors; 0 is open.
type span struct{ since, until int }

func (s span) has(minor int) bool {
	return minor >= s.since && (s.until == 0 || minor <= s.until)
}

// newest returns the newest known minor of the span, or 0.
func (s span) newest() int {
	for _, minor := range slices.Backward(minors[:]) {
		if s.has(minor) {
			return minor
		}
	}
	return 0
}

// spanOf reads the first and the last minor of a row.
func spanOf(since, until string) (span, error) {
	var s span
	var err error
	if since != "" {
		if s.since, err = parseMinor(since); err != nil {
			return s, err
		}
	}
	if until != "" {
		s.until, err = parseMinor(until)
	}
	return s, err
}

// parseVersion reads a version of a kind, such as "v1alpha2 since 1.36 until 1.36".
func parseVersion(text string) (string, span, error) {
	words := strings.Fields(text)
	var since, until string
	for i := 1; i+1 < len(words); i += 2 {
		switch words[i] {
		case "since":
			since = words[i+1]
		case "until":
			until = words[i+1]
		default:
			return "", span{}, fmt.Errorf("version %q: unknown word %q", text, words[i])
		}
	}
	s, err := spanOf(since, until)
	return words[0], s, err
}
