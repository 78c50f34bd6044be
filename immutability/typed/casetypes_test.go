package typed

import (
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// one is an object with a single member; leftOut and zeroOut leave it out in one way each.
type one[T any] struct {
	V T `json:"v"`
}

type leftOut[T any] struct {
	V T `json:"v,omitempty"`
}

type zeroOut[T any] struct {
	V T `json:"v,omitzero"`
}

// numbered is the item of a list by number.
type numbered[T any] struct {
	Port T      `json:"port,omitempty"`
	Zone string `json:"zone"`
}

// given is numbered with a number that is always written, and pair has two texts as its key.
type given struct {
	Port int    `json:"port"`
	Zone string `json:"zone"`
}

type pair struct {
	Name string `json:"name"`
	Part string `json:"part"`
	Zone string `json:"zone"`
}

// named is the item of a list by name, which may be null.
type named struct {
	Name *string `json:"name"`
	Zone string  `json:"zone"`
}

// halfWritten has a member beside one that JSON does not have.
type halfWritten struct {
	A int32 `json:"a"`
	B int32 `json:"-"`
}

// nilIsNone and nilMapIsNone write nil in another way than empty.
type nilIsNone []string

func (l nilIsNone) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte(`"none"`), nil
	}
	return json.Marshal([]string(l))
}

type nilMapIsNone map[string]string

func (m nilMapIsNone) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte(`"none"`), nil
	}
	return json.Marshal(map[string]string(m))
}

// masked writes what it does not show.
type masked struct{ in inner }

type inner struct{ text string }

func (m masked) MarshalJSON() ([]byte, error) { return json.Marshal(m.in.text) }

// maskedMap does so too.
type maskedMap struct {
	in map[string]inner
	//lint:ignore U1000 a type that writes itself may hold what has no JSON form
	of func()
}

func (m maskedMap) MarshalJSON() ([]byte, error) { return json.Marshal(m.in["a"].text) }

// shy writes itself where its address is known: not in a map.
type shy struct {
	Text string `json:"text"`
	note string
}

func (s *shy) MarshalText() ([]byte, error) {
	if s == nil {
		return []byte("none"), nil
	}
	return []byte(s.Text + s.note), nil
}

// quiet and the like say themselves whether omitzero leaves them out.
type quiet struct {
	Text  string `json:"text"`
	Quiet bool   `json:"-"`
}

func (q *quiet) IsZero() bool { return q == nil || q.Quiet }

type quietMap map[string]string

func (m quietMap) IsZero() bool { return m["quiet"] != "" }

type quietText string

func (s quietText) IsZero() bool { return s == "quiet" }

type quietNumber int

func (n quietNumber) IsZero() bool { return n == 1 }

type quietList []string

func (l quietList) IsZero() bool { return len(l) > 0 && l[0] == "quiet" }

// inOtherOrder is a case of two items whose number, a T, is their key.
func inOtherOrder[T any](a, b T) (newObj, oldObj any) {
	return &one[[]numbered[T]]{[]numbered[T]{{a, "x"}, {b, "y"}}}, &one[[]numbered[T]]{[]numbered[T]{{b, "y"}, {a, "x"}}}
}

// embedded has the name of an item.
type embedded struct {
	Name string `json:"name"`
}

// embeds has the member of another struct, if there is one.
type embeds[T any] struct{ *one[T] }

// embedsBefore is embeds with a field after the pointer.
type embedsBefore[T any] struct {
	*one[T]
	N int `json:"n"`
}

// half has a field that is not written.
type half struct {
	Text string `json:"text"`
	Own  int    `json:"-"`
}

// alike is a number that is written as the same text as every other.
type alike int

func (alike) MarshalText() ([]byte, error) { return []byte("alike"), nil }

// day is a byte, so that a list of days is written as one text.
type day uint8

// level is a byte that is written as a text, so that a list of levels is a list.
type level uint8

func (l level) MarshalText() ([]byte, error) { return fmt.Append(nil, "level-", uint8(l)), nil }

// formatted writes what two equal quantities do not share.
type formatted struct{ q resource.Quantity }

func (f formatted) MarshalText() ([]byte, error) { return []byte(f.q.Format), nil }

// signed writes its sign only.
type signed float64

func (s signed) MarshalText() ([]byte, error) {
	if math.Signbit(float64(s)) {
		return []byte("-"), nil
	}
	return []byte("+"), nil
}
