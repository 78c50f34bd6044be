package manifest

import (
	"strings"

	"github.com/fieldlock/fieldlock/internal/shell"
)

// How messages name what is not a file. The output of a command is "$(COMMAND)"; other sources name what they read by a
// URL, such as oci://registry/chart.
const (
	Stdin   = "stdin"
	Cluster = "the cluster"
)

// rendered returns the command whose output a name stands for.
func rendered(name string) (command string, ok bool) {
	command, ok = strings.CutPrefix(name, "$(")
	return strings.TrimSuffix(command, ")"), ok
}

// IsFile reports whether a File.Name names a file that others can open.
func IsFile(name string) bool {
	_, isOutput := rendered(name)
	return name != "" && name != Stdin && name != Cluster && !isOutput && !strings.Contains(name, "://")
}

// Argument returns a File.Name as an argument of a shell command that reads the file.
func Argument(name string) string {
	if name == Stdin {
		return "-"
	}
	if command, ok := rendered(name); ok {
		return "<(" + command + ")" // the user wrote the command
	}
	return shell.Quote(name)
}
