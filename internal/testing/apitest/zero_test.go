package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fieldlock/fieldlock/immutability"
	"github.com/fieldlock/fieldlock/immutability/admission"
	"github.com/fieldlock/fieldlock/immutability/admission/apiserver"
	"github.com/fieldlock/fieldlock/immutability/admission/loader"
	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/immutability/celrule"
	"github.com/fieldlock/fieldlock/immutability/changes"
	"github.com/fieldlock/fieldlock/immutability/crd"
	"github.com/fieldlock/fieldlock/immutability/crd/lint"
	"github.com/fieldlock/fieldlock/immutability/crd/prepare"
	"github.com/fieldlock/fieldlock/immutability/locktest"
	"github.com/fieldlock/fieldlock/immutability/openapi"
	"github.com/fieldlock/fieldlock/immutability/operators"
	"github.com/fieldlock/fieldlock/immutability/ownership"
	"github.com/fieldlock/fieldlock/immutability/parameter"
	"github.com/fieldlock/fieldlock/immutability/parameter/heat"
	"github.com/fieldlock/fieldlock/immutability/parameter/kudo"
	"github.com/fieldlock/fieldlock/immutability/result"
	"github.com/fieldlock/fieldlock/immutability/typed"
	"github.com/fieldlock/fieldlock/listtype"
	"github.com/fieldlock/fieldlock/markers"
	"github.com/fieldlock/fieldlock/markers/openapigen"
	"github.com/fieldlock/fieldlock/normalize"
)

type object struct{ Spec string }

// zeroes has the zero value of each public type with methods.
var zeroes = map[string]any{
	"immutability.Report":                                    immutability.Report{},
	"immutability.SchemaError":                               immutability.SchemaError{},
	"immutability.Validator":                                 immutability.Validator{},
	"immutability.Violation":                                 immutability.Violation{},
	"immutability/admission.Registry":                        &admission.Registry{},
	"immutability/admission.Reviewer":                        admission.Reviewer{},
	"immutability/admission.Target":                          admission.Target{},
	"immutability/admission/apiserver.Locks":                 apiserver.Locks{},
	"immutability/admission/loader.Loader":                   loader.Loader{},
	"immutability/builtin.Kind":                              &builtin.Kind{},
	"immutability/builtin.Kinds":                             builtin.Kinds{},
	"immutability/result.Verdict":                            result.Verdict{},
	"immutability/changes.Result":                            changes.Result{},
	"immutability/crd.CRD":                                   crd.CRD{},
	"immutability/crd.Version":                               crd.Version{},
	"immutability/crd/prepare.Preparer":                      &prepare.Preparer{},
	"immutability/locktest.Kind":                             locktest.Kind{},
	"immutability/openapi.Document":                          openapi.Document{},
	"immutability/operators.Catalogue":                       &operators.Catalogue{},
	"immutability/operators.Kind":                            &operators.Kind{},
	"immutability/ownership.Managers":                        ownership.Managers{},
	"immutability/parameter.Decision":                        parameter.Decision{},
	"immutability/parameter.ReadError":                       parameter.ReadError{},
	"immutability/parameter.Refusal":                         parameter.Refusal{},
	"immutability/parameter.Refusals":                        parameter.Refusals{},
	"immutability/parameter.Value":                           parameter.Value{},
	"immutability/parameter.Values":                          parameter.Values(nil),
	"immutability/result.Deletion":                           result.Deletion{},
	"immutability/result.Subject":                            result.Subject{},
	"immutability/result.Value":                              result.Value{},
	"immutability/result.Violation":                          result.Violation{},
	"immutability/parameter/heat.ImmutableParameterModified": heat.ImmutableParameterModified{},
	"immutability/parameter/heat.Template":                   heat.Template{},
	"immutability/parameter/kudo.Enhancement":                kudo.Enhancement{},
	"immutability/parameter/kudo.OperatorVersion":            kudo.OperatorVersion{},
	"immutability/typed.Objects":                             typed.Objects{},
	"immutability/typed.Plan":                                typed.Plan{},
	"immutability/typed.Validator":                           typed.Validator[object]{},
	"listtype.Keys":                                          listtype.Keys(nil),
	"markers.Error":                                          markers.Error{},
	"markers.Problem":                                        markers.Problem{},
	"markers.Source":                                         markers.Source{},
	"markers/openapigen.Marks":                               openapigen.Marks(nil),
	"normalize.Normalizer":                                   normalize.Normalizer{},
}

