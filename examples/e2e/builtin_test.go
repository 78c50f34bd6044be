package e2e

import (
	"context"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/examples/e2e/internal/judge"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/testing/kindcase"
)

const (
	builtinData  = "../../immutability/builtin/testdata"
	builtinMinor = "1.36" // of the server that go.mod has
)

// The server answers the cases of package builtin as its data says. The package's own tests compare it with that data.
func TestBuiltinAnswers(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join(builtinData, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := kindcase.ReadAnswers(filepath.Join(builtinData, "answers", builtinMinor))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	server, err := ask.New(ctx, cluster.config, "default")
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if c.Manual || !server.Served(c.Old) {
			continue
		}
		got, err := server.Ask(ctx, c, "case"+strconv.Itoa(i))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		want := answers[c.Name]
		if got.Refused != want.Refused || !reflect.DeepEqual(fieldsOf(got), fieldsOf(want)) {
			t.Errorf("%s: the server answers %+v, the data says %+v", c.Name, got, want)
		}
	}
}

// fieldsOf returns the fields that an answer names. Its messages have names and numbers that differ from run to run.
func fieldsOf(a kindcase.Answer) map[string]bool {
	fields := map[string]bool{}
	for _, cause := range a.Causes {
		fields[cause.Field] = true
	}
	return fields
}

// Package builtin agrees with Kubernetes' own code on random updates. internal/kindjudge runs more of them.
func TestBuiltinRandomUpdates(t *testing.T) {
	cases, err := kindcase.Read(filepath.Join(builtinData, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := builtin.For(builtinMinor)
	if err != nil {
		t.Fatal(err)
	}
	j := judge.New()
	for _, kind := range j.Kinds() {
		const updates, seed = 300, 1
		r, err := judge.Run(j.Objects(), builtin.ApplierServerSide, kinds, cases, kind, updates, seed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Updates < updates {
			t.Errorf("%s: only %d updates were valid", kind, r.Updates)
		}
		for _, d := range r.Disagreements {
			t.Errorf("%s: %s", kind, d)
		}
	}
}
