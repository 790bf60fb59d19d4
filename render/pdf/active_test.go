package pdf

import (
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// activePDF acts when it is opened, when its page is shown and when the page is
// clicked on.
func activePDF() []byte {
	s := three()
	s.Catalog = "/OpenAction << /S /JavaScript /JS (OPENED) >> /AA << /WC << /S /JavaScript /JS (CLOSED) >> >> " +
		"/Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (LOADED) >>] >> >>"
	s.Annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Rect [0 0 300 400] /A << /S /Launch /F (CLICKED) >> >>"}
	return s.Write()
}

// TestActiveContent is docs/adr/0010: results keep what acts in a document as
// they keep everything else of it, but a merge is a new document with the pages
// of others, and takes over only what acts on those.
func TestActiveContent(t *testing.T) {
	everything := []string{"OPENED", "CLOSED", "LOADED", "CLICKED"}
	for job, want := range map[string][]string{
		ExtractJob.Name: everything, RotateJob.Name: everything, CompressJob.Name: everything, BookmarksJob.Name: everything,
		StampJob.Name: everything, MergeJob.Name: {"CLICKED"},
	} {
		args := jobsOnOne()[job]
		if job == StampJob.Name {
			args = stampArgs(nil)
		}
		got := string(pdftest.Transform(t, makeOne(t, job, args, activePDF(), plate(t, green, 40, 20)), "--qdf", "--object-streams=disable"))
		for _, mark := range everything {
			wanted := strings.Contains(strings.Join(want, " "), mark)
			if strings.Contains(got, mark) != wanted {
				t.Errorf("%s: %s is there: %t, want %t", job, mark, !wanted, wanted)
			}
		}
	}
}
