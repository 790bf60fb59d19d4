package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/relaypdf/relaypdf/api/wire"
)

// Page asks for a part of a list, the newest entries first.
type Page struct {
	// Limit is the maximum number of entries; 0 means the service's default.
	Limit int
	// Cursor is the NextCursor of the page before; empty is the first page.
	Cursor string
}

func (p Page) query() string {
	values := url.Values{}
	if p.Limit > 0 {
		values.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		values.Set("cursor", p.Cursor)
	}
	return values.Encode()
}

// Jobs lists the account's jobs of the last 30 days.
func (c *Client) Jobs(ctx context.Context, page Page) (JobList, error) {
	return get[JobList](ctx, c, "/v1/jobs?"+page.query())
}

// Files lists the account's uploads and results that can still be read.
func (c *Client) Files(ctx context.Context, page Page) (FileList, error) {
	return get[FileList](ctx, c, "/v1/files?"+page.query())
}

type (
	// JobList is a page of jobs.
	JobList = wire.JobList
	// JobEntry is a job in a list.
	JobEntry = wire.JobEntry
	// FileList is a page of files.
	FileList = wire.FileList
	// FileEntry is a file in a list.
	FileEntry = wire.FileEntry
)
