package gallery

import (
	"bytes"
	"image"
	"regexp"
	"testing"

	"golang.org/x/image/webp"
)

func TestThumbnailsAreUpToDate(t *testing.T) {
	g := load(t)
	entries, err := thumbnails.ReadDir("thumbnails")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(entries), len(g.all)+1; got != want {
		t.Errorf("%d files in thumbnails, want one of each layout and sources.json: %d", got, want)
	}
	path := regexp.MustCompile(`^/gallery/[a-z0-9-]+\.[0-9a-f]{16}\.webp$`)
	for _, l := range g.all {
		if l.DrawnFrom != l.Source() {
			t.Errorf("%s has changed since its thumbnail was drawn: run make gallery, and look at it", l.ID)
		}
		data := g.Thumbnail(l.ID)
		if len(data) > 12<<10 {
			t.Errorf("%s: the thumbnail has %d bytes, more than 12 KiB", l.ID, len(data))
		}
		var size image.Config
		if size, err = webp.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width < 360 || size.Width > 480 {
			t.Errorf("%s: the thumbnail is %d wide (error %v), want 360 to 480", l.ID, size.Width, err)
		}
		if !path.MatchString(l.ThumbnailPath()) {
			t.Errorf("%s: the thumbnail's path is %s", l.ID, l.ThumbnailPath())
		}
		if !bytes.Equal(g.ThumbnailFile(l.ThumbnailPath()[len(thumbnailFolder):]), data) {
			t.Errorf("%s: its thumbnail is not where it says", l.ID)
		}
	}
	for _, name := range []string{"", "invoice-atelier.webp", "invoice-atelier.0000000000000000.webp", "../layouts/invoice-atelier/about.json", "sources.json"} {
		if g.ThumbnailFile(name) != nil {
			t.Errorf("there is a thumbnail at %q", name)
		}
	}
}
