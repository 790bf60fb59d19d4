package pdf

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// linkedPages has four pages. The first has a link to a URL, on a green area, one to the third page, one to a name there,
// one that runs an action, and one to another file; the outline leads to the second page.
func linkedPages(entries string) []byte {
	c := craft("0 1 0 rg 60 100 80 30 re f 0 g BT /F1 12 Tf 60 300 Td (One) Tj ET", "BT /F1 12 Tf 60 300 Td (Two) Tj ET",
		"1 0 0 rg 100 200 10 10 re f 0 g BT /F1 12 Tf 60 300 Td (Three) Tj ET", "BT /F1 12 Tf 60 300 Td (Four) Tj ET")
	link := "<< /Type /Annot /Subtype /Link /Rect [%s] %s >> "
	c.pages[0].entries = "/Annots [" +
		fmt.Sprintf(link, "60 100 140 130", "/A << /S /URI /URI (https://example.com/a) >>") +
		fmt.Sprintf(link, "60 200 140 230", "/Dest [14 0 R /XYZ 100 210 0]") +
		fmt.Sprintf(link, "60 240 140 250", "/A << /S /GoTo /D (there) >>") +
		fmt.Sprintf(link, "60 260 140 270", "/A << /S /Launch /F (x.exe) >>") +
		fmt.Sprintf(link, "60 280 140 290", "/A << /S /GoToR /F (other.pdf) /D [0 /Fit] >>") + "]"
	for i := range c.pages {
		c.pages[i].entries += " " + entries
	}
	c.catalog = "/Outlines 300 0 R /Names << /Dests << /Names [(there) [14 0 R /XYZ 100 210 0]] >> >>"
	c.objects[300] = "<< /Type /Outlines /First 301 0 R /Last 301 0 R /Count 1 >>"
	c.objects[301] = "<< /Title (Second) /Parent 300 0 R /Dest [12 0 R /Fit] >>"
	return c.write()
}

// TestSheetsCarryLinks: links, bookmarks and names of destinations lead from and to the places of their pages on the
// sheets, and the result says which links are lost.
func TestSheetsCarryLinks(t *testing.T) {
	t.Parallel()
	for _, entries := range []string{"", "/Rotate 90 /CropBox [20 20 280 380]", "/UserUnit 2 /Rotate 180"} {
		document := linkedPages(entries)
		nup := NUpArgs{Selection: Selection{Input: input("")}, PerSheet: 4, Width: 595, Height: 842, Margin: 9}
		for jobName, args := range map[string]any{NUpJob.Name: nup, BookletJob.Name: BookletArgs{Input: input(""), PerSheet: 2, Width: 595, Height: 842}} {
			result, err := runJob(t, jobName, args, document)
			if err != nil {
				t.Fatalf("%s: %v", jobName, err)
			}
			if changes := unmarshal[job.Changed](t, result.Body).Changes; len(changes) != 1 || !strings.HasPrefix(changes[0], "Links (1)") {
				t.Errorf("%s: changes %q", jobName, changes)
			}
			got := read(t, result)
			keep(t, "links-"+jobName+".pdf", got)
			sheets := int(math.Ceil(4 / map[string]float64{NUpJob.Name: 4, BookletJob.Name: 2}[jobName]))
			sound(t, got, "", sheets)
			f, err := pdffile.Read(got)
			if err != nil {
				t.Fatal(err)
			}
			pages, err := f.Pages(sheets)
			if err != nil {
				t.Fatal(err)
			}
			s := &job.Structure{File: f}
			at := func(sheet int, c color.Color) image.Rectangle { return extent(draw(t, got, sheet), c) }
			targets := 0
			check := func(what string, dest any) {
				view, _ := f.Target(dest).([]any)
				if len(view) < 4 {
					t.Errorf("%s %s: %s leads to %v", jobName, entries, what, dest)
					return
				}
				for i, page := range pages {
					square := at(i+1, red)
					if page.Ref != view[0] || square.Empty() {
						continue
					}
					targets++
					x, y := int(view[2].(float64)), 842
					if box, ok := s.Box(page.Entries["/MediaBox"]); ok {
						y = int(box[3] - view[3].(float64))
					}
					if !(image.Point{x, y}).In(square.Inset(-3)) {
						t.Errorf("%s %s: %s leads to %d, %d; the target is at %v", jobName, entries, what, x, y, square)
					}
				}
			}
			links := 0
			for i, page := range pages {
				list, _ := f.Target(page.Entries["/Annots"]).([]any)
				for _, item := range list {
					link := f.Entry(item)
					links++
					action := f.Entry(link["/A"])
					switch action["/S"] {
					case "/URI":
						rect, _ := s.Box(link["/Rect"])
						box, _ := s.Box(page.Entries["/MediaBox"])
						if want, area := at(i+1, green), image.Rect(int(rect[0]), int(box[3]-rect[3]), int(rect[2]), int(box[3]-rect[1])); !close1(area, want) {
							t.Errorf("%s %s: the link is at %v, its area at %v", jobName, entries, area, want)
						}
					case "/GoToR":
					default:
						check("a link", link["/Dest"])
					}
				}
			}
			for _, dest := range namesOf(s) {
				check("a name", dest)
			}
			if links != 4 || targets != 3 {
				t.Errorf("%s %s: %d links, %d targets", jobName, entries, links, targets)
			}
			if outline := outlineOf(t, got); len(outline) != 1 || !strings.HasPrefix(outline[0], "Second ") || strings.HasSuffix(outline[0], "-") {
				t.Errorf("%s: outline %q", jobName, outline)
			}
		}
	}
}

// namesOf returns the named destinations of a document.
func namesOf(s *job.Structure) (all []any) {
	for _, dest := range s.TreeEntries(s.Entry(s.Catalog()["/Names"])["/Dests"], "/Names") {
		all = append(all, dest)
	}
	return all
}
