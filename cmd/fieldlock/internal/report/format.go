package report

import (
	"io"

	"github.com/fieldlock/fieldlock/internal/audit"
	"github.com/fieldlock/fieldlock/internal/compare"
)

// Format is one way to print results. A nil function is a result that the format does not have.
type Format struct {
	Name  string
	Check func(w io.Writer, r *compare.Report) error
	Lint  func(w io.Writer, r *audit.Report) error
	Locks func(w io.Writer, r *audit.Locks) error
}
