package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	mit = "Permission is hereby granted, free of charge, to any person obtaining\na copy of this software"
	bsd = "Redistribution and use in source and binary forms, with or without\n// modification, are permitted"
)

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"MIT", "The MIT License\n\n" + mit, []string{"MIT"}},
		{"BSD of two clauses", strings.ReplaceAll(bsd, "// ", ""), []string{"BSD-2-Clause"}},
		{"BSD of three clauses", strings.ReplaceAll(bsd, "// ", "") + " … Neither the name of X may be used to endorse or promote products derived from\nthis software without specific prior written permission.", []string{"BSD-3-Clause"}},
		{"Apache", "Apache License\n   Version 2.0, January 2004", []string{"Apache-2.0"}},
		{"two in one file", mit + "\nLicensed under the Apache License, Version 2.0", []string{"Apache-2.0", "MIT"}},
		{"MPL names the GPL", "Mozilla Public License Version 2.0 … the GNU General Public License, Version 2.0", []string{"MPL-2.0"}},
		{"GPL", "GNU GENERAL PUBLIC LICENSE\nVersion 3", []string{"GPL"}},
		{"GPL beside MIT", mit + " GNU GENERAL PUBLIC LICENSE", []string{"MIT", "GPL"}},
		{"AGPL", "GNU AFFERO GENERAL PUBLIC LICENSE", []string{"AGPL"}},
		{"SQLite", "has been dedicated to the public\ndomain by the authors.", []string{"Public domain"}},
		{"a choice", "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */ GNU GENERAL PUBLIC LICENSE", []string{"BSD-3-Clause"}},
		{"no good choice", "SPDX-License-Identifier: GPL-2.0-only OR LGPL-3.0 GNU GENERAL PUBLIC LICENSE", []string{"GPL"}},
		{"unknown", "All rights reserved.", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := classify(tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLicencesIn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
		wrong string // part of the error
	}{
		{name: "two files", files: map[string]string{"LICENSE": mit, "LICENSE-GO": "Apache License Version 2.0"}, want: []string{"Apache-2.0", "MIT"}},
		{name: "British spelling", files: map[string]string{"licence.md": mit}, want: []string{"MIT"}},
		{name: "a logo's is not the code's", files: map[string]string{"LICENSE": mit, "LICENSE-LOGO": "a picture"}, want: []string{"MIT"}},
		{name: "none", files: map[string]string{"README": mit}, wrong: "no licence file"},
		{name: "unknown", files: map[string]string{"LICENSE": "All rights reserved."}, wrong: "not known"},
		{name: "one of two is the GPL", files: map[string]string{"LICENSE": mit, "COPYING": "GNU General Public License"}, wrong: "GPL is not allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := licencesIn(dir)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("got %v, want an error with %q", err, tt.wrong)
				}
				return
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestReplaceList(t *testing.T) {
	text := "# Licences\n" + beginMark + "\nold\n" + endMark + "\nrest\n"
	once, err := replaceList(text, "| new |\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "# Licences\n" + beginMark + "\n\n| new |\n\n" + endMark + "\nrest\n"; once != want {
		t.Errorf("got %q, want %q", once, want)
	}
	if twice, err := replaceList(once, "| new |\n"); err != nil || twice != once {
		t.Errorf("the second time: got %q, %v, want no change", twice, err)
	}
	if _, err := replaceList("no marks", ""); err == nil {
		t.Error("without marks: got no error")
	}
}
