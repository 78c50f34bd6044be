package locktest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	yamlstream "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/internal/policy"
	"github.com/fieldlock/fieldlock/internal/witness"
)

// Policies adds the ValidatingAdmissionPolicies and bindings in files, with the namespaces and parameters that they
// need. Run then also wants the updates that these policies refuse to be listed, at the path "", the whole object: a
// policy names no field. Only policies that read oldObject count; they run with the API server's CEL code. An object
// without a namespace is in "default". The test of an update fails where a policy needs to know more, such as the user.
// Attack does not count updates that they refuse, and does not attack the policies themselves.
//
// A file that cannot be read ends the test, as does a kind that is not from a CRD, or files without such a policy.
func (k *Kind) Policies(t T, files ...string) {
	t.Helper()
	if k.undefined(t) {
		return
	}
	if err := k.addPolicies(files); err != nil {
		t.Fatalf("locktest: %v", err)
	}
}

func (k *Kind) addPolicies(files []string) error {
	if k.crd == nil {
		return errors.New("policies are for the resources of a CRD, and this kind has only a schema")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		documents, err := documentsOf(file, data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		k.documents = append(k.documents, documents...)
	}
	known, err := builtin.For("")
	if err != nil {
		return err
	}
	k.policies = policy.NewSet(k.documents, func(apiVersion, kind string) (namespaced, isKnown bool) {
		if found, ok := known.Find(apiVersion, kind); ok {
			return found.Namespaced, true
		}
		return k.crd.Scope == "Namespaced", strings.HasPrefix(apiVersion, k.crd.Group+"/") && kind == k.crd.Kind
	})
	if warnings := k.policies.Warnings(); len(warnings) > 0 {
		return errors.New(strings.Join(warnings, "; "))
	}
	if k.policies == nil {
		return fmt.Errorf("there is no ValidatingAdmissionPolicy in %s that reads oldObject", strings.Join(files, ", "))
	}
	return nil
}

// documentsOf decodes a stream of YAML documents.
func documentsOf(file string, data []byte) ([]policy.Document, error) {
	var list []policy.Document
	stream := yamlstream.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := stream.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		obj, err := decode(document)
		if err != nil {
			return nil, err
		}
		list = append(list, policy.Document{Object: obj, File: file, Line: 1, InNew: true, InOld: true})
	}
}

// byPolicies returns what the policies refuse. The error is about what they need to know.
func (k *Kind) byPolicies(newObj, oldObj map[string]any) ([]witness.Refusal, error) {
	if k.policies == nil {
		return nil, nil
	}
	apiVersion, _ := newObj["apiVersion"].(string)
	_, version, _ := strings.Cut(apiVersion, "/")
	u, err := policy.UpdateOf(k.crd, version, func(version string) (newAs, oldAs map[string]any, err error) {
		if newAs, err = k.as(version, newObj); err == nil {
			oldAs, err = k.as(version, oldObj)
		}
		return newAs, oldAs, err
	})
	if err != nil {
		return nil, err
	}
	u.Live = true
	verdict := k.policies.Check(u)
	if len(verdict.Unknown) > 0 && len(verdict.Refused) == 0 {
		return nil, errors.New(strings.Join(verdict.Unknown, "; "))
	}
	var refused []witness.Refusal
	for _, r := range verdict.Refused {
		refused = append(refused, witness.Refusal{Rule: r.Expression, Message: r.Message})
	}
	return refused, nil
}

// as returns an object as the server holds it in a version.
func (k *Kind) as(version string, obj map[string]any) (map[string]any, error) {
	v, ok := k.crd.Version(version)
	if !ok {
		return nil, fmt.Errorf("the CRD has no version %q", version)
	}
	prepared, err := prepare.New(v).Prepare(obj)
	if err != nil {
		return nil, err
	}
	prepared = maps.Clone(prepared)
	if metadata, ok := prepared["metadata"].(map[string]any); ok && k.crd.Scope == "Namespaced" &&
		metadata["namespace"] == nil {
		metadata = maps.Clone(metadata)
		metadata["namespace"] = "default"
		prepared["metadata"] = metadata
	}
	return prepared, nil
}
