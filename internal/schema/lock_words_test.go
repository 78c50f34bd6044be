package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/internal/schema"
)

func TestUnknownKeys(t *testing.T) {
	for _, row := range []struct {
		key, reason, meant string
		unknown, mistake   bool
	}{
		{"x-kubernetes-imutable", "one letter is missing", schema.KeyImmutable, true, true},
		{"x-kubernetes-immutabel", "two letters are swapped, which is two edits", schema.KeyImmutable, true, true},
		{"x-kubernetes-immutab", "two letters are missing", schema.KeyImmutable, true, true},
		{"x-kubernetes-immutab-keys", "two letters are missing in the middle", schema.KeyImmutableKeys, true, true},
		{"x-kubernetes-immuta", "three letters are missing", "", true, false},
		{"x-kubernetes-immutablexy", "two letters too many", schema.KeyImmutable, true, true},
		{"x-kubernetes-selectable-fields", "Kubernetes knows it", "", false, false},
		{"X-Kubernetes-Patch-Strategy", "Kubernetes knows it, and its letter case is not fieldlock's to judge", "", false, false},
		{"x-kubernetes-immutables", "one letter too many", schema.KeyImmutable, true, true},
		{"X-Kubernetes-Imutable", "the letter case does not count", schema.KeyImmutable, true, true},
		{"x-kubernetes-imutabel", "three edits may mean anything", "", true, false},
		{"x-kubernetes-list-tipe", "a topology that is not read compares otherwise", schema.KeyListType, true, true},
		{"x-fieldlock-frozen", "nobody else uses the prefix", "", true, true},
		{"x-fieldlock-updates", "one letter too many", schema.KeyUpdate, true, true},
		{"x-kubernetes-shoe-size", "it may be meant for somebody else", "", true, false},
		{"x-kubernetes-validations", "Kubernetes knows it", "", false, false},
		{"x-kubernetes-immutable", "fieldlock knows it", "", false, false},
		{"X-Kubernetes-Immutable", "key-case reports it", "", false, false},
		{"x-other", "not a key of Kubernetes", "", false, false},
	} {
		got := schema.UnknownKeys(map[string]any{row.key: true})
		if (len(got) == 1) != row.unknown || row.unknown && (got[0].Meant != row.meant || got[0].Mistake != row.mistake) {
			t.Errorf("%s: got %+v (%s)", row.key, got, row.reason)
		}
	}
}

func TestUnknownKeysAreSorted(t *testing.T) {
	var got []string
	for _, k := range schema.UnknownKeys(map[string]any{"x-kubernetes-d": 1, "x-kubernetes-b": 1, "x-fieldlock-c": 1, "x-kubernetes-a": 1, "x-fieldlock-e": 1}) {
		got = append(got, k.Key)
	}
	if want := []string{"x-fieldlock-c", "x-fieldlock-e", "x-kubernetes-a", "x-kubernetes-b", "x-kubernetes-d"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAsWords: the words refuse what the lock refuses, and each of them adds something.
func TestAsWords(t *testing.T) {
	for lock, want := range map[schema.Lock][]schema.Lock{
		schema.Immutable:     {schema.NoSet, schema.NoUnset, schema.NoModify},
		schema.ImmutableKeys: {schema.NoAddItem, schema.NoRemoveItem},
		schema.AdditionOnly:  {schema.NoRemoveItem},
		schema.DeletionOnly:  {schema.NoAddItem},
		schema.NoSet:         {schema.NoSet},
		schema.NoModify:      {schema.NoModify},
		schema.NoRemoveItem:  {schema.NoRemoveItem},
	} {
		if got := lock.AsWords(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", lock, got, want)
		}
	}
}

func TestLocks(t *testing.T) {
	for _, l := range schema.Locks() {
		if l.Key() == "" || l.Refuses() == 0 || !l.AllowedOn(schema.Map) || !l.AllowedOn(schema.MapList) {
			t.Errorf("%s: key %q, refuses %b", l, l.Key(), l.Refuses())
		}
		if l.OnKeys() == l.AllowedOn(schema.NoKeys) || l.OnKeys() == l.AllowedOn(schema.AtomicList) || l.OnKeys() == l.AllowedOn(schema.AtomicMap) {
			t.Errorf("%s: a lock on keys is allowed only where there are keys", l)
		}
	}
	if schema.ImmutableKeys.AllowedOn(schema.SetList) || !schema.AdditionOnly.AllowedOn(schema.SetList) {
		t.Error("on a set -keys is the same as immutable, and -only is not")
	}
	if got := schema.Words(); !slices.Equal(got, []string{"NoSet", "NoUnset", "NoModify", "NoAddItem", "NoRemoveItem"}) {
		t.Errorf("the words are %v", got)
	}
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{schema.KeyImmutable, schema.KeyImmutableKeys, true},
		{schema.KeyAdditionOnly, schema.KeyDeletionOnly, true},
		{schema.KeyImmutable, schema.KeyUpdate, true},
		{schema.KeyAdditionOnly, schema.KeyUpdate, false},
		{schema.KeyUpdate, schema.KeyUpdate, false},
		{schema.KeyImmutable, schema.KeyListType, false},
		{schema.KeyListType, schema.KeyUpdate, false},
	} {
		if schema.ConflictingKeys(row.a, row.b) != row.want || schema.ConflictingKeys(row.b, row.a) != row.want {
			t.Errorf("%s and %s exclude each other: want %t", row.a, row.b, row.want)
		}
	}
}

func TestMisplaced(t *testing.T) {
	for _, test := range []struct {
		lock schema.Lock
		on   schema.Container
		want string // "" where the lock is allowed
	}{
		{schema.NoAddItem, schema.NoKeys, "NoAddItem is on a field without keys"},
		{schema.NoRemoveItem, schema.AtomicList, "NoRemoveItem is on a list without keys"},
		{schema.AdditionOnly, schema.NoKeys, "x-kubernetes-addition-only is on a field without keys"},
		{schema.DeletionOnly, schema.AtomicMap, "x-kubernetes-deletion-only is on an object with x-kubernetes-map-type: atomic"},
		{schema.ImmutableKeys, schema.SetList, "x-kubernetes-immutable-keys is on a set"},
		{schema.ImmutableKeys, schema.NoKeys, "put it on an object with additionalProperties or an array with x-kubernetes-list-type: map"},
		{schema.AdditionOnly, schema.AtomicList, "list-type: map or set"},
		{schema.AdditionOnly, schema.SetList, ""},
		{schema.NoAddItem, schema.Map, ""},
		{schema.ImmutableKeys, schema.MapList, ""},
		{schema.Immutable, schema.NoKeys, ""},
		{schema.NoModify, schema.AtomicMap, ""},
	} {
		id, got := test.lock.Misplaced(test.on)
		if test.lock == schema.ImmutableKeys && strings.Contains(got, "map or set") {
			t.Errorf("%s is sent to a set, where it is not allowed: %s", test.lock, got)
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) || (id == "") != (test.want == "") {
			t.Errorf("%s on %v: %q, %q, want a message with %q", test.lock, test.on, id, got, test.want)
		}
		if allowed := test.lock.AllowedOn(test.on); allowed != (test.want == "") {
			t.Errorf("%s on %v: allowed %t", test.lock, test.on, allowed)
		}
	}
}
