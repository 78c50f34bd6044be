package api_test

import (
	"path/filepath"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/locktest"
)

// TestLocks is the test that every API with locks should have: which updates are refused, and where.
func TestLocks(t *testing.T) {
	databases := locktest.CRD(t, filepath.Join("crd", crdFile))
	orders := read(t, filepath.Join("objects", "old.yaml"))
	databases.Run(t, []locktest.Update{
		{Name: "a new version", Old: orders, Patch: `spec: {version: "17"}`},
		{Name: "another engine", Old: orders, Patch: `spec: {engine: mysql}`, Refused: []string{"spec.engine"}},
		{Name: "all that may change", Old: orders, New: read(t, filepath.Join("objects", "allowed.yaml"))},
		{Name: "a user more", Old: orders, Patch: `spec: {users: [app, reports]}`},
		{Name: "a user less", Old: orders, Patch: `spec: {users: []}`, Refused: []string{"spec.users"}},
		{Name: "the order of a set", Old: orders, Patch: `spec: {extensions: [postgis, hstore]}`},
		{
			Name: "another replica", Old: orders, Patch: `spec: {replicas: [{name: a, zone: eu-1}, {name: c, zone: eu-2}]}`,
			Refused: []string{"spec.replicas", "spec.replicas[1]"}, // b is gone, c is new
		},
		{Name: "the first bucket", Old: orders, Patch: `spec: {backupBucket: orders}`},
	})
}

// TestAttack tries to get around every lock. The holes that this API means to have are listed, so that a new one fails
// the test.
func TestAttack(t *testing.T) {
	databases := locktest.CRD(t, filepath.Join("crd", crdFile))
	databases.Attack(t, read(t, filepath.Join("objects", "old.yaml")), locktest.WithAccepted(
		"spec.parameters[*]", // parameters come and go: the value of one that stays is locked
		"status",             // only the controller writes it
	))
}
