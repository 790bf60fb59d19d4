package main

import (
	"regexp"
	"strings"
)

// capitals are the words that n8n and its users write differently from others.
var capitals = map[string]string{
	"ai": "AI", "css": "CSS", "dpi": "DPI", "facturx": "Factur-X", "filename": "File Name", "gs1": "GS1", "html": "HTML", "http": "HTTP",
	"id": "ID", "includetext": "Include Text", "ids": "IDs", "json": "JSON", "max": "Max", "min": "Min", "nup": "N-Up", "ocr": "OCR", "pdf": "PDF", "pdfa": "PDF/A",
	"pkcs12": "PKCS 12", "s3": "S3", "sftp": "SFTP", "url": "URL", "xml": "XML", "zip": "ZIP",
}

// small are the words that titles write in lower case.
var small = map[string]bool{"a": true, "an": true, "and": true, "at": true, "by": true, "for": true, "from": true, "in": true, "of": true, "on": true, "or": true, "per": true, "the": true, "to": true, "with": true}

var wordBoundary = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])`)

// title returns a name of the API as a title: pageRanges is Page Ranges, pdf_form_fill is PDF Form Fill.
func title(name string) string {
	words := strings.FieldsFunc(wordBoundary.ReplaceAllString(name, "$1$3 $2$4"), func(r rune) bool {
		return r == ' ' || r == '_' || r == '-' || r == '.'
	})
	for i, word := range words {
		lower := strings.ToLower(word)
		switch {
		case capitals[lower] != "":
			words[i] = capitals[lower]
		case small[lower] && i > 0 && i < len(words)-1:
			words[i] = lower
		case word != "":
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}

// singular returns a tag's name for one of its things.
func singular(tag string) string {
	if stem, ok := strings.CutSuffix(tag, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(tag, "s")
}

var (
	urlWord  = regexp.MustCompile(`\burl\b`)
	jsonWord = regexp.MustCompile(`\bjson\b`)
	idWord   = regexp.MustCompile(`\bid\b`)
)

// describe returns a description in n8n's style, which its linter checks.
func describe(description, kind string) string {
	s := strings.Join(strings.Fields(description), " ")
	s = urlWord.ReplaceAllString(s, "URL")
	s = jsonWord.ReplaceAllString(s, "JSON")
	s = idWord.ReplaceAllString(s, "ID")
	s = strings.NewReplacer("`", "", "<", "&lt;", ">", "&gt;").Replace(s)
	if kind == "boolean" {
		s = whether(s)
	}

	if s == "" {
		return ""
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.Contains(s, ". ") {
		s = strings.TrimSuffix(s, ".")
	}
	return s
}

// clause begins a condition that is a sentence, not an order.
var clause = regexp.MustCompile(`^(an?|the|readers) `)

// whether rewrites the description of a condition: "If true, print the text" is "Whether to print the text".
func whether(s string) string {
	condition, ok := strings.CutPrefix(s, "If true, ")
	switch {
	case !ok:
		return "Whether this is on. " + s
	case clause.MatchString(condition):
		return "Whether " + condition
	}
	return "Whether to " + condition
}

// action returns the summary of a route in the sentence case of n8n, which has no punctuation.
func action(summary string) string {
	s := strings.NewReplacer(", ", " or ", "-", " ", "PDFs", "PDF files").Replace(summary)
	words := strings.Fields(s)
	for i, word := range words {
		if i > 0 && word != strings.ToUpper(word) {
			words[i] = strings.ToLower(word)
		}
	}
	return strings.Join(words, " ")
}
