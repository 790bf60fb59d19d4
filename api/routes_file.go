package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
)

// download is a stored result on its way out.
type download struct {
	*API
	file store.File
	body *call.Blob // nil if the bucket sends it
	link string     // in its bucket; empty if the body is sent
	// limited is set if downloads count towards the maximum of the public URL.
	limited bool
}

// linker makes addresses under which a blob can be had elsewhere for a while.
type linker interface {
	Link(ctx context.Context, key string, lifetime time.Duration, header http.Header) (string, error)
}

// linkLifetime is the lifetime of such a URL, enough to follow it at once.
const linkLifetime = time.Minute

// downloadInput names a file, and who asks for it.
type downloadInput struct {
	byID

	key, ip string
	whole   bool // it is the content that is asked for
}

// receive keeps the key, which is of no matter for results.
func (in *downloadInput) receive(_ *API, _ http.ResponseWriter, r *http.Request) error { //nolint:unparam // as received asks for it
	in.key = bearer(r.Header)
	in.ip = middleware.ClientIP(r.Context())
	in.whole = r.Method == http.MethodGet
	return nil
}

// getFile returns a stored result to any holder of its ID, and an upload to its account. A maximum number of downloads
// is for the holders of the ID: the account downloads its result as often as it wants to.
func (a *API) getFile(ctx context.Context, caller call.Caller, in downloadInput) (download, error) {
	file, err := a.Store.PublicFile(ctx, in.ID)
	limited := file.MaxDownloads > 0
	if (errors.Is(err, store.ErrNotFound) || limited) && (in.key != "" || caller.Account.ID != "") {
		switch mine, ownErr := a.own(ctx, caller, in); {
		case ownErr == nil:
			file = mine
			err = nil
			limited = false
		case !errors.Is(ownErr, store.ErrNotFound):
			return download{}, ownErr
		}
	}
	if err != nil {
		return download{}, err
	}

	if in.whole && !limited {
		if link := a.linked(ctx, file); link != "" {
			return download{API: a, file: file, link: link}, nil
		}
	}

	body, err := a.Calls.Files.Open(ctx, file.BlobKey)
	if err != nil {
		return download{}, err
	}

	if in.whole {
		if err := body.Verify(file.Size); err != nil {
			return download{}, errors.Join(err, body.Close())
		}
	}
	if limited && in.whole {
		if err := a.Store.TakeDownload(ctx, file.ID); err != nil {
			return download{}, errors.Join(err, body.Close())
		}
	}

	return download{API: a, file: file, body: body, limited: limited}, nil
}

// linked returns the URL of a result in its bucket, or an empty text if the response has to contain the file.
// Uploads are sent in the response, because they belong to the account. So are files with less than a second left,
// which the next request best refuses.
func (a *API) linked(ctx context.Context, file store.File) string {
	lifetime := min(linkLifetime, file.ExpiresAt.Sub(a.Now()))
	if a.links == nil || file.CallID == "" || lifetime < time.Second {
		return ""
	}

	link, err := a.links.Link(ctx, file.BlobKey, lifetime, http.Header{
		"Content-Type": {downloadType}, "Content-Disposition": {disposition("attachment", file.Filename)},
		"Cache-Control": {privately},
	})
	if err != nil && !errors.Is(err, blob.ErrMissing) {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "make an address in the bucket failed", slog.Any("error", err))
	}
	return link
}

const (
	// downloadType keeps a browser from showing the download.
	downloadType = "application/octet-stream"
	privately    = "private, no-store"
)

