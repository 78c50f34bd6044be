package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"

	"github.com/fieldlock/fieldlock/cmd/fieldlock/internal/unit/rendered"
	"github.com/fieldlock/fieldlock/internal/fieldpath"
	"github.com/fieldlock/fieldlock/internal/kindindex"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// What identifies the objects of units and files, and tells whether two of them are one object.

// Object is one object of a unit.
type Object struct {
	// Document is the object as it is rendered. Its positions are not those of a file.
	*yamldoc.Document
	// File is the file of the tree that the object is written in, or the template that prints it, "" where the tool does
	// not tell.
	File    string
	Role    rendered.Role
	Unknown []string // places whose values the tree does not tell, as JSON pointers
	Text    []byte   // with Options.Texts, as the tool prints it
}

// nameOf returns namespace and name of an object.
func nameOf(object map[string]any) string {
	name := fieldpath.Text(object, "metadata", "name")
	if namespace := fieldpath.Text(object, "metadata", "namespace"); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

// identity is what an object is recognized by, apart from its namespace.
type identity struct{ kind, name string }

func identityOf(d *yamldoc.Document) (id identity, namespace string) {
	id.kind, _ = d.Object["kind"].(string)
	id.name = fieldpath.Text(d.Object, "metadata", "name")
	namespace = fieldpath.Text(d.Object, "metadata", "namespace")
	return id, namespace
}

// named identifies an object by group, kind, namespace and name.
type named struct {
	of        [2]string
	id        identity
	namespace string
}

func namedAs(d *yamldoc.Document) named {
	id, namespace := identityOf(d)
	apiVersion, _ := d.Object["apiVersion"].(string)
	group, _ := kindindex.GroupVersion(apiVersion)
	return named{[2]string{group, id.kind}, id, namespace}
}

// objectsOf returns the objects of files, with what identifies them.
func objectsOf(files []manifest.File) iter.Seq2[*yamldoc.Document, named] {
	return func(yield func(*yamldoc.Document, named) bool) {
		for _, f := range files {
			for _, d := range f.Documents {
				if as := namedAs(d); as.id.kind != "" && !yield(d, as) {
					return
				}
			}
		}
	}
}

// byIdentity returns the objects of a unit by what identifies them.
func byIdentity(objects []Object) map[named][]*Object {
	all := map[named][]*Object{}
	for i := range objects {
		as := namedAs(objects[i].Document)
		all[as] = append(all[as], &objects[i])
	}
	return all
}

// digestOf returns a digest of an object.
func digestOf(object map[string]any) string {
	data, _ := json.Marshal(object)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const (
	crdKind       = "CustomResourceDefinition"
	policyKind    = "ValidatingAdmissionPolicy"
	namespaceKind = "Namespace"
)
