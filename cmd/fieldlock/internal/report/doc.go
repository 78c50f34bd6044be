// Package report prints what the command finds, in one file per format: text, json, github, gitlab, junit,
// sarif, markdown.
//
// A format is a value of type Format, listed in Formats. All that comes from outside, such as names of files and
// objects, map keys, values and errors, goes through Printable before it reaches a terminal or a log.
package report
