package pdf

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// result is the body of a job's result.
func result(t testing.TB, jobName string, args any, files ...[]byte) []byte {
	t.Helper()
	got, err := runJob(t, jobName, args, files...)
	if err != nil {
		t.Fatalf("%s: %v", jobName, err)
	}
	return got.Body
}

func TestAttachments(t *testing.T) {
	content := []byte("a;b\n1;2\n\x00\xff")
	added := AttachArgs{Input: input(""), Files: []NewAttachment{
		{File: inputName(1), Filename: "Übersicht (1).csv", ContentType: "text/csv", Description: "Zahlen, 数字"},
		{File: inputName(2), Filename: "--empty"},
	}}
	document := makeOne(t, AttachJob.Name, added, linked().Write(), content, nil)
	sound(t, document, "", 3)
	if out := pdftest.Tool(t, "pdfdetach", "-list", pdftest.Save(t, document)); !bytes.Contains([]byte(out), []byte("2 embedded files")) {
		t.Errorf("poppler sees %s", out)
	}
	list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), document)).Attachments
	if len(list) != 2 || list[0].Name != "--empty" || list[1].Filename != "Übersicht (1).csv" || list[1].ContentType != "text/csv" || list[1].Description != "Zahlen, 数字" {
		t.Fatalf("attached is %+v", list)
	}
	if size := list[1].SizeBytes; size == nil || *size != int64(len(content)) || list[1].ModifiedAt == nil {
		t.Errorf("attached is %+v", list[1])
	}
	got, err := runJob(t, DetachJob.Name, NamedAttachments{Input: input(""), Names: []string{"Übersicht (1).csv", "Übersicht (1).csv"}}, document)
	if err != nil || len(got.Files) != 1 || !bytes.Equal(read(t, got), content) {
		t.Errorf("taken out are %d files: %v", len(got.Files), err)
	}
	if all, err := runJob(t, DetachJob.Name, NamedAttachments{Input: input("")}, document); err != nil || len(all.Files) != 2 {
		t.Errorf("all of them: %d files, %v", len(all.Files), err)
	}
	// One of the same name takes the place of the other.
	added.Files = added.Files[:1]
	again := makeOne(t, AttachJob.Name, added, document, []byte("new"))
	if got, err := runJob(t, DetachJob.Name, NamedAttachments{Input: input(""), Names: []string{"Übersicht (1).csv"}}, again); err != nil || string(read(t, got)) != "new" {
		t.Errorf("replaced: %v", err)
	}
	less := makeOne(t, RemoveAttachmentsJob.Name, NamedAttachments{Input: input(""), Names: []string{"Übersicht (1).csv"}}, again)
	if list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), less)).Attachments; len(list) != 1 || list[0].Name != "--empty" {
		t.Errorf("left is %+v", list)
	}
	if text := pdftest.Transform(t, less, "--qdf", "--object-streams=disable"); bytes.Contains(text, []byte("Zahlen")) || bytes.Contains(text, []byte("\nnew\n")) {
		t.Error("what was taken out is still in the file")
	}
}

func TestAttachmentsThatAreNotThere(t *testing.T) {
	runFailing(t, job.NoMatch, DetachJob.Name, NamedAttachments{Input: input("")}, three().Write())
	document := makeOne(t, AttachJob.Name, AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(1), Filename: "a.txt"}}}, three().Write(), []byte("a"))
	for _, jobName := range []string{DetachJob.Name, RemoveAttachmentsJob.Name} {
		failed := runFailing(t, job.NotAttached, jobName, NamedAttachments{Input: input(""), Names: []string{"b.txt"}}, document)
		if want := `has "b.txt", which is not attached. Attachments: "a.txt"`; failed.Text != want {
			t.Errorf("%s: %q, want %q", jobName, failed.Text, want)
		}
	}
	if list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), three().Write())).Attachments; list == nil || len(list) != 0 {
		t.Errorf("a document without attachments has %+v", list)
	}
}

