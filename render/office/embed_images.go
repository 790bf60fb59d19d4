package office

import (
	"encoding/base64"
	"errors"
	"html"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"github.com/relaypdf/relaypdf/render/engine"
)

// embedded matches references of LibreOffice's HTML to other files.
var embedded = regexp.MustCompile(`(?i)\b(src|background)="([^"]*)"`)

// embedImages makes an HTML document of the job's folder one file: it embeds images that
// LibreOffice has written next to it, and removes links to files elsewhere.
func embedImages(w *engine.Work, name string) error {
	content, err := os.ReadFile(w.Path(name))
	if err != nil {
		return err
	}

	var failed error
	whole := embedded.ReplaceAllFunc(content, func(found []byte) []byte {
		parts := embedded.FindSubmatch(found)
		address := html.UnescapeString(string(parts[2]))
		if len(address) >= 5 && address[:5] == "data:" {
			return found
		}

		picture, err := os.ReadFile(w.Path(fileOf(address)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return []byte(string(parts[1]) + `="` + nothing + `"`)
		case err != nil:
			failed = err
			return found
		}
		data := "data:" + http.DetectContentType(picture) + ";base64," + base64.StdEncoding.EncodeToString(picture)
		return []byte(string(parts[1]) + `="` + data + `"`)
	})

	if failed != nil {
		return failed
	}
	return os.WriteFile(w.Path(name), whole, 0o600)
}

// fileOf returns the name of the file in the job's folder to which a reference of LibreOffice leads, or one that
// does not exist.
func fileOf(address string) string {
	const none = "no such file"
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "" || parsed.Host != "" || parsed.Path != filepath.Base(parsed.Path) {
		return none
	}
	return parsed.Path
}
