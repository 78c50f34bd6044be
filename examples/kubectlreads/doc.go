// Package kubectlreads holds a test that compares the objects that fieldlock reads in a file with those that kubectl
// reads.
package kubectlreads
