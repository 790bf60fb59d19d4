package pdf

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// compareArgs are the arguments of a comparison of the first two files.
func compareArgs(output compare.Format, ignore ...compare.IgnoredArea) compare.Args {
	return compare.Args{Old: job.Input{Name: inputName(0)}, New: job.Input{Name: inputName(1)}, Ignore: ignore, Threshold: 0.02, Output: output}
}

// compared compares two documents.
func compared(t *testing.T, args compare.Args, old, latest []byte) compare.Comparison {
	t.Helper()
	args.Output = compare.JSON
	result, err := runJob(t, compare.Job.Name, args, old, latest)
	if err != nil {
		t.Fatal(err)
	}
	var report compare.Comparison
	if err := json.Unmarshal(read(t, result), &report); err != nil {
		t.Fatal(err)
	}
	return report
}

// statusLine is a comparison in short: "=1:1 ~2:2 +:3 -3:".
func statusLine(c compare.Comparison) string {
	signs := map[string]string{"equal": "=", "changed": "~", "added": "+", "removed": "-"}
	var parts []string
	for _, p := range c.Pages {
		part := signs[p.Status]
		if p.OldPage != nil {
			part += fmt.Sprint(*p.OldPage)
		}
		part += ":"
		if p.NewPage != nil {
			part += fmt.Sprint(*p.NewPage)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// say is the content of a page with a text in Helvetica at 40, 100 from the top left.
func say(text string) string { return "BT /F1 24 Tf 40 300 Td (" + text + ") Tj ET" }

// letterPages is a document with a page for each letter. All have the same footer.
func letterPages(letters string) []byte {
	c := craft()
	for _, letter := range strings.Split(letters, "") {
		lines := ""
		for i := range 8 {
			lines += fmt.Sprintf("BT /F1 12 Tf 40 %d Td (%s) Tj ET\n", 280-20*i, strings.Repeat(letter+fmt.Sprint(i)+" ", 6))
		}
		c.pages = append(c.pages, craftedPage{content: lines + "BT /F1 9 Tf 40 30 Td (Ink and Company, London) Tj ET"})
	}
	return c.write()
}

func TestCompareMatchesPages(t *testing.T) {
	sharedtest.Slow(t)
	for _, test := range []struct{ old, latest, want string }{
		{"abc", "abc", "=1:1 =2:2 =3:3"},
		{"abc", "axbc", "=1:1 +:2 =2:3 =3:4"},
		{"abc", "xabc", "+:1 =1:2 =2:3 =3:4"},
		{"abc", "abcx", "=1:1 =2:2 =3:3 +:4"},
		{"abc", "ac", "=1:1 -2: =3:2"},
		{"abcd", "acbd", "=1:1 -2: =3:2 +:3 =4:4"},
		{"abc", "axc", "=1:1 ~2:2 =3:3"},
		{"a", "x", "~1:1"},
		{"ab", "xya", "+:1 +:2 =1:3 -2:"},
		{"aabb", "aaabb", "=1:1 =2:2 +:3 =3:4 =4:5"},
	} {
		got := compared(t, compareArgs(compare.JSON), letterPages(test.old), letterPages(test.latest))
		if line := statusLine(got); line != test.want || got.Equal == strings.ContainsAny(test.want, "~+-") {
			t.Errorf("%s and %s: %s, want %s", test.old, test.latest, line, test.want)
		}
		if got.OldPageCount != len(test.old) || got.NewPageCount != len(test.latest) {
			t.Errorf("%s and %s: %d and %d pages", test.old, test.latest, got.OldPageCount, got.NewPageCount)
		}
	}
}

// TestCompareMatchesChangedPages inserts a page into a document each page of which is changed.
func TestCompareMatchesChangedPages(t *testing.T) {
	latest := bytes.ReplaceAll(letterPages("axbcd"), []byte("(Ink and Company, London)"), []byte("(Ink and Company, Berlin)"))
	got := compared(t, compareArgs(compare.JSON), letterPages("abcd"), latest)
	if line, want := statusLine(got), "~1:1 +:2 ~2:3 ~3:4 ~4:5"; line != want {
		t.Errorf("%s, want %s", line, want)
	}
	changed := compare.TextChange{Change: "changed", Old: "London", New: "Berlin"}
	for _, page := range got.Pages {
		if page.Status != "changed" {
			continue
		}
		if len(page.Text) != 1 || page.Text[0].Old != changed.Old || page.Text[0].New != changed.New || page.Text[0].Change != changed.Change {
			t.Errorf("text %+v, want %+v", page.Text, changed)
		}
		for _, area := range page.Areas {
			if area.Y < 355 || area.Y+area.Height > 375 {
				t.Errorf("area %+v is not in the footer", area)
			}
		}
	}
}

func TestCompareFindsWords(t *testing.T) {
	old := craft(say("total 12.50 due")+" BT /F1 12 Tf 40 100 Td (net) Tj ET", say("beta")).write()
	latest := craft(say("total 13.50 due now")+" BT /F1 12 Tf 40 200 Td (net) Tj ET", say("beta")).write()
	got := compared(t, compareArgs(compare.JSON), old, latest)
	if line, want := statusLine(got), "~1:1 =2:2"; line != want {
		t.Fatalf("%s, want %s", line, want)
	}
	var changes []string
	for _, c := range got.Pages[0].Text {
		changes = append(changes, c.Change+" "+c.Old+">"+c.New)
		if len(c.OldAreas) != min(1, len(c.Old)) || len(c.NewAreas) != min(1, len(c.New)) {
			t.Errorf("%+v: its areas do not match its words", c)
		}
	}
	if want := []string{"changed 12.50>13.50", "added >now"}; !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	number := got.Pages[0].Text[0].OldAreas[0]
	if math.Abs(number.X-95) > 8 || math.Abs(number.Y-80) > 6 || math.Abs(number.Width-60) > 8 || number.Height < 20 || number.Height > 32 {
		t.Errorf("the number is at %+v", number)
	}
	if !slices.ContainsFunc(got.Pages[0].Areas, func(a compare.PageArea) bool { return a.Y > 285 && a.Y < 300 && a.X > 36 && a.X < 44 }) {
		t.Errorf("no area for the moved word: %+v", got.Pages[0].Areas)
	}
	if share := got.Pages[0].ChangedPixels; share <= 0 || share > 0.05 {
		t.Errorf("share of changed pixels %v", share)
	}
}

func TestCompareReportsMovedWords(t *testing.T) {
	lines := func(texts ...string) []byte {
		content := ""
		for i, text := range texts {
			content += fmt.Sprintf("BT /F1 12 Tf 40 %d Td (%s) Tj ET\n", 350-80*i, text)
		}
		return craft(content).write()
	}
	got := compared(t, compareArgs(compare.JSON), lines("one", "two words", "three"), lines("one", "three", "two words"))
	if text := got.Pages[0].Text; len(text) != 1 || text[0].Change != "moved" || text[0].Old != text[0].New {
		t.Errorf("text %+v, want a move", text)
	}
}

// TestCompareIgnoresTheInvisible compares documents that differ in metadata, links and structure.
func TestCompareIgnoresTheInvisible(t *testing.T) {
	old, latest := three(), three()
	old.Info, latest.Info = "/Title (old) /CreationDate (D:20260101)", "/Title (new) /CreationDate (D:20270101)"
	latest.Annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Border [0 0 0] /Rect [0 0 99 99] /A << /S /URI /URI (https://example.com/) >> >>"}
	packed := pdftest.Save(t, latest.Write())
	pdftest.Tool(t, "qpdf", "--replace-input", "--object-streams=generate", packed)
	for name, content := range map[string][]byte{"plain": latest.Write(), "packed": makeOne(t, CompressJob.Name, input(""), latest.Write())} {
		if got := compared(t, compareArgs(compare.JSON), old.Write(), content); !got.Equal || statusLine(got) != "=1:1 =2:2 =3:3" {
			t.Errorf("%s: %s", name, statusLine(got))
		}
	}
}

func TestCompareTolerance(t *testing.T) {
	box := func(gray string, width int) []byte {
		return craft(say("alpha") + fmt.Sprintf(" %s g 40 40 %d 60 re f", gray, width)).write()
	}
	for _, test := range []struct {
		name             string
		old, latest      []byte
		threshold, ratio float64
		want             bool
	}{
		{"a shade", box("0.9", 60), box("0.8", 60), 0.02, 0, false},
		{"a shade below the threshold", box("0.9", 60), box("0.8", 60), 0.2, 0, true},
		{"hardly a shade", box("0.9", 60), box("0.898", 60), 0.02, 0, true},
		{"hardly a shade, exactly", box("0.9", 60), box("0.89", 60), 0, 0, false},
		{"a strip", box("0", 60), box("0", 61), 0.02, 0, false},
		{"a strip, few pixels", box("0", 60), box("0", 61), 0.02, 0.001, true},
		{"more than a few pixels", box("0", 60), box("0", 90), 0.02, 0.001, false},
		{"any", box("0", 60), box("1", 60), 1, 0, true},
	} {
		args := compareArgs(compare.JSON)
		args.Threshold, args.MaxRatio = test.threshold, test.ratio
		if got := compared(t, args, test.old, test.latest); got.Equal != test.want {
			t.Errorf("%s: equal is %v, want %v: %+v", test.name, got.Equal, test.want, got.Pages)
		}
	}
}

func TestCompareIgnoresAreas(t *testing.T) {
	sharedtest.Slow(t)
	old := craft(say("alpha"), say("beta"), say("gamma")).write()
	latest := craft(say("alphA"), say("betA"), say("gammA")).write()
	band := func(page int) compare.IgnoredArea {
		return compare.IgnoredArea{Page: page, X: 30, Y: 70, Width: 250, Height: 50}
	}
	for _, test := range []struct {
		ignore []compare.IgnoredArea
		want   string
	}{
		{nil, "~1:1 ~2:2 ~3:3"},
		{[]compare.IgnoredArea{band(0)}, "=1:1 =2:2 =3:3"},
		{[]compare.IgnoredArea{band(2)}, "~1:1 =2:2 ~3:3"},
		{[]compare.IgnoredArea{band(1), band(3)}, "=1:1 ~2:2 =3:3"},
		{[]compare.IgnoredArea{{X: 30, Y: 200, Width: 250, Height: 50}}, "~1:1 ~2:2 ~3:3"},
		{[]compare.IgnoredArea{{X: 14000, Y: 14000, Width: 400, Height: 400}}, "~1:1 ~2:2 ~3:3"},
	} {
		if got := compared(t, compareArgs(compare.JSON, test.ignore...), old, latest); statusLine(got) != test.want {
			t.Errorf("%+v: %s, want %s", test.ignore, statusLine(got), test.want)
		}
	}
	// The number of an area is that of the old document.
	inserted := craft(say("delta"), say("alpha"), say("betA"), say("gamma")).write()
	if got := compared(t, compareArgs(compare.JSON, band(2)), old, inserted); statusLine(got) != "+:1 =1:2 =2:3 =3:4" {
		t.Errorf("after an inserted page: %s", statusLine(got))
	}
	// Words in the area are not compared.
	got := compared(t, compareArgs(compare.JSON, band(0)), old, craft(say("alphA")+" 40 40 9 9 re f", say("beta"), say("gamma")).write())
	if page := got.Pages[0]; page.Status != "changed" || len(page.Text) != 0 || len(page.Areas) != 1 {
		t.Errorf("page %+v, want a change without words", page)
	}
}

func TestCompareOpensEncryptedFiles(t *testing.T) {
	old := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o"}, three().Write())
	args := compareArgs(compare.JSON)
	args.Old.Password = "u"
	if got := compared(t, args, old, three().Write()); !got.Equal {
		t.Errorf("%s, want equal pages", statusLine(got))
	}
	args.Old.Password = ""
	if failed := runFailing(t, job.PasswordRequired, compare.Job.Name, args, old, three().Write()); failed.Input != 0 {
		t.Errorf("input %d, want 0", failed.Input)
	}
	args.New.Password = "x"
	if failed := runFailing(t, job.WrongPassword, compare.Job.Name, args, three().Write(), old); failed.Input != 1 {
		t.Errorf("input %d, want 1", failed.Input)
	}
	if failed := runFailing(t, job.NotPDF, compare.Job.Name, compareArgs(compare.JSON), three().Write(), []byte("x")); failed.Input != 1 {
		t.Errorf("input %d, want 1", failed.Input)
	}
	if failed := runFailing(t, job.OverLimit, compare.Job.Name, compareArgs(compare.JSON), three().Write(), numbered(compare.MaxPages+1)); failed.Input != 1 {
		t.Errorf("input %d, want 1", failed.Input)
	}
}

// TestComparePageSizes compares pages of other sizes, turned pages, and pages of the largest size.
func TestComparePageSizes(t *testing.T) {
	sharedtest.Slow(t)
	sized := func(box, entries string) []byte {
		c := craft()
		c.pages = []craftedPage{{content: say("alpha"), entries: "/MediaBox [0 0 " + box + "] " + entries}}
		return c.write()
	}
	for _, test := range []struct {
		name        string
		old, latest []byte
		want        string
	}{
		{"nearly the same", sized("300 400", ""), sized("300.4 400.3", ""), "=1:1"},
		{"wider", sized("300 400", ""), sized("320 400", ""), "~1:1"},
		{"turned", sized("300 400", ""), sized("300 400", "/Rotate 90"), "~1:1"},
		{"both turned", sized("300 400", "/Rotate 90"), sized("300 400", "/Rotate 90"), "=1:1"},
		{"huge", sized("14400 14400", ""), sized("14400 14400", ""), "=1:1"},
		{"long", sized("14400 20", ""), sized("14400 20", ""), "=1:1"},
		{"huge and small", sized("14400 14400", ""), sized("300 400", ""), "~1:1"},
	} {
		if got := compared(t, compareArgs(compare.JSON), test.old, test.latest); statusLine(got) != test.want {
			t.Errorf("%s: %s, want %s", test.name, statusLine(got), test.want)
		}
		if result, err := runJob(t, compare.Job.Name, compareArgs(compare.PDF), test.old, test.latest); err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else {
			sound(t, read(t, result), "", 1)
		}
	}
	got := compared(t, compareArgs(compare.JSON), sized("300 400", ""), sized("320 400", ""))
	if area := got.Pages[0].Areas; len(area) != 1 || area[0] != (compare.PageArea{X: 300, Y: 0, Width: 20, Height: 400}) {
		t.Errorf("areas %+v, want the added strip", area)
	}
}

func TestCompareJoinsManyAreas(t *testing.T) {
	dots := ""
	for x := range 12 {
		for y := range 16 {
			dots += fmt.Sprintf("%d %d 3 3 re f\n", 10+24*x, 10+24*y)
		}
	}
	got := compared(t, compareArgs(compare.JSON), craft("").write(), craft(dots).write())
	areas := got.Pages[0].Areas
	if len(areas) == 0 || len(areas) > 100 {
		t.Fatalf("%d areas, want at most %d", len(areas), 100)
	}
	for x := range 12 {
		for y := range 16 {
			if cx, cy := float64(11.5+24*float64(x)), 400-(11.5+24*float64(y)); !slices.ContainsFunc(areas, func(a compare.PageArea) bool {
				return cx >= a.X && cx <= a.X+a.Width && cy >= a.Y && cy <= a.Y+a.Height
			}) {
				t.Fatalf("no area contains the dot at %v, %v", cx, cy)
			}
		}
	}
}

// TestCompareDrawsViews checks the number, names and sizes of views, that they show the marks, and that they are the
// same each time.
func TestCompareDrawsViews(t *testing.T) {
	sharedtest.Slow(t)
	old, latest := craft(say("alpha"), say("beta"), say("gamma")).write(), craft(say("alpha"), say("betA"), say("delta"), say("gamma")).write()
	document := func() []byte { return makeOne(t, compare.Job.Name, compareArgs(compare.PDF), old, latest) }
	first := document()
	sound(t, first, "", 2)
	if !bytes.Equal(first, document()) {
		t.Error("the PDF differs each time")
	}
	sound(t, makeOne(t, compare.Job.Name, compareArgs(compare.PDF), old, old), "", 1)
	names, images := zipped(t, makeOne(t, compare.Job.Name, compareArgs(compare.Images), old, latest))
	if want := []string{"old-002-new-002.png", "new-003.png", "comparison.json"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("files %q, want %q", names, want)
	}
	var report compare.Comparison
	if err := json.Unmarshal(images[2], &report); err != nil || statusLine(report) != "=1:1 ~2:2 +:3 =3:4" {
		t.Errorf("report %s, %v", statusLine(report), err)
	}
	for i, marks := range [][2]bool{{true, true}, {false, true}} {
		img, err := png.Decode(bytes.NewReader(images[i]))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := img.Bounds().Dx(), 2*600+3*40; got != want {
			t.Errorf("%s: %d pixels wide, want %d", names[i], got, want)
		}
		var found [2]int // on the page, below the headings
		for y := 85; y < img.Bounds().Dy(); y++ {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				for side, c := range [2]color.RGBA{{R: 0xc9, G: 0x2a, B: 0x2a}, {R: 0x1b, G: 0x7f, B: 0x3b}} { // old is red, new green
					if byte(r>>8) == c.R && byte(g>>8) == c.G && byte(b>>8) == c.B && x/(img.Bounds().Dx()/2) == side {
						found[side]++
					}
				}
			}
		}
		for side, want := range marks {
			if got := found[side] > 50; got != want {
				t.Errorf("%s: side %d has %d pixels of marks, want some: %v", names[i], side, found[side], want)
			}
		}
	}
	few := compareArgs(compare.Images)
	few.MaxViews = 1
	names, images = zipped(t, makeOne(t, compare.Job.Name, few, old, latest))
	if want := []string{"old-002-new-002.png", "comparison.json"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("one view: files %q, want %q", names, want)
	}
	if err := json.Unmarshal(images[1], &report); err != nil || statusLine(report) != "=1:1 ~2:2 +:3 =3:4" {
		t.Errorf("one view: report %s, %v", statusLine(report), err)
	}
	names, _ = zipped(t, makeOne(t, compare.Job.Name, compareArgs(compare.Images), old, old))
	if want := []string{"comparison.json"}; !reflect.DeepEqual(names, want) {
		t.Errorf("equal documents: files %q, want %q", names, want)
	}
}

// zipped returns the names and contents of an archive's files.
func zipped(t *testing.T, archive []byte) (names []string, contents [][]byte) {
	t.Helper()
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		names, contents = append(names, f.Name), append(contents, content)
	}
	return names, contents
}

// TestCompareTestMark draws the test mark on each image.
func TestCompareTestMark(t *testing.T) {
	args := compareArgs(compare.Images)
	_, plain := zipped(t, makeOne(t, compare.Job.Name, args, craft(say("alpha")).write(), craft(say("beta")).write()))
	args.TestMark = true
	_, marked := zipped(t, makeOne(t, compare.Job.Name, args, craft(say("alpha")).write(), craft(say("beta")).write()))
	img, err := png.Decode(bytes.NewReader(marked[0]))
	if err != nil || bytes.Equal(plain[0], marked[0]) {
		t.Fatalf("the image has no test mark, %v", err)
	}
	corner := img.Bounds().Max
	if r, _, _, _ := img.At(corner.X-8, corner.Y-8).RGBA(); r>>8 != 0x33 {
		t.Errorf("the corner is %v", img.At(corner.X-8, corner.Y-8))
	}
}
