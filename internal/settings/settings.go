// Package settings reads the settings of a project, the file .fieldlock.yaml:
//
//	accept:                        # findings that somebody has accepted, see package accept
//	- {object: shop/orders, kind: StatefulSet, path: spec.serviceName, reason: moved on Friday}
//	locks:                         # locks on schemas that somebody else owns, see package external
//	- {kind: Ingress, path: spec.ingressClassName, lock: immutable}
//	aliases: {x-deckhouse-immutable: [NoUnset, NoModify]}
//	refuse-deletions: [data, cascade]
//	strict: true
//
//	mode: advisory
//	exclude: ['**/testdata/**']
//	charts: {charts/shop: [charts/shop/prod.yaml], charts/pay: [{name: pay-eu, namespace: eu, values: [charts/pay/eu.yaml]}]}
//	kubernetes-version: "1.36"
//	applier: server-side
//	tool: argo-cd
//	tools: {clusters: flux}
//	fetch-hosts: [charts.example.internal]
//
// In a comparison of two revisions, accept counts from the new one. The keys locks, aliases, refuse-deletions and
// strict count from both, and the others from the old one, so that a change cannot excuse itself. Nothing in the file
// can run a command.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/accept"
	"github.com/fieldlock/fieldlock/internal/external"
	"github.com/fieldlock/fieldlock/internal/spelling"
	"github.com/fieldlock/fieldlock/internal/tool"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// Settings are those of one file. The zero value has none.
type Settings struct {
	Accept          *accept.List
	Locks           *external.Locks
	RefuseDeletions []result.Cost
	Strict          bool // a run fails if something that changed was not checked

	Advisory          bool // refusals do not fail a run
	KubernetesVersion string
	Applier           tool.Method
	Tool              tool.Name // who deploys what no unit deploys
	FetchHosts        []string  // hosts of private networks that may be asked for charts and bases

	// Dir is the directory of the file, to which its paths are relative. The caller sets it.
	Dir     string
	exclude []string
	charts  map[string][]Release
	tools   map[string]tool.Name // by file or directory
}

// Release is one rendering of a chart: with the name and namespace of a release, "" for the default, and with files of
// values.
type Release struct {
	Name, Namespace string
	Values          []string
}

// key is one key of the file.
type key struct {
	name string
	read func(s *Settings, d *yamldoc.Document, value any) error // nil for what another package reads
	// of, for a key that counts from the old revision only, returns what it says.
	of func(s *Settings) any
}

// keys returns the keys of the file.
func keys() []key {
	return []key{
		{name: "accept"},
		{name: "locks"},
		{name: "aliases"},
		{name: "refuse-deletions", read: (*Settings).readRefuseDeletions},
		{name: "strict", read: (*Settings).readStrict},
		{"mode", (*Settings).readMode, func(s *Settings) any { return s.Advisory }},
		{"exclude", (*Settings).readExclude, func(s *Settings) any { return s.located(s.exclude, len(s.exclude)) }},
		{"charts", (*Settings).readCharts, func(s *Settings) any { return s.located(s.charts, len(s.charts)) }},
		{"kubernetes-version", (*Settings).readVersion, func(s *Settings) any { return s.KubernetesVersion }},
		{"applier", (*Settings).readApplier, func(s *Settings) any { return s.Applier }},
		{"tool", (*Settings).readTool, func(s *Settings) any { return s.Tool }},
		{"tools", (*Settings).readTools, func(s *Settings) any { return s.located(s.tools, len(s.tools)) }},
		{"fetch-hosts", (*Settings).readFetchHosts, func(s *Settings) any { return s.FetchHosts }},
	}
}

// located returns paths with the directory that they are relative to, and nil if there are none.
func (s *Settings) located(paths any, n int) any {
	if n == 0 {
		return nil
	}
	return [2]any{s.Dir, paths}
}

// Parse reads a file; messages call it name. An empty file has no settings. Every mistake is an error, so that a
// misspelled key cannot mean nothing. With an error, the settings have the keys that only add refusals, as far as they
// can be read: locks, aliases, refuse-deletions and strict.
func Parse(name string, data []byte) (*Settings, error) {
	documents, err := yamldoc.Read(name, data)
	if err != nil {
		return &Settings{}, err
	}
	s := &Settings{}
	for i, d := range documents {
		if i > 0 {
			err = cmp.Or(err, error(d.Errorf(nil, "the file has several documents; the settings are one object")))
		}
		err = cmp.Or(err, s.read(d))
	}
	var lockErr, acceptErr error
	s.Locks, lockErr = external.Parse(name, data)
	s.Accept, acceptErr = accept.Parse(name, data)
	if err := cmp.Or(err, lockErr, acceptErr); err != nil {
		return &Settings{Locks: s.Locks, RefuseDeletions: s.RefuseDeletions, Strict: s.Strict}, err
	}
	return s, nil
}

