package e2e

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestLargeFilesAreStreamed sends files of the largest size, as Base64, to a real server: its memory must not grow by
// more than one and a half of them. It does not store unexpected parts.
func TestLargeFilesAreStreamed(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const (
		size    = 50 << 20
		forFile = size * 3 / 2
		forBomb = 16 << 20
	)
	c := newCrashBench(t, storetest.SQLite(t))
	c.env = slices.DeleteFunc(c.env, func(v string) bool { return v == oneBrowser }) // Its engines need more memory, too.
	server := c.start("none")
	defer server.end(syscall.SIGTERM)
	document, nothing, bomb := base64Of(largePDF(size)), base64Of(make([]byte, size)), base64Of(bombPDF())
	for _, test := range []struct {
		path, before, after string
		content             []byte
		status              int
		maximum             int64
	}{
		{"/v1/pdf/info", `{"file":"`, `"}`, document, http.StatusOK, forFile},
		{"/v1/pdf/extract", `{"file":"`, `"}`, document, http.StatusOK, forFile},
		{"/v1/pdf/merge", `{"files":[{"file":"`, `"},{"fileId":"file_none"}]}`, document, http.StatusBadRequest, forFile},
		{"/v1/zip", `{"files":[{"filename":"a.pdf","file":"`, `"}]}`, document, http.StatusOK, forFile},
		{"/v1/zip", `{"files":[{"filename":"zeros","file":"`, `"}]}`, nothing, http.StatusOK, forFile},
		{"/v1/pdf/compress", `{"file":"`, `"}`, nothing, http.StatusBadGateway, forFile},
		{"/v1/pdf/from-images", `{"files":[{"file":"`, `"}]}`, nothing, http.StatusBadGateway, forFile},
		{"/v1/pdf/raster", `{"file":"`, `"}`, bomb, http.StatusOK, forBomb},
		{"/v1/pdf/text", `{"file":"`, `"}`, bomb, http.StatusOK, forBomb},
		{"/v1/pdf/info", `{"unknown":"`, `"}`, document, http.StatusBadRequest, forBomb},
	} {
		idle := server.memory(t, "VmRSS")
		server.resetPeak(t)
		status := c.stream(server, test.path, io.MultiReader(strings.NewReader(test.before), bytes.NewReader(test.content), strings.NewReader(test.after)))
		if status != test.status {
			t.Errorf("%s: status %d, want %d", test.path, status, test.status)
		}
		growth := server.memory(t, "VmHWM") - idle
		t.Logf("%s: %d MiB and %d more at most", test.path, idle>>20, growth>>20)
		if growth > test.maximum {
			t.Errorf("%s: the server grew by %d bytes, want at most %d", test.path, growth, test.maximum)
		}
	}
}

// base64Of encodes content, once for all calls: it takes seconds under the race
// detector.
func base64Of(content []byte) []byte { return base64.StdEncoding.AppendEncode(nil, content) }

// stream makes a call, discards its response, and returns its status.
func (c *crashBench) stream(server *crashServer, path string, body io.Reader) int {
	c.t.Helper()
	response, err := c.send(c.t.Context(), server.url+path, "", body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.t.Error(err)
	}
	return response.StatusCode
}

// memory returns a size in bytes from the kernel's status of the process.
func (s *crashServer) memory(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s in %s", name, status)
	return 0
}

// resetPeak has the kernel forget the most memory that the process ever had.
func (s *crashServer) resetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.process.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// largePDF is a document of so many bytes, which nothing makes smaller.
func largePDF(size int) []byte {
	noise := make([]byte, size-1000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	return onePage("/Metadata 4 0 R", "", noise)
}

// bombPDF is a small document whose page has more than a hundred megabytes.
func bombPDF() []byte {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	for range 128 {
		_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20)) // a buffer takes everything
	}
	_ = w.Close()
	return onePage("/Contents 4 0 R", "/Filter /FlateDecode", packed.Bytes())
}

// onePage is a document of one page and a stream, object 4, with more entries.
func onePage(page, entries string, stream []byte) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, 0, 4)
	for i, object := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] " + page + " >>",
		fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(stream), entries, stream),
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	xref := b.Len()
	b.WriteString("xref\n0 5\n0000000000 65535 f \n")
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", xref)
	return b.Bytes()
}