// functions has each public function, and whether it returns an error if its arguments are zero. Constructors of
// options are tried by the packages that read the options.
var functions = map[string]struct {
	call    any
	refuses bool
}{
	"immutability.Compile":                               {immutability.Compile, false},
	"immutability.Lint":                                  {immutability.Lint, false},
	"immutability/admission.NewHandler":                  {admission.NewHandler, true},
	"immutability/admission.NewReviewer":                 {admission.NewReviewer, true},
	"immutability/admission.NewReviewHandler":            {admission.NewReviewHandler, false},
	"immutability/admission/apiserver.NewLocks":          {apiserver.NewLocks, true},
	"immutability/admission/apiserver.NewPlugin":         {apiserver.NewPlugin, true},
	"immutability/admission/apiserver.NewUpdateStrategy": {apiserver.NewUpdateStrategy, true},
	"immutability/admission/apiserver.Order":             {apiserver.Order, false},
	"immutability/admission/loader.New":                  {loader.New, false},
	"immutability/builtin.For":                           {builtin.For, false},
	"immutability/builtin.Minors":                        {builtin.Minors, false},
	"immutability/celrule.Export":                        {celrule.Export, false},
	"immutability/celrule.ExportPolicy":                  {celrule.ExportPolicy, false},
	"immutability/celrule.Import":                        {celrule.Import, false},
	"immutability/changes.Check":                         {changes.Check[[]byte], false},
	"immutability/changes.Loosened":                      {changes.Loosened, true},
	"immutability/crd.FromObject":                        {crd.FromObject, true},
	"immutability/crd.Lint":                              {crd.Lint, false},
	"immutability/crd/lint.CRD":                          {lint.CRD, true},
	"immutability/crd.Read":                              {crd.Read, false},
	"immutability/crd/prepare.New":                       {prepare.New, false},
	"immutability/openapi.FromUnstructured":              {openapi.FromUnstructured, true},
	"immutability/openapi.Read":                          {openapi.Read, true},
	"immutability/operators.Load":                        {operators.Load, false},
	"immutability/ownership.Read":                        {ownership.Read[[]byte], false},
	"immutability/ownership.Text":                        {ownership.Text, false},
	"immutability/parameter.FromTexts":                   {parameter.FromTexts, false},
	"immutability/parameter.Text":                        {parameter.Text, false},
	"immutability/parameter/heat.ReadTemplate":           {heat.ReadTemplate, true},
	"immutability/parameter/heat.ReadValues":             {heat.ReadValues, false},
	"immutability/parameter/kudo.ReadInstance":           {kudo.ReadInstance, true},
	"immutability/parameter/kudo.ReadOperatorVersion":    {kudo.ReadOperatorVersion, true},
	"immutability/parameter/kudo.ReadValues":             {kudo.ReadValues, false},
	"immutability/parameter/kudo.Review":                 {kudo.Review, true},
	"immutability/result.Costs":                          {result.Costs, false},
	"immutability/typed.Compile":                         {typed.Compile[object], true},
	"immutability/celrule.AnnotateFile":                  {celrule.AnnotateFile, true},
	"immutability/celrule.ExportFile":                    {celrule.ExportFile, true},
	"immutability/crd.RequireLocks":                      {crd.RequireLocks, false},
	"immutability/typed.CompileObjects":                  {typed.CompileObjects, true},
	"immutability/typed.CompileType":                     {typed.CompileType, true},
	"listtype.EqualSets":                                 {listtype.EqualSets, false},
	"listtype.Unique":                                    {listtype.Unique, false},
	"markers/openapigen.Parse":                           {openapigen.Parse, false},
	"normalize.Compile":                                  {normalize.Compile, false},
}

// unlisted are the functions that the table leaves out, by what they have in common.
var unlisted = regexp.MustCompile(`\.With\w+$|` + // options
	`^immutability\.MustCompile$|` + // panics, as it says
	`^immutability/locktest\.|` + // takes the test to fail
	`apiserver\.Register$|` + // takes a registry of Kubernetes' own
	`^markers\.Load$`) // runs the go command

