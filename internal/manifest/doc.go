// Package manifest reads Kubernetes objects from where users keep them: files, directories and standard input, and, in
// the packages below it, git trees, the output of commands, and clusters.
//
//	r := &manifest.Reader{Stdin: os.Stdin}
//	files, err := r.Read("deploy/")
//	...
//	set := manifest.Objects(files)
//
// A file that cannot be read or parsed keeps its error in File.Err, so that one mistake does not hide the others.
package manifest
