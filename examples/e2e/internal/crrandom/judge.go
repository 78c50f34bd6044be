package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fieldlock/fieldlock/examples/e2e/internal/ask"
	"github.com/fieldlock/fieldlock/examples/e2e/internal/crjudge"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/celrun"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/jsonvalue"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/randomupdates"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/witness"
)

const namespace = "default"

// kind is the kind of one CRD.
type kind struct {
	options
	crd    *crd.CRD
	text   []byte // of the CRD
	before []byte // of the CRD when objects were stored
	random *rand.Rand
	lax    *crjudge.Server // what the server stores
	strict *crjudge.Server // what it accepts as new objects later
	stored []stored
	asked  []asked
}

// stored is an object that the server has twice: as a server-side apply left it, and as a client created it.
type stored struct {
	object obj // without a name
	*changes
	version *crd.Version
}

// asked is the answer to one update.
type asked struct {
	by     tool.Method
	new    obj
	old    obj
	answer error
	alone  error // the answer for the new object alone

	violations []result.Violation
	unknown    []result.Remark
}

// judge asks the server about a CRD.
func (o options) judge(ctx context.Context, file string, document obj) error {
	ask.Bare(document)
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	crds, err := crd.Read(file, text)
	if err != nil {
		return err
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(crds[0].Name))
	k := &kind{options: o, crd: crds[0], text: text, random: rand.New(rand.NewPCG(hash.Sum64(), o.seed))}
	if k.strict, err = crjudge.New(text); err != nil {
		return err
	}
	first := document
	k.lax, k.before = k.strict, text
	if o.stricter {
		first = loosened(k.random, document)
		if k.before, err = json.Marshal(first); err != nil {
			return err
		}
		if k.lax, err = crjudge.New(k.before); err != nil {
			return err
		}
	}
	if err := o.server.Request(ctx, tool.Replace, first, nil); err != nil {
		return err
	}
	defer o.server.Remove(ctx, first)
	if err := o.server.Established(ctx, first); err != nil {
		return err
	}
	k.store(ctx)
	if o.stricter && len(k.stored) > 0 {
		if err := k.replace(ctx, document); err != nil {
			return err
		}
	}
	for i := range k.stored {
		k.ask(ctx, i)
	}
	if len(k.asked) > 0 {
		k.count("CRDs", 1)
	}
	return k.compare()
}

// store makes random objects and stores them.
func (k *kind) store(ctx context.Context) {
	witnesses := witness.FromCRD(k.crd, nil)
	for _, w := range witnesses.Versions {
		version, _ := k.crd.Version(w.Name)
		c := newChanges(k.random, version)
		if !w.Served || !c.ruled && len(k.crd.Versions) < 2 {
			continue
		}
		base, ok := witnesses.Valid(w)
		if !ok {
			k.count("versions without a valid object", 1)
			continue
		}
		delete(base, "status")
		objects := []obj{base}
		for tries := 0; tries < 60+4*k.pairs && len(objects) < 20+k.pairs; tries++ {
			x := c.of(objects[k.random.IntN(len(objects))])
			if k.lax.Create(x) == nil {
				objects = append(objects, x)
			}
		}
		if k.stricter {
			objects = slices.DeleteFunc(objects, func(x obj) bool { return k.strict.Create(x) == nil })
		}
		wanted := len(k.stored) + (k.pairs+updatesOfOne-1)/updatesOfOne
		k.random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		for _, x := range objects {
			if len(k.stored) == wanted {
				break
			}
			i := len(k.stored)
			err := k.server.Request(ctx, tool.ServerSide, k.named(x, tool.ServerSide, i), nil)
			if err == nil {
				err = k.server.Request(ctx, tool.ClientSide, k.named(x, tool.ClientSide, i), nil)
			}
			if err != nil { // a null, which no server-side apply can set
				k.count("old objects that the server refuses", 1)
				continue
			}
			k.stored = append(k.stored, stored{x, c, version})
		}
	}
}

// updatesOfOne is how many updates of one object are asked for.
const updatesOfOne = 8

