package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/relaypdf/relaypdf/render/barcode"
)

const (
	paidBytes = 24 * 4096      // bytes that a call writes to SQLite's log: 24 of its pages
	logBytes  = 40 * paidBytes // length of the log before it starts again

	codeText = "https://example.com/?invoice=1234"
)

// codeRequest asks for a barcode, which takes little longer than its payment.
func codeRequest() request {
	return newRequest("/v1/barcodes", map[string]string{"type": "qr", "text": codeText}, []byte("\x89PNG"))
}

// barcodes measures the paid path by calls whose run is next to nothing. The paid path
// may add half a millisecond to a server that draws the same and writes as much.
func (l *lab) barcodes(ctx context.Context) ([]Row, error) {
	url, stop, err := startDurable(l.dir)
	if err != nil {
		return nil, err
	}
	defer stop()
	against := "bare server that draws the same and writes as much to the disk"
	measure := func(atOnce int) (floor, ours *side, err error) {
		floor, ours = &side{do: newClient(url).call("", codeRequest())}, &side{do: l.own(codeRequest())}
		return floor, ours, l.compare(ctx, atOnce, floor, ours)
	}
	floor, ours, err := measure(1)
	if err != nil {
		return nil, err
	}
	path := timeRow("paid path: a barcode, 1 at a time", against, Goal{Times: 1, Plus: 0.5}, floor, ours)
	// Eight keep two cores busy while a transaction waits for the disk.
	floor, ours, err = measure(8)
	return []Row{path, rateRow("barcodes, 8 at once", against, Goal{Plus: 1500}, floor, ours)}, err
}

// startDurable serves the minimum of a paid call: it reads the request, draws the barcode, writes as much to the
// disk as a call does, waits for the disk, and responds.
func startDurable(dir string) (url string, stop func(), err error) {
	log, err := os.CreateTemp(dir, "log-")
	if err != nil {
		return "", nil, err
	}
	if _, err := log.Write(make([]byte, logBytes)); err != nil {
		return "", nil, err
	}
	var mu sync.Mutex
	at := int64(0)
	pages := make([]byte, paidBytes)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, read := io.Copy(io.Discard, q.Body)
		image, err := barcode.Make(barcode.Request{Type: barcode.QR, Text: codeText, Format: barcode.PNG, Scale: 3})
		mu.Lock()
		_, written := log.WriteAt(pages, at%logBytes)
		at += paidBytes
		err = errors.Join(read, err, written, log.Sync())
		mu.Unlock()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(image)))
		_, _ = w.Write(image) // The client notices missing bytes.
	}))
	return server.URL, func() {
		server.Close()
		_ = log.Close() // The folder is removed with its content.
	}, nil
}
