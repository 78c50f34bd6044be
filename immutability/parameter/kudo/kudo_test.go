package kudo_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
)

func mustRead(t *testing.T, text string) *kudo.OperatorVersion {
	t.Helper()
	version, err := kudo.ReadOperatorVersion([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// The zero value of each field of a parameter means what its absence from params.yaml means.
func TestZeroParameter(t *testing.T) {
	byHand := &kudo.OperatorVersion{Parameters: []kudo.Parameter{{Name: "A"}, {Name: "B", Default: parameter.Text("b")}}}
	read := mustRead(t, "parameters: [{name: A}, {name: B, default: b}]")
	if !slices.Equal(byHand.List(), read.List()) {
		t.Errorf("got the rows %v, want %v", byHand.List(), read.List())
	}
	for name, version := range map[string]*kudo.OperatorVersion{"by hand": byHand, "read": read} {
		install := version.Install(nil)
		if len(install.Refusals) != 1 || install.Refusals[0].Parameter != "A" || install.Refusals[0].Rule != "required" {
			t.Errorf("%s: install: got %v, want A refused as required", name, install.Err())
		}
		update := version.Update(parameter.FromTexts(map[string]string{"B": "c"}), parameter.FromTexts(map[string]string{"A": "a"}))
		if !update.Allowed() || !slices.Equal(update.Restarts, []string{"B"}) {
			t.Errorf("%s: update: got %v and restarts because of %v, want B", name, update.Err(), update.Restarts)
		}
	}
}

// TestChangesAreSorted: by name, whatever the order of the definitions, and with those that an upgrade removes.
func TestChangesAreSorted(t *testing.T) {
	old := mustRead(t, "parameters: [{name: Z, default: z}, {name: M, default: m}, {name: A, default: a}, {name: K, default: k}]")
	current := parameter.FromTexts(map[string]string{"M": "1"})
	version := mustRead(t, "parameters: [{name: Z, default: y}, {name: A, default: b}, {name: B, default: b}]")
	var names []string
	for _, c := range version.Upgrade(nil, old, current).Changes {
		names = append(names, c.Name)
	}
	if want := []string{"A", "B", "K", "M", "Z"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// TestRequired: an immutable value can be set later only if the operation is not the one that installs it.
func TestRequired(t *testing.T) {
	version := mustRead(t, "parameters: [{name: A, immutable: true}]")
	const lacks = `parameter "A" is required and has neither a value nor a default: set it`
	if err := version.Update(nil, nil).Err(); err == nil || err.Error() != lacks {
		t.Errorf("update: %v", err)
	}
	if err := version.Install(nil).Err(); err == nil || err.Error() != `parameter "A" is required and immutable and has neither a value nor a default: set it now, for it cannot be set later` {
		t.Errorf("install: %v", err)
	}
}

// TestUnnamed: each parameter without a name is one mistake.
func TestUnnamed(t *testing.T) {
	version := &kudo.OperatorVersion{Parameters: []kudo.Parameter{{Optional: true}, {Optional: true}}}
	refusals := version.Validate()
	if len(refusals) != 2 || refusals[0].Message != "a parameter has no name" || refusals[1].Message != "a parameter has no name" {
		t.Errorf("%v", refusals)
	}
}

// What the reader refuses to read is refused in a version that is built by hand.
func TestBuiltByHand(t *testing.T) {
	for want, parameters := range map[string][]kudo.Parameter{
		"a parameter has no name": {{Default: parameter.Text("x")}},
		`parameter "A" has the unknown type "text": the types are string, boolean, integer, number, array and map`: {{Name: "A", Type: "text", Optional: true}},
		`parameter ",A" has a ',' in its name, which KUDO does not allow`:                                          {{Name: ",A", Optional: true}},
		`parameter "A" has the default "[a": its type is array, which is a list in YAML`:                           {{Name: "A", Type: "array", Default: parameter.Text("[a")}},
		`parameter "A" has the default "{a: 1}": its type is array, which is a list in YAML`:                       {{Name: "A", Type: "array", Default: parameter.Text("{a: 1}")}},
		`parameter "A" has the default "[a]": its type is map, which is a mapping in YAML`:                         {{Name: "A", Type: "map", Default: parameter.Text("[a]")}},
		`parameter "A" has the default "1.5": its type is integer, which is a whole number of 64 bits`:             {{Name: "A", Type: "integer", Default: parameter.Text("1.5")}},
		`parameter "A" has the enum value "x": its type is number, which is a number`:                              {{Name: "A", Type: "number", Optional: true, Enum: []string{"1.5", "x"}}},
		`parameter "A" has the default "c": its enum allows "a", "b"`:                                              {{Name: "A", Default: parameter.Text("c"), Enum: []string{"a", "b"}}},
		`parameter "A" is defined a second time; the first definition is "A"`: {
			{Name: "A", Optional: true, Immutable: true, Default: parameter.Text("x")}, {Name: "A", Optional: true}},
	} {
		version := &kudo.OperatorVersion{Parameters: parameters}
		for name, got := range map[string]error{
			"validate": version.Validate().Err(),
			"update":   version.Update(nil, nil).Err(),
		} {
			if got == nil || got.Error() != want {
				t.Errorf("%s: got %v, want %s", name, got, want)
			}
		}
	}
}

// Without an old version the Instance stays at the new one, and its locks hold.
func TestUpgradeWithoutOldVersion(t *testing.T) {
	version := mustRead(t, "parameters: [{name: A, default: x, immutable: true}]")
	if admission := version.Upgrade(parameter.FromTexts(map[string]string{"A": "y"}), nil, nil); admission.Allowed() {
		t.Error("the immutable value changes")
	}
}

// A zero Value means no value, stored or requested.
func TestZeroValue(t *testing.T) {
	version := mustRead(t, "parameters: [{name: A, default: x, immutable: true}]")
	zero := parameter.Values{"A": {}}
	for name, admission := range map[string]kudo.Admission{
		"install": version.Install(zero),
		"upgrade": version.Upgrade(nil, mustRead(t, "parameters: [{name: A, default: w, immutable: true}]"), zero),
	} {
		want := map[string]string{"install": "x", "upgrade": "w"}[name]
		if !admission.Allowed() || admission.Resulting["A"].Text != want {
			t.Errorf("%s: got %v and %v, want %s", name, admission.Resulting, admission.Err(), want)
		}
	}
	if admission := version.Update(zero, zero); !admission.Allowed() || len(admission.Resulting) != 0 {
		t.Errorf("update: got %v and %v, want nothing", admission.Resulting, admission.Err())
	}
}

func TestChildren(t *testing.T) {
	parameters := mustRead(t, "parameters: [{name: A, default: false}, {name: N, type: number, default: 1}]").Parameters
	for _, test := range []struct {
		name   string
		task   kudo.Task
		stored string
		want   []kudo.Child
		rule   parameter.Rule
	}{
		{"stored", kudo.Task{Name: "t", EnablingParameter: "A"}, "1", []kudo.Child{{Task: "t", Present: true, Because: "A"}}, ""},
		{"default", kudo.Task{Name: "t", EnablingParameter: "A"}, "", []kudo.Child{{Task: "t", Because: "A"}}, ""},
		{"unconditional", kudo.Task{Name: "t"}, "0", []kudo.Child{{Task: "t", Present: true}}, ""},
		{"undefined", kudo.Task{Name: "t", EnablingParameter: "B"}, "", nil, "enabling"},
		{"another type", kudo.Task{Name: "t", EnablingParameter: "N"}, "", nil, "enabling"},
		{"not a boolean", kudo.Task{Name: "t", EnablingParameter: "A"}, "yes", nil, "enabling"},
	} {
		stored := parameter.Values{}
		if test.stored != "" {
			stored["A"] = parameter.Text(test.stored)
		}
		version := kudo.OperatorVersion{Parameters: parameters, Tasks: []kudo.Task{test.task}}
		children, err := version.Children(stored)
		var refusal *parameter.Refusal
		if errors.As(err, &refusal) != (test.rule != "") || refusal != nil && refusal.Rule != test.rule {
			t.Errorf("%s: got error %v, want rule %q", test.name, err, test.rule)
		}
		if err == nil && !slices.Equal(children, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, children, test.want)
		}
	}
}

// A webhook sees two whole Instances.
func TestAdmit(t *testing.T) {
	version := mustRead(t, "parameters: [{name: A, immutable: true}, {name: B, default: b}, {name: C, default: c}]")
	stored := map[string]string{"A": "a", "B": "x", "ORPHAN": "o"}
	for _, test := range []struct {
		name, reason string
		wanted       map[string]string
		allowed      bool
		resulting    map[string]string
		old          *kudo.OperatorVersion
	}{
		{name: "nothing changes", reason: "a request that touches no parameter passes, such as the removal of a finalizer",
			wanted: stored, allowed: true, resulting: stored},
		{name: "a mutable value changes, another is added, one goes back to its default", reason: "none of them is locked",
			wanted: map[string]string{"A": "a", "C": "y", "ORPHAN": "o"}, allowed: true,
			resulting: map[string]string{"A": "a", "C": "y", "ORPHAN": "o"}},
		{name: "a value without definition is removed", reason: "the shipped KUDO lets it go",
			wanted: map[string]string{"A": "a", "B": "x"}, allowed: true, resulting: map[string]string{"A": "a", "B": "x"}},
		{name: "a value without definition changes", reason: "the shipped KUDO finds no definition for the change",
			wanted: map[string]string{"A": "a", "B": "x", "ORPHAN": "p"}, resulting: stored},
		{name: "an immutable value is removed", reason: "KEP-30, Updates: its absence is another value",
			wanted: map[string]string{"B": "x", "ORPHAN": "o"}, resulting: stored},
		{name: "an upgrade locks a parameter that the Instance has", reason: "the shipped KUDO takes the presence in the new Instance as explicit",
			wanted: stored, allowed: true, resulting: map[string]string{"A": "a", "B": "x"},
			old: mustRead(t, "parameters: [{name: A}, {name: B, default: b}, {name: C, default: c}]")},
		{name: "an upgrade locks a parameter that the Instance lacks", reason: "KEP-30, Upgrades: its value is set explicitly",
			wanted: map[string]string{"B": "x", "ORPHAN": "o"}, resulting: stored,
			old: mustRead(t, "parameters: [{name: A, default: a}, {name: B, default: b}, {name: C, default: c}]")},
	} {
		newInstance := &kudo.Instance{Parameters: parameter.FromTexts(test.wanted)}
		oldInstance := &kudo.Instance{Parameters: parameter.FromTexts(stored)}
		admission := version.Admit(newInstance, oldInstance, test.old)
		if admission.Allowed() != test.allowed || !maps.Equal(admission.Resulting.Texts(), test.resulting) {
			t.Errorf("%s: got %v and %v, want %v: %s", test.name, admission.Resulting.Texts(), admission.Err(), test.resulting, test.reason)
		}
	}
	if admission := version.Admit(&kudo.Instance{}, nil, nil); admission.Allowed() {
		t.Error("an Instance without the immutable value is created")
	}
}

// Review reads the Instances of an AdmissionReview, and looks for an OperatorVersion only where it is needed.
func TestReview(t *testing.T) {
	instance := func(version, parameters string) []byte {
		return []byte(`{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "metadata": {"name": "ring"}, "spec": {"operatorVersion": {"name": "` +
			version + `"}, "parameters": ` + parameters + `}}`)
	}
	versions := map[string]*kudo.OperatorVersion{
		"v1": mustRead(t, "parameters: [{name: A, default: a}]"),
		"v2": mustRead(t, "parameters: [{name: A, default: b, immutable: true}]"),
	}
	for _, test := range []struct {
		name, newRaw, oldRaw string
		find                 []string
		refused, unreadable  bool
	}{
		{name: "create", newRaw: string(instance("v2", `{}`)), find: []string{"v2"}},
		{name: "nothing changes", newRaw: string(instance("gone", `{"A": "x"}`)), oldRaw: string(instance("gone", `{"A": "x"}`))},
		{name: "update", newRaw: string(instance("v2", `{"A": "x"}`)), oldRaw: string(instance("v2", `{"A": "b"}`)), find: []string{"v2"}, refused: true},
		{name: "upgrade with consent", newRaw: string(instance("v2", `{"A": "a"}`)), oldRaw: string(instance("v1", `{"A": "a"}`)), find: []string{"v1", "v2"}},
		{name: "upgrade without consent", newRaw: string(instance("v2", `{}`)), oldRaw: string(instance("v1", `{}`)), find: []string{"v1", "v2"}, refused: true},
		{name: "unknown version", newRaw: string(instance("gone", `{}`)), find: []string{"gone"}, unreadable: true},
		{name: "unknown old version", newRaw: string(instance("v2", `{}`)), oldRaw: string(instance("gone", `{}`)), find: []string{"gone"}, unreadable: true},
		{name: "no version and no error", newRaw: string(instance("nil", `{}`)), find: []string{"nil"}, unreadable: true},
		{name: "no old version and no error", newRaw: string(instance("v2", `{}`)), oldRaw: string(instance("nil", `{}`)), find: []string{"nil"}, unreadable: true},
		{name: "no Instance", newRaw: `{}`, unreadable: true},
		{name: "no old Instance", newRaw: string(instance("v2", `{}`)), oldRaw: `{}`, unreadable: true},
	} {
		var found []string
		admission, err := kudo.Review(t.Context(), []byte(test.newRaw), []byte(test.oldRaw), func(ctx context.Context, name string) (*kudo.OperatorVersion, error) {
			found = append(found, name)
			if ctx != t.Context() {
				t.Errorf("%s: find has another context", test.name)
			}
			if version := versions[name]; version != nil || name == "nil" {
				return version, nil
			}
			return nil, errors.New("not found")
		})
		if !slices.Equal(found, test.find) || (err != nil) != test.unreadable || err == nil && admission.Allowed() == test.refused {
			t.Errorf("%s: got %v and %v, having asked for %v", test.name, admission.Err(), err, found)
		}
	}
}

// TestObjectsOfAClient: objects are read from what a client's MarshalJSON writes.
func TestObjectsOfAClient(t *testing.T) {
	instance, err := kudo.ReadInstance(encoded(t, map[string]any{
		"apiVersion": "kudo.dev/v1beta1", "kind": "Instance",
		"metadata": map[string]any{"name": "ring", "namespace": "prod", "generation": int64(2)},
		"spec": map[string]any{
			"operatorVersion": map[string]any{"name": "cassandra-1.0.0"},
			"parameters":      map[string]any{"A": "1", "B": "yes", "C": "0755"},
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "1", "B": "yes", "C": "0755"}
	if instance.Name != "ring" || instance.Namespace != "prod" || instance.OperatorVersion != "cassandra-1.0.0" || !maps.Equal(instance.Parameters.Texts(), want) {
		t.Errorf("got %+v", instance)
	}
	version, err := kudo.ReadOperatorVersion(encoded(t, map[string]any{
		"apiVersion": "kudo.dev/v1beta1", "kind": "OperatorVersion", "metadata": map[string]any{"name": "cassandra-1.0.0"},
		"spec": map[string]any{
			"parameters": []any{map[string]any{"name": "A", "value-type": "integer", "default": "256", "immutable": true, "required": false}},
			"plans":      map[string]any{"deploy": map[string]any{}, "backup": map[string]any{}},
			"tasks":      []any{map[string]any{"name": "t", "kind": "KudoOperator", "spec": map[string]any{"enablingParameter": "B"}}},
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(version.Plans)
	if version.Name != "cassandra-1.0.0" || !slices.Equal(version.Plans, []string{"backup", "deploy"}) || len(version.Tasks) != 1 ||
		version.Parameters[0].Type != "integer" || !version.Parameters[0].Optional {
		t.Errorf("got %+v", version)
	}
	for _, object := range []any{nil, "text", map[string]any{"apiVersion": "v1", "kind": "Instance"}, map[string]any{"apiVersion": "kudo.dev/v1beta1", "kind": "Operator"}} {
		if _, err := kudo.ReadInstance(encoded(t, object)); err == nil {
			t.Errorf("%v is taken for an Instance", object)
		}
		if _, err := kudo.ReadOperatorVersion(encoded(t, object)); err == nil {
			t.Errorf("%v is taken for an OperatorVersion", object)
		}
	}
}

func encoded(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
