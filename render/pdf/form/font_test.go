package form

import "testing"

func TestBestFont(t *testing.T) {
	for name, test := range map[string]struct {
		listing string
		want    fontFile
	}{
		"none":    {"", fontFile{}},
		"family":  {"Aaa|80|/a.ttf|0\nDejaVu Sans|80|/d.ttf|0\nLiberation Sans|80|/l.ttf|0\n", fontFile{"/l.ttf", 0}},
		"weight":  {"DejaVu Sans|200|/bold.ttf|0\nDejaVu Sans|80|/d.ttf|0\n", fontFile{"/d.ttf", 0}},
		"any":     {"Zzz|80|/z.ttf|0\nNoto Sans Thai|80|/t.ttf|0\nAaa|80|/a.ttf|0\n", fontFile{"/t.ttf", 0}},
		"many":    {"Noto Sans CJK JP|80|/c.ttc|1\n", fontFile{"/c.ttc", 1}},
		"kind":    {"Liberation Sans|80|/l.pfb|0\n", fontFile{}},
		"garbage": {"x\n|||\n", fontFile{}},
	} {
		if got := bestFont([]byte(test.listing)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