// named returns the object as the i-th one that is stored by a method.
func (k *kind) named(object obj, by tool.Method, i int) obj {
	name := fmt.Sprintf("client-%d", i)
	if by == tool.ServerSide {
		name = fmt.Sprintf("server-%d", i)
	}
	return k.as(object, name)
}

func (k *kind) as(object obj, name string) obj {
	object = jsonvalue.Clone(object).(obj)
	metadata := obj{"name": name}
	if k.crd.Scope != "Cluster" {
		metadata["namespace"] = namespace
	}
	object["metadata"] = metadata
	return object
}

// replace replaces the CRD and waits until it is in force: then it refuses objects that are stored.
func (k *kind) replace(ctx context.Context, document obj) error {
	if err := k.server.Request(ctx, tool.Replace, document, document); err != nil {
		return err
	}
	for i := range 200 {
		old := k.stored[i%len(k.stored)].object
		if err := k.server.Request(ctx, tool.Replace, k.as(old, "fresh"),
			nil, metav1.DryRunAll); apierrors.IsInvalid(err) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the new CRD is not in force after 10 s")
}

// ask asks for updates of the i-th object that is stored.
func (k *kind) ask(ctx context.Context, i int) {
	s := k.stored[i]
	methods := []tool.Method{tool.ServerSide, tool.ClientSide, tool.Replace}
	for done, tries := 0, 0; done < updatesOfOne && tries < 5*updatesOfOne; tries++ {
		made := k.update(s)
		if reflect.DeepEqual(made, s.object) {
			continue
		}
		fresh := k.as(made, "fresh")
		alone := k.server.Request(ctx, tool.Replace, fresh, nil, metav1.DryRunAll)
		if alone != nil && !k.stricter && k.random.IntN(5) > 0 {
			continue // most of what is not valid teaches nothing
		}
		done++
		for _, by := range methods {
			a := asked{by: by, new: k.named(made, by, i), old: k.named(s.object, by, i), alone: alone}
			a.answer = k.server.Request(ctx, by, a.new, a.old, metav1.DryRunAll)
			if by == tool.ServerSide && a.answer != nil {
				a.alone = k.server.Request(ctx, by, fresh, nil, metav1.DryRunAll)
			}
			k.asked = append(k.asked, a)
		}
	}
}

// update returns a new object for one that is stored: changed, at times into another version, with its defaults
// written out, or with a status.
func (k *kind) update(s stored) obj {
	from := s.object
	if k.random.IntN(12) == 0 {
		from = k.stored[k.random.IntN(len(k.stored))].object
	}
	made := s.changes.of(from)
	switch version := k.crd.Versions[k.random.IntN(len(k.crd.Versions))]; {
	case k.random.IntN(4) == 0 && version.Served:
		made["apiVersion"] = k.crd.Group + "/" + version.Name
	case k.random.IntN(20) == 0 && made["apiVersion"] == s.object["apiVersion"]:
		if filled, err := prepare.New(s.version).Prepare(made); err == nil {
			return filled
		}
	}
	if status, ok := s.version.Schema.Properties["status"]; ok && k.random.IntN(12) == 0 {
		made["status"] = randomupdates.New(&status, nil, k.random.Uint64()).Object()
	}
	return made
}

// compare holds what check says about all updates against the answers.
func (k *kind) compare() error {
	for _, by := range []tool.Method{tool.ServerSide, tool.ClientSide, tool.Replace} {
		var news, olds []any
		updates := map[string]*asked{} // by the name that their objects get
		for i := range k.asked {
			if a := &k.asked[i]; a.by == by {
				id := fmt.Sprint("update-", i)
				updates[id] = a
				news, olds = append(news, k.as(a.new, id)), append(olds, k.as(a.old, id))
			}
		}
		report, err := compare.Check(compare.Input{
			New: []manifest.File{file("objects.yaml", listOf(news)), file("crd.yaml", k.text)},
			Old: []manifest.File{file("objects.yaml", listOf(olds)), file("crd.yaml", k.before)},
		}, compare.Options{Applier: by})
		if err != nil {
			return err
		}
		k.count("new objects that check cannot read ("+string(by)+")", len(report.Errors))
		k.count("not compared by check: equal, or the old object lacks a required field ("+string(by)+")",
			len(updates)-report.Updated)
		for _, v := range report.Violations {
			a := updates[path.Base(v.Object)]
			a.violations = append(a.violations, v)
		}
		for _, u := range report.Unknown {
			a := updates[path.Base(u.Object)]
			a.unknown = append(a.unknown, u)
		}
	}
	for i := range k.asked {
		k.verdict(&k.asked[i])
	}
	return nil
}

func file(name string, text []byte) manifest.File {
	f := manifest.File{Name: name, Path: name}
	f.Parse(text)
	return f
}

func listOf(items []any) []byte {
	text, err := jsonvalue.Encode(obj{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		panic(err) // decoded JSON always encodes
	}
	return text
}

const lost, falseAlarm = "LOST", "FALSE ALARM"

// verdict counts an update by what the server and check say, and prints it if they disagree.
func (k *kind) verdict(a *asked) {
	count := func(what string) { k.count(what+" ("+string(a.by)+")", 1) }
	count("updates")
	if a.answer != nil {
		count("refused")
	}
	ofOtherVersion := func(v result.Violation) bool { return v.Version != "" }
	what, isBad := "", true
	switch refused := a.answer != nil; {
	case refused && len(a.violations) > 0:
		count("refused, and check says so")
	case refused && k.asAlone(a):
		count("refused, as the new object alone is")
	case refused && len(a.unknown) > 0:
		count("refused, and check does not know")
		if isBad = false; k.unknown {
			what = "UNKNOWN"
		}
	case refused && strings.Contains(a.answer.Error(), "no such key: status"):
		count("refused because no controller has set the status")
	case refused:
		what = lost
	case slices.ContainsFunc(a.violations, ofOtherVersion):
		count("accepted, refused by check for a lock of the other version") // a safe side, by contract
	case len(a.violations) > 0:
		what = falseAlarm
	case len(a.unknown) > 0:
		count("accepted, and check does not know")
	}
	if what == "" {
		return
	}
	if isBad {
		k.count(what, 1)
	}
	var says []string
	for _, v := range a.violations {
		says = append(says, fmt.Sprintf("%s %s %s: %s", v.Path, v.Lock, v.Rule, v.Message))
	}
	for _, u := range a.unknown {
		says = append(says, u.Path+": "+u.Message)
	}
	text := func(v any) []byte { text, _ := jsonvalue.Encode(v); return text }
	k.print("%s %s %s\n  server: %v\n  alone: %v\n  check: %s\n  old %s\n  new %s", what, a.by, k.crd.File,
		a.answer, a.alone, strings.Join(says, "; "), text(a.old), text(a.new))
}

// asAlone reports whether the server refuses an update for nothing but what it refuses in the new object alone.
func (k *kind) asAlone(a *asked) bool {
	alone := causes(a.alone)
	if a.alone != nil && len(alone) == 0 {
		return true // it cannot be read
	}
	if a.alone != nil { // plain rules, which the server leaves out where an object has the wrong types
		_, name, _ := strings.Cut(fmt.Sprint(a.new["apiVersion"]), "/")
		version, _ := k.crd.Version(name)
		if filled, err := prepare.New(version).Prepare(a.new); err == nil {
			broken, _ := celrun.New(version.Schema,
				func(r celrun.Rule) bool { return !celrun.Transition(r) }).ValidateUpdate(filled, nil)
			for _, b := range broken {
				alone = append(alone, b.Message)
			}
		}
	}
	list := causes(a.answer)
	return len(list) > 0 && !slices.ContainsFunc(list, func(cause string) bool {
		return !slices.ContainsFunc(alone, func(of string) bool { return strings.HasSuffix(cause, of) })
	})
}

// large finds numbers that a JSON merge patch rounds.
var large = regexp.MustCompile(`\b[0-9]{16,}\b`)

// causes returns why the server finds an object invalid, nothing for any other error.
func causes(err error) (list []string) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			list = append(list, large.ReplaceAllString(strings.ReplaceAll(c.Field+": "+c.Message, "\n", " "), "large"))
		}
	}
	return list
}
