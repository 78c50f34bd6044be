package accept

import (
	"strings"
	"testing"
	"time"
)

var today = time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC)

func TestMatch(t *testing.T) {
	const file = `accept:
- {object: shop/orders, kind: StatefulSet, path: spec.serviceName, rule: immutable, reason: a}
- {kind: Job, reason: jobs are deleted first, until: "2026-11-21"}
- {kind: Service, reason: over, until: "2026-11-20"}
- {kind: ConfigMap, change: abc, reason: once}
- {rule: self == oldSelf, kind: Widget, reason: a rule}
- {crd: widgets.example.com, reason: lint}
- {kind: ConfigMap, change: def, reason: twice}
- {crd: gadgets.example.com, rule: dead-rule, reason: nothing like it}
- {kind: Deployment, path: spec.selector, change: "012", reason: another}
- {object: shop/orders, kind: StatefulSet, path: spec.serviceName, reason: it matches after the one that is taken}
`
	l, err := Parse(".fieldlock.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		f      Entry
		want   string
		text   string
	}{
		{"every key matches", Entry{Object: "shop/orders", Kind: "StatefulSet", Path: "spec.serviceName", Rule: "immutable"}, "a", ""},
		{"another path", Entry{Object: "shop/orders", Kind: "StatefulSet", Path: "spec.selector", Rule: "immutable"}, "", ""},
		{"on the last day", Entry{Object: "x", Kind: "Job"}, "jobs are deleted first", ""},
		{"after the last day", Entry{Object: "x", Kind: "Service"}, "", ""},
		{"the next change", Entry{Kind: "ConfigMap", Change: "abd"}, "", ""},
		{"the change of the second entry for it", Entry{Kind: "ConfigMap", Change: "def"}, "twice", ""},
		{"another rule", Entry{Kind: "Widget", Rule: "immutable"}, "", "self != oldSelf"},
		{"another kind", Entry{Object: "shop/orders", Kind: "Deployment", Path: "spec.serviceName", Rule: "immutable"}, "", ""},
		{"another object", Entry{Object: "shop/other", Kind: "StatefulSet", Path: "spec.serviceName", Rule: "immutable"}, "", ""},
		{"another CRD", Entry{CRD: "other.example.com"}, "", ""},
		{"a change of what nobody has accepted", Entry{Kind: "Secret", Change: "abc"}, "", ""},
		{"the text of a rule", Entry{Kind: "Widget", Rule: "rule"}, "a rule", "self == oldSelf"},
		{"a finding of lint", Entry{CRD: "widgets.example.com"}, "lint", ""},
	} {
		got := ""
		if e := l.Match(c.f, c.text, today); e != nil {
			got = e.Reason
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
	for forLint, want := range map[bool]string{
		false: ".fieldlock.yaml:4: the entry no longer counts: its last day was 2026-11-20\n" +
			".fieldlock.yaml:5: the entry accepted another change; review the new one\n.fieldlock.yaml:10: the entry matches nothing; remove it",
		true: ".fieldlock.yaml:9: the entry matches nothing; remove it",
	} {
		if got := strings.Join(l.Warnings(today, forLint), "\n"); got != want {
			t.Errorf("for lint %t: got the warnings\n%s\nwant\n%s", forLint, got, want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"accept:\n- {kind: Job}\n", "f:2: document 1: accept[0]: the entry has no reason"},
		{"accept:\n- {knid: Job, reason: a}\n", "f:2: document 1: accept[0].knid: the key is not known"},
		{"accept: {kind: Job}\n", "it is a list of entries"},
		{"accept:\n- {reason: a, until: tomorrow}\n", "f:2: document 1: accept[0].until: it is \"tomorrow\"; it is the last day that counts"},
		{"accept:\n- {reason: a, kind: 5}\n", "it has to be a string"},
		{"accept:\n- 5\n", "an entry is an object"},
		{"accept: [\n", "f:"},
	} {
		if _, err := Parse("f", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// TestHas: an entry that the other side has too, in every key. Nothing is in a list that is not there.
func TestHas(t *testing.T) {
	l, err := Parse("f", []byte("accept:\n- {kind: Job, path: spec.x, reason: a}\n- {kind: Service, reason: b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		list   *List
		entry  Entry
		want   bool
	}{
		{"the first", l, Entry{Kind: "Job", Path: "spec.x", Reason: "a"}, true},
		{"the second", l, Entry{Kind: "Service", Reason: "b"}, true},
		{"another reason", l, Entry{Kind: "Service", Reason: "c"}, false},
		{"it accepts more", l, Entry{Kind: "Job", Reason: "a"}, false},
		{"no list", nil, Entry{Kind: "Service", Reason: "b"}, false},
		{"an empty list", &List{}, Entry{Kind: "Service", Reason: "b"}, false},
	} {
		if got := c.list.Has(&c.entry); got != c.want {
			t.Errorf("%s: got %t", c.reason, got)
		}
	}
	var none *List
	if none.Match(Entry{Kind: "Job"}, "", today) != nil || none.Warnings(today, false) != nil {
		t.Error("a list that is not there accepts something")
	}
	if l, err := Parse("f", []byte("accept:\n")); err != nil || len(l.Entries) != 0 {
		t.Errorf("a file without entries: %v, %v", l, err)
	}
	if l, err := Parse("f", nil); err != nil || len(l.Entries) != 0 {
		t.Errorf("an empty file: %v, %v", l, err)
	}
}

func TestAdd(t *testing.T) {
	got, err := Add("f", []byte("# why\naccept:\n- kind: Job # a job\n  reason: a\n"), []Entry{{Object: "a/b", Kind: "Service", Path: "spec.x", Rule: "immutable", Change: "0123", Reason: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse("f", got)
	if err != nil || len(l.Entries) != 2 || l.Entries[1].Change != "0123" || !strings.Contains(string(got), "# a job") {
		t.Errorf("got %v and\n%s", err, got)
	}
	if got, err = Add("f", got, []Entry{{Object: "a/b", Kind: "Service", Path: "spec.x", Rule: "immutable", Change: "4567", Reason: "c"}}); err != nil {
		t.Fatal(err)
	}
	if l, err = Parse("f", got); err != nil || len(l.Entries) != 2 || l.Entries[1].Change != "4567" {
		t.Errorf("another change of the same field: got %v and\n%s", err, got)
	}
	if strings.Contains(string(got), `""`) {
		t.Errorf("keys that say nothing are written:\n%s", got)
	}
	if _, err := Add("f", []byte("accept: [\n"), []Entry{{Kind: "Job", Reason: "a"}}); err == nil {
		t.Error("a malformed file is written anew")
	}
	for _, c := range []struct {
		reason string
		entry  Entry
	}{
		{"another object", Entry{Object: "a/c", Kind: "Service", Path: "spec.x", Rule: "immutable", Change: "89", Reason: "d"}},
		{"another path", Entry{Object: "a/b", Kind: "Service", Path: "spec.y", Rule: "immutable", Change: "89", Reason: "d"}},
		{"the same change", Entry{Object: "a/b", Kind: "Service", Path: "spec.x", Rule: "immutable", Change: "4567", Reason: "d"}},
		{"any change", Entry{Object: "a/b", Kind: "Service", Path: "spec.x", Rule: "immutable", Reason: "d"}},
		{"any change of a kind that is accepted with every change", Entry{Kind: "Job", Change: "89", Reason: "d"}},
	} {
		more, err := Add("f", got, []Entry{c.entry})
		if err != nil {
			t.Fatal(err)
		}
		if l, err = Parse("f", more); err != nil || len(l.Entries) != 3 || l.Entries[2] != c.entry {
			t.Errorf("%s: it takes no entry's place: got %v and\n%s", c.reason, err, more)
		}
	}
	if got, err = Add("f", nil, []Entry{{Kind: "Job", Reason: "a"}, {Kind: "Service", Reason: "b"}}); err != nil {
		t.Fatal(err)
	}
	if l, err = Parse("f", got); err != nil || len(l.Entries) != 2 {
		t.Errorf("got %v and\n%s", err, got)
	}
}

// TestMatchFile: an entry with the path of a file or unit and the change accepts that it is not covered, and nothing
// wider does.
func TestMatchFile(t *testing.T) {
	today := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason, entry, want string
	}{
		{"path and change", "{path: media/films, change: abc, reason: a}", "a"},
		{"the file of the unit", "{path: apps/films.yaml, change: abc, reason: a}", "a"},
		{"without a change", "{path: media/films, reason: a}", ""},
		{"the next change", "{path: media/films, change: abd, reason: a}", ""},
		{"without a path", "{change: abc, reason: a}", ""},
		{"everything", "{reason: a}", ""},
		{"of an object", "{path: media/films, object: films, change: abc, reason: a}", ""},
		{"another unit", "{path: media/shows, change: abc, reason: a}", ""},
		{"over", "{path: media/films, change: abc, reason: a, until: 2026-11-23}", ""},
	} {
		l, err := Parse("f", []byte("accept:\n- "+strings.Replace(c.entry, "2026-11-23", `"2026-11-23"`, 1)+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e := l.MatchFile("abc", today, "media/films", "apps/films.yaml"); e != nil {
			got = e.Reason
		}
		if got != c.want {
			t.Errorf("%s: got %q", c.reason, got)
		}
	}
}
