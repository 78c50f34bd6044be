package kubectlreads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/testing/setting"
)

// TestReadsAsKubectl compares random streams of YAML and JSON: every object that kubectl would send is read here, with
// the same value, or is an error; and where kubectl has no error, nothing else is read. FIELDLOCK_STREAMS sets how many
// streams there are.
func TestReadsAsKubectl(t *testing.T) {
	streams := setting.Int(t, "FIELDLOCK_STREAMS", 3000)
	random := &writer{rand.New(rand.NewPCG(setting.Seed(t), 0))}
	var objects, agreed, stricter, refused, differ int
	for range streams {
		text := random.stream()
		diff, theirs, ours, err := compare(text)
		switch {
		case diff != "":
			if differ++; differ <= 5 {
				t.Errorf("the stream %q:\n%s", text, diff)
			}
		case theirs != nil && err != nil:
			refused++
		case err != nil:
			stricter++
		default:
			agreed++
		}
		objects += ours
	}
	t.Logf("%d streams: %d read alike, %d refused by both, %d by fieldlock alone; %d objects; %d differ", streams, agreed, refused, stricter, objects, differ)
	if agreed < streams/4 || objects < agreed {
		t.Error("the streams have too many mistakes")
	}
}

// TestStreamsAsKubectl compares the streams that were read in another way once.
func TestStreamsAsKubectl(t *testing.T) {
	const object = "apiVersion: v1\nkind: A\nmetadata: {name: x}\n"
	for _, text := range []string{
		"{apiVersion: v1, kind: A, metadata: {name: l}, items: [{apiVersion: v1, kind: B, metadata: {name: x}}, {metadata: {name: z}}]}",
		"{apiVersion: v1, kind: BList, items: [{apiVersion: ~, kind: ~, metadata: {name: x}}, {kind: '', metadata: {name: z}}]}",
		"{kind: A, items: [{apiVersion: v1, kind: B, metadata: {name: x}, items: [{apiVersion: v1, kind: C, metadata: {name: z}}]}]}",
		"{apiVersion: v1, kind: A, metadata: {name: x}, items: []}",
		"\ufeff" + object + "x: \"\n%\"\n---\n\ufeff" + object,
		object + "x: \"\n%\"\n---\n\ufeff" + object,
		" !!map {!!binary YXBpVmVyc2lvbg==: v1, !!binary a2luZA==: A, metadata: {name: x}}",
		object + "spec: {a: 1, a: 2}\n", `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}, "spec": {"a": {"b": 1}, "a": {"c": 1}}, "Spec": 1}`,
		`{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}, "Items": [1], "ITEMS": {}}`,
	} {
		if diff, _, ours, err := compare(text); diff != "" || ours == 0 && !strings.Contains(text, "[]") || err != nil {
			t.Errorf("%q: %d objects, %v\n%s", text, ours, err, diff)
		}
	}
}

// compare reads a text in both ways. It returns what differs, the errors of kubectl and of fieldlock, and how many
// objects fieldlock reads.
func compare(text string) (diff string, theirErr error, ours int, ourErr error) {
	theirs, theirErr := kubectl(text)
	f := manifest.File{Name: "f"}
	f.Parse([]byte(text))
	left := []string{}
	for _, d := range f.Documents {
		left = append(left, canonical(d.Object))
	}
	ours = len(left)
	for _, object := range theirs {
		i := slices.Index(left, object)
		if i < 0 && strings.Contains(object, "\ufeff") {
			continue // see fieldlockAlone
		}
		if i < 0 && f.Err == nil {
			return fmt.Sprintf("kubectl reads %s\nfieldlock reads %v, no error; kubectl's error: %v", object, left, theirErr), theirErr, ours, f.Err
		}
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	if theirErr == nil && f.Err == nil {
		left = slices.DeleteFunc(left, func(object string) bool { return fieldlockAlone(text, object) })
		if len(left) > 0 {
			return fmt.Sprintf("only fieldlock reads %v", left), theirErr, ours, f.Err
		}
	}
	return "", theirErr, ours, f.Err
}

// inARow finds JSON objects one after another, of which kubectl leaves out those after a document in YAML.
var inARow = regexp.MustCompile(`\}\s*(#.*\s*)?\{`)

// fieldlockAlone reports whether an object is one that kubectl leaves out without a word and other tools may apply:
// without a version, a kind or a name, after the end of a document, or with items that are null. kubectl may take a
// byte order mark within the stream for a part of the next key, so that the object lacks that field.
func fieldlockAlone(text, object string) bool {
	var named struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	if err := json.Unmarshal([]byte(object), &named); err != nil || named.APIVersion == "" || named.Kind == "" || named.Metadata.Name == "" || inARow.MatchString(text) {
		return true
	}
	return strings.Contains(text, "...") || strings.Contains(text, "\r") || strings.Contains(text, "\ufeff---") || strings.Contains(text, "\n\ufeff") || strings.Contains(object, `"items":null`)
}

// kubectl reads a text as kubectl apply -f does, without a cluster.
func kubectl(text string) (objects []string, err error) {
	return objects, resource.NewLocalBuilder().Unstructured().ContinueOnError().Stream(strings.NewReader(text), "f").Flatten().Do().Visit(
		func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			if info.Name == "" {
				return errors.New("resource name may not be empty") // as kubectl apply says
			}
			objects = append(objects, canonical(info.Object.(runtime.Unstructured).UnstructuredContent()))
			return nil
		})
}

