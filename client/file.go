package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Upload keeps a file of size bytes in the account for a day. Operations read
// it by its id.
func (c *Client) Upload(ctx context.Context, filename string, content io.ReaderAt, size int64) (Upload, error) {
	header := http.Header{wire.FilenameHeader: {url.PathEscape(filename)}}
	return ask[Upload](ctx, c, message{
		method: http.MethodPost, path: "/v1/files", header: header, body: content, size: size,
		media: "application/octet-stream",
	})
}

// DeleteFile deletes an upload or a result of the account.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, c, message{method: http.MethodDelete, path: "/v1/files/" + url.PathEscape(id)})
	return err
}
