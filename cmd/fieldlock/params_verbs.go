package main

import "github.com/spf13/cobra"

// paramsVerb is a command below params that evaluates an operation.
type paramsVerb struct {
	name, short, example string
	flags                func(*paramsInput, *cobra.Command)
}

// paramsVerbs returns the verbs in the order of the help; the dialects define what each one does.
func paramsVerbs() []paramsVerb {
	return []paramsVerb{{
		"validate", "Check the definitions themselves, and the tasks that refer to them",
		"--definitions params.yaml --task operator.yaml",
		(*paramsInput).taskFlag,
	}, {
		"list", "List the parameters: Name, Default, Required, Immutable",
		"--definitions params.yaml",
		func(*paramsInput, *cobra.Command) {},
	}, {
		"install", "Evaluate an installation, or the creation of a stack",
		"--definitions params.yaml --values values.yaml",
		func(in *paramsInput, command *cobra.Command) {
			in.valueFlags(command)
			in.taskFlag(command)
		},
	}, {
		"update", "Evaluate new values, or the update of a stack",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5",
		func(in *paramsInput, command *cobra.Command) {
			in.valueFlags(command)
			in.currentFlag(command)
			in.oldDefinitionsFlag(command, "Heat: the `FILE` of the template before the update (required)")
			command.Flags().StringVar(&in.mode, "mode", modePut, "Heat: the `MODE`: put falls back to defaults, patch keeps stored values")
			completeWith(command, "mode", modePut, modePatch)
			command.Flags().StringArrayVar(&in.clear, "clear", nil, "Heat: the `NAME` of a stored value that a patch does not keep; may be repeated")
			in.taskFlag(command)
			in.oldTaskFlag(command)
		},
	}, {
		"upgrade", "Evaluate an upgrade to other definitions",
		"--old-definitions v1/params.yaml --definitions v2/params.yaml --current instance.yaml --set DISK_SIZE=5Gi",
		(*paramsInput).operationFlags,
	}, {
		"restart", "Say whether an operation restarts the pods",
		"--definitions params.yaml --current instance.yaml --set NODE_COUNT=5",
		(*paramsInput).operationFlags,
	}, {
		"toggle", "Say whether a child instance exists after an operation",
		"--definitions params.yaml --current instance.yaml --task operator.yaml --set MONITORING=true",
		(*paramsInput).operationFlags,
	}}
}
