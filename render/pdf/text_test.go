package pdf

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

type textResult struct {
	PageCount int
	Text      string
	Pages     []PageText
}

func readTexts(t *testing.T, args TextArgs, document []byte) textResult {
	t.Helper()
	result, err := runJob(t, TextJob.Name, args, document)
	if err != nil {
		t.Fatal(err)
	}
	return unmarshal[textResult](t, content(t, result))
}

func TestText(t *testing.T) {
	documents := map[string][]byte{"plain": three().Write()}
	documents["object streams"] = pdftest.Transform(t, documents["plain"], "--object-streams=generate")
	documents["encrypted"] = pdftest.Transform(t, documents["plain"], "--encrypt", "", "owner", "256", "--")
	for name, document := range documents {
		got := readTexts(t, TextArgs{Input: input("")}, document)
		want := textResult{PageCount: 3, Pages: []PageText{{1, "alpha"}, {2, "beta"}, {3, "gamma"}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if got := readTexts(t, TextArgs{Input: input(""), Merge: true}, document); got.Text != "alpha\fbeta\fgamma" || got.PageCount != 3 {
			t.Errorf("%s: merged %+v", name, got)
		}
	}
}

func TestTextOfEmptyPages(t *testing.T) {
	got := readTexts(t, TextArgs{Input: input("")}, source{Pages: []string{"", "only", ""}}.Write())
	want := []PageText{{1, ""}, {2, "only"}, {3, ""}}
	if !reflect.DeepEqual(got.Pages, want) {
		t.Errorf("got %+v, want %+v", got.Pages, want)
	}
}

func TestTextPasswords(t *testing.T) {
	document := pdftest.Transform(t, three().Write(), "--encrypt", "user", "owner", "128", "--use-aes=y", "--")
	if got := readTexts(t, TextArgs{Input: input("user")}, document); got.PageCount != 3 {
		t.Errorf("%d pages, want 3", got.PageCount)
	}
	runFailing(t, job.PasswordRequired, TextJob.Name, TextArgs{Input: input("")}, document)
	runFailing(t, job.WrongPassword, TextJob.Name, TextArgs{Input: input("User")}, document)
}

// columns draws lines of two columns row by row, as word processors do.
func columns() []byte {
	var lines strings.Builder
	rows := []string{"The left column", "starts up here and", "ends down there.", "The right one is", "read after it, and", "not beside it."}
	for i := range 3 {
		lines.WriteString(") Tj ET BT /F1 9 Tf 1 0 0 1 30 " + []string{"300", "289", "278"}[i] + " Tm (" + rows[i])
		lines.WriteString(") Tj ET BT /F1 9 Tf 1 0 0 1 160 " + []string{"300", "289", "278"}[i] + " Tm (" + rows[3+i])
	}
	return source{Pages: []string{lines.String()}}.Write()
}

func TestTextReadsColumnsInOrder(t *testing.T) {
	got := strings.Fields(readTexts(t, TextArgs{Input: input("")}, columns()).Pages[0].Text)
	want := strings.Fields("The left column starts up here and ends down there. The right one is read after it, and not beside it.")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestTextOfManyPages reads runs of pages side by side, and gets what one run of
// the program says.
func TestTextOfManyPages(t *testing.T) {
	var doc source
	for i := range 4*16 + 3 {
		doc.Pages = append(doc.Pages, strings.Repeat(fmt.Sprintf("page %d ", i+1), i%3))
	}
	content := doc.Write()
	got := readTexts(t, TextArgs{Input: input(""), Merge: true}, content)
	whole := strings.Split(pdftest.Tool(t, "pdftotext", "-enc", "UTF-8", pdftest.Save(t, content), "-"), "\f")
	for i := range whole {
		whole[i] = strings.TrimRight(whole[i], "\n")
	}
	if want := strings.Join(whole[:len(whole)-1], "\f"); got.Text != want || got.PageCount != len(doc.Pages) {
		t.Errorf("%d pages %q, want %q", got.PageCount, got.Text, want)
	}
}
