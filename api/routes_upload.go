package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// uploadStem names a file whose sender did not.
	uploadStem = "upload"
	// maxFormOverhead is the maximum size of a form without its file, in bytes.
	maxFormOverhead = 1 << 20
	// dropTimeout bounds the deletion of an upload that has failed.
	dropTimeout = 20 * time.Second
)

// uploadInput is a file on its way in: raw bytes, or the part "file" of a form.
type uploadInput struct {
	Filename string `json:"X-Filename,omitempty" in:"header" jsonschema:"example=letter.pdf" jsonschema_description:"File name in UTF-8, percent-encoded or not. A multipart upload carries its own file name."`

	upload *upload
	done   func()
}

// receive finds the file in the request, whose body the route's function reads.
func (in *uploadInput) receive(a *API, w http.ResponseWriter, r *http.Request) (err error) {
	whole := *r
	body := newBody(w, &whole, a.MaxFile+maxFormOverhead)
	r.Body = body
	in.done = body.end
	if in.upload, err = openUpload(r); err != nil {
		in.done()
		return uploadFault(err, a.MaxFile)
	}
	return nil
}

// createFile stores a file for a day. It is written to the blobs as it arrives, and then gets its row.
func (a *API) createFile(ctx context.Context, caller call.Caller, in uploadInput) (wire.Upload, error) {
	defer in.done()
	file, err := a.storeUpload(ctx, caller, in.upload)
	if err != nil {
		return wire.Upload{}, err
	}

	return wire.Upload{
		ID: file.ID, Filename: file.Filename, SizeBytes: file.Size, ContentType: file.ContentType,
		ExpiresAt: file.ExpiresAt.UTC().Truncate(time.Millisecond),
	}, nil
}

// storeUpload writes the blob and the row of an upload.
func (a *API) storeUpload(ctx context.Context, caller call.Caller, sent *upload) (file store.File, err error) {
	file = store.File{
		ID: a.Store.NewID("file"), AccountID: caller.Account.ID, KeyID: caller.ID,
		Filename: operation.Filename(sent.name, uploadStem, ""),
		BlobKey:  store.LeasedKey(a.Lease), ExpiresAt: a.Now().Add(call.FileLifetime),
	}

	content := &uploadReader{r: sent.content, left: a.MaxFile}
	file.Size, err = a.Store.Blobs().Put(ctx, file.BlobKey, content)
	switch {
	case content.err != nil:
		return file, uploadFault(content.err, a.MaxFile)
	case err != nil:
		return file, &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}

	defer func() {
		if err != nil {
			a.dropUpload(ctx, file)
		}
	}()

	a.AfterStep("uploaded")
	if err := sent.finish(); err != nil {
		return file, uploadFault(err, a.MaxFile)
	}
	if file.Size == 0 {
		return file, wire.Invalid(call.UploadField,
			"must not be empty. Send the bytes as the request body, or as form part \"file\"")
	}

	file.ContentType = contentTypeOf(sent.declared, content.head)
	// A client that leaves must not make it unknown whether the row was written.
	return file, a.Store.AddUpload(context.WithoutCancel(ctx), file)
}

// dropUpload deletes the blob of an upload that has no row. One that has a row
// all the same, because the database failed after writing it, is left alone.
func (a *API) dropUpload(ctx context.Context, file store.File) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()

	_, err := a.Store.AccountFile(ctx, file.AccountID, file.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = a.Store.Blobs().Delete(ctx, file.BlobKey)
	}
	if err != nil {
		a.Logger.LogAttrs(ctx, slog.LevelWarn, "delete upload failed", slog.Any("error", err))
	}
}

// upload is a file on its way in.
type upload struct {
	content        io.Reader
	name, declared string
	form           *multipart.Reader // nil for raw bytes
}

// openUpload finds the file in a request.
func openUpload(r *http.Request) (*upload, error) {
	declared := r.Header.Get("Content-Type")
	// An invalid content type does not mean a form.
	if media, _, _ := mime.ParseMediaType(declared); media != "multipart/form-data" {
		return &upload{content: r.Body, name: headerName(r.Header), declared: declared}, nil
	}

	form, err := r.MultipartReader()
	if err != nil {
		return nil, wire.Invalid("Content-Type", "must name the boundary of the form")
	}

	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, wire.Invalid(call.UploadField, "is required in the form")
		}
		if err != nil {
			return nil, err
		}
		if part.FormName() != call.UploadField {
			continue
		}

		name := part.FileName()
		if name == "" {
			name = headerName(r.Header)
		}
		return &upload{content: part, name: name, declared: part.Header.Get("Content-Type"), form: form}, nil
	}
}

// finish reads the rest of a form, which must hold no second file.
func (u *upload) finish() error {
	for u.form != nil {
		part, err := u.form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FormName() == call.UploadField {
			return wire.Invalid(call.UploadField, "is given more than once. Send one file per request")
		}
	}
	return nil
}

// headerName returns the name that the headers give a file: X-Filename, or a
// brand's own, such as X-RelayPDF-Filename. Programs that cannot write UTF-8
// into a header percent-encode it.
func headerName(h http.Header) string {
	name := h.Get(wire.FilenameHeader)
	for _, key := range slices.Sorted(maps.Keys(h)) {
		if name == "" && strings.HasPrefix(key, "X-") && strings.HasSuffix(key, "-Filename") {
			name = h.Get(key)
		}
	}

	if plain, err := url.PathUnescape(name); err == nil && utf8.ValidString(plain) {
		name = plain
	}
	return strings.ToValidUTF8(name, "_")
}

// headSize is the number of bytes that are read to detect a file's type.
const headSize = 512

// uploadReader counts a file's bytes as they arrive, and stores its beginning.
type uploadReader struct {
	r    io.Reader
	left int64 // bytes that may still come
	head []byte
	err  error // that ended the reading, but for io.EOF
}

// errTooLarge ends the reading of a file that is over its limit.
var errTooLarge = errors.New("file too large")

func (u *uploadReader) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.head = append(u.head, p[:min(n, headSize-len(u.head))]...)
	if u.left -= int64(n); u.left < 0 {
		err = errTooLarge
	}

	if err != nil && !errors.Is(err, io.EOF) {
		u.err = err
	}
	return n, err
}

// uploadFault returns the API error for a failed upload.
func uploadFault(err error, limit int64) error {
	var over *http.MaxBytesError
	var known *wire.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errTooLarge), errors.As(err, &over):
		return &schema.SizeError{Field: call.UploadField, Limit: limit}
	}

	return &wire.Error{
		Code: wire.InvalidRequest, Message: "The upload is incomplete, or its form is malformed. Send it again.",
		Cause: err,
	}
}

// contentTypeOf returns the declared type of a file, or the detected one without a declaration.
func contentTypeOf(declared string, head []byte) string {
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || len(media) > maxMedia || media == "application/octet-stream" ||
		media == "application/x-www-form-urlencoded" {
		media, _, _ = strings.Cut(http.DetectContentType(head), ";")
	}
	return media
}

// maxMedia bounds in bytes the type that a file is declared to have.
const maxMedia = 100
