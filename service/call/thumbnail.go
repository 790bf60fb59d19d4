package call

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"math"
	"mime"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// thumbnailWidth and thumbnailHeight are how many pixels a thumbnail has at most,
	// and maxThumbnail its bytes.
	thumbnailWidth, thumbnailHeight = 400, 600
	maxThumbnail                    = 60_000
	// thumbnailTries is the number of attempts to make a thumbnail small enough. An image without a pattern is small
	// enough at the second attempt.
	thumbnailTries = 4
)

const pdfType = "application/pdf"

// Thumbnail renders page 1 of an account's result that is a PDF, or an image, as a small PNG, or returns the reason
// why there is none. Nothing is charged: it counts as one of the account's previews of a day.
func (r *Runner) Thumbnail(ctx context.Context, account store.Account, id string) (picture []byte, why string) {
	r.running.Add(1)
	defer r.running.Done()

	bounded, cancel := context.WithTimeout(ctx, r.drawTime/3)
	defer cancel()
	picture, err := r.thumbnail(bounded, account, id)
	if err == nil {
		return picture, ""
	}

	why, err = previewError(errors.Join(err, bounded.Err()))
	if err != nil {
		why = "The preview could not be rendered."
		if ctx.Err() == nil {
			r.log.LogAttrs(ctx, slog.LevelError, "draw thumbnail failed", slog.String("file", id),
				slog.Any("error", err))
		}
	}

	return nil, why
}

func (r *Runner) thumbnail(ctx context.Context, account store.Account, id string) (_ []byte, err error) {
	file, err := r.store.AccountFile(ctx, account.ID, id)
	if err != nil {
		return nil, err
	}
	if file.CallID == "" {
		return nil, fmt.Errorf("draw an upload: %w", store.ErrNotFound) // uploads have no thumbnail
	}

	kind, _, err := mime.ParseMediaType(file.ContentType)
	if err != nil || !schema.HasThumbnail(kind) {
		return nil, &wire.Error{
			Code: wire.InvalidRequest, Message: fmt.Sprintf("Results of type %s have no preview.", file.ContentType),
		}
	}

	body, err := r.Files.Open(ctx, file.BlobKey)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()

	renderer, leave, err := r.previewRenderer(ctx, account)
	if err != nil {
		return nil, err
	}
	defer leave()
	if kind != pdfType {
		return small(ctx, renderer, body)
	}

	page, _, err := renderer.RasterPages(ctx, render.PDFFile{Content: body}, pdf.RasterArgs{Pages: "1", DPI: cssDPI})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	return small(ctx, renderer, page)
}

// small converts an image to a PNG within the size limits of a thumbnail, in pixels and in bytes.
func small(ctx context.Context, renderer *render.Account, picture engine.Content) ([]byte, error) {
	how := images.ConvertArgs{To: "png", Width: thumbnailWidth, Height: thumbnailHeight, Within: true}

	for range thumbnailTries {
		made, _, err := renderer.ConvertImage(ctx, picture, how)
		if err != nil {
			return nil, err
		}
		if made.Size() <= maxThumbnail {
			data, err := io.ReadAll(made.Open())
			return data, errors.Join(err, made.Close())
		}

		size, err := png.DecodeConfig(made.Open())
		if err := errors.Join(err, made.Close()); err != nil {
			return nil, err
		}
		// A tenth is left for the parts that do not shrink with the pixels.
		share := math.Sqrt(0.9 * maxThumbnail / float64(made.Size()))
		how.Width, how.Height = max(1, int(float64(size.Width)*share)), max(1, int(float64(size.Height)*share))
	}
	return nil, &wire.Error{Code: wire.PayloadTooLarge, Message: "The preview would be too large."}
}
