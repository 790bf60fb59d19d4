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

	"github.com/go-chi/chi/v5"

	"relaypdf/api/op"
	"relaypdf/store"
)

// Upload is the answer of POST /v1/files.
type Upload struct {
	ID          string    `json:"id" jsonschema:"required" jsonschema_description:"Id of the file, for fileId. Only this account can use it."`
	Filename    string    `json:"filename" jsonschema:"required" jsonschema_description:"Name of the file."`
	SizeBytes   int64     `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size in bytes."`
	ContentType string    `json:"contentType" jsonschema:"required" jsonschema_description:"What the file was declared to be, or else looks like."`
	ExpiresAt   time.Time `json:"expiresAt" jsonschema:"required" jsonschema_description:"When the file goes, 24 hours after it was sent."`
}

const (
	// uploadField is the name of the part of a form that holds the file, and
	// what errors call the file.
	uploadField    = "file"
	filenameHeader = "X-Filename"
	// uploadStem names a file whose sender did not.
	uploadStem = "upload"
	// maxFormOverhead bounds in bytes what a form holds besides its file.
	maxFormOverhead = 1 << 20
)

// postFile keeps the file in a request's body for a day: raw bytes, or the part
// "file" of a form. It goes to the blobs as it comes in, and then gets its row.
func (a *API) postFile(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > a.files.Limit+maxFormOverhead {
		return &op.SizeError{Field: uploadField, Limit: a.files.Limit}
	}
	defer boundBody(w, a.files.Limit)()
	r.Body = http.MaxBytesReader(w, r.Body, a.files.Limit+maxFormOverhead)
	sent, err := openUpload(r)
	if err != nil {
		return uploadFault(err, a.files.Limit)
	}
	file, err := a.storeUpload(r, sent)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, Upload{
		ID: file.ID, Filename: file.Filename, SizeBytes: file.Size, ContentType: file.ContentType,
		ExpiresAt: file.ExpiresAt.UTC().Truncate(time.Millisecond),
	})
}

// storeUpload writes the blob and the row of an upload.
func (a *API) storeUpload(r *http.Request, sent *upload) (file store.File, err error) {
	ctx := r.Context()
	file = store.File{
		ID: store.NewID("file"), AccountID: callerFrom(ctx).Account.ID, Filename: filename(sent.name, uploadStem, ""),
		BlobKey: store.LeasedKey(a.lease), ExpiresAt: a.now().Add(fileLifetime),
	}
	content := &uploadReader{r: sent.content, left: a.files.Limit}
	file.Size, err = a.blobs.Put(ctx, file.BlobKey, content)
	switch {
	case content.err != nil:
		return file, uploadFault(content.err, a.files.Limit)
	case err != nil:
		return file, &Error{Code: StorageUnavailable, cause: err}
	}
	defer func() {
		if err != nil {
			a.dropUpload(ctx, file)
		}
	}()
	a.reached("uploaded")
	if err := sent.finish(); err != nil {
		return file, uploadFault(err, a.files.Limit)
	}
	if file.Size == 0 {
		return file, invalid(uploadField, "must not be empty: send its bytes as the body, or as the part \"file\" of a form")
	}
	file.ContentType = contentTypeOf(sent.declared, content.head)
	// A client that leaves must not make it unknown whether the row was written.
	return file, a.store.AddUpload(context.WithoutCancel(ctx), file)
}

// dropUpload deletes the blob of an upload that has no row. One that has a row
// all the same, because the database failed after writing it, is left alone.
func (a *API) dropUpload(ctx context.Context, file store.File) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	_, err := a.store.AccountFile(ctx, file.AccountID, file.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = a.blobs.Delete(ctx, file.BlobKey)
	}
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "upload not deleted", slog.Any("error", err))
	}
}

// deleteFile deletes an upload or a result of the account.
func (a *API) deleteFile(w http.ResponseWriter, r *http.Request) error {
	if err := a.store.DeleteFile(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id")); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Acknowledged{OK: true})
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
	// What is no content type at all is none of a form.
	if media, _, _ := mime.ParseMediaType(declared); media != "multipart/form-data" {
		return &upload{content: r.Body, name: headerName(r.Header), declared: declared}, nil
	}
	form, err := r.MultipartReader()
	if err != nil {
		return nil, invalid("Content-Type", "must name the boundary of the form")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, invalid(uploadField, "is missing from the form")
		}
		if err != nil {
			return nil, err
		}
		if part.FormName() != uploadField {
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
		if part.FormName() == uploadField {
			return invalid(uploadField, "is in the form twice; send one file in a request")
		}
	}
	return nil
}

// headerName returns the name that the headers give a file: X-Filename, or a
// brand's own, such as X-RelayPDF-Filename. Programs that cannot write UTF-8
// into a header percent-encode it.
func headerName(h http.Header) string {
	name := h.Get(filenameHeader)
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

// headSize is how much of a file is looked at to tell what it is.
const headSize = 512

// uploadReader counts a file as it comes in and keeps its beginning.
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

// uploadFault words why a file did not come in.
func uploadFault(err error, limit int64) error {
	var over *http.MaxBytesError
	var known *Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errTooLarge), errors.As(err, &over):
		return &op.SizeError{Field: uploadField, Limit: limit}
	}
	return &Error{Code: InvalidRequest, Message: "The file did not arrive whole, or the form that holds it is damaged.", cause: err}
}

// contentTypeOf returns the declared type of a file, or what it looks like
// where the declaration says nothing.
func contentTypeOf(declared string, head []byte) string {
	media, _, err := mime.ParseMediaType(declared)
	if err != nil || len(media) > maxMedia || media == "application/octet-stream" || media == "application/x-www-form-urlencoded" {
		media, _, _ = strings.Cut(http.DetectContentType(head), ";")
	}
	return media
}

// maxMedia bounds in bytes the type that a file is declared to have.
const maxMedia = 100
