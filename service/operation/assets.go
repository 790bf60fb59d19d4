package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Asset is a file that a page refers to by a relative link.
type Asset struct {
	FileSource

	Filename string `json:"filename" jsonschema:"required,minLength=1,maxLength=255" jsonschema_description:"Relative path of the file in the page, such as img/logo.png."`
}

// AssetInput holds the fields for the files that belong to a page.
type AssetInput struct {
	Assets []Asset `json:"assets,omitempty" jsonschema:"maxItems=100" jsonschema_description:"Files for relative links in the page, headers and footers, by filename. At most 100 files and 50 MiB together."`
}

// SiteInput is an AssetInput with a whole site as another source.
type SiteInput struct {
	AssetInput

	File   schema.File `json:"file,omitzero" jsonschema_description:"Source: ZIP archive of index.html and its assets, as Base64, at most 50 MiB."`
	FileID *string     `json:"fileId,omitempty" jsonschema:"minLength=1,maxLength=255" jsonschema_description:"Source: ID of an upload of a ZIP archive with an index.html."`
}

// sources returns the fields that replace others.
func (in *SiteInput) sources() []source {
	archive := source{field: "file"}
	if !in.File.IsZero() {
		archive.value = new("given")
	}
	return []source{archive, {"fileId", in.FileID}}
}

// validate adds errors for invalid assets, also if the source, whose name is the last argument, cannot have any.
func (in *AssetInput) validate(faults *schema.FieldErrors, beside string) {
	if beside != "" && len(in.Assets) > 0 {
		faults.Add("assets", "cannot be combined with %s", beside)
	}

	seen := map[string]bool{}
	for i := range in.Assets {
		asset := &in.Assets[i]
		at := assetAt(i)
		asset.check(faults, at)
		asset.Filename = strings.TrimPrefix(asset.Filename, "./")
		switch {
		case !render.ValidAssetName(asset.Filename):
			faults.Add(
				at+"filename",
				"must be a relative path such as img/logo.png, without .. or backslashes; got %.100q",
				asset.Filename,
			)
		case seen[asset.Filename]:
			faults.Add(at+"filename", "is already used by another asset")
		}
		seen[asset.Filename] = true
	}
}

// validate faults a site or assets that cannot be.
func (in *SiteInput) validate(faults *schema.FieldErrors, hasURL bool) {
	checkContent(faults, "file", in.File)
	beside := ""
	switch {
	case hasURL:
		beside = "url"
	case !in.File.IsZero():
		beside = "file, which contains its own assets"
	case in.FileID != nil:
		beside = "fileId, whose file contains its own assets"
	}
	in.AssetInput.validate(faults, beside)
}

func assetAt(i int) string { return fmt.Sprintf("assets[%d].", i) }

// withAssets gets the files that belong to a page, puts them into src, and calls do.
func withAssets[T any](
	ctx context.Context, deps *Deps, in *AssetInput, src *render.Source, do func() (T, error),
) (T, error) {
	if len(in.Assets) == 0 {
		return do()
	}

	sources := make([]stagedFile, len(in.Assets))
	for i := range in.Assets {
		sources[i] = stagedFile{&in.Assets[i].FileSource, assetAt(i)}
	}

	return withFiles(ctx, deps, sources, func(_ context.Context, files []openFile) (result T, err error) {
		var total int64
		for i, file := range files {
			total += file.Size()
			src.Assets = append(src.Assets, chrome.Asset{Name: in.Assets[i].Filename, Content: file})
		}

		if total > render.MaxAssetBytes {
			return result, &schema.SizeError{Field: "assets", Limit: render.MaxAssetBytes}
		}
		return do()
	})
}

// withSite is withAssets for an input that may be a whole site.
func withSite[T any](
	ctx context.Context, deps *Deps, in *SiteInput, src *render.Source, do func() (T, error),
) (result T, err error) {
	if in.File.IsZero() && in.FileID == nil {
		return withAssets(ctx, deps, &in.AssetInput, src, do)
	}

	archive := stagedFile{&FileSource{File: in.File, FileID: in.FileID}, ""}
	return withFiles(ctx, deps, []stagedFile{archive}, func(ctx context.Context, files []openFile) (result T, err error) {
		site, err := render.OpenSite(ctx, files[0])
		var wrong *render.SiteError
		if errors.As(err, &wrong) {
			return result, schema.FieldErrors{{Field: files[0].field, Message: wrong.Text}}
		}
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, site.Close()) }()

		src.HTML = site.HTML
		src.Index = site.Index
		src.Assets = site.Assets
		return do()
	})
}
