// Package git reads manifests from the trees of a git repository: of a commit, or of the work tree.
//
// A tree under check is not trusted. It is read with git ls-tree, git ls-files and git cat-file only, which run no
// filter, hook or monitor and honour no attribute; links that lead out of it are errors; and nothing in it can name a
// command to run.
package git
