package builtin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fieldlock/fieldlock/immutability"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
)

// Every row of every minor compiles, and every CEL rule runs.
func TestCompile(t *testing.T) {
	for _, minor := range append(Minors(), "") {
		kinds, err := For(minor)
		if err != nil {
			t.Fatal(err)
		}
		for gvk, kind := range kinds.index.Served() {
			if err := kind.compile(); err != nil {
				t.Errorf("%s, %s: %v", minor, gvk, err)
				continue
			}
			for _, row := range kind.Rows() {
				if row.Unknown != "" && !regexp.MustCompile("^refused (unless|if|by) ").MatchString(row.Unknown) {
					t.Errorf("%s: an unknown verdict does not say what decides: %q", kind.Kind, row.Unknown)
				}
				if row.Path == "" || len(row.Locks) == 0 || row.Message == "" || row.Cause == "" {
					t.Errorf("%s, %s: the row %+v lacks a path, a lock, a message or a cause", minor, gvk, row)
				}
			}
			empty := map[string]any{}
			for _, newObj := range []map[string]any{empty, nil} {
				for _, oldObj := range []map[string]any{empty, nil} {
					if v := kind.Check(newObj, oldObj); len(v.Violations)+len(v.Unknown)+len(v.Notes) > 0 {
						t.Errorf("%s, %s: two empty objects: %+v", minor, gvk, v)
					}
				}
			}
			named := map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "metadata": map[string]any{"name": "a"}}
			for _, by := range []Applier{"", fluxApply} {
				if !kind.CheckBy(by, named, named).Allowed() {
					t.Errorf("%s, %s: %q cannot apply an object again", minor, gvk, by)
				}
			}
			if len(kind.Rows()) > 0 && (kind.source.Cost == "" || kind.source.Why == "" || len(kind.source.How) == 0) && kind.Kind != "NetworkPolicy" {
				t.Errorf("%s has locks and does not say what a replacement costs", gvk)
			}
			// Without its Go type, the values of a kind have no canonical form. k8s.io/api 0.35 lacks the newest
			// versions of these.
			withoutType := []string{"APIService", "CompositePodGroup", "Eviction", "EvictionRequest", "PodGroup", "ResourcePoolStatusRequest", "Workload"}
			if len(kind.Rows()) > 0 && goType(schema.GroupVersionKind{Group: kind.Group, Version: kind.Versions[0], Kind: kind.Kind}) == nil && !slices.Contains(withoutType, kind.Kind) {
				t.Errorf("%s has locks and no Go type", gvk)
			}
		}
	}
}

// TestZeroValues: a zero value that a manifest writes out is the one that it left out.
func TestZeroValues(t *testing.T) {
	for _, row := range []struct{ reason, oldObj, newObj string }{
		{"the group of core resources is empty", "{apiVersion: storagemigration.k8s.io/v1beta1, kind: StorageVersionMigration, metadata: {name: a}, spec: {resource: {group: '', resource: secrets}}}",
			"{apiVersion: storagemigration.k8s.io/v1beta1, kind: StorageVersionMigration, metadata: {name: a}, spec: {resource: {resource: secrets}}}"},
		{"nothing is conditional", "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, endpoints: []}", "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, endpoints: null}"},
	} {
		for _, minor := range Minors() {
			kinds, err := For(minor)
			if err != nil {
				t.Fatal(err)
			}
			newObj, oldObj := objectOf(t, row.newObj), objectOf(t, row.oldObj)
			kind, _ := kinds.Find(fieldpath.Text(newObj, "apiVersion"), fieldpath.Text(newObj, "kind"))
			for _, pair := range [][2]map[string]any{{newObj, oldObj}, {oldObj, newObj}} {
				if v := kind.Check(pair[0], pair[1]); len(v.Violations)+len(v.Unknown) > 0 {
					t.Errorf("%s, %s: %+v: %s", minor, kind.Kind, v, row.reason)
				}
			}
		}
	}
}

// TestRemovedAnnotation: a locked annotation is found among others that go with it.
func TestRemovedAnnotation(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: b%s}, spec: {resources: {requests: {storage: 1Gi}}}}"
	oldObj := objectOf(t, fmt.Sprintf(claim, ", annotations: {a: b, c: d, volume.beta.kubernetes.io/storage-class: x, y: z, z: z}"))
	kind, _ := kinds.Find("v1", "PersistentVolumeClaim")
	v := kind.Check(objectOf(t, fmt.Sprintf(claim, "")), oldObj)
	if len(v.Violations) != 1 || v.Violations[0].Path != "metadata.annotations[volume.beta.kubernetes.io/storage-class]" || v.Violations[0].Message == "" || !v.Violations[0].Old.OK || v.Violations[0].New.OK {
		t.Errorf("%+v", v)
	}
}

