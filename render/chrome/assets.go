package chrome

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// Asset is a file that came with a document, available under its name.
type Asset struct {
	Name    string // relative, with slashes, without . and ..
	Content interface {
		Open() io.ReadSeeker
		Size() int64
	}
}

// AssetOrigin is the origin of a document with assets. No request for it leaves the browser, because the name
// cannot exist (RFC 2606). It is not https, so that the document may load the same resources as any other inline
// document.
const AssetOrigin = "http://assets.invalid"

// serve answers a request for a document with assets, or for one of them.
func serve(p *tab, e proto.FetchRequestPaused, job *Job) {
	answer := proto.FetchFulfillRequest{RequestID: e.RequestID, ResponseCode: http.StatusOK}
	name, ok := AssetName(e.Request.URL)
	header := "text/html; charset=utf-8"

	switch {
	case ok && name == job.Index:
		answer.Body = []byte(job.HTML)
	case ok:
		answer.Body, header, ok = job.asset(name)
	}

	if !ok {
		answer.ResponseCode = http.StatusNotFound
		header = "text/plain"
		answer.Body = nil
	}
	if len(answer.Body) == 0 {
		answer.Body = []byte("\n") // Chromium waits for ever for the end of an image without a body.
	}

	answer.ResponseHeaders = []*proto.FetchHeaderEntry{
		{Name: "Content-Type", Value: header},
		{Name: "Access-Control-Allow-Origin", Value: "*"},
	}
	p.post(answer)
}

// asset returns the content of an asset and its media type.
func (j *Job) asset(name string) (content []byte, mediaType string, found bool) {
	for _, a := range j.Assets {
		if a.Name != name && a.Name != path.Join(name, "index.html") {
			continue
		}
		content, err := io.ReadAll(a.Content.Open())
		return content, mediaTypeOf(a.Name, content), err == nil
	}
	return nil, "", false
}

// AssetName returns the name that an address of an asset means.
func AssetName(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme+"://"+u.Host != AssetOrigin {
		return "", false
	}
	return strings.TrimPrefix(path.Clean("/"+u.Path), "/"), true
}

// mediaTypes maps extensions of assets to media types. The system's own table differs between machines.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".json": "application/json",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon", ".woff": "font/woff", ".woff2": "font/woff2",
	".ttf": "font/ttf", ".otf": "font/otf", ".txt": "text/plain; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".xml":  "application/xml",
	".wasm": "application/wasm",
}

func mediaTypeOf(name string, content []byte) string {
	extension := strings.ToLower(path.Ext(name))
	if known := mediaTypes[extension]; known != "" {
		return known
	}
	if known := mime.TypeByExtension(extension); known != "" {
		return known
	}
	return http.DetectContentType(content)
}

// paused answers a request that the browser asks about. It runs on the
// connection's reading goroutine, which nothing large may keep.
func paused(p *tab, params json.RawMessage) {
	var e proto.FetchRequestPaused
	if json.Unmarshal(params, &e) != nil {
		p.markBroken(errMessage)
		return
	}

	if p.assets != nil && e.Request != nil && strings.HasPrefix(e.Request.URL, AssetOrigin+"/") {
		job := p.assets
		p.serving.Go(func() {
			if err := guard.Do(func() { serve(p, e, job) }); err != nil {
				p.conn.log.Error("asset panicked", "error", err)
				p.event(eventBroken, nil)
			}
		})
		return
	}

	p.resume(e)
}

// closeAssets ends the serving of assets, which their owner is about to close.
func closeAssets(p *tab) {
	p.mu.Lock()
	p.assets = nil
	p.mu.Unlock()
	p.serving.Wait()
}
