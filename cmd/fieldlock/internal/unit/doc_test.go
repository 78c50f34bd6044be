package unit

import (
	"testing"

	"github.com/fieldlock/fieldlock/internal/testing/chapters"
)

// TestChapters: each file uses only those below it in the list of the package comment.
func TestChapters(t *testing.T) { chapters.Check(t) }
