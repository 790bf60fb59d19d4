package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// numeral is a number that JavaScript would print in other digits than it was written with, such as 1.10, 1e5 or
// 12345678901234567890. In JavaScript it is a String object: it prints its text, and helpers read its value.
type numeral string

var numeralType = reflect.TypeFor[numeral]()

// numeral returns the value of a number's text. Equal texts share one object, as data may have a million of them.
func (r *renders) numeral(text string) goja.Value {
	if n, same := printed(text); same {
		return r.vm.ToValue(n)
	}

	v, ok := r.numerals[text]
	if !ok {
		v = r.vm.ToValue(numeral(text))
		r.numerals[text] = v
	}
	return v
}

// printed returns the number of a text, and whether JavaScript prints that number as this text.
func printed(text string) (n float64, same bool) {
	const maxDouble = 24 // bytes of a number that JavaScript writes without an exponent
	if len(text) > maxDouble {
		return 0, false
	}

	n, err := strconv.ParseFloat(text, 64)
	size := math.Abs(n)
	if err != nil || n != 0 && (size < 1e-6 || size >= 1e21) || n == 0 && math.Signbit(n) {
		return 0, false
	}

	var buffer [maxDouble]byte
	return n, string(strconv.AppendFloat(buffer[:0], n, 'f', -1, 64)) == text
}

// isNumeral reports whether a value is a numeral, and returns its text.
func isNumeral(v goja.Value) (text string, ok bool) {
	object, ok := v.(*goja.Object)
	if !ok || object.ExportType() != numeralType {
		return "", false
	}
	return object.String(), true
}

// data reads the data of a call.
func (r *renders) data(text string) (goja.Value, error) {
	if strings.TrimSpace(text) == "" {
		return r.vm.NewObject(), nil
	}

	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	v, err := r.value(decoder)
	if err != nil {
		return nil, fmt.Errorf("read the data: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the data: text after its end")
	}
	return v, nil
}

// value reads one value.
func (r *renders) value(decoder *json.Decoder) (goja.Value, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}

	switch token := token.(type) {
	case json.Number:
		return r.numeral(token.String()), nil
	case json.Delim:
		if token == '[' {
			return r.array(decoder)
		}
		return r.object(decoder)
	}
	return r.vm.ToValue(token), nil
}

func (r *renders) array(decoder *json.Decoder) (goja.Value, error) {
	var items []any
	for decoder.More() {
		item, err := r.value(decoder)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := decoder.Token()
	return r.vm.NewArray(items...), err
}

func (r *renders) object(decoder *json.Decoder) (goja.Value, error) {
	object := r.vm.NewObject()
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		member, err := r.value(decoder)
		if err != nil {
			return nil, err
		}

		// Set would call the setter of __proto__.
		if err := object.DefineDataProperty(name, member, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE); err != nil {
			return nil, err
		}
	}

	_, err := decoder.Token()
	return object, err
}
