package report

import "github.com/fieldlock/fieldlock/immutability"

// meanings explains each lock to readers of a reference.
var meanings = map[immutability.Lock]string{
	immutability.Immutable:     "cannot be set, changed or removed after creation",
	immutability.ImmutableKeys: "no key can be added or removed",
	immutability.AdditionOnly:  "keys can be added, not removed",
	immutability.DeletionOnly:  "keys can be removed, not added",
	immutability.NoSet:         "cannot be set after creation",
	immutability.NoUnset:       "cannot be removed",
	immutability.NoModify:      "cannot be changed once set",
	immutability.NoAddItem:     "no item can be added",
	immutability.NoRemoveItem:  "no item can be removed",
	immutability.Incomparable:  "a locked field has different types on both sides, or ambiguous keys, so that the update cannot be judged",
	"rule":                     "a CEL transition rule refuses the change",
	"server":                   "the API server refuses the change in a dry run",
	alertUnknown:               "only the cluster can decide whether the change is accepted",
	alertNote:                  "the change is accepted, but something about it deserves attention",
	alertUnreadable:            "an input could not be read or compared",
}
