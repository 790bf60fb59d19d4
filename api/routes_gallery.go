package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
)

// galleryQuery selects layouts.
type galleryQuery struct {
	Category string `json:"category,omitempty" in:"query" jsonschema:"maxLength=64,example=invoice" jsonschema_description:"Filter by category."`
	Search   string `json:"search,omitempty" in:"query" jsonschema:"maxLength=200,example=serif elegant" jsonschema_description:"Filter by words. Each word must occur in the name, description, category, its synonyms or tags."`
}

func (a *API) listGallery(_ context.Context, _ call.Caller, in galleryQuery) (wire.GalleryList, error) {
	if categories := a.Gallery.Categories(); in.Category != "" && !slices.Contains(categories, in.Category) {
		return wire.GalleryList{}, wire.Invalid("category", "must be one of "+strings.Join(categories, ", "))
	}

	list := wire.GalleryList{Templates: []wire.GalleryTemplate{}}
	for _, l := range a.Gallery.List(in.Category, in.Search) {
		list.Templates = append(list.Templates, wire.GalleryTemplate{
			ID: l.ID, Slug: l.ID, Name: l.Name, Category: l.Category, Description: l.Description,
			Href: l.Href(), ThumbnailURL: a.BaseURL + l.ThumbnailPath(), Tags: l.Tags,
		})
	}
	return list, nil
}

// thumbnailName names an image: the layout and the hash of its bytes.
type thumbnailName struct {
	Name string `json:"name" in:"path" jsonschema:"required" jsonschema_description:"File name of the image. It contains the content's hash."`
}

// thumbnail is an image in a response. Caches never need to revalidate it.
type thumbnail []byte

func (a *API) thumbnail(_ context.Context, _ call.Caller, in thumbnailName) (thumbnail, error) {
	image := a.Gallery.ThumbnailFile(in.Name)
	if image == nil {
		return nil, &wire.Error{Code: wire.NotFound}
	}
	return image, nil
}

func (t thumbnail) send(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "image/webp")
	h.Set("Content-Length", strconv.Itoa(len(t)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(t)
	return undelivered(err)
}
