package compare

import (
	"strings"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// kubectlName returns the arguments that name an object for kubectl.
func kubectlName(o *manifest.Object) string {
	if o.Namespace == "" {
		return quote(o.Name)
	}
	return quote(o.Name) + " --namespace " + quote(o.Namespace)
}

// kubectlFile returns the argument that names an object's file for kubectl.
func kubectlFile(o *manifest.Object) string {
	if o.Document.File == manifest.Stdin {
		return "-"
	}
	if command, ok := manifest.Rendered(o.Document.File); ok {
		return "<(" + command + ")" // the user wrote the command
	}
	return quote(o.Document.File)
}

// quote quotes a word for a POSIX shell where it needs that: names come from anywhere, and people copy commands.
func quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@%+,", r)
	}
	if word != "" && !strings.HasPrefix(word, "-") && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
