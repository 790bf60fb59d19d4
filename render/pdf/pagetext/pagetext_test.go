package pagetext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// set puts lines on a page: each at a height, its words so wide as letters usually are.
type set struct {
	page Page
	line int
}

func (s *set) text(x, y, size float64, text string) {
	s.line++
	for _, word := range strings.Fields(text) {
		width := float64(utf8.RuneCountInString(word)) * size / 2
		s.page.Words = append(s.page.Words, Word{Text: word, Size: size, Base: y, Line: s.line, Box: Box{x, y - 0.8*size, x + width, y + 0.2*size}})
		x += width + size/4
	}
}

func newSet() *set { return &set{page: Page{Width: 600, Height: 800}} }

func one(s *set) string { return Markdown([]Page{s.page})[0] }

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

func TestHyphens(t *testing.T) {
	s := newSet()
	s.text(50, 100, 10, "The word well-known stands here, and every so often it is parted at the well-")
	s.text(50, 112, 10, "known end of a line, as other words are, such as the name of a Manu-")
	s.text(50, 124, 10, "facture in Baden-")
	s.text(50, 136, 10, "Baden, and one with a soft hyphen\u00ad.")
	check(t, "hyphens", one(s), "The word well-known stands here, and every so often it is parted at the well-known end of a line, as other words are, such as the name of a Manufacture in Baden-Baden, and one with a soft hyphen.")
}

func TestEscapes(t *testing.T) {
	s := newSet()
	s.text(50, 100, 10, "# not a heading")
	s.text(50, 150, 10, "1986. A great year <!-- page 3 -->")
	s.text(50, 200, 10, "a*b* [x](y) `c` _d_ e_f &amp; | pipe")
	check(t, "escapes", one(s), "\\# not a heading\n\n1986\\. A great year \\<!-- page 3 -->\n\na\\*b\\* \\[x\\](y) \\`c\\` \\_d\\_ e_f \\&amp; \\| pipe")
}

func TestThreeColumns(t *testing.T) {
	s := newSet()
	s.text(50, 60, 18, "One heading over all")
	for i := range 6 {
		y := 100 + 12*float64(i)
		s.text(50, y, 10, "Left column with its own words")
		s.text(230, y+4, 10, "Middle column with other words")
		s.text(410, y+8, 10, "Right column has the last words")
	}
	got := one(s)
	want := "# One heading over all\n\n" + strings.TrimSpace(strings.Repeat("Left column with its own words ", 6)) + "\n\n" +
		strings.TrimSpace(strings.Repeat("Middle column with other words ", 6)) + "\n\n" + strings.TrimSpace(strings.Repeat("Right column has the last words ", 6))
	check(t, "three columns", got, want)
}

func TestRunning(t *testing.T) {
	var pages []Page
	for _, n := range []string{"1", "2", "3", "4"} {
		s := newSet()
		s.text(50, 30, 9, "The Title of It All")
		s.text(50, 100, 10, "What page "+n+" has to say is not much.")
		s.text(290, 780, 9, "Page "+n+" of 4")
		pages = append(pages, s.page)
	}
	got := Markdown(pages)
	check(t, "page 1", got[0], "The Title of It All\n\nWhat page 1 has to say is not much.")
	for i, text := range got[1:] {
		check(t, "later page", text, "What page "+string(rune('2'+i))+" has to say is not much.")
	}
}

// TestTurned: a page whose words are all turned reads as one that stands upright.
func TestTurned(t *testing.T) {
	s := newSet()
	s.text(50, 100, 10, "It lies on its side,")
	s.text(50, 112, 10, "and reads as others do.")
	want := one(s)
	turned := newSet()
	turned.text(50, 100, 10, "It lies on its side,")
	turned.text(50, 112, 10, "and reads as others do.")
	for i := range turned.page.Words {
		w := &turned.page.Words[i]
		w.Box, w.Base, w.Turn = Box{800 - w.Bottom, w.Left, 800 - w.Top, w.Right}, 800-w.Base, 1
	}
	turned.page.Width, turned.page.Height = 800, 600
	check(t, "turned", one(turned), want)
	if !strings.Contains(want, "side, and reads") {
		t.Errorf("got %q", want)
	}
}

func TestLogical(t *testing.T) {
	for _, test := range [][2]string{{"םולש", "שלום"}, {"abc", "abc"}, {"12ג", "ג12"}, {"123", "123"}} {
		places := make([]float64, utf8.RuneCountInString(test[0]))
		for i := range places {
			places[i] = float64(i)
		}
		if got := Logical(test[0], places); got != test[1] {
			t.Errorf("%q is read as %q, want %q", test[0], got, test[1])
		}
	}
}

// FuzzMarkdown sets words anywhere: whatever stands on a page is said, once.
func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("0\x10\x20\x30a\x11\x21\x31b\x60\x20\x30c"), "alpha 1. beta - *")
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200, 100, 50, 3, 255}, "שלום x 日本")
	f.Fuzz(func(t *testing.T, places []byte, text string) {
		words := strings.Fields(text)
		if len(words) == 0 || len(places) > 4000 {
			return
		}
		page, want := Page{Width: 612, Height: 792}, 0
		for i := 0; i+4 < len(places); i += 5 {
			p := places[i : i+5]
			x, y, size := float64(p[0])*2.4, 100+float64(p[1])*2.3, 5+float64(p[2]%24)
			box := Box{x, y - size, x + float64(p[3]), y}
			if p[4]%7 == 0 {
				page.Rules = append(page.Rules, Box{x, y, x + float64(p[3]), y}, Box{x, y, x, y + float64(p[2])})
				continue
			}
			w := Word{Text: words[i/5%len(words)], Box: box, Size: size, Base: y, Line: int(p[4] % 16), Bold: p[4]%3 == 0, Mono: p[4]%5 == 0, Joined: p[4]%11 == 0, Turn: int(p[4] % 41 / 36)}
			page.Words = append(page.Words, w)
			want += lettersIn(plain(w.Text))
		}
		got := Markdown([]Page{page})[0]
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		if n := lettersIn(strings.ReplaceAll(strings.ReplaceAll(got, "<sup>", ""), "</sup>", "")); n != want && !strings.Contains(got, "<br>") {
			t.Errorf("%d letters became %d: %q", want, n, got)
		}
	})
}

func lettersIn(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}