// TestNamed: a row for objects of some names says so in CEL.
func TestNamed(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	schemas, _ := kinds.Find("flowcontrol.apiserver.k8s.io/v1", "FlowSchema")
	for _, row := range schemas.Rows() {
		got = append(got, fmt.Sprint(row.Path, row.Locks, row.When))
	}
	for _, want := range []string{"spec[immutable]self.metadata.name in ['catch-all']", "spec[immutable]self.metadata.name in ['exempt']"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	maps, _ := kinds.Find("v1", "ConfigMap")
	for _, row := range maps.Rows() {
		if strings.Contains(row.When, "self.metadata.name") {
			t.Errorf("%s is for every name, not for %q", row.Path, row.When)
		}
	}
}

func TestUnknownMinor(t *testing.T) {
	_, err := For("1.12")
	const want = `the Kubernetes version is "1.12"; the known ones are 1.35, 1.36, 1.37; the nearest is 1.35`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, unknown := range []string{"1", "36", "2.36", "1.36.3.4", "v", ".", "1.x", "1.34", "1.38"} {
		if _, err := For(unknown); err == nil {
			t.Errorf("%q is known", unknown)
		}
	}
	if k, err := For(""); err != nil || k.Minor != "1.37" {
		t.Errorf("the newest minor is %v, %v", k, err)
	}
	for _, known := range []string{"1.36", "v1.36", "1.36.3"} {
		if k, err := For(known); err != nil || k.Minor != "1.36" {
			t.Errorf("%s: %v, %v", known, k, err)
		}
	}
}

// TestVersions: the minors that serve a version, and the newest one of them.
func TestVersions(t *testing.T) {
	for text, want := range map[string][]string{
		"v1":                             {"1.35", "1.36", "1.37"},
		"v1 since 1.36":                  {"1.36", "1.37"},
		"v1 until 1.36":                  {"1.35", "1.36"},
		"v1 since 1.36 until 1.36":       {"1.36"},
		"v1 since 1.37 until 1.36":       nil,
		"v1 since 1.34":                  {"an error"},
		"v1 until 1.38":                  {"an error"},
		"v1 since 1.34 until 1.36":       {"an error"},
		"v1 from 1.36":                   {"an error"},
		"v1 since 1.36 and 1.37 or 1.38": {"an error"},
	} {
		name, s, err := parseVersion(text)
		if err != nil {
			if !slices.Equal(want, []string{"an error"}) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		var got []string
		for i, minor := range Minors() {
			if s.has(minors[i]) {
				got = append(got, minor)
			}
		}
		if name != "v1" || !slices.Equal(got, want) {
			t.Errorf("%s: %s in %v, want %v", text, name, got, want)
		}
		if newest := s.newest(); len(got) == 0 && newest != 0 || len(got) > 0 && minorName(newest) != got[len(got)-1] {
			t.Errorf("%s: the newest of %v is %d", text, got, newest)
		}
	}
}

func TestAll(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	if sorted := func(a, b *Kind) int { return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind) }; !slices.IsSortedFunc(kinds.All(), sorted) {
		t.Error("the kinds are not sorted by group and kind")
	}
}

// TestRowsOfRules: a program that shows rows knows CEL from prose: a row with LockRule has one of Rule and Means, and
// no other row has either.
func TestRowsOfRules(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	cel, prose := 0, 0
	for _, kind := range kinds.All() {
		for _, row := range kind.Rows() {
			isRule := slices.Equal(row.Locks, []immutability.Lock{LockRule})
			if (row.Rule != "") != isRule && (row.Means != "") != isRule || row.Rule != "" && row.Means != "" {
				t.Errorf("%s %s: locks %v, rule %q, means %q", kind.Kind, row.Path, row.Locks, row.Rule, row.Means)
			}
			if row.Rule != "" {
				cel++
			}
			if row.Means != "" {
				prose++
			}
		}
	}
	if cel == 0 || prose == 0 {
		t.Errorf("%d rules in CEL and %d in prose: the test sees too little", cel, prose)
	}
}

func TestFind(t *testing.T) {
	kinds, err := For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ apiVersion, kind, minor string }{
		{"apps/v1", "Deployment", "1.36"},
		{"extensions/v1beta1", "Deployment", "1.36"},
		{"scheduling.k8s.io/v1alpha3", "Workload", "1.37"},
		{"scheduling.k8s.io/v1alpha1", "Workload", "1.35"},
		{"example.com/v1", "Deployment", ""},
		{"apps/v1", "Widget", ""},
		{"a/b/c", "Deployment", ""},
	} {
		kind, _ := kinds.Find(c.apiVersion, c.kind)
		switch {
		case c.minor == "" && kind != nil:
			t.Errorf("%s %s: found %+v", c.apiVersion, c.kind, kind)
		case c.minor != "" && (kind == nil || minorName(kind.minor) != c.minor):
			t.Errorf("%s %s: %+v, want minor %s", c.apiVersion, c.kind, kind, c.minor)
		}
	}
}

// TestZeroVerdict: an update that nobody checked is not allowed.
func TestZeroVerdict(t *testing.T) {
	kinds, err := For("")
	if err != nil {
		t.Fatal(err)
	}
	kind, ok := kinds.Find("v1", "ConfigMap")
	if !ok {
		t.Fatal("a ConfigMap is not built in")
	}
	obj := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "uid": "1"}}
	other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "uid": "2"}}
	if (result.Verdict{}).Allowed() || !kind.Check(obj, obj).Allowed() || kind.Check(other, obj).Allowed() {
		t.Error("the zero verdict and that of another uid refuse, that of no change allows")
	}
}
