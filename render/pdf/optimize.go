package pdf

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// OptimizeArgs are the arguments of OptimizeJob. Nothing is lost where Quality,
// MaxDPI and Gray are not set.
type OptimizeArgs struct {
	Input job.Input
	// Linearize writes the document so that a reader shows its first page before the rest has arrived, if the
	// result is smaller than its source. AlwaysLinearize does so in any case.
	Linearize, AlwaysLinearize bool
	// Quality is the quality of JPEGs, from 1 to 100; 0 leaves images as they are.
	Quality int
	// MaxDPI is the maximum number of pixels per inch that images keep; 0 is all.
	MaxDPI int
	// Gray makes images grey.
	Gray bool
}

// OptimizeJob reduces the size of a PDF. The result is not larger than its source, unless it had to be linearized or
// images had to become grey.
var OptimizeJob = job.DefineFile("pdf.optimize", engine.MakeTime, optimize)

// optimize writes a document as small as it gets. A result is not larger than its
// source, which is the result itself then, unless a source that is not linearized was to be,
// images had to become grey, or the source has errors.
func optimize(ctx context.Context, w *engine.Work, args OptimizeArgs) error {
	source := w.Path(args.Input.Name)
	linear, before, err := linearized(source)
	if err != nil {
		return err
	}

	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}
	grayed, err := args.images(ctx, doc, s)
	if err != nil {
		return err
	}

	w.Output(job.Output)
	attempts := []bool{false}
	switch {
	case args.AlwaysLinearize:
		attempts = []bool{true}
	case args.Linearize:
		attempts = []bool{true, false}
	}

	for _, linearize := range attempts {
		// Level 9 takes twice as long on a scan, and saves half a percent.
		options := job.QPDFJob{
			"objectStreams": "generate", "compressStreams": "y", "recompressFlate": "", "compressionLevel": "8",
		}
		if linearize {
			options["linearize"] = ""
		}
		if err := job.WriteResult(ctx, doc, options); err != nil {
			return err
		}

		after, err := os.Stat(w.Path(job.Output))
		if err != nil {
			return err
		}
		if after.Size() < before || grayed || args.AlwaysLinearize && !linear {
			return nil
		}
	}

	// The changed objects are behind the source.
	if err := os.Truncate(source, before); err != nil {
		return err
	}
	return returnSource(ctx, w, args.Input)
}

// images reduces the size of a document's images, and reports whether one became grey.
func (a OptimizeArgs) images(ctx context.Context, doc *job.Document, s *job.Structure) (grayed bool, err error) {
	if a.Quality == 0 && a.MaxDPI == 0 && !a.Gray {
		return false, nil
	}

	o := &optimizer{
		Structure: s,
		args:      a,
		masks:     map[string]bool{},
		bound:     map[string]bool{},
		ppi:       map[string]float64{},
	}
	if a.MaxDPI > 0 {
		if err := o.resolutions(ctx, doc); err != nil {
			return false, err
		}
	}

	refs := s.Containing("/Image")
	for _, ref := range refs {
		o.findMask(ref)
	}

	changes := s.NewUpdate()
	for _, ref := range refs {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if stream, gray, ok := o.smaller(ref); ok {
			changes.Set(ref, stream)
			grayed = grayed || gray
		}
	}
	return grayed, doc.Change(changes)
}

// optimizer makes images smaller.
type optimizer struct {
	*job.Structure

	args OptimizeArgs
	// masks lists the images that are masks of others.
	masks map[string]bool
	// bound lists the images whose pixels depend on the pixels of their mask.
	bound map[string]bool
	// ppi maps images to their resolution at the largest size.
	ppi map[string]float64
}

// resolutions reads the sizes at which images are drawn.
func (o *optimizer) resolutions(ctx context.Context, doc *job.Document) error {
	out, err := doc.Work.Exec(ctx, engine.Program{
		Name: "pdfimages", Args: []string{"-list", engine.PathArg(doc.Name)}, MaxStdout: job.MaxQPDFOutput,
	})
	if err != nil {
		return doc.Damaged(err)
	}

	const kind, object, generation, across, down = 2, 10, 11, 12, 13
	for line := range strings.Lines(string(out)) {
		field := strings.Fields(line)
		if len(field) <= down || field[kind] != "image" {
			continue // a mask has the number of its image
		}

		number, err1 := strconv.Atoi(field[object])
		version, err2 := strconv.Atoi(field[generation])
		x, err3 := strconv.ParseFloat(field[across], 64)
		y, err4 := strconv.ParseFloat(field[down], 64)
		if errors.Join(err1, err2, err3, err4) != nil {
			continue
		}

		ref := pdffile.Refer(number, version)
		if known, ok := o.ppi[ref]; !ok || min(x, y) < known {
			o.ppi[ref] = min(x, y)
		}
	}
	return nil
}

