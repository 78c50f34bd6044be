package main

import "github.com/spf13/cobra"

// completeWith lets the shell complete a flag with one of the values, instead of the names of files.
func completeWith(command *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command does not have the flag
	}
}
