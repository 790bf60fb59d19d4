package gallery

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// value follows a path such as a.0.b.
func value(data any, path string) (any, bool) {
	for _, name := range strings.Split(path, ".") {
		switch node := data.(type) {
		case map[string]any:
			next, ok := node[name]
			if !ok {
				return nil, false
			}
			data = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			data = node[i]
		default:
			return nil, false
		}
	}
	return data, true
}

// set puts a value where a path leads. Nil takes the field away.
func set(data any, path string, to any) {
	last := path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		last = path[i+1:]
		data, _ = value(data, path[:i])
	}
	switch node := data.(type) {
	case map[string]any:
		if to == nil {
			delete(node, last)
		} else {
			node[last] = to
		}
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(node) {
			node[i] = to
		}
	}
}

// The ways in which every sample is varied.
const (
	asItIs   = "sample"
	oneRow   = "one row"
	manyRows = "300 rows"
	arabic   = "Arabic names"
	japanese = "Japanese names"
	bare     = "no optional fields"
)

var variants = []string{asItIs, oneRow, manyRows, arabic, japanese, bare}

var foreignNames = map[string][]string{
	arabic:   {"ليلى الحداد", "شركة النور للتجارة"},
	japanese: {"田中 陽子", "株式会社さくら工房"},
}

// vary returns a layout's sample, changed.
func vary(t testing.TB, l Layout, variant string) map[string]any {
	t.Helper()
	var data map[string]any
	if err := json.Unmarshal(l.Sample, &data); err != nil {
		t.Fatalf("%s: sample.json: %v", l.ID, err)
	}
	switch variant {
	case oneRow, manyRows:
		rows, _ := value(data, l.Rows)
		list, _ := rows.([]any)
		if len(list) == 0 {
			break
		}
		many := make([]any, map[string]int{oneRow: 1, manyRows: 300}[variant])
		for i := range many {
			many[i] = list[i%len(list)]
		}
		set(data, l.Rows, many)
	case arabic, japanese:
		for i, path := range l.Names {
			set(data, path, foreignNames[variant][i%2])
		}
	case bare:
		for _, path := range l.Optional {
			set(data, path, nil)
		}
	}
	return data
}
