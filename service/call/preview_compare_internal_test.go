package call

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// TestComparisonsFitInMemory reads a comparison with more bytes of images than are kept: the images without room are left
// out, and the report is whole.
func TestComparisonsFitInMemory(t *testing.T) {
	t.Parallel()
	var content bytes.Buffer
	w := zip.NewWriter(&content)
	add := func(name string, data []byte) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("1.png", make([]byte, maxComparedBytes-10))
	add("2.png", make([]byte, 11))
	add("3.png", make([]byte, 10))
	add("comparison.json", []byte(`{"pages":[{"status":"equal","oldPage":1,"newPage":1},{"status":"changed","oldPage":2,"newPage":2},
		{"status":"added","newPage":3},{"status":"removed","oldPage":3},{"status":"added","newPage":4}]}`))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	made, err := readComparison(bytes.NewReader(content.Bytes()), int64(content.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, page := range made.Pages {
		got = append(got, fmt.Sprint(page.Status, page.Old, page.New, page.Drawn, len(page.Image)))
	}
	want := []string{"equal1 1 false 0", fmt.Sprintf("changed2 2 true %d", maxComparedBytes-10), "added0 3 false 0", "removed3 0 true 10", "added0 4 false 0"}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestComparisonsThatFail names what the author of a template can change.
func TestComparisonsThatFail(t *testing.T) {
	t.Parallel()
	p := &Runner{drawTime: 30 * time.Second}
	for cause, want := range map[error]string{
		&job.Error{Kind: job.OverLimit}: "a version has more than 500 pages",
		context.DeadlineExceeded:        "took longer than 30s",
	} {
		var got *wire.Error
		if err := p.notCompared(fmt.Errorf("compare: %w", cause)); !errors.As(err, &got) || got.Code != wire.ProcessingFailed || !strings.Contains(got.Message, want) {
			t.Errorf("%v: got %v, want %q", cause, err, want)
		}
	}
	if err := p.notCompared(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v for a client that left", err)
	}
}
