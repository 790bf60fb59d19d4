package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// The plain reader that decoder is held to: it decodes the whole text with
// jsontext, and checks the value afterwards with a JSON Schema validator.

// decode reads exactly one JSON value. It refuses everything that JSON parsers disagree about: duplicate names,
// invalid UTF-8, lone surrogates, trailing data, numbers beyond a double. Values are nil, bool, int64, float64,
// string, []any and map[string]any.
func decode(r io.Reader) (any, error) {
	dec := jsontext.NewDecoder(r)
	v, err := readValue(dec)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return v, nil
		}
		if err == nil {
			err = FieldErrors{{Message: "must be exactly one JSON object; remove the text after it"}}
		}
	}
	return nil, syntaxFault(err)
}

func readValue(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return readObject(dec)
	case '[':
		return readArray(dec)
	case '"':
		return tok.String(), nil
	case '0':
		return readNumber(dec, tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	default:
		return nil, nil
	}
}

func checkDepth(dec *jsontext.Decoder) error {
	if dec.StackDepth() <= maxDepth {
		return nil
	}
	return FieldErrors{{Message: fmt.Sprintf("is nested too deeply: at most %d levels", maxDepth)}}
}

func readObject(dec *jsontext.Decoder) (any, error) {
	if err := checkDepth(dec); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = readValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return object, err
}

func readArray(dec *jsontext.Decoder) (any, error) {
	if err := checkDepth(dec); err != nil {
		return nil, err
	}
	array := []any{}
	for dec.PeekKind() != ']' {
		v, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := dec.ReadToken()
	return array, err
}

func readNumber(dec *jsontext.Decoder, text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, FieldErrors{{Field: fieldOf(string(dec.StackPointer())), Message: "must be a number within the range of a 64-bit float"}}
	}
	return f, nil
}

// syntaxFault turns the decoder's error into a fault that shows the place and
// the cause but none of the input. Errors of the reader itself pass through.
func syntaxFault(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return FieldErrors{{Message: "is incomplete: the JSON is cut off"}}
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return FieldErrors{{Field: fieldOf(string(syntax.JSONPointer)), Message: "is given more than once"}}
	}
	return FieldErrors{{
		Field:   fieldOf(string(syntax.JSONPointer)),
		Message: fmt.Sprintf("is not valid JSON in UTF-8 (at byte %d)", syntax.ByteOffset),
	}}
}

// fieldOf spells a JSON pointer the way faults name fields: /files/2/url is
// files[2].url.
func fieldOf(pointer string) string {
	var names []string
	for name := range jsontext.Pointer(pointer).Tokens() {
		names = append(names, name)
	}
	return joinField(names)
}

// normalize rewrites v in place to the form that the schema's author expects: a null member is an absent one, and
// an empty array instead of an object is an empty object, as PHP encodes it. Free-form data (an object without
// declared properties) keeps its nulls.
func normalize(doc *jsonschema.Schema, v any) any {
	if doc == nil {
		return v
	}
	switch v := v.(type) {
	case []any:
		if doc.Type == "object" && len(v) == 0 {
			return map[string]any{}
		}
		for i := range v {
			v[i] = normalize(doc.Items, v[i])
		}
	case map[string]any:
		if doc.Properties == nil && doc.AdditionalProperties == nil {
			return v
		}
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = normalize(memberSchema(doc, name), member)
		}
	}
	return v
}

// reference reads a body in the plain way, and reports whether it is taken.
func reference(t *testing.T, doc *jsonschema.Schema, compiled *validator.Schema, body string) (any, bool) {
	t.Helper()
	v, err := decode(strings.NewReader(body))
	if err != nil {
		return nil, false
	}
	v = normalize(doc, v)
	return v, compiled.Validate(v) == nil
}

