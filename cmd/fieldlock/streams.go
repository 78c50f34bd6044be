package main

import (
	"errors"
	"io"
)

// streams are the standard streams of one run of the command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// errRefused ends a command whose report, already printed, is a refusal.
var errRefused = errors.New("refused")

// The exit statuses.
const (
	exitClean   = 0
	exitRefused = 1 // violations, lint errors or refused parameters
	exitUnread  = 2 // bad usage or unreadable input
)
