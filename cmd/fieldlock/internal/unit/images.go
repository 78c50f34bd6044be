package unit

import (
	"regexp"
	"strings"
)

// A file that git-crypt has encrypted holds secrets and runs no containers. A new tag of an image that the rest of its
// unit runs is a change of that rest, and it is checked there:
//
//	kustomization.yaml  resources: [web.yaml, secret.yaml]  secret.yaml is encrypted
//	                    images: [{name: web, newTag: v2}]   web.yaml runs web:v2, so v2 decides nothing about secret.yaml

// images are the images that containers run, whole and in parts: ghcr.io/a/web:v2@sha256:0f, ghcr.io/a/web:v2,
// ghcr.io/a/web, v2, v2@sha256:0f and sha256:0f.
type images map[string]bool

// imagesOf returns the images that the containers of objects run.
func imagesOf(objects []Object) images {
	all := images{}
	for _, o := range objects {
		all.add(o.Object)
	}
	return all
}

// add adds the images of all containers in a value.
func (m images) add(value any) {
	switch x := value.(type) {
	case map[string]any:
		for name, member := range x {
			list, _ := member.([]any)
			for _, item := range list {
				container, _ := item.(map[string]any)
				if image, _ := container["image"].(string); strings.HasSuffix(strings.ToLower(name), "containers") &&
					image != "" {
					m.addParts(image)
				}
			}
			m.add(member)
		}
	case []any:
		for _, item := range x {
			m.add(item)
		}
	}
}

// addParts adds an image and its parts.
func (m images) addParts(image string) {
	tagged, digest, _ := strings.Cut(image, "@")
	name, tag := tagged, ""
	if i := strings.LastIndexByte(tagged, ':'); i > strings.LastIndexByte(tagged, '/') {
		name, tag = tagged[:i], tagged[i+1:]
	}
	for _, part := range []string{image, tagged, name, tag, digest, tag + "@" + digest} {
		m[part] = true
	}
}

// imageField matches what names an image, or a part of one: a field of values or of a kustomization, or an item of a
// list that is an image with a tag.
var imageField = regexp.MustCompile(`(?m)(\b(?:image|tag|newTag|newName|digest|repository)["']?:[ \t]*["']?|^[ \t]*-[ \t]+["']?(?:[^\s"',:@]+/)?[^\s"',:@/]+[:@])([^\s"',}]+)`)

// blank leaves out of a text what names one of the images.
func (m images) blank(text string) string {
	if len(m) == 0 {
		return text
	}
	return imageField.ReplaceAllStringFunc(text, func(field string) string {
		parts := imageField.FindStringSubmatch(field)
		if !m[parts[2]] {
			return field
		}
		return parts[1]
	})
}
