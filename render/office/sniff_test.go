package office

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16le returns text in UTF-16 without a mark.
func utf16le(text string) string {
	var out bytes.Buffer
	for _, unit := range utf16.Encode([]rune(text)) {
		_ = binary.Write(&out, binary.LittleEndian, unit) // a buffer takes all
	}
	return out.String()
}

func TestSniff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, name, content string
		want                Source
	}{
		{"docx", "lying.xlsx", string(docx(t, "", "")), Source{KindDocument, FormatOOXML}},
		{"xlsx", "", string(xlsx(t, "")), Source{KindSheet, FormatOOXML}},
		{"pptx", "", string(archiveOf(t, part{"[Content_Types].xml", "<x/>"}, part{"ppt/presentation.xml", "<x/>"})), Source{KindSlides, FormatOOXML}},
		{"odt", "a.txt", string(opened(t, "text", "")), Source{KindDocument, FormatODF}},
		{"ods", "", string(opened(t, "spreadsheet", "")), Source{KindSheet, FormatODF}},
		{"odp", "", string(opened(t, "presentation", "")), Source{KindSlides, FormatODF}},
		{"doc", "a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", Source{KindSealed, FormatCompound}},
		{"rtf", "a.txt", `{\rtf1 x}`, Source{KindDocument, FormatRTF}},
		{"pdf", "a.docx", "%PDF-1.7\n", Source{KindPDF, FormatPDF}},
		{"png", "a.pdf", "\x89PNG\r\n\x1a\nrest", Source{KindImage, FormatImage}},
		{"webp", "", "RIFF\x00\x00\x00\x00WEBPVP8 ", Source{KindImage, FormatImage}},
		{"csv", "a.CSV", "a,b", Source{KindSheet, FormatCSV}},
		{"tsv", "a.tsv", "a\tb", Source{KindSheet, FormatCSV}},
		{"md", "a.md", "# a", Source{KindWeb, FormatMarkdown}},
		{"html", "a.htm", "<p>", Source{KindWeb, FormatHTML}},
		{"txt", "a.log", "<p>", Source{KindText, FormatText}},
		{"no name", "", "a,b", Source{KindText, FormatText}},
		{"page", "", "<!DOCTYPE html><title>a</title>", Source{KindWeb, FormatHTML}},
		{"page as text", "a.txt", "\ufeff\n<!-- a\nb --><html lang=en>", Source{KindWeb, FormatHTML}},
		{"XHTML", "", `<?xml version="1.0"?><!doctype html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">`, Source{KindWeb, FormatHTML}},
		{"page in the middle", "a.md", "# a\n\n<html>", Source{KindWeb, FormatMarkdown}},
		{"another element", "", "<htmlx>", Source{KindText, FormatText}},
		{"UTF-16", "a.csv", "\xff\xfea\x00", Source{KindSheet, FormatCSV}},
	} {
		if got, err := Sniff(strings.NewReader(test.content), test.name); err != nil || got != test.want {
			t.Errorf("%s: got %v and %v, want %v", test.what, got, err, test.want)
		}
	}
	var failed *Error
	for _, content := range []string{"\x7fELF\x00", "PK\x03\x04", "PK\x03\x04" + strings.Repeat("PK\x01\x02", 100), string(opened(t, "formula", ""))} {
		if got, err := Sniff(strings.NewReader(content), "a.txt"); !errors.As(err, &failed) || failed.Reason != Unknown {
			t.Errorf("%.20q: got %v and %v, want Unknown", content, got, err)
		}
	}
}

// TestPairs holds the table of targets to what the kinds are.
func TestPairs(t *testing.T) {
	t.Parallel()
	for kind, targets := range possible {
		if len(targets) < 3 {
			t.Errorf("%s: only %v", kind, targets)
		}
		for _, to := range targets {
			if err := (Source{Kind: kind}).Check(to); err != nil {
				t.Error(err)
			}
		}
	}
	var pair *PairError
	if err := (Source{KindSheet, FormatCSV}).Check(ToDOCX); !errors.As(err, &pair) || len(pair.Possible) != 4 {
		t.Errorf("got %v, want a *PairError with the four targets of a table", err)
	}
	if err := (Source{KindWeb, FormatMarkdown}).Check(ToHTML); err != nil {
		t.Error(err)
	}
	if err := (Source{KindWeb, FormatHTML}).Check(ToHTML); !errors.As(err, &pair) {
		t.Errorf("HTML to HTML: got %v, want a *PairError", err)
	}
}

func FuzzSniff(f *testing.F) {
	f.Add([]byte("PK\x03\x04PK\x01\x02"), "a.docx")
	f.Add([]byte("%PDF-"), "")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		source, err := Sniff(bytes.NewReader(content), name)
		if err == nil && possible[source.Kind] == nil {
			t.Errorf("got %v, which has no target", source)
		}
	})
}
