package kindcase

import (
	"fmt"
	"strings"

	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Verdict is what package builtin says about a case.
type Verdict struct {
	Causes        []Cause // none: allowed. Message is the server's text without the kind of error
	Unknown, Note bool
}

// Compare says what is wrong with a verdict for a minor, "" for nothing. A case that only the cluster can decide may be
// answered in either way. Each cause of the verdict has to be one of the server's.
func Compare(c Case, a Answer, v Verdict, minor string) string {
	unknown := c.Unknown || c.UnknownSince != "" && minor >= c.UnknownSince // all minors have two digits
	switch {
	case v.Unknown != unknown:
		return fmt.Sprintf("unknown is %t, want %t (the server refused: %t)", v.Unknown, unknown, a.Refused)
	case v.Note != c.Note:
		return fmt.Sprintf("there is a note: %t, want %t", v.Note, c.Note)
	case unknown && len(v.Causes) == 0:
		return ""
	case a.Refused != (len(v.Causes) > 0):
		return fmt.Sprintf("refused is %t %v, the server's answer is %t %v", len(v.Causes) > 0, v.Causes, a.Refused, a.Causes)
	}
	for _, cause := range v.Causes {
		found := len(a.Causes) == 0 && strings.Contains(a.Error, cause.Message)
		for _, real := range a.Causes {
			found = found || yamldoc.Within(real.Field, cause.Field) && strings.Contains(real.Message, cause.Message)
		}
		if !found {
			return fmt.Sprintf("the cause %q is not one of the server's: %q", cause, a.Causes)
		}
	}
	return ""
}
