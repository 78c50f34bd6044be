// Package yamldoc reads the objects of YAML and JSON files, tells where in the file each value is, and writes changes to
// the objects back into the text.
//
//	documents, err := yamldoc.Read("deploy.yaml", data)
//	for _, d := range documents {
//		line := d.Locate("spec.replicas").Line
//	}
//
// YAML means what kubectl takes it for, by the rules of sigs.k8s.io/yaml: tags, YAML 1.1 booleans and merge keys
// included. What would lose something is an error instead: a key that has two values in a mapping, text that is not UTF-8, a
// number that JSON cannot write. Only Shared reads a key with two values as kubectl does, which takes the last one, and
// lists such keys. A file may have several documents, JSON objects one after another, and lists of any kind, whose items
// count as objects of their own. A document that cannot be read does not keep the others from being read.
//
// To change a file, change the objects that Parse returns and ask for the bytes: comments, order, quoting and line
// breaks of everything else stay as they are.
//
//	file, err := yamldoc.Parse("crd.yaml", data)
//	file.Documents[0].Object["metadata"].(map[string]any)["name"] = "other"
//	data, err = file.Bytes()
package yamldoc
