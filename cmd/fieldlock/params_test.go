package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/testing/paramcase"
)

// TestParamsCases runs the shared cases through the command, as JSON and as text.
func TestParamsCases(t *testing.T) {
	paramcase.Run(t, "../../testdata/params", "", runParamsCase)
}

func runParamsCase(t *testing.T, c paramcase.Case) {
	args := paramsArgs(t, c)
	status, out, errOut := runParamsCommand(append(args, "-o", "json"))

	if c.Want.Unreadable != "" {
		if status != exitUnread || out != "" || !strings.Contains(errOut, c.Want.Unreadable) {
			t.Errorf("got status %d, output %q and error %q, want status 2, no output and an error with %q", status, out, errOut, c.Want.Unreadable)
		}
		return
	}
	wantStatus := exitClean
	want := map[string]any{"allowed": len(c.Want.Errors) == 0}
	if len(c.Want.Errors) > 0 {
		wantStatus = exitRefused
	}
	if c.Want.Resulting != nil {
		want["resulting"] = c.Want.Resulting
	}
	if c.Want.Restart != nil {
		want["restart"] = *c.Want.Restart
	}
	if c.Want.Child != "" {
		want["child"] = c.Want.Child
	}
	if c.Want.Children != nil {
		want["children"] = c.Want.Children
	}
	if c.Want.Unchecked != nil {
		var list []map[string]string
		for _, unchecked := range c.Want.Unchecked {
			list = append(list, map[string]string{"parameter": unchecked.Parameter, "constraint": unchecked.Constraint})
		}
		want["unchecked"] = list
	}
	if c.Want.Rows != nil {
		want["rows"] = c.Want.Rows
	}
	if status != wantStatus || errOut != "" {
		t.Errorf("got status %d and error %q, want %d", status, errOut, wantStatus)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	checkParamsErrors(t, c, got["errors"])
	delete(got, "errors")
	if got, want := paramsJSON(t, got), paramsJSON(t, want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	textStatus, text, _ := runParamsCommand(args)
	if textStatus != wantStatus {
		t.Errorf("as text: got status %d, want %d", textStatus, wantStatus)
	}
	for _, refusal := range c.Want.Errors {
		if !strings.Contains(text, refusal.Says) {
			t.Errorf("the text does not say %q:\n%s", refusal.Says, text)
		}
	}
	for _, name := range c.Want.Because {
		if !strings.Contains(text, "pods restart, because of "+strings.Join(c.Want.Because, ", ")) {
			t.Errorf("the text does not name %s as the cause:\n%s", name, text)
		}
	}
	for _, says := range c.Want.Text {
		if !strings.Contains(text, says) {
			t.Errorf("the text does not say %q:\n%s", says, text)
		}
	}
	for _, secret := range c.Want.Secret {
		if strings.Contains(text, secret) || len(c.Want.Errors) > 0 && strings.Contains(out, secret) {
			t.Errorf("the output shows %q:\n%s\n%s", secret, out, text)
		}
	}
}

// paramsArgs writes the documents of a case and returns the command line.
func paramsArgs(t *testing.T, c paramcase.Case) []string {
	dir := t.TempDir()
	args := []string{"params", c.Verb}
	file := func(flag string, text *string) {
		if text != nil {
			name := filepath.Join(dir, flag+".yaml")
			if err := os.WriteFile(name, []byte(*text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--"+flag, name)
		}
	}
	file("definitions", &c.Definitions)
	file("old-definitions", c.OldDefinitions)
	file("current", c.Current)
	file("values", c.Values)
	file("task", c.Task)
	file("old-task", c.OldTask)
	if c.Dialect != "" {
		args = append(args, "--dialect", c.Dialect)
	}
	if c.Mode != "" {
		args = append(args, "--mode", c.Mode)
	}
	for _, set := range c.Set {
		args = append(args, "--set", set)
	}
	for _, name := range c.Clear {
		args = append(args, "--clear", name)
	}
	return args
}

func checkParamsErrors(t *testing.T, c paramcase.Case, got any) {
	t.Helper()
	list, _ := got.([]any)
	if len(list) != len(c.Want.Errors) {
		t.Errorf("got the errors %v, want %v", got, c.Want.Errors)
		return
	}
	for i, want := range c.Want.Errors {
		refusal, _ := list[i].(map[string]any)
		message, _ := refusal["message"].(string)
		if refusal["parameter"] != want.Parameter || !strings.Contains(message, want.Says) || len(refusal) != 2 {
			t.Errorf("error %d: got %v, want %v", i, refusal, want)
		}
	}
}

// runParamsCommand runs the command line and returns its status and what it printed.
func runParamsCommand(args []string) (status int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	status = run(args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	return status, stdout.String(), stderr.String()
}

func paramsJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(tree)
	return string(data)
}
