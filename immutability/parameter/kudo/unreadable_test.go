package kudo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

// TestUnreadable: whatever cannot be read is an error that says where and what, in every attribute; nothing is ignored.
func TestUnreadable(t *testing.T) {
	version := func(data []byte) error { _, err := kudo.ReadOperatorVersion(data); return err }
	tasks := func(data []byte) error { return (&kudo.OperatorVersion{}).ReadTasks(data) }
	instance := func(data []byte) error { _, err := kudo.ReadInstance(data); return err }
	values := func(data []byte) error { _, err := kudo.ReadValues(data); return err }
	const ofOperator, ofInstance = "apiVersion: kudo.dev/v1beta1\nkind: OperatorVersion\n", "apiVersion: kudo.dev/v1beta1\nkind: Instance\n"
	type row struct {
		read       func(data []byte) error
		text, want string
	}
	rows := []row{
		{version, "[a]", "line 1: the document is a list"},
		{version, "{", "line 1"},
		{version, "apiVersion: [x]\nparameters: []", "line 1: apiVersion is a list"},
		{version, "groups: []", `there is no key "parameters"`},
		{version, "parameters: {A: x}", "parameters is a mapping"},
		{version, "parameters:\n- A", `line 2: a parameter is "A"`},
		{version, "parameters:\n- {displayName: A}", "line 2: a parameter has no name"},
		{version, "parameters:\n- {name: A, type: text}", `line 2: the parameter "A" has the unknown type "text"`},
		{version, "parameters:\n- {name: A, enum: x}", `line 2: enum of "A" is "x"`},
		{version, "parameters:\n- {name: A, enum: [~]}", `line 2: enum of "A" has an empty value`},
		{version, "parameters: []\ngroups: x", `line 2: groups is "x"`},
		{version, "parameters: []\ngroups: [x]", `line 2: a group is "x"`},
		{version, "parameters: []\ngroups: [{name: [x]}]", "line 2: name of a group is a list"},
		{version, ofOperator + "spec: x", `line 3: spec is "x"`},
		{version, ofOperator + "spec: {parameters: x}", `line 3: parameters is "x"`},
		{version, ofOperator + "spec: {tasks: x}", `line 3: tasks is "x"`},
		{version, ofOperator + "spec: {tasks: [x]}", `line 3: the task is "x"`},
		{version, ofOperator + "spec: {tasks: [{name: a, kind: KudoOperator}]}", `line 3: the task "a" has no spec`},
		{version, ofOperator + "spec: {tasks: [{name: a, Kind: KudoOperator}]}", `"Kind" is spelled "kind"`},
		{version, "apiVersion: [x]\nkind: OperatorVersion", "line 1: apiVersion is a list"},
		{version, "apiVersion: kudo.dev/v1beta1\nkind: [x]", "line 2: kind is a list"},
		{version, "apiVersion: ''\nkind: ''", "the object is nothing of nothing: it should be OperatorVersion of kudo.dev/v1beta1"},
		{version, "apiVersion: v1\nkind: OperatorVersion", "the object is OperatorVersion of v1"},
		{tasks, "{", "line 1"},
		{tasks, "", "the document is empty"},
		{tasks, "x", `line 1: the task is "x"`},
		{tasks, "[]", "a list of 0 tasks"},
		{tasks, "[x]", `line 1: the task is "x"`},
		{tasks, "{Kind: KudoOperator}", `"Kind" is spelled "kind"`},
		{tasks, "{name: a, kind: [x]}", "line 1: kind is a list"},
		{tasks, "{name: [a], kind: KudoOperator}", "line 1: name is a list"},
		{tasks, "{kind: KudoOperator, spec: {}}", "the task has no name"},
		{tasks, "{name: a, kind: KudoOperator, spec: x}", `the task "a" has no spec`},
		{tasks, "{name: a, kind: KudoOperator, spec: {enablingParameters: b}}", `"enablingParameters" is spelled "enablingParameter"`},
		{tasks, "{name: a, kind: KudoOperator, spec: {enablingParameter: [b]}}", "enablingParameter is a list"},
		{tasks, "apiVersion: [x]\ntasks: []", "line 1: apiVersion is a list"},
		{tasks, "tasks: x", `tasks is "x"`},
		{tasks, "tasks: [{name: a, kind: KudoOperator}]", `the task "a" has no spec`},
		{instance, "[a]", "the document is a list"},
		{instance, ofInstance + "spec: x", `line 3: spec is "x"`},
		{instance, ofInstance + "spec: {parameterz: {}}", `"parameterz" is spelled "parameters"`},
		{instance, ofInstance + "spec: {parameters: [a]}", "line 3: the values are a list"},
		{values, ofInstance + "spec: x", `line 3: spec is "x"`},
		{values, "{", "line 1"},
		{values, "[a]", "the values are a list"},
	}
	for _, name := range []string{"name", "displayName", "description", "hint", "group", "type", "trigger"} {
		rows = append(rows, row{version, "parameters:\n- {x: y, " + name + ": [A]}", "line 2: " + name + " is a list"})
	}
	for _, name := range []string{"required", "immutable", "forcePodRestart", "advanced"} {
		rows = append(rows, row{version, "parameters:\n- {name: A, " + name + ": maybe}", "line 2: " + name + ` of "A" is "maybe"`})
	}
	for _, row := range rows {
		err := row.read([]byte(row.text))
		var unreadable *parameter.ReadError
		if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want %q", row.text, err, row.want)
		}
	}
	for text, want := range map[string]bool{ofInstance: true, "A: x": false, "[a]": false, "": false, "{": false} {
		if _, err := kudo.ReadInstance([]byte(text)); (err == nil) != want {
			t.Errorf("%q as an Instance: %v", text, err)
		}
	}
	if v := mustRead(t, ofOperator+"metadata: {name: x}\nspec: ~"); v.Name != "x" || len(v.Validate()) > 0 {
		t.Errorf("an OperatorVersion without a spec: %+v", v)
	}
	if refusals := mustRead(t, "parameters: [{name: A, required: false, enum: ~, default: ~, group: ~}]\ngroups: ~").Validate(); len(refusals) > 0 {
		t.Errorf("null is as absent: %v", refusals)
	}
}
