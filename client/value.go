package client

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Nullable is a field of a change. The zero value leaves it as it is, Null removes its value, and Set sets it.
type Nullable[T any] struct {
	value *T
	sent  bool
}

// Set returns a field with a value.
func Set[T any](value T) Nullable[T] { return Nullable[T]{value: &value, sent: true} }

// Null returns a field whose value is to be removed.
func Null[T any]() Nullable[T] { return Nullable[T]{sent: true} }

// IsZero reports whether the field stays as it is.
func (n Nullable[T]) IsZero() bool { return !n.sent }

// MarshalJSON returns the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON reads a value or null.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	n.sent = true
	return json.Unmarshal(text, &n.value)
}

// OneOrMore is a list that JSON may have as one value. A []T can be assigned to it.
type OneOrMore[T any] []T

// UnmarshalJSON reads a value or a list.
func (l *OneOrMore[T]) UnmarshalJSON(text []byte) error {
	var list []T
	if json.Unmarshal(text, &list) == nil {
		*l = list
		return nil
	}

	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*l = OneOrMore[T]{one}
	return nil
}

// readText reads a string, and numbers as they are written: 1.5 is "1.5", [1,3] is "1,3".
func readText(text []byte, into *string) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		return json.Unmarshal(text, into)
	}

	var one json.Number
	if json.Unmarshal(text, &one) == nil {
		*into = one.String()
		return nil
	}
	var several []json.Number
	if err := json.Unmarshal(text, &several); err != nil {
		return err
	}
	numbers := make([]string, len(several))
	for i, number := range several {
		numbers[i] = number.String()
	}
	*into = strings.Join(numbers, ",")
	return nil
}