// own finds a file of the account of the caller, or of a key. A key that may not use all operations finds only its own
// uploads and results; another key finds nothing.
func (a *API) own(ctx context.Context, caller call.Caller, in downloadInput) (store.File, error) {
	if caller.Account.ID == "" {
		var err error
		caller, err = a.authenticate(ctx, in.key, in.ip, a.callerOf)
		if err != nil && slices.Contains([]wire.Code{wire.Unauthorized, wire.AccountSuspended}, call.APIError(err).Code) {
			err = store.ErrNotFound
		}
		if err != nil {
			return store.File{}, err
		}
	}

	file, err := a.Store.AccountFile(ctx, caller.Account.ID, in.ID)
	only := caller.Reads()
	if err != nil || only == "" || file.KeyID == only {
		return file, err
	}

	made, err := a.Store.Call(ctx, file.CallID)
	if err == nil && made.KeyID != only {
		err = store.ErrNotFound
	}
	return file, err
}

// send sends the result. Nothing may cache it, so that deletion, expiry and
// suspension work at once.
func (d download) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	d.setService(h, wire.ResultIDHeader, d.file.ID)
	d.setService(h, wire.SizeHeader, strconv.FormatInt(d.file.Size, 10))
	h.Set("Cache-Control", privately)

	if d.link != "" {
		h.Set("Location", d.link)
		w.WriteHeader(http.StatusTemporaryRedirect)
		d.Store.CountDownload(d.file.ID)
		return nil
	}

	defer d.body.Close()
	h.Set("Content-Type", downloadType)
	h.Set("Content-Disposition", disposition("attachment", d.file.Filename))
	h.Set("Content-Security-Policy", "sandbox")

	if d.limited {
		// Parts would be downloads of their own, and what a client has already was counted: the whole file is sent.
		h.Set("Accept-Ranges", "none")
		h.Set("Content-Length", strconv.FormatInt(d.file.Size, 10))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodGet {
			return nil
		}
		d.Store.CountDownload(d.file.ID)
		_, err := io.Copy(w, d.body.Open())
		return undelivered(err)
	}

	h.Set("ETag", `"`+d.file.ID+`"`)
	http.ServeContent(w, r, "", d.file.CreatedAt, d.body.Content)
	status := middleware.ResponseRecordOf(w).Status
	if r.Method == http.MethodGet && (status == http.StatusOK || status == http.StatusPartialContent) {
		d.Store.CountDownload(d.file.ID)
	}
	return nil
}

// limitDownloads counts downloads by the address that asks for them.
func (a *API) limitDownloads(
	handle func(http.ResponseWriter, *http.Request) error,
) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !a.NoRateLimits {
			verdict, err := a.Limiter.Take(r.Context(), a.Calls.LimitKey("files", middleware.ClientIP(r.Context())),
				downloadWindow)
			if err != nil || !verdict.Allowed {
				setRateHeaders(w.Header(), verdict)
				return call.OverRate(verdict, err)
			}
		}
		return handle(w, r)
	}
}

// deleteFile deletes an upload or a result of the account, or of a key that may not use all
// operations.
func (a *API) deleteFile(ctx context.Context, caller call.Caller, in byID) (wire.Acknowledged, error) {
	if only := caller.Reads(); only != "" {
		return wire.Acknowledged{OK: true}, a.Store.DeleteKeyFile(ctx, caller.Account.ID, only, in.ID)
	}
	return wire.Acknowledged{OK: true}, a.Store.DeleteFile(ctx, caller.Account.ID, in.ID)
}

func (a *API) listFiles(ctx context.Context, caller call.Caller, in listQuery) (wire.FileList, error) {
	page, err := a.Store.Files(ctx, store.FileFilter{
		List: in.list(), AccountID: caller.Account.ID, KeyID: caller.Reads(),
	})

	answer := wire.FileList{Files: make([]wire.FileEntry, len(page.Items)), NextCursor: nextCursor(page.Next)}
	for i, file := range page.Items {
		kind := "result"
		if file.CallID == "" {
			kind = "upload"
		}
		answer.Files[i] = wire.FileEntry{
			ID: file.ID, Kind: kind, Filename: file.Filename, SizeBytes: file.Size, ContentType: file.ContentType,
			CreatedAt: shownMillis(file.CreatedAt), ExpiresAt: shownMillis(file.ExpiresAt),
		}
	}
	return answer, err
}
