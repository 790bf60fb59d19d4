package main

import (
	"regexp"
	"strings"
)

// allowed are the licences that a program under the MIT licence may link:
// permissive ones, and MPL-2.0, whose conditions end at its own files.
var allowed = map[string]bool{
	"MIT": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true, "0BSD": true,
	"Apache-2.0": true, "MPL-2.0": true, "Unlicense": true, "CC0-1.0": true, "Zlib": true, "Public domain": true,
}

// licenceWords are the words by which a licence is recognised, in lower case, with single spaces and no other
// punctuation than here.
var licenceWords = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy of"},
	{"BSD-3-Clause", "to endorse or promote products derived from this software without specific " +
		"prior written permission"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms with or without modification are permitted"},
	{"0BSD", "bsd zero clause license"},
	{"ISC", "provided that the above copyright notice and this permission notice appear in all copies"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Zlib", "altered source versions must be plainly marked as such"},
	{"Public domain", "dedicated to the public domain by the authors"}, // SQLite
	{"AGPL", "gnu affero general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"LGPL", "gnu library general public license"},
	{"GPL", "gnu general public license"},
	{"SSPL", "server side public license"},
	{"BUSL", "business source license"},
	{"Elastic", "elastic license"},
	{"CC-BY-NC", "noncommercial"},
}

// choice is the declaration of a text that offers several licences.
var choice = regexp.MustCompile(`SPDX-License-Identifier: (\S+(?: OR \S+)+)`)

// chosen returns the allowed licence that a text offers to choose, or "".
func chosen(text string) string {
	declared := choice.FindStringSubmatch(text)
	if declared == nil {
		return ""
	}
	for name := range strings.SplitSeq(declared[1], " OR ") {
		if allowed[name] {
			return name
		}
	}
	return ""
}

// classify returns the licences that a text contains, or none if it recognises none. If the text offers a choice,
// the result is an allowed licence.
func classify(text string) []string {
	if name := chosen(text); name != "" {
		return []string{name}
	}

	words := normalise(text)
	found := map[string]bool{}
	var names []string

	for _, licence := range licenceWords {
		if strings.Contains(words, licence.words) && !found[licence.name] && !implied(licence.name, found) {
			found[licence.name] = true
			names = append(names, licence.name)
		}
	}
	return names
}

// implied reports whether the words of a licence are in the text only because a licence found before contains them
// too: the three clauses of BSD contain the two, and MPL-2.0 names the GNU licences it may be combined with.
func implied(name string, found map[string]bool) bool {
	switch name {
	case "BSD-2-Clause":
		return found["BSD-3-Clause"]
	case "ISC":
		return found["0BSD"]
	case "AGPL", "LGPL", "GPL":
		return found["MPL-2.0"]
	}
	return false
}

// normalise makes texts comparable that differ in case, line breaks, comment
// signs and commas.
func normalise(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case ',', '*', '#', '"', '(', ')', ';':
			return ' '
		}
		return r
	}, strings.ToLower(text))
	return strings.Join(strings.Fields(text), " ")
}
