package pagerange

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		expr  string
		pages int
		want  []int
	}{
		{"1-3,5", 5, []int{1, 2, 3, 5}},
		{"4-", 6, []int{4, 5, 6}},
		{"6-", 6, []int{6}},
		{"-3", 6, []int{1, 2, 3}},
		{"even", 5, []int{2, 4}},
		{"odd", 5, []int{1, 3, 5}},
		{"odd", 1, []int{1}},
		{"last", 5, []int{5}},
		{"1,even", 1, []int{1}},
		{" 2 - 3 , last ", 4, []int{2, 3, 4}},
		{"5,1-2,1", 5, []int{5, 1, 2, 1}},
		{"007", 7, []int{7}},
	} {
		selection, err := Parse(test.expr)
		if err != nil {
			t.Errorf("%q: %v", test.expr, err)
			continue
		}
		got, err := selection.Resolve(test.pages)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q of %d pages: %v, %v; want %v", test.expr, test.pages, got, err, test.want)
		}
	}
}

func TestResolveBeyondTheEnd(t *testing.T) {
	for expr, pages := range map[string]int{
		"6": 5, "4-6": 5, "6-": 5, "-6": 5, "1,9": 5, "even": 1, "last": 0, "odd": 0, "1000000": 999_999,
	} {
		selection, err := Parse(expr)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		got, err := selection.Resolve(pages)
		var beyond *BeyondError
		if !errors.As(err, &beyond) || beyond.Pages != pages {
			t.Errorf("%q of %d pages: %v, %v; want a BeyondError", expr, pages, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for expr, want := range map[string]string{
		"":                         "is empty",
		"  ":                       "is empty",
		"3-1":                      "is reversed",
		"0":                        "start at 1",
		"0-2":                      "start at 1",
		"-0":                       "start at 1",
		"-":                        "without a page",
		"1,,2":                     "empty part",
		"1,":                       "empty part",
		"1-2-3":                    "not a page",
		"--2":                      "not a page",
		"first":                    "not a page",
		"Odd":                      "not a page",
		"+1":                       "not a page",
		"1;2":                      "not a page",
		"\u0661":                   "not a page",
		"1000001":                  "above 1000000",
		"99999999999999999999":     "above 1000000",
		strings.Repeat("1,", 8001): "longer than",
	} {
		selection, err := Parse(expr)
		if !errors.Is(err, errSyntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", expr, selection, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1-3,5", "7-", "-3", "even,odd", "last", "3-1", "1--2"} {
		f.Add(seed, 5)
	}
	f.Fuzz(func(t *testing.T, expr string, pages int) {
		selection, err := Parse(expr)
		if err != nil {
			return
		}
		numbers, err := selection.Resolve(pages % 3000)
		for _, page := range numbers {
			if page < 1 || page > pages%3000 {
				t.Errorf("%q selects page %d of %d", expr, page, pages)
			}
		}
		if err == nil && len(numbers) == 0 {
			t.Errorf("%q of %d pages: nothing selected and no error", expr, pages)
		}
	})
}

func TestLast(t *testing.T) {
	for expr, want := range map[string]int{"1-3,5": 5, "7,2": 7, "-3": 3, "7-": 0, "even": 0, "1,last": 0} {
		selection, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if page, named := selection.Last(); page != want || named != (want != 0) {
			t.Errorf("%q: %d, %v; want %d", expr, page, named, want)
		}
	}
}
