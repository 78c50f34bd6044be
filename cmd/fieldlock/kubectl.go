package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// pluginName is the name under which kubectl runs the command as "kubectl fieldlock".
const pluginName = "kubectl-fieldlock"

// runsAsPlugin reports whether the program was started under the name of the plugin.
func runsAsPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginName
}

// asPlugin makes help, usage and completion speak of "kubectl fieldlock".
func asPlugin(root *cobra.Command) {
	if root.Annotations == nil {
		root.Annotations = map[string]string{}
	}
	root.Annotations[cobra.CommandDisplayNameAnnotation] = "kubectl fieldlock"

	var verbs []string
	for _, command := range root.Commands() {
		verbs = append(verbs, command.Name())
	}
	call := regexp.MustCompile(`\bfieldlock (` + strings.Join(verbs, "|") + `)\b`)
	var rename func(*cobra.Command)
	rename = func(command *cobra.Command) {
		command.Long = call.ReplaceAllString(command.Long, "kubectl fieldlock $1")
		command.Example = call.ReplaceAllString(command.Example, "kubectl fieldlock $1")
		for _, child := range command.Commands() {
			rename(child)
		}
	}
	rename(root)
}
