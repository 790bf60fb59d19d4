package markup

import "testing"

func TestLanguage(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"<!-- a --><!doctype html>\n<HTML class=x LANG=' de '><body>": "de",
		"<html><body lang=de>":  "",
		"<p lang=de>":           "",
		"text <html lang=de>":   "de",
		"</p><html lang=de>":    "",
		"":                      "",
		"<html lang=''><p>text": "",
	} {
		if got := Language(doc); got != want {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
}
