package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fieldlock/fieldlock/immutability/changes"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
	"github.com/fieldlock/fieldlock/internal/testing/suite"
)

// TestChangesAsCheck: package changes finds what check finds, in each case of the suites, and in one of ten of the
// built-in kinds and operators. Its result is the report of the command, member by member, but for what concerns files
// and units, and for flags in advice.
func TestChangesAsCheck(t *testing.T) {
	dir := t.TempDir()
	ran := 0
	compare := func(t *testing.T, crd, newObj, oldObj []byte) {
		t.Helper()
		ran++
		newFile, oldFile := write(t, dir, "new.yaml", newObj), write(t, dir, "old.yaml", oldObj)
		args, opts := []string{"check", "-o", "json"}, []changes.Option{changes.WithNames(newFile, oldFile)}
		if crd != nil {
			crdFile := write(t, dir, "crd.yaml", crd)
			args, opts = append(args, "--schema", crdFile), append(opts, changes.WithSchemas(crdFile, crd))
		}
		command := runCommand("", append(args, oldFile, newFile)...)
		result, err := changes.Check(t.Context(), newObj, oldObj, opts...)
		if (command.status == exitUnread) != (err != nil) || result.Allowed != (command.status == exitClean) {
			t.Errorf("the command: status %d, %s; changes: allowed %t, %v", command.status, command.err, result.Allowed, err)
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shared(t, []byte(command.out)), shared(t, text)); diff != "" {
			t.Errorf("the command (-), changes (+):\n%s", diff)
		}
	}
	suites, err := suite.Load(os.DirFS("../../testdata"), "suites")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		crd, err := yaml.Marshal(s.CRD())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Cases {
			t.Run(s.String()+"/"+c.Name, func(t *testing.T) { compare(t, crd, whole(t, c.NewDocument()), whole(t, c.OldDocument())) })
		}
	}
	for _, folder := range []string{"builtin/testdata/cases", "operators/testdata/cases", "operators/testdata/read"} {
		cases, err := kindcase.Read(filepath.Join("../../immutability", folder))
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			if i%10 > 0 {
				continue // all of them take a minute
			}
			t.Run(c.Name, func(t *testing.T) { compare(t, nil, marshal(t, c.New), marshal(t, c.Old)) })
		}
	}
	if ran < 100 {
		t.Errorf("only %d cases ran", ran)
	}
}

// shared returns the members of a report that package changes has as well.
func shared(t *testing.T, report []byte) any {
	t.Helper()
	var all any
	if err := json.Unmarshal(report, &all); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	var without func(value any) any
	without = func(value any) any {
		switch x := value.(type) {
		case map[string]any:
			for _, key := range []string{"version", "units", "notCovered", "excluded", "errors", "unit", "from"} {
				delete(x, key)
			}
			for key, member := range x {
				x[key] = without(member)
			}
		case []any:
			for i := range x {
				x[i] = without(x[i])
			}
		case string:
			return strings.NewReplacer("--live asks the cluster", "only the cluster can tell", "--applier says", "WithApplier says", "with --schema", "with WithSchemas", "such as --schema", "such as that of").Replace(x)
		}
		return value
	}
	return without(all)
}

func marshal(t *testing.T, object any) []byte {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
