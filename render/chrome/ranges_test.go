package chrome

import (
	"slices"
	"testing"
)

func TestParsePageRangesRefuses(t *testing.T) {
	for _, s := range []string{"0", "3-1", "-", "1-0", "x", "1-x", "1--2", "+1", "1,,2", ",", " ", "last-1", "-0", "99999999999999999999", "1000001"} {
		if got, err := parsePageRanges(s); err == nil {
			t.Errorf("%q is accepted as %v", s, got)
		}
	}
}

func TestResolvePageRanges(t *testing.T) {
	cases := []struct {
		ranges string
		total  int
		want   []int // nil: beyond the end
	}{
		{"1-3,5", 5, []int{1, 2, 3, 5}},
		{"1-3,5", 4, nil},
		{"3,1,3", 3, []int{1, 3}},
		{"2-", 4, []int{2, 3, 4}},
		{"5-", 4, nil},
		{"-2", 4, []int{1, 2}},
		{"-5", 4, nil},
		{"even", 5, []int{2, 4}},
		{"even", 1, nil},
		{"odd", 1, []int{1}},
		{"even,1", 1, []int{1}},
		{"last", 9, []int{9}},
		{"1 - 3", 4, []int{1, 2, 3}},
	}
	for _, c := range cases {
		ranges, err := parsePageRanges(c.ranges)
		if err != nil {
			t.Errorf("%q: %v", c.ranges, err)
			continue
		}
		got, ok := ranges.resolve(c.total)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%q of %d pages: %v %v, want %v", c.ranges, c.total, got, ok, c.want)
		}
	}
}

func TestFormatPages(t *testing.T) {
	for want, pages := range map[string][]int{"": nil, "4": {4}, "1-3,5": {1, 2, 3, 5}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := formatPages(pages); got != want {
			t.Errorf("%v: %q, want %q", pages, got, want)
		}
	}
}
