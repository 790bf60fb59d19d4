package gallery

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/image/webp"
)

//go:embed thumbnails
var thumbnails embed.FS

// thumbnailFolder is the path prefix of thumbnails. Their URLs contain the hash of their bytes, so that browsers
// may cache them for ever.
const thumbnailFolder = "/gallery/"

// Source is the hash of all that the layout's pages are made of.
func (l Layout) Source() string {
	sum := sha256.New()
	for _, part := range []string{l.HTML, string(l.Sample), string(l.Options)} {
		fmt.Fprintf(sum, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ThumbnailPath returns the path of the layout's thumbnail.
func (l Layout) ThumbnailPath() string { return thumbnailFolder + l.thumbnail }

// ThumbnailSize returns the size of the layout's thumbnail in pixels.
func (l Layout) ThumbnailSize() (width, height int) { return l.width, l.height }

// Thumbnail returns the image of a layout's first page, as WebP, or nothing if `make gallery` has not rendered it
// yet.
func (g *Gallery) Thumbnail(id string) []byte {
	image, err := thumbnails.ReadFile("thumbnails/" + id + ".webp")
	if err != nil {
		return nil
	}
	return image
}

// ThumbnailFile returns the thumbnail whose path ends with this name, which holds
// its hash. It is nothing for any other name.
func (g *Gallery) ThumbnailFile(name string) []byte {
	id, _, _ := strings.Cut(name, ".")
	if l, ok := g.Get(id); !ok || l.thumbnail != name {
		return nil
	}
	return g.Thumbnail(id)
}

// stamp records the source of each layout's thumbnail, and its name.
func (g *Gallery) stamp() error {
	index, err := thumbnails.ReadFile("thumbnails/sources.json")
	if err != nil {
		return fmt.Errorf("gallery: %w", err)
	}
	var sources map[string]string
	if err := json.Unmarshal(index, &sources); err != nil {
		return fmt.Errorf("gallery: thumbnails/sources.json: %w", err)
	}
	for i := range g.all {
		l := &g.all[i]
		l.DrawnFrom = sources[l.ID]
		image := g.Thumbnail(l.ID)
		if len(image) == 0 {
			continue // `make gallery` has not rendered it yet
		}
		size, err := webp.DecodeConfig(bytes.NewReader(image))
		if err != nil {
			return fmt.Errorf("gallery: the thumbnail of %s: %w", l.ID, err)
		}
		l.width = size.Width
		l.height = size.Height
		sum := sha256.Sum256(image)
		l.thumbnail = l.ID + "." + hex.EncodeToString(sum[:8]) + ".webp"
	}
	return nil
}
