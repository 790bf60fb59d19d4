package pdf

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// about returns the info of a document.
func about(t *testing.T, content []byte, password string) Info {
	t.Helper()
	result, err := runJob(t, InfoJob.Name, input(password), content)
	if err != nil {
		t.Fatal(err)
	}
	var i Info
	if err := json.Unmarshal(result.Body, &i); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestInfoOfAFullDocument(t *testing.T) {
	doc := linked()
	doc.Version = "1.4"
	doc.Info = "/Title <FEFF005A00FC007200690063006800206F225B57> /Author (J\\374rgen) /Subject 109 0 R /Keywords (one, two;three,,) " +
		"/Creator (C) /Producer (P) /CreationDate (D:20260102030405+02'30') /ModDate (D:2026)"
	doc.Catalog += " /MarkInfo << /Marked true >> /Version /1.6 /Names << /EmbeddedFiles << /Names [(a.txt) 107 0 R] >> >>"
	doc.Objects = append(doc.Objects, "<< /Type /Filespec /F (a.txt) /UF (a.txt) /EF << /F 108 0 R >> >>", "<< /Length 2 >>\nstream\nhi\nendstream", "(S)")
	content := doc.Write()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 9000))
	modified := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := Info{
		PageCount: 3, PDFVersion: "1.6", Title: "Zürich 漢字", Author: "Jürgen", Subject: "S", Keywords: []string{"one", "two", "three"},
		Creator: "C", Producer: "P", Permissions: everything, Tagged: true, HasForm: true, HasOutline: true, AttachmentCount: 1,
		SizeBytes: int64(len(content)),
		Pages:     []PageInfo{{1, 300, 400, 0}, {2, 301, 400, 0}, {3, 302, 400, 0}},
	}
	got := about(t, content, "")
	if got.CreatedAt == nil || !got.CreatedAt.Equal(created) || got.ModifiedAt == nil || !got.ModifiedAt.Equal(modified) {
		t.Errorf("dates %v and %v, want %v and %v", got.CreatedAt, got.ModifiedAt, created, modified)
	}
	if text, err := got.CreatedAt.MarshalText(); err != nil || string(text) != "2026-01-02T03:04:05+02:30" {
		t.Errorf("date %s, %v", text, err)
	}
	got.CreatedAt, got.ModifiedAt = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestInfoOfABareDocument(t *testing.T) {
	content := pdftest.Transform(t, three().Write(), "--linearize")
	want := Info{
		PageCount: 3, PDFVersion: "1.7", Keywords: []string{}, Permissions: everything, Linearized: true, SizeBytes: int64(len(content)),
		Pages: []PageInfo{{1, 300, 400, 0}, {2, 301, 400, 0}, {3, 302, 400, 0}},
	}
	if got := about(t, content, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := about(t, append(content, ' '), ""); got.Linearized {
		t.Error("a document that has been added to passes for linearized")
	}
}

func TestInfoOfAnEncryptedDocument(t *testing.T) {
	content := pdftest.Transform(t, three().Write(), "--linearize", "--encrypt", "u", "o", "256", "--extract=n", "--print=low", "--")
	got := about(t, content, "u")
	allow := everything
	allow.Copy, allow.HighRes = false, false
	if !got.Encrypted || !got.Linearized || got.Permissions != allow || got.PageCount != 3 || len(got.Pages) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{
		"D:20260228235959Z":         "2026-02-28T23:59:59Z",
		"D:20260228235959Z00'00'":   "2026-02-28T23:59:59Z",
		"D:20260228235959-08'00":    "2026-02-28T23:59:59-08:00",
		"20260228":                  "2026-02-28T00:00:00Z",
		"D:20260230":                "",
		"D:20261301":                "",
		"Tue Jan  6 10:00:00 2026":  "",
		"":                          "",
		"D:20260228250000":          "",
		"D:202602282359+01'00":      "2026-02-28T23:59:00+01:00",
		"D:20260228235959+00'00'":   "2026-02-28T23:59:59Z",
		"D:20260228235959+00'00'xx": "",
	} {
		got := ""
		if d := job.ParseDate(in); d != nil {
			got = d.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestInfoReadsDamagedFiles asks for what only an object tells.
func TestInfoReadsDamagedFiles(t *testing.T) {
	plain := linked().Write()
	start := bytes.LastIndex(plain, []byte("startxref"))
	for name, content := range map[string][]byte{
		"no table":  append(bytes.Clone(plain[:start]), "startxref\n7\n%%EOF\n"...),
		"encrypted": pdftest.Transform(t, plain, "--encrypt", "", "o", "256", "--"),
	} {
		result, err := runJob(t, InfoJob.Name, input(""), content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var about Info
		if err := json.Unmarshal(result.Body, &about); err != nil {
			t.Fatal(err)
		}
		if about.PageCount != 3 || !about.HasOutline {
			t.Errorf("%s: %+v, want three pages and an outline", name, about)
		}
	}
}
