//go:build !unix

package worker

// confineSystem does nothing: the watcher limits the memory, and the files of a job are all that a renderer is given.
func confineSystem(uint64) {}
