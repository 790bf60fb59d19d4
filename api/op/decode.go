package op

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep an input may nest. No operation needs a tenth of
// it, and every later walk over the input may recurse without a check.
const maxDepth = 64

// decode reads exactly one JSON value. It refuses what readers of JSON
// disagree about: duplicate names, invalid UTF-8, lone surrogates, trailing
// data, numbers beyond a double. Values are nil, bool, int64, float64, string, []any and
// map[string]any.
func decode(r io.Reader) (any, error) {
	dec := jsontext.NewDecoder(r)
	v, err := readValue(dec)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return v, nil
		}
		if err == nil {
			err = Faults{{Message: "must be one JSON object, without anything after it"}}
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
	return Faults{{Message: fmt.Sprintf("nests deeper than %d levels", maxDepth)}}
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
		return nil, Faults{{Field: fieldOf(string(dec.StackPointer())), Message: "is a number out of range"}}
	}
	return f, nil
}

// syntaxFault turns the decoder's error into a fault that shows the place and
// the cause but none of the input. Errors of the reader itself pass through.
func syntaxFault(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return Faults{{Message: "ends before the JSON does"}}
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Faults{{Field: fieldOf(string(syntax.JSONPointer)), Message: "is given twice"}}
	}
	return Faults{{
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

func joinField(names []string) string {
	return joinPath(names, func(index string) string { return "[" + index + "]" })
}

// joinPath joins names with dots, and spells array indices as told.
func joinPath(names []string, spell func(index string) string) string {
	var b strings.Builder
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			b.WriteString(spell(name))
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

// DecodeObject reads one JSON object with the same strictness as Bind, for
// inputs that tell an absent member from null, such as a PATCH. An empty array
// is an empty object.
func DecodeObject(r io.Reader) (map[string]any, error) {
	v, err := decode(r)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case []any:
		if len(v) == 0 {
			return map[string]any{}, nil
		}
	}
	return nil, Faults{{Message: "must be an object; got " + preview(v)}}
}
