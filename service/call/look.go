package call

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// maxLookBytes bounds the images of a look together, maxLookText its text and
	// maxLookArchive the archive that is opened for one.
	maxLookBytes   = 8 << 20
	maxLookText    = 256 << 10
	maxLookArchive = 32 << 20
	// maxLookNames are listed of an archive.
	maxLookNames = 100
)

// previewableTypes are the images that browsers show without running anything in them.
var previewableTypes = []string{"image/png", "image/jpeg", "image/webp"}

// FilePreview returns a preview of a stored file of an account, within limits. The pages of a PDF are rendered as
// previews: they cost nothing, and the account's daily limit of previews applies. It returns store.ErrNotFound if
// the account has no such file.
func (r *Runner) FilePreview(ctx context.Context, account store.Account, id string) (_ wire.Look, err error) {
	var look filePreview
	r.running.Add(1)
	defer r.running.Done()

	file, err := r.store.AccountFile(ctx, account.ID, id)
	if err != nil {
		return look.Look, err
	}
	body, err := r.Files.Open(ctx, file.BlobKey)
	if err != nil {
		return look.Look, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if look.ContentType, _, err = mime.ParseMediaType(file.ContentType); err != nil {
		look.ContentType = "application/octet-stream"
		err = nil
	}

	switch kind := look.ContentType; {
	case kind == pdfType:
		err = r.addPages(ctx, account, body, &look)
	case slices.Contains(previewableTypes, kind):
		err = look.addImage(kind, body.Open(), body.Size())
	case kind == "application/zip" && body.Size() <= maxLookArchive:
		err = look.addArchive(body)
	case kind == "application/json", kind == "image/svg+xml", strings.HasPrefix(kind, "text/"):
		var text []byte
		text, err = io.ReadAll(io.LimitReader(body.Open(), maxLookText))
		look.Text = strings.ToValidUTF8(string(text), "\uFFFD")
		look.Cut = body.Size() > maxLookText
	}

	return look.Look, err
}

// addPages renders the first pages of a PDF, or records why they cannot be rendered.
func (r *Runner) addPages(ctx context.Context, account store.Account, body schema.Body, look *filePreview) error {
	err := r.renderPages(ctx, account, body, look)
	if err == nil || ctx.Err() != nil {
		return err
	}
	look.Note, err = previewError(err)
	return err
}

// previewError returns the reason why a document has no preview. It returns our own errors unchanged.
func previewError(err error) (string, error) {
	var failed *job.Error
	switch failure := APIError(err); {
	case errors.As(err, &failed):
		return pageError(failed), nil
	case errors.Is(err, context.DeadlineExceeded):
		return "The preview timed out. The file itself is not affected.", nil
	case failure.Code == wire.InternalError:
		return "", err
	default:
		return failure.Error(), nil
	}
}

// pageError returns the reason why the pages of a PDF are not shown.
func pageError(failed *job.Error) string {
	switch failed.Kind {
	case job.PasswordRequired:
		return "The PDF is encrypted and has no preview."
	case job.TooFine:
		return "The page is too large for a preview."
	}
	return "The preview could not be rendered. The file itself is not affected."
}

// previewRenderer returns a renderer for an account without charge, within the daily limit of previews. The caller must call
// leave.
func (r *Runner) previewRenderer(
	ctx context.Context, account store.Account,
) (_ *render.Account, leave func(), err error) {
	if r.render == nil {
		return nil, nil, &wire.Error{
			Code: wire.ConvertUnavailable, RetryAfter: WithoutRenderer,
			Message: "Previews are unavailable on this server. Retry in 5 seconds.",
		}
	}

	verdict, err := r.limiter.Take(ctx, r.LimitKey("previews", account.ID), previewWindow)
	if err != nil {
		return nil, nil, err
	}
	if !verdict.Allowed {
		return nil, nil, &wire.Error{
			Code: wire.RateLimited, RetryAfter: wire.Seconds(verdict.RetryAfter), Cause: &RateError{verdict},
			Message: exceeded(previewLimit, verdict, "previews"),
		}
	}

	return r.previews.enter(ctx, account.ID)
}

func (r *Runner) renderPages(ctx context.Context, account store.Account, body schema.Body, look *filePreview) error {
	bounded, cancel := context.WithTimeout(ctx, r.drawTime)
	defer cancel()

	renderer, leave, err := r.previewRenderer(bounded, account)
	if err != nil {
		return err
	}
	defer leave()

	info, err := renderer.DescribePDF(bounded, render.PDFFile{Content: body})
	if err != nil {
		return err
	}
	look.Pages = info.PageCount

	pages, err := drawPages(bounded, renderer, schema.Result{Body: body}, min(maxPreviewPages, info.PageCount), 1)
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := look.addImage("image/png", bytes.NewReader(page), int64(len(page))); err != nil {
			return err
		}
	}
	return nil
}

// filePreview is a look in the making.
type filePreview struct{ wire.Look }

// addImage adds an image if there is room for it.
func (l *filePreview) addImage(kind string, content io.Reader, size int64) error {
	for _, image := range l.Images {
		size += int64(len(image.Data))
	}
	if size > maxLookBytes {
		l.Cut = true
		return nil
	}

	data, err := io.ReadAll(content)
	l.Images = append(l.Images, wire.LookImage{ContentType: kind, Data: data})
	return err
}

// addArchive lists the content of an archive, and shows its first images.
func (l *filePreview) addArchive(body *Blob) error {
	archive, err := zip.NewReader(body.Content, body.Size())
	if err != nil {
		return err
	}

	var names strings.Builder
	for i, entry := range archive.File {
		if i == maxLookNames {
			l.Cut = true
			break
		}
		fmt.Fprintf(&names, "%s: %d bytes\n", entry.Name, entry.UncompressedSize64)
		if len(l.Images) == maxPreviewPages || entry.UncompressedSize64 > maxLookBytes {
			continue
		}
		if err := l.addEntry(entry); err != nil {
			return err
		}
	}

	l.Text = strings.ToValidUTF8(names.String(), "\uFFFD")
	return nil
}

// addEntry shows an entry of an archive if it is an image.
func (l *filePreview) addEntry(entry *zip.File) (err error) {
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()

	head := make([]byte, 512)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}

	kind := http.DetectContentType(head[:n])
	if !slices.Contains(previewableTypes, kind) {
		return nil
	}
	// The size that the archive declares may be wrong.
	rest := io.LimitReader(content, maxLookBytes)
	return l.addImage(kind, io.MultiReader(bytes.NewReader(head[:n]), rest), int64(entry.UncompressedSize64))
}