// canonical writes an object as JSON, in which kubectl sends it: 1.0 is 1 there. A namespace that is empty, or not a
// text, is left out, as kubectl puts its own in that place.
func canonical(value map[string]any) string {
	if metadata, ok := value["metadata"].(map[string]any); ok {
		if namespace, _ := metadata["namespace"].(string); namespace == "" {
			delete(metadata, "namespace")
		}
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(unsigned(value)); err != nil {
		return err.Error()
	}
	return b.String()
}

// unsigned returns value with 0 for -0, which are equal.
func unsigned(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = unsigned(member)
		}
	case []any:
		for i, item := range value {
			value[i] = unsigned(item)
		}
	case float64:
		return value + 0
	}
	return value
}

// writer writes random streams.
type writer struct{ *rand.Rand }

func (w *writer) of(texts ...string) string { return texts[w.IntN(len(texts))] }

func (w *writer) chance(percent int) bool { return w.IntN(100) < percent }

// stream writes documents, and what may be between them.
func (w *writer) stream() string {
	var b strings.Builder
	if w.chance(10) {
		b.WriteString("\ufeff")
	}
	if w.chance(15) {
		b.WriteString(w.of("# a comment\n", "\n", "---\n", "--- # c\n", "%YAML 1.1\n---\n", "# %\n", " \n"))
	}
	for i := range 1 + w.IntN(3) {
		if i > 0 {
			b.WriteString(w.of("---\n", "---\n", "---\n", "---\n", "--- \n", "---\t# c\n", "---\n---\n", "---\n\n# c\n", "", "\n", "...\n", "...\n---\n", "----\n", "---\r\n", "\ufeff---\n", "---\n\ufeff", "---\n# c\n\ufeff"))
		}
		b.WriteString(w.document())
	}
	text := b.String()
	if w.chance(5) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// document writes an object, a list, or something else.
func (w *writer) document() string {
	switch w.IntN(12) {
	case 0:
		return w.of("", "# nothing\n", "null\n", "~\n", "[]\n", "- a\n", "a\n", "{}\n", "5\n", "'---'\n", "a: |\n  ---\n  b\n")
	case 1, 2, 3:
		return w.flow(true)
	case 4, 5:
		return w.flow(false)
	}
	return w.block()
}

// members are the members of an object, as pairs of key and value in flow style.
func (w *writer) members(depth int, inJSON bool) [][2]string {
	text := func(s string) string {
		if inJSON {
			return strconv.Quote(s)
		}
		return s
	}
	kind := text(w.of("A", "A", "A", "List", "AList"))
	if w.chance(8) {
		kind = w.of("null", `""`, "5", "true", "[]", `"A"`, "{}")
	}
	version := text(w.of("v1", "v1", "example.com/v1"))
	if w.chance(6) {
		version = w.of("null", `""`, "5", "1.5", "{}")
	}
	list := [][2]string{{"apiVersion", version}, {"kind", kind}, {"metadata", w.metadata(inJSON)}}
	if w.chance(40) {
		list = append(list, [2]string{"spec", w.value(2, inJSON)})
	}
	if w.chance(12) {
		list = append(list, [2]string{w.of("spec", "metadata", "kind", "apiVersion", "items", "Items", "KIND"), w.value(1, inJSON)})
	}
	if depth > 0 && w.chance(35) {
		list = append(list, [2]string{w.of("items", "items", "items", "items", "Items"), w.items(depth, inJSON)})
	}
	if w.chance(15) {
		list = slices.Delete(list, 0, 1+w.IntN(2))
	}
	if w.chance(30) {
		w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

func (w *writer) metadata(inJSON bool) string {
	if w.chance(8) {
		return w.of("null", "{}", "[]", "5", `"x"`)
	}
	name := w.of(`"x"`, `"y"`, `"z"`)
	if w.chance(6) {
		name = w.of("5", "null", "true", `""`, "{}")
	}
	namespace := ""
	if w.chance(25) {
		namespace = `, "namespace": ` + w.of(`"n"`, `"n"`, "true", "5", "null", `""`, "1.5")
	}
	if inJSON {
		return `{"name": ` + name + namespace + "}"
	}
	return strings.ReplaceAll(`{"name": `+name+namespace+"}", `"`, "'")
}

func (w *writer) items(depth int, inJSON bool) string {
	if w.chance(15) {
		return w.of("[]", "null", "{}", `"x"`, "[null]", "[[]]", "[5]", "[{}]")
	}
	var items []string
	for range 1 + w.IntN(3) {
		items = append(items, w.braces(w.members(depth-1, inJSON), inJSON))
	}
	return "[" + strings.Join(items, w.of(", ", ",")) + "]"
}

// braces writes members in flow style.
func (w *writer) braces(members [][2]string, inJSON bool) string {
	var parts []string
	for _, m := range members {
		parts = append(parts, w.key(m[0], inJSON)+": "+m[1])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// key writes a key in one of its forms.
func (w *writer) key(name string, inJSON bool) string {
	quoted := strconv.Quote(name)
	escaped := fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
	switch {
	case inJSON && w.chance(5), w.chance(2):
		return escaped
	case inJSON:
		return quoted
	case w.chance(90):
		return name
	case w.chance(30):
		return map[string]string{"apiVersion": "!!binary YXBpVmVyc2lvbg==", "kind": "!!binary a2luZA==", "items": "!!binary aXRlbXM="}[name] + strings.Repeat(name, 1-min(1, strings.Count("apiVersion kind items", name)))
	}
	return w.of(quoted, "'"+name+"'", "!!str "+name, "! "+name, "? "+name+" ")
}

// value writes a value in flow style.
func (w *writer) value(depth int, inJSON bool) string {
	if depth > 0 && w.chance(60) {
		switch w.IntN(3) {
		case 0:
			return "[" + w.value(depth-1, inJSON) + ", " + w.value(depth-1, inJSON) + "]"
		default:
			members := [][2]string{}
			for range w.IntN(4) {
				members = append(members, [2]string{w.of("a", "b", "c", "kind", "items"), w.value(depth-1, inJSON)})
			}
			return w.braces(members, inJSON)
		}
	}
	if inJSON {
		return w.of("1", "0", "-1", "1.0", "1.5", "1e3", "1E400", "9007199254740993", "18446744073709551615", "null", "true", `"x"`, `""`, `"\u00e9"`, `"\ud83d\ude00"`, `"\/"`, `"\n"`, `"<<"`, `"é"`, `"x y"`, `"---"`, "{}", "[]", "-0", "-0.0", "0.1", "1e-7", "12345678901234567890123")
	}
	return w.of("1", "0", "-1", "1.0", "1.5", "1e3", "0x1F", "017", "0o17", "1_000", "9007199254740993", "18446744073709551615", "null", "~", "true", "yes", "on", "No", "x", "'x'", `"x"`, `"\n"`, `"\x41"`, `"\u00e9"`, "! 80", "!!str 80", "!!int 80", "!!float 1", "!!binary eA==", "2001-01-01", "x y", "é", "{}", "[]", ".5", "-0", "0.1", "'---'", `"a`+"\n"+`  b"`, "&n x", "!local x", ".inf")
}

// flow writes an object in flow style: as JSON, or as YAML.
func (w *writer) flow(inJSON bool) string {
	text := w.braces(w.members(2, inJSON), inJSON)
	if !inJSON {
		text = w.of("", "", "", "!!map ", " ", " !!map ", "&m ", "--- ") + text
	}
	return w.of("", "", "", " ", "\n") + text + w.of("\n", "\n", "\n", "", " # c\n", "\n\n")
}

// block writes an object in block style.
func (w *writer) block() string {
	var b strings.Builder
	for _, m := range w.members(2, false) {
		key := w.key(m[0], false)
		b.WriteString(key)
		if strings.HasPrefix(key, "? ") {
			b.WriteString("\n")
		}
		b.WriteString(": " + m[1] + "\n")
	}
	switch w.IntN(14) {
	case 0:
		b.WriteString("text: |\n  ---\n  %x\n")
	case 1:
		b.WriteString("text: \"a\n%b\"\n")
	case 2:
		b.WriteString("<<: {spec: {m: 1}}\n")
	case 3:
		b.WriteString("text: >-\n  a\n  b\n# c\n")
	case 4:
		b.WriteString("x: &x {a: 1}\ny: *x\nz: {<<: *x, a: 2}\n")
	case 5:
		b.WriteString("text: a\n  b\n")
	}
	return b.String()
}
