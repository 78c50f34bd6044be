package report

import (
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/manifest"
)

// placeOf returns where a field is.
func placeOf(s *result.Subject) token.Position {
	return token.Position{Filename: s.File, Line: s.Line, Column: s.Column}
}

// relative returns file as seen from the working directory, when it is below it.
func relative(file string) string {
	if !filepath.IsAbs(file) {
		return filepath.ToSlash(filepath.Clean(file))
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(file)
}

// inRepository returns file as seen from the root of the repository that the working directory is in, as code review
// tools name it. Outside of a repository, or for a file outside of it, it is the same as relative. The settings are in
// the root. A file of OLD is named without its revision, as a file of the change.
func inRepository(file string) string {
	if revision := ofRevision.FindString(file); revision != "" {
		return strings.TrimPrefix(file, revision)
	}
	dir, err := os.Getwd()
	if err != nil || file == manifest.AcceptFile {
		return relative(file)
	}
	full := file
	if !filepath.IsAbs(file) {
		full = filepath.Join(dir, file)
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			if below, err := filepath.Rel(root, full); err == nil && filepath.IsLocal(below) {
				return filepath.ToSlash(below)
			}
			return relative(file)
		}
		if root == filepath.Dir(root) {
			return relative(file)
		}
	}
}

// ofRevision begins the name of a file of OLD under --git, which is below the root: "aed0dd7d7288:apps/web.yaml".
var ofRevision = regexp.MustCompile(`^[0-9a-f]{12}:`)
