// Package setting reads what a developer sets for one run of a random test: where it begins and how long it is.
//
//	FIELDLOCK_SEED=7 FIELDLOCK_UPDATES=200000 go test -run TestNewUpdates ./immutability/typed
//
// Without settings each run is the same run: a change lands or fails for what it changes, not for its luck.
package setting

import (
	"os"
	"strconv"
	"testing"
)

// Seed is what the random values of a test begin with: FIELDLOCK_SEED, or 1.
func Seed(t testing.TB) uint64 {
	return uint64(Int(t, "FIELDLOCK_SEED", 1))
}

// Int is the number in an environment variable, or the other number where it is not set.
func Int(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