// read reads the keys of a document, and returns the first mistake.
func (s *Settings) read(d *yamldoc.Document) (first error) {
	known := keys()
	for _, name := range slices.Sorted(maps.Keys(d.Object)) {
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			first = cmp.Or(first, error(d.Errorf([]any{name}, "%s", unknown(name, known))))
		} else if known[i].read != nil {
			first = cmp.Or(first, known[i].read(s, d, d.Object[name]))
		}
	}
	return first
}

// unknown says that there is no key of a name, and which one may be meant.
func unknown(name string, known []key) string {
	var names []string
	nearest, least := "", 3
	for _, k := range known {
		names = append(names, k.name)
		if d := spelling.Distance(strings.ToLower(strings.ReplaceAll(name, "_", "-")), k.name); d < least {
			nearest, least = k.name, d
		}
	}
	if nearest != "" {
		return fmt.Sprintf("the key is not known; did you mean %s?", nearest)
	}
	return "the key is not known; the file has the keys " + strings.Join(names, ", ")
}

func (s *Settings) readMode(d *yamldoc.Document, value any) error {
	if value != "advisory" && value != "enforcing" {
		return d.Errorf([]any{"mode"}, "the mode is advisory or enforcing")
	}
	s.Advisory = value == "advisory"
	return nil
}

func (s *Settings) readStrict(d *yamldoc.Document, value any) error {
	strict, isBool := value.(bool)
	if !isBool {
		return d.Errorf([]any{"strict"}, "it is %s; it is true or false", yamldoc.Describe(value))
	}
	s.Strict = strict
	return nil
}

func (s *Settings) readApplier(d *yamldoc.Document, value any) error {
	text, _ := value.(string)
	if !slices.Contains(tool.Methods(), tool.Method(text)) {
		return d.Errorf([]any{"applier"}, "it is %s; who applies is one of %v", yamldoc.Describe(value), tool.Methods())
	}
	s.Applier = tool.Method(text)
	return nil
}

func (s *Settings) readTool(d *yamldoc.Document, value any) (err error) {
	s.Tool, err = toolOf(d, value, "tool")
	return err
}

func (s *Settings) readTools(d *yamldoc.Document, value any) error {
	object, isObject := value.(map[string]any)
	if !isObject {
		return d.Errorf([]any{"tools"}, "it is %s; it is an object with a tool for each path", yamldoc.Describe(value))
	}
	s.tools = map[string]tool.Name{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return d.Errorf([]any{"tools", name}, "%q is not a path below the settings", name)
		}
		t, err := toolOf(d, object[name], "tools", name)
		if err != nil {
			return err
		}
		s.tools[path.Clean(name)] = t
	}
	return nil
}

// toolOf reads the word for a tool.
func toolOf(d *yamldoc.Document, value any, at ...any) (tool.Name, error) {
	word, _ := value.(string)
	t := tool.Named(word)
	if t == "" {
		return "", d.Errorf(at, "it is %s; the tool is one of %v", yamldoc.Describe(value), tool.Words())
	}
	return t, nil
}

func (s *Settings) readFetchHosts(d *yamldoc.Document, value any) error {
	hosts, err := texts(d, value, "fetch-hosts")
	for i, host := range hosts {
		if host == "" || strings.ContainsAny(host, "/:*") {
			return d.Errorf([]any{"fetch-hosts", i},
				"%q is not a host; write its name or its IPv4 address, without scheme and port", host)
		}
	}
	s.FetchHosts = hosts
	return err
}

// readVersion reads a minor, which YAML reads as a number unless it is quoted.
func (s *Settings) readVersion(d *yamldoc.Document, value any) error {
	text, isText := value.(string)
	if number, isNumber := value.(float64); isNumber {
		text, isText = strconv.FormatFloat(number, 'f', -1, 64), true
	}
	if !isText {
		return d.Errorf([]any{"kubernetes-version"}, `it is %s; it is a minor such as "1.36"`, yamldoc.Describe(value))
	}
	if _, err := builtin.For(text); err != nil {
		return d.Errorf([]any{"kubernetes-version"}, `%v; it is a minor such as "1.36", in quotes`, err)
	}
	s.KubernetesVersion = text
	return nil
}

func (s *Settings) readRefuseDeletions(d *yamldoc.Document, value any) error {
	costs, err := texts(d, value, "refuse-deletions")
	var refused []result.Cost
	for i, text := range costs {
		cost := result.Cost(text)
		if !slices.Contains(result.Costs(), cost) {
			known := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(result.Costs()), "[]")), ", ")
			return d.Errorf([]any{"refuse-deletions", i}, "there is no cost %q; the costs are %s", text, known)
		}
		refused = append(refused, cost)
	}
	s.RefuseDeletions = refused
	return err
}

