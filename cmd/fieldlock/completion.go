package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/builtin"
)

// completeWith lets the shell complete a flag with one of the values, instead of the names of files.
func completeWith(command *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command does not have the flag
	}
}

// completeMinors lets the shell complete --kubernetes-version, the newest minor first.
func completeMinors(command *cobra.Command) {
	minors := builtin.Minors()
	slices.Reverse(minors)
	completeWith(command, "kubernetes-version", minors...)
}

// completeKinds completes a built-in kind: in lower case, or as manifests write it if the word begins with a capital letter. A
// kind that several groups have carries its group. Without such a kind the shell completes the names of files.
func completeKinds(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	kinds, err := builtin.For("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, k := range locked(kinds.All()) {
		name := k.Kind
		if len(kinds.Lookup(name)) > 1 {
			name = strings.TrimSuffix(name+"."+k.Group, ".")
		}
		if word == "" || word != strings.ToUpper(word[:1])+word[1:] {
			name = strings.ToLower(name)
		}
		if strings.HasPrefix(name, word) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveDefault
}
