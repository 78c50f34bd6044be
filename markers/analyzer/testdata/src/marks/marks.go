// Package marks has markers that cannot do what they say.
package marks

// Spec has misspelled markers.
type Spec struct {
	// want +3 `^\+imutable: unknown marker: write \+immutable or \+immutable=keys, alone on its line$`
	// The sentence stays.
	//
	// +imutable
	A string `json:"a"`

	// want +1 `unknown marker: write \+k8s:immutable, alone on its line`
	// +k8s:Immutable
	B string `json:"b"`

	// want +1 `unknown marker: write \+immutable or \+immutable=keys`
	// +kubebuilder:imutable=keys
	C map[string]string `json:"c"`

	// want +1 `unknown marker: write \+normalize=undefined or \+normalize=zero`
	// +normalise=zero
	D string `json:"d"`

	// want +1 `unknown marker: write \+k8s:update=NoModify, or another of its words`
	// +k8s:eachVal=+k8s:updates=NoUnset
	E []string `json:"e"`

	// want +1 `"NoChange" is not one of its words`
	// +k8s:update=NoChange
	F string `json:"f"`

	// want +1 `it takes no value: write \+k8s:immutable`
	// +k8s:immutable=true
	G string `json:"g"`

	// want +1 `unknown marker: write \+immutable or \+immutable=keys, alone on its line`
	// +immutabel as the others
	H string `json:"h"`

	// want +1 `it needs keys, which a map and a list with .* have`
	// +immutable=keys
	I string `json:"i"`

	// want +2 `\+immutable in line [0-9]+ locks the whole value: remove one`
	// +immutable
	// +k8s:update=NoModify
	J string `json:"j"`

	// want +1 `it belongs on lists, and this is a scalar: remove it`
	// +listType=atomic
	K string `json:"k"`

	// want +1 `the field has the json tag "-"`
	// +immutable
	L string `json:"-"`

	// It is another tool's, and right there.
	//
	// +k8s:ifEnabled(Feature)=+k8s:immutable
	// +mutable
	M string `json:"m"`

	N Used  `json:"n"`
	O Alias `json:"o"`

	// want +1 `it is not above a field or type, so it locks nothing`
	// +immutable
}

// Unused locks nothing.
//
// want +1 `\+k8s:immutable: no field of the package has the type Unused, so it locks nothing: put it on a field`
// +k8s:immutable
type Unused struct {
	A string `json:"a"`
}

// want +1 `no field of the package has the type unused`
// +immutable
type unused string

// Used is the type of a field.
//
// +immutable
type Used string

// Origin is what another type is declared as.
//
// +immutable
type Origin string

// Derived has the marker of Origin.
type Derived Origin

// Alias is another name.
type Alias = []Derived
