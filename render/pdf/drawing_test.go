package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// nested is a page whose form draws ten forms, each of which draws ten more, and so on: 5 KB that no program can draw.
func nested(depth int) []byte {
	var file bytes.Buffer
	var offsets []int
	add := func(object string) {
		offsets = append(offsets, file.Len())
		fmt.Fprintf(&file, "%d 0 obj\n%s\nendobj\n", len(offsets), object)
	}
	stream := func(entries, content string) {
		add(fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content))
	}

	file.WriteString("%PDF-1.7\n")
	add("<< /Type /Catalog /Pages 2 0 R >>")
	add("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	add("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>")
	stream("", "/F Do")
	for i := range depth {
		entries := fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 300 300] /Resources << /XObject << /F %d 0 R >> >>", i+6)
		stream(entries, strings.Repeat("/F Do ", 10))
	}
	stream("/Type /XObject /Subtype /Form /BBox [0 0 300 300]", "0 0 9 9 re f")

	start := file.Len()
	fmt.Fprintf(&file, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&file, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&file, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return file.Bytes()
}

// TestEndlessDrawing: each job that draws or reads the pages of a document refuses one whose forms contain each other,
// before anything is drawn. Jobs that only rearrange it work.
func TestEndlessDrawing(t *testing.T) {
	t.Parallel()
	endless := nested(20)
	jobs := jobsOnOne()
	for _, jobName := range []string{RasterJob.Name, TextJob.Name, compare.Job.Name, OCRJob.Name, MarkdownJob.Name, archive.Job.Name, redact.Job.Name} {
		_, failed := attempt(t, jobName, jobs[jobName], endless)
		if failed == nil || failed.Kind != job.OverLimit || !strings.Contains(failed.Text, "on page 1") {
			t.Errorf("%s: %v, want that it draws too much", jobName, failed)
		}
	}
	for _, jobName := range []string{RotateJob.Name, InfoJob.Name, ExtractJob.Name, ProtectJob.Name, form.FieldsJob.Name} {
		if _, failed := attempt(t, jobName, jobs[jobName], endless); failed != nil {
			t.Errorf("%s: %v", jobName, failed)
		}
	}

	// A few levels are ordinary.
	if _, failed := attempt(t, RasterJob.Name, jobs[RasterJob.Name], nested(3)); failed != nil {
		t.Errorf("three levels: %v", failed)
	}
}