func compileReference(t testing.TB, doc *jsonschema.Schema) *validator.Schema {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("input", tree); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("input")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

type everyKind struct {
	Text    string            `json:"text,omitempty" jsonschema:"minLength=2,maxLength=5,pattern=^[^z]"`
	Long    string            `json:"long,omitempty" jsonschema:"maxLength=70000"`
	Whole   int               `json:"whole,omitempty" jsonschema:"minimum=-3,maximum=900"`
	Number  float64           `json:"number,omitempty" jsonschema:"minimum=0.5,maximum=2e3"`
	Flag    bool              `json:"flag,omitempty"`
	Choice  string            `json:"choice,omitempty" jsonschema:"enum=a,enum=b"`
	Dots    int               `json:"dots,omitempty" jsonschema:"enum=72,enum=300"`
	Either  length            `json:"either,omitempty"`
	Map     map[string]string `json:"map,omitempty" jsonschema:"maxProperties=2"`
	Numbers map[string]int    `json:"numbers,omitempty"`
	Free    map[string]any    `json:"free,omitempty"`
	List    []samplePart      `json:"list,omitempty" jsonschema:"minItems=1,maxItems=3"`
	Nested  [][]string        `json:"nested,omitempty"`
}

var everySeed = []string{
	`{}`, `[]`, `[ ]`, ` {"text":"abc"} `, `{"text":"a"}`, `{"text":"abcdef"}`, `{"text":"zab"}`, `{"text":"\u00e9\u00e9"}`, `{"text":"\ud83d\ude00x"}`,
	`{"long":"x"}`, `{"long":null}`, `{"whole":1.0}`, `{"whole":1e2}`, `{"whole":1.5}`, `{"whole":-0}`, `{"whole":901}`, `{"whole":"1"}`, `{"number":2000}`,
	`{"number":0.49}`, `{"number":2.0001e3}`, `{"flag":true}`, `{"flag":false}`, `{"flag":0}`, `{"choice":"a"}`, `{"choice":"c"}`, `{"dots":72}`, `{"dots":72.0}`, `{"dots":73}`,
	`{"either":3}`, `{"either":"3cm"}`, `{"either":[]}`, `{"either":null}`, `{"map":{}}`, `{"map":[]}`, `{"map":[1]}`, `{"map":{"a":"b","c":null}}`, `{"map":{"a":"b","c":"d","e":"f"}}`,
	`{"map":{"a":1}}`, `{"numbers":{"a":1,"b":[]}}`, `{"free":{"a":null,"b":[null,{"c":[]}],"d":1e400}}`, `{"free":{"a":null,"b":[null,{"c":[]}],"d":1e4}}`, `{"free":[]}`, `{"free":"x"}`,
	`{"list":[{"page":1},{"page":2}]}`, `{"list":[]}`, `{"list":[[]]}`, `{"list":[null]}`, `{"list":[{"page":0}]}`, `{"list":[{"page":1,"x":null}]}`, `{"list":[{"page":1,"x":1}]}`,
	`{"list":[{"page":1},{"page":1},{"page":1},{"page":1}]}`, `{"nested":[["a"],[]]}`, `{"nested":[{}]}`, `{"unknown":null}`, `{"unknown":[{"a":1,"a":1}]}`, `{"unknown":1}`,
	`{"a":1,"a":1}`, `{"":1}`, `{"":null}`, `{"text":"ab",}`, `{,}`, `{"text" "ab"}`, `[1,]`, `{"text":"ab"}}`, `{"text":"ab"} x`, `{"text":"\x"}`, `{"text":"\ud800a"}`, `{"text":"\udc00ab"}`,
	`{"text":"\ud800\u0041"}`, "{\"text\":\"a\tb\"}", "{\"text\":\"\xff\xff\"}", "{\"text\":\"é\xc3\"}", "\ufeff{}", `{"whole":01}`, `{"whole":1.}`, `{"whole":.5}`, `{"whole":+1}`, `{"whole":1e}`,
	`{"whole":-}`, `{"flag":tru}`, `{"flag":truee}`, `nul`, `null`, `1`, `"x"`, `{"free":{"n":12345678901234567890,"m":-9223372036854775808,"o":1E-7}}`, `{"f\u0072ee":{"\u0061":1,"a":2}}`,
	`{"free":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}`, `{"free":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}`, `{"free":{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}}`,
	`{"free":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"a":1}}`, `{"text":`, `{"text":"ab"`, `{"text":"ab`, `{"text":"ab\`, `{"text":"ab\u12`, ``, ` `,
}

// TestDecoderMatchesReference runs the seeds in one piece and byte by byte.
func TestDecoderMatchesReference(t *testing.T) {
	shape, err := NewShape[everyKind]()
	if err != nil {
		t.Fatal(err)
	}
	compiled := compileReference(t, shape.Schema)
	for _, body := range everySeed {
		compareWithReference(t, shape, compiled, body, strings.NewReader(body))
		compareWithReference(t, shape, compiled, body, iotest.OneByteReader(strings.NewReader(body)))
	}
}

// withDoubles returns a value with the numbers of free-form data as the plain reader has them.
func withDoubles(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := map[string]any{}
		for name, member := range v {
			object[name] = withDoubles(member)
		}
		return object
	case []any:
		array := []any{}
		for _, item := range v {
			array = append(array, withDoubles(item))
		}
		return array
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n // -0
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

// TestFreeNumbersKeepTheirDigits: free-form data comes back as it was written, declared members as their values.
func TestFreeNumbersKeepTheirDigits(t *testing.T) {
	shape, err := NewShape[everyKind]()
	if err != nil {
		t.Fatal(err)
	}
	const numbers = `[1.10,100.00,12345678901234567890,9223372036854775807,1e-7,1E5,-0,-0.0,0.0000001,7,-7,0.25]`
	for body, want := range map[string]string{
		`{"free":{"a":` + numbers + `}}`:       `{"free":{"a":` + numbers + `}}`,
		`{"free":{"b":{"c":` + numbers + `}}}`: `{"free":{"b":{"c":` + numbers + `}}}`,
		`{"number":1.10}`:                      `{"number":1.1}`,
	} {
		bound, err := shape.bind(t.Context(), strings.NewReader(body), Files{}, nil)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if got, err := json.Marshal(bound.tree); err != nil || string(got) != want {
			t.Errorf("%s is read as %s (%v)", body, got, err)
		}
	}
}

func compareWithReference(t *testing.T, shape *Shape[everyKind], compiled *validator.Schema, body string, from io.Reader) {
	t.Helper()
	want, taken := reference(t, shape.Schema, compiled, body)
	got, err := shape.bind(t.Context(), from, Files{}, nil)
	var faults FieldErrors
	switch {
	case taken && err != nil:
		t.Errorf("%q is refused with %v, and the reference takes it", body, err)
	case !taken && err == nil:
		t.Errorf("%q is taken as %v, and the reference refuses it", body, got.tree)
	case !taken && (!errors.As(err, &faults) || len(faults) == 0):
		t.Errorf("%q: %v is no list of faults", body, err)
	case taken && !reflect.DeepEqual(withDoubles(got.tree), want):
		t.Errorf("%q is read as %#v, want %#v", body, got.tree, want)
	}
}

// FuzzDecoder holds the decoder to the plain reader: the same bodies taken, with
// the same values.
func FuzzDecoder(f *testing.F) {
	for _, seed := range everySeed {
		f.Add(seed)
	}
	shape, err := NewShape[everyKind]()
	if err != nil {
		f.Fatal(err)
	}
	compiled := compileReference(f, shape.Schema)
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 60_000 {
			return // has limits that the reference does not know
		}
		compareWithReference(t, shape, compiled, body, strings.NewReader(body))
	})
}

// plainDigest is the digest of the JSON in one piece.
func plainDigest(t *testing.T, name string, tree any) [sha256.Size]byte {
	t.Helper()
	canonical, err := json.Marshal([]any{name, tree})
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(canonical)
}