// findMask records the mask of an image, with the resolution of the image.
func (o *optimizer) findMask(ref string) {
	entries := o.Dict(ref)
	mask := pdffile.Reference(entries["/SMask"])
	if entries["/Subtype"] != "/Image" || mask == "" {
		return
	}

	o.masks[mask] = true
	width, _ := o.Target(entries["/Width"]).(float64)
	across, _ := o.Target(o.Dict(mask)["/Width"]).(float64)
	if ppi, known := o.ppi[ref]; known && width > 0 {
		masked, again := o.ppi[mask]
		if ppi *= across / width; !again || ppi < masked {
			o.ppi[mask] = ppi
		}
	}

	if o.Dict(mask)["/Matte"] != nil {
		o.bound[ref] = true
		o.bound[mask] = true
	}
}

const (
	// someQuality is the default quality of JPEGs whose number of pixels was reduced.
	someQuality = 80
	// minReduction is the minimum factor by which the resolution of an image must exceed the requested one. Below it,
	// the loss of quality exceeds the gain.
	minReduction = 1.15
	// maxSizeRatio is the share of an image's bytes that may be left at most.
	maxSizeRatio = 0.95
)

// smaller returns a replacement for an image, and whether it has become grey.
func (o *optimizer) smaller(ref string) (result pdffile.Stream, gray, ok bool) {
	stream, isStream := o.Stream(ref)
	if !isStream || stream.Entries["/Subtype"] != "/Image" || o.bound[ref] {
		return result, false, false
	}

	if entries, ok := o.grayPalette(stream.Entries); ok {
		return pdffile.Stream{Entries: entries, Content: stream.Content}, true, true
	}

	width, height, resampled := o.size(ref, stream.Entries)
	mask := o.masks[ref]
	gray = o.grays(stream.Entries)
	if !resampled && !gray && (o.args.Quality == 0 || mask) {
		return result, false, false
	}

	pixels, ok := o.pixels(stream)
	if !ok || pixels.Channels == images.CMYK && !gray {
		return result, false, false
	}
	if gray {
		pixels = pixels.Gray()
	}
	if resampled {
		pixels = pixels.Shrink(width, height)
	}

	jpeg := job.Filters(stream.Entries)[0] == "/DCTDecode"
	encoded, filter := pixels.Encode(o.quality(mask, jpeg), jpeg || mask)
	if encoded == nil || !gray && float64(len(encoded)) > maxSizeRatio*float64(len(stream.Content)) {
		return result, false, false
	}

	entries := pdffile.Without(stream.Entries, "/DecodeParms")
	entries["/Width"] = float64(pixels.Width)
	entries["/Height"] = float64(pixels.Height)
	entries["/BitsPerComponent"] = 8.
	entries["/Filter"] = filter
	if gray {
		entries["/ColorSpace"] = "/DeviceGray"
	}
	return pdffile.Stream{Entries: entries, Content: encoded}, gray, true
}

// grays reports whether an image is to become grey, and can.
func (o *optimizer) grays(entries pdffile.Dict) bool {
	return o.args.Gray && entries["/Decode"] == nil && o.channels(entries["/ColorSpace"]) > 1
}

// quality returns the quality of the JPEG that an image becomes; 0 means no JPEG. Masks are never lossy: errors in
// opacity would show.
func (o *optimizer) quality(mask, jpeg bool) int {
	switch {
	case mask:
		return 0
	case o.args.Quality > 0:
		return o.args.Quality
	case jpeg:
		return someQuality
	}
	return 0
}

// size returns how many pixels an image is to have, and whether those are fewer.
func (o *optimizer) size(ref string, entries pdffile.Dict) (width, height int, fewer bool) {
	across, _ := o.Target(entries["/Width"]).(float64)
	down, _ := o.Target(entries["/Height"]).(float64)
	ppi, known := o.ppi[ref]
	maxDPI := float64(o.args.MaxDPI)
	if !known || maxDPI == 0 || ppi < maxDPI*minReduction {
		return int(across), int(down), false
	}
	return max(1, int(across*maxDPI/ppi+0.5)), max(1, int(down*maxDPI/ppi+0.5)), true
}