// TestZero: the zero value and the nil pointer of a public type never panic and never allow an update, and no function
// panics over zero arguments.
func TestZero(t *testing.T) {
	types, funcs := surfaceNames(t)
	for _, name := range types {
		if _, ok := zeroes[name]; !ok {
			t.Errorf("%s has methods: add its zero value", name)
		}
	}
	for _, name := range funcs {
		if _, ok := functions[name]; !ok && !unlisted.MatchString(name) {
			t.Errorf("%s: add the function", name)
		}
	}
	for name, zero := range zeroes {
		v := reflect.ValueOf(zero)
		if v.Kind() != reflect.Pointer {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p
		}
		fresh := func() reflect.Value {
			if reflect.ValueOf(zero).Kind() == reflect.Pointer {
				return reflect.New(v.Type().Elem()) // it has a mutex, or is changed by its methods
			}
			return v
		}
		t.Run(name+"/zero", func(t *testing.T) { callMethods(t, fresh(), func(string) bool { return false }) })
		t.Run(name+"/nil", func(t *testing.T) {
			callMethods(t, reflect.Zero(v.Type()), func(method string) bool {
				_, byValue := v.Type().Elem().MethodByName(method)
				return byValue // the language panics
			})
		})
	}
	for name, f := range functions {
		t.Run(name, func(t *testing.T) {
			results, ok := call(t, reflect.ValueOf(f.call), reflect.Zero)
			if ok && f.refuses && (len(results) == 0 || asError(results[len(results)-1]) == nil) {
				t.Errorf("zero arguments are no error: %v", results)
			}
		})
	}
}

// TestZeroComments: the comment of each public type that has methods says what its zero value or nil does, unless the
// type is only data: what it holds is what it says.
func TestZeroComments(t *testing.T) {
	data := []string{
		"immutability.SchemaError", "immutability.Violation", "immutability/locktest.T", "listtype.Keys",
		"immutability/parameter.ReadError", "immutability/parameter.Refusal", "immutability/parameter/heat.ImmutableParameterModified",
		"immutability/result.Deletion", "immutability/result.Subject", "immutability/result.Violation", "markers.Error", "markers.Problem",
	}
	zero := regexp.MustCompile(`(?i)\b(zero|nil)\b`)
	methods, _ := surfaceNames(t)
	for _, dir := range publicDirs(t) {
		name, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		for typ, comment := range commentsOf(t, dir) {
			full := filepath.ToSlash(name) + "." + typ
			if slices.Contains(methods, full) && !slices.Contains(data, full) && !zero.MatchString(comment) {
				t.Errorf("%s: its comment does not say what the zero value does:\n%s", full, comment)
			}
		}
	}
}

// commentsOf returns the comments of the exported types of the package in a directory.
func commentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	built, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, file := range built.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, typ := range p.Types {
		comments[typ.Name] = typ.Doc
	}
	return comments
}