// TestAttachmentsStayEncrypted adds to and reads of an encrypted document.
func TestAttachmentsStayEncrypted(t *testing.T) {
	locked := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o", Allow: everything}, three().Write())
	document := makeOne(t, AttachJob.Name, AttachArgs{Input: input("u"), Files: []NewAttachment{{File: inputName(1), Filename: "a.txt"}}}, locked, []byte("secret text"))
	runFailing(t, job.PasswordRequired, AttachmentsJob.Name, input(""), document)
	list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input("u"), document)).Attachments
	if len(list) != 1 || list[0].SizeBytes == nil || *list[0].SizeBytes != 11 || bytes.Contains(document, []byte("secret text")) {
		t.Errorf("attached is %+v", list)
	}
}

// TestAttachmentsOnPages lists, extracts and removes files that are pinned on pages as
// comments, together with those of the document. One of the files is both.
func TestAttachmentsOnPages(t *testing.T) {
	spec := func(stream int) string {
		return fmt.Sprintf("<< /Type /Filespec /F (note.txt) /UF (note.txt) /EF << /F %d 0 R >> >>", stream)
	}
	embedded := func(text string) string {
		return fmt.Sprintf("<< /Type /EmbeddedFile /Subtype /text#2Fplain /Params << /Size %d /ModDate (D:20260102) >> /Length %d >>\nstream\n%s\nendstream", len(text), len(text), text)
	}
	pinOf := func(file int) string {
		return fmt.Sprintf("<< /Type /Annot /Subtype /FileAttachment /Rect [10 10 30 30] /Contents (see there) /FS %d 0 R /Popup 108 0 R >>", file)
	}
	s := source{
		Pages:   []string{"one", "two", "three"},
		Catalog: "/Names << /EmbeddedFiles << /Names [(note.txt) 101 0 R] >> >>",
		Annots:  map[int]string{0: pinOf(101), 1: pinOf(103), 2: pinOf(105)},
		Objects: []string{"null", spec(102), embedded("named"), spec(104), embedded("second"), spec(106), embedded("third"), "null",
			"<< /Type /Annot /Subtype /Popup /Rect [40 10 90 60] >>"},
	}
	plain := s.Write()
	for name, document := range map[string][]byte{
		"plain": plain, "packed": pdftest.Transform(t, plain, "--object-streams=generate"), "locked": pdftest.Transform(t, plain, "--encrypt", "", "o", "256", "--"),
	} {
		list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), document)).Attachments
		if len(list) != 3 || list[0].Page != nil || list[1].Name != "note.txt (2)" || list[2].Name != "note.txt (3)" {
			t.Fatalf("%s: attached is %+v", name, list)
		}
		if a := list[1]; *a.Page != 2 || a.Filename != "note.txt" || a.Description != "see there" || a.ContentType != "text/plain" || *a.SizeBytes != 6 || a.ModifiedAt.Year() != 2026 {
			t.Errorf("%s: attached is %+v", name, a)
		}
		all, err := runJob(t, DetachJob.Name, NamedAttachments{Input: input("")}, document)
		if err != nil || len(all.Files) != 3 {
			t.Fatalf("%s: %d files: %v", name, len(all.Files), err)
		}
		for i, want := range []string{"named", "second", "third"} {
			if got, err := io.ReadAll(all.Output(i).Open()); err != nil || string(got) != want {
				t.Errorf("%s: file %d says %q, want %q: %v", name, i, got, want, err)
			}
		}
		less := makeOne(t, RemoveAttachmentsJob.Name, NamedAttachments{Input: input(""), Names: []string{"note.txt", "note.txt (3)"}}, document)
		sound(t, less, "", 3)
		list = unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), less)).Attachments
		if len(list) != 1 || list[0].Name != "note.txt" || *list[0].Page != 2 {
			t.Errorf("%s: left is %+v", name, list)
		}
		text := pdftest.Transform(t, less, "--decrypt", "--qdf", "--object-streams=disable")
		if bytes.Contains(text, []byte("named")) || bytes.Contains(text, []byte("third")) || bytes.Count(text, []byte("/FileAttachment")) != 1 || bytes.Count(text, []byte("second")) != 1 {
			t.Errorf("%s: what was taken out is still in the file", name)
		}
		// Poppler counts them in its own way, and finds the one that is left.
		if out := pdftest.Tool(t, "pdfdetach", "-list", pdftest.Save(t, less)); !strings.Contains(out, "1 embedded files") || !strings.Contains(out, "note.txt") {
			t.Errorf("%s: poppler sees %s", name, out)
		}
	}
}

