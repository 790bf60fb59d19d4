package redact

import (
	"regexp"
	"strings"
	"testing"
)

// TestSecretsInAddresses finds words in addresses in all spellings that addresses have, and nothing else.
func TestSecretsInAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		term, text string
		hit        bool
	}{
		"plus":                    {"Ada Lovelace", "https://x.org/?n=Ada+Lovelace&m=1", true},
		"two pluses":              {"Ada King Lovelace", "https://x.org/?n=ada+king+lovelace", true},
		"percent":                 {"Ada Lovelace", "https://x.org/?n=Ada%20Lovelace", true},
		"percent twice":           {"Ada Lovelace", "https://x.org/?n=Ada%2520Lovelace", true},
		"an encoded plus":         {"Ada Lovelace", "https://x.org/?n=Ada%2BLovelace", true},
		"encoded letters, a plus": {"Ada Lovelace", "https://x.org/?n=%41da+%4Covelace", true},
		"a path":                  {"Ada Lovelace", "https://x.org/people/ada-lovelace", true},
		"a file":                  {"Ada Lovelace", "Ada_Lovelace.pdf", true},
		"mail":                    {"Ada Lovelace", "mailto:Ada.Lovelace@x.org", true},
		"mail's subject":          {"Ada Lovelace", "mailto:a@x.org?subject=For%20ADA%20LOVELACE", true},
		"UTF-8":                   {"Müller", "https://x.org/M%C3%BCller", true},
		"UTF-8 in small letters":  {"MÜLLER", "https://x.org/m%c3%bcller", true},
		"Latin-1":                 {"Müller", "https://x.org/M%FCller", true},
		"not encoded":             {"Müller", "https://x.org/Müller", true},
		"decomposed":              {"Müller", "https://x.org/Mu%CC%88ller", true},
		"punycode":                {"Müller", "https://xn--mller-kva.example/", true},
		"punycode in capitals":    {"Müller", "https://XN--MLLER-KVA.example/", true},
		"other words":             {"Ada Lovelace", "https://x.org/?n=Ada+Byron&m=Lovelace", false},
		"no address":              {"AB", "A+B", false},
		"hyphens of one word":     {"database", "https://x.org/data-base", false},
	} {
		s, err := newRedactionTerms([]string{c.term}, nil)
		if err != nil {
			t.Fatal(err)
		}
		clean, hit := s.cleanString("u:" + c.text)
		if hit != c.hit {
			t.Errorf("%s: %q has %q: %v, want %v", name, c.text, c.term, hit, c.hit)
		}
		if again, still := s.cleanString(clean); still {
			t.Errorf("%s: %q is left in %q: %q", name, c.term, clean, again)
		}
		if !hit && clean != "u:"+c.text {
			t.Errorf("%s: %q has become %q", name, c.text, clean)
		}
	}

	s := redactionTerms{patterns: []*regexp.Regexp{regexp.MustCompile(`Ada\s+L\w+`)}}
	if clean, hit := s.cleanString("u:https://x.org/?n=Ada+Lovelace"); !hit || strings.Contains(clean, "Love") {
		t.Errorf("a pattern leaves %q", clean)
	}
}

// TestSecretsWithMarks takes a letter and its mark for what they are together.
func TestSecretsWithMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		term, text string
		want       int // letters
	}{
		{"Müller", "Mu\u0308ller", 7}, {"Mu\u0308ller", "Müller", 6}, {"menu", "menu\u0308", 0}, {"MENÜ", "menu\u0308", 5}, {"ก", "กิน", 2}, {"न", "नि", 1},
	} {
		s, err := newRedactionTerms([]string{c.term}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.find(lettersOf(c.text)); len(got) != c.want {
			t.Errorf("%q in %q: letters %v, want %d", c.term, c.text, got, c.want)
		}
		pattern := redactionTerms{patterns: []*regexp.Regexp{regexp.MustCompile("(?i)" + c.term)}}
		if got := pattern.find(lettersOf(c.text)); c.term != "Mu\u0308ller" && len(got) != c.want {
			t.Errorf("pattern %q in %q: letters %v, want %d", c.term, c.text, got, c.want)
		}
	}
}

// TestFoldPlain folds plain texts as fold does.
func TestFoldPlain(t *testing.T) {
	for c := range 128 {
		for _, text := range []string{"a" + string(rune(c)) + "z", string(rune(c)) + "\n"} {
			if got, plain := foldPlain(text); plain && got != Fold(lettersOf(text), true).Text {
				t.Errorf("%q is folded to %q, want %q", text, got, Fold(lettersOf(text), true).Text)
			}
		}
	}
}