func (s *Settings) readExclude(d *yamldoc.Document, value any) error {
	patterns, err := texts(d, value, "exclude")
	for i, pattern := range patterns {
		if err := checkPattern(pattern); err != nil {
			return d.Errorf([]any{"exclude", i}, "%v", err)
		}
	}
	s.exclude = patterns
	return err
}

func (s *Settings) readCharts(d *yamldoc.Document, value any) error {
	object, isObject := value.(map[string]any)
	if !isObject {
		return d.Errorf([]any{"charts"},
			"it is %s; it is an object with the files of values, or a list of renderings, for each directory of "+
				"a chart", yamldoc.Describe(value))
	}
	s.charts = map[string][]Release{}
	for _, dir := range slices.Sorted(maps.Keys(object)) {
		releases, err := readReleases(d, object[dir], "charts", dir)
		if err != nil {
			return err
		}
		names := []string{dir}
		for _, r := range releases {
			names = append(names, r.Values...)
		}
		for _, name := range names {
			if name == "" || path.IsAbs(name) || filepath.IsAbs(name) {
				return d.Errorf([]any{"charts", dir}, "%q is not a path relative to the settings", name)
			}
		}
		s.charts[dir] = releases
	}
	return nil
}

// readReleases reads the renderings of a chart: the files of values of one, or a list of objects.
func readReleases(d *yamldoc.Document, value any, at ...any) ([]Release, error) {
	items, _ := value.([]any)
	if len(items) == 0 {
		files, err := texts(d, value, at...)
		return []Release{{Values: files}}, err
	}
	if _, isObject := items[0].(map[string]any); !isObject {
		files, err := texts(d, value, at...)
		return []Release{{Values: files}}, err
	}
	var releases []Release
	for i, item := range items {
		at := append(slices.Clone(at), i)
		fields, isObject := item.(map[string]any)
		if !isObject {
			return nil, d.Errorf(at, "it is %s; it is an object with name, namespace and values",
				yamldoc.Describe(item))
		}
		r := Release{Values: []string{}}
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			text, isText := fields[key].(string)
			switch {
			case key == "values":
				var err error
				if r.Values, err = texts(d, fields[key], append(slices.Clone(at), key)...); err != nil {
					return nil, err
				}
			case key == "name" && isText:
				r.Name = text
			case key == "namespace" && isText:
				r.Namespace = text
			default:
				return nil, d.Errorf(append(slices.Clone(at), key),
					"a rendering of a chart has the texts name and namespace, and values, a list of files")
			}
		}
		releases = append(releases, r)
	}
	return releases, nil
}

// texts reads a list of strings, or a single one.
func texts(d *yamldoc.Document, value any, at ...any) ([]string, error) {
	if text, ok := value.(string); ok {
		return []string{text}, nil
	}
	items, isList := value.([]any)
	if !isList {
		return nil, d.Errorf(at, "it is %s; it is a list of strings", yamldoc.Describe(value))
	}
	list := []string{}
	for i, item := range items {
		text, isText := item.(string)
		if !isText {
			return nil, d.Errorf(append(slices.Clone(at), i), "it is %s; it is a string", yamldoc.Describe(item))
		}
		list = append(list, text)
	}
	return list, nil
}

// Postponed returns the keys that differ between the settings of two revisions and count from the old one only.
func Postponed(newSide, oldSide *Settings) []string {
	var names []string
	for _, k := range keys() {
		if k.of == nil {
			continue
		}
		a, b := k.of(newSide), k.of(oldSide)
		if !reflect.DeepEqual(a, b) {
			names = append(names, k.name)
		}
	}
	return names
}

// Paths are relative to the directory of the settings. They count in trees, whose roots may be above that directory, or
// below it. If all trees are elsewhere, paths are relative to the root of each. In a pattern, "**" stands for any
// number of directories, and the other characters mean what they mean to path.Match. A pattern that matches a directory
// matches everything below it.

// steps splits a path; the directory itself has none.
func steps(name string) []string {
	if name = path.Clean(name); name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

func checkPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the pattern is empty")
	case path.IsAbs(pattern) || steps(pattern) != nil && steps(pattern)[0] == "..":
		return fmt.Errorf("the pattern %q leads out of the directory of the settings", pattern)
	case strings.HasPrefix(pattern, "!"):
		return errors.New("a pattern cannot take back what another one hides")
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("the pattern %q is malformed", pattern)
	}
	return nil
}