// archived returns the images of an archive by their names.
func archived(t testing.TB, content []byte) (names []string, pageImages []image.Image) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range z.File {
		f, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		rasterImage, _, err := image.Decode(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		names, pageImages = append(names, entry.Name), append(pageImages, rasterImage)
	}
	return names, pageImages
}

func TestExtractImages(t *testing.T) {
	photo := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for i := range photo.Pix {
		photo.Pix[i] = byte(i * i)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, photo, nil); err != nil {
		t.Fatal(err)
	}
	glass := color.NRGBA{G: 255, A: 128} // it has a mask
	pages := images.FromImagesArgs{Inputs: []job.Input{{Name: inputName(0)}, {Name: inputName(1)}, {Name: inputName(2)}}}
	document := makeOne(t, images.FromImagesJob.Name, pages, b.Bytes(), plate(t, green, 30, 20), plate(t, glass, 50, 20))
	all := ExtractImagesArgs{Selection: Selection{Input: input("")}}
	got, err := runJob(t, ExtractImagesJob.Name, all, document)
	if err != nil {
		t.Fatal(err)
	}
	names, pageImages := archived(t, read(t, got))
	if want := []string{"page-001-1.jpg", "page-002-1.png", "page-003-1.png"}; !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	if !bytes.Contains(read(t, got), b.Bytes()) {
		t.Error("the JPEG is not as it was")
	}
	if size := pageImages[1].Bounds().Max; size != image.Pt(30, 20) || !near(pageImages[1].At(3, 3), green) {
		t.Errorf("the PNG has %v", size)
	}
	some := ExtractImagesArgs{Selection: Selection{Input: input(""), Pages: "2-"}, MinWidth: 31}
	if got, err = runJob(t, ExtractImagesJob.Name, some, document); err != nil {
		t.Fatal(err)
	}
	if names, _ := archived(t, read(t, got)); !slices.Equal(names, []string{"page-003-1.png"}) {
		t.Errorf("the wide one of the last pages: %q", names)
	}
	some.MinWidth = 51
	runFailing(t, job.NoMatch, ExtractImagesJob.Name, some, document)
	runFailing(t, job.PageOutOfRange, ExtractImagesJob.Name, ExtractImagesArgs{Selection: Selection{Input: input(""), Pages: "9"}}, document)
}

// TestExtractImagesOnce has one image on two pages, and several on one.
func TestExtractImagesOnce(t *testing.T) {
	document := makeOne(t, images.FromImagesJob.Name, images.FromImagesArgs{Inputs: []job.Input{{Name: inputName(0)}}}, plate(t, green, 30, 20))
	twice := makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "1,1"}, document)
	stamped := makeOne(t, StampJob.Name, stampArgs(func(a *Mark) { a.Pages = "2" }), twice, plate(t, blue, 40, 20))
	got, err := runJob(t, ExtractImagesJob.Name, ExtractImagesArgs{Selection: Selection{Input: input("")}}, stamped)
	if err != nil {
		t.Fatal(err)
	}
	names, pageImages := archived(t, read(t, got))
	if !slices.Equal(names, []string{"page-001-1.png", "page-002-1.png"}) || !near(pageImages[0].At(1, 1), green) || !near(pageImages[1].At(1, 1), blue) {
		t.Errorf("got %q", names)
	}
}