// TestZeroHandlers: a handler without a function refuses, and so does one of a zero registry.
func TestZeroHandlers(t *testing.T) {
	handler, err := admission.NewHandler(&admission.Registry{})
	if err != nil {
		t.Fatal(err)
	}
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE",
		"kind":{"group":"g","version":"v1","kind":"K"},"resource":{"group":"g","version":"v1","resource":"ks"},"object":{},"oldObject":{}}}`
	for name, h := range map[string]http.Handler{"registry": handler, "function": admission.NewReviewHandler(nil), "loader": (&loader.Loader{}).Hook()} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(review))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if want := fmt.Sprintf(`"allowed":%t`, name == "loader"); !strings.Contains(w.Body.String(), want) { // which judges CRDs only
			t.Errorf("%s: %s, want %s", name, w.Body, want)
		}
	}
}

// surfaceNames returns the public types that have methods, and the public functions.
func surfaceNames(t *testing.T) (types, funcs []string) {
	data, err := os.ReadFile("testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`^func \(\w+ \*?(\w+)`)
	function := regexp.MustCompile(`^func (\w+)`)
	for line := range strings.Lines(string(data)) {
		name, declaration, _ := strings.Cut(line, ": ")
		if m := method.FindStringSubmatch(declaration); m != nil {
			types = append(types, name+"."+m[1])
		} else if f := function.FindStringSubmatch(declaration); f != nil {
			funcs = append(funcs, name+"."+f[1])
		}
	}
	slices.Sort(types)
	return slices.Compact(types), funcs
}

// callMethods calls the methods of a value, with zero arguments, with empty objects, and with objects that differ.
func callMethods(t *testing.T, v reflect.Value, skip func(method string) bool) {
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if skip(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, argument := range []func(reflect.Type) reflect.Value{reflect.Zero, empty, differing()} {
				results, ok := call(t, v.Method(i), argument)
				if !ok {
					return
				}
				refused := len(results) > 0 && asError(results[len(results)-1]) != nil
				for _, result := range results {
					if !refused && allows(v.Type().Elem(), name, result) {
						t.Errorf("it allows: %#v", result)
					}
				}
			}
		})
	}
}

// call calls a function. ok is false if it panics.
func call(t *testing.T, f reflect.Value, argument func(reflect.Type) reflect.Value) (results []any, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("it panics: %v", r)
		}
	}()
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		in := f.Type().In(i)
		switch {
		case f.Type().IsVariadic() && i == f.Type().NumIn()-1:
			args = append(args, argument(in.Elem())) // such as a nil option
		case in == reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(context.Background()))
		case in == reflect.TypeFor[locktest.T]():
			args = append(args, reflect.ValueOf(&failing{}))
		default:
			args = append(args, argument(in))
		}
	}
	for _, out := range f.Call(args) {
		results = append(results, out.Interface())
	}
	if len(args) > 0 {
		if ft, isT := args[0].Interface().(*failing); isT && !ft.failed {
			t.Error("the test does not fail")
		}
	}
	return results, true
}

// empty returns an empty object of a type where there is one, otherwise its zero value.
func empty(t reflect.Type) reflect.Value {
	return oneOf(t, map[string]any{}, []byte("{}"), &object{}, &unstructured.Unstructured{Object: map[string]any{}}, &kudo.Instance{})
}

// differing returns a function that returns another object of a type with each call where there are several: a method
// that compares two of them sees an update that changes a value. Of another type it returns the zero value.
func differing() func(reflect.Type) reflect.Value {
	calls := 0
	return func(t reflect.Type) reflect.Value {
		calls++
		value := strconv.Itoa(calls)
		content := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"selector": value}}
		text, err := json.Marshal(content)
		if err != nil {
			panic(err)
		}
		return oneOf(t, content, text, &object{Spec: value}, &unstructured.Unstructured{Object: content},
			&kudo.Instance{Name: "a", Parameters: parameter.Values{"SIZE": {Text: value}}})
	}
}

// oneOf returns the first of some objects that has a type, otherwise the zero value of the type.
func oneOf(t reflect.Type, objects ...any) reflect.Value {
	for _, v := range objects {
		if reflect.TypeOf(v).AssignableTo(t) && (t.Kind() != reflect.Interface || t.NumMethod() > 0 || t == reflect.TypeFor[any]()) {
			return reflect.ValueOf(v)
		}
	}
	return reflect.Zero(t)
}

// failing is a test that fails.
type failing struct{ failed bool }

func (f *failing) Errorf(string, ...any) { f.failed = true }
func (f *failing) Fatalf(string, ...any) { f.failed = true }
func (f *failing) Helper()               {}

func asError(v any) error {
	err, _ := v.(error)
	return err
}

// allows reports whether the result of a method lets an update pass.
func allows(of reflect.Type, method string, result any) bool {
	switch r := result.(type) {
	case interface{ Allowed() bool }:
		return r.Allowed()
	case field.ErrorList:
		return len(r) == 0 && of != reflect.TypeFor[parameter.Refusals]() // none is none
	case parameter.Refusals:
		return len(r) == 0 && method == "Validate"
	case bool:
		return r && (method == "Allowed" || method == "Empty" && of != reflect.TypeFor[normalize.Normalizer]()) // which refuses nothing
	}
	return false
}
