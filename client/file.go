package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Upload stores a file in the account for a day. Operations read it by its ID. It is the content from its position on.
// Content that is an io.ReaderAt and an io.Seeker, such as an *os.File or a *bytes.Reader, is sent again if the service
// is busy; any other is sent once.
func (g Files) Upload(ctx context.Context, filename string, content io.Reader) (Upload, error) {
	request := message{
		method: http.MethodPost, path: "/v1/files", media: "application/octet-stream",
		header: http.Header{wire.FilenameHeader: {url.PathEscape(filename)}},
	}

	seekable, ok := content.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		request.stream = content
		return ask[Upload](ctx, g.client, request)
	}
	begin, err := seekable.Seek(0, io.SeekCurrent)
	if err != nil {
		return Upload{}, err
	}
	end, err := seekable.Seek(0, io.SeekEnd)
	if err != nil {
		return Upload{}, err
	}
	request.size = max(0, end-begin)
	request.body = io.NewSectionReader(seekable, begin, request.size)
	return ask[Upload](ctx, g.client, request)
}

// UploadFile is Upload of the file at a path, with its name.
func (g Files) UploadFile(ctx context.Context, path string) (upload Upload, err error) {
	file, err := os.Open(path)
	if err != nil {
		return Upload{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	return g.Upload(ctx, filepath.Base(path), file)
}
