package pdf

import (
	"context"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// OverlayArgs are the arguments of OverlayJob. The output is the PDF, and the result a Changed.
type OverlayArgs struct {
	job.Input // the document, with its pages to draw on
	// Pages are those pages, From the pages of the overlay, and Repeat those that follow again and again when From is
	// used up: selections in the grammar of pagerange. An empty Repeat is none, the others are all.
	Pages, From, Repeat string
	Overlay             job.Input
	Under               bool
	// Positions puts overlays at edges of pages, not in the centre: each in the first of these places without text, or
	// in the first of them.
	Positions []Position
}

// Position is a place on a page, a few points from its edge.
type Position string

// The places on a page. The horizontal ones without left or right are in the middle.
const (
	Bottom      Position = "bottom"
	BottomLeft  Position = "bottom-left"
	BottomRight Position = "bottom-right"
	Top         Position = "top"
	TopLeft     Position = "top-left"
	TopRight    Position = "top-right"
)

// placeEdge is the distance of places from the edge of the page, in points.
const placeEdge = 20

// The fields of selections of the overlay, in the Text of an Error that is BeyondEnd.
const (
	OverlayFrom   = "from"
	OverlayRepeat = "repeat"
)

// overlayScript draws the overlay; MuPDF runs it behind job.DrawScript.
//
//go:embed overlay.js
var overlayScript string

// overlayInput are the arguments of the script.
type overlayInput struct {
	Input     string        `json:"input"`
	Overlay   string        `json:"overlay"`
	Output    string        `json:"output"`
	Layers    string        `json:"layers"`
	Pages     []overlayPage `json:"pages"`
	Under     bool          `json:"under"`
	Tagged    bool          `json:"tagged"`
	Positions []Position    `json:"places"`
	Edge      float64       `json:"edge"`
}

// overlayPage is a page and that of the overlay, from 1.
type overlayPage struct {
	To   int `json:"to"`
	From int `json:"from"`
}

// Changes that an overlay causes.
const (
	unlinkedChange = "The links of the overlay are not in the result."
	coveringText   = "Page numbers cover text on these pages: %s."
	unclaimedText  = "The result does not claim %s, because the overlay does not conform to it."
)

// OverlayJob draws pages of one PDF on those of another.
var OverlayJob = job.Define("pdf.overlay", engine.ChangeTime, overlay)

// overlay draws pages of one document on those of another, as artifacts. It places them by itself: qpdf's overlay
// fits them into the trim box, copies form fields, and leaves the marks of a structure in them.
func overlay(ctx context.Context, w *engine.Work, args OverlayArgs) (job.Changed, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return job.Changed{}, err
	}
	over, err := job.Open(ctx, w, 1, args.Overlay)
	if err != nil {
		return job.Changed{}, err
	}

	for _, d := range []*job.Document{doc, over} {
		if err := job.CheckPages(d.Pages); err != nil {
			return job.Changed{}, err
		}
	}

	const overlaid = "overlaid.pdf"
	input := overlayInput{
		Output: overlaid, Layers: carriedKey[1:], Under: args.Under, Positions: args.Positions, Edge: placeEdge,
	}
	if input.Pages, err = args.pairs(doc, over); err != nil {
		return job.Changed{}, err
	}

	original := *doc
	made := job.Changed{Changes: []string{}}
	encrypted, err := job.Decrypt(ctx, doc)
	if err != nil {
		return job.Changed{}, err
	}
	if err := job.Settle(ctx, doc); err != nil {
		return job.Changed{}, err
	}

	claims, err := flatOverlay(ctx, over, &input, &made)
	if err != nil {
		return job.Changed{}, err
	}
	input.Input = doc.Name
	covering, err := job.RunScript[[]int](ctx, doc, "overlay.js", []byte(job.DrawScript+overlayScript), input)
	if err != nil {
		return job.Changed{}, err
	}

	if len(covering) > 0 {
		const maxListed = 20
		list, _, _ := strings.Cut(fmt.Sprint(covering[:min(maxListed, len(covering))])[1:], "]")
		if len(covering) > maxListed {
			list += " …"
		}
		made.Changes = append(made.Changes, fmt.Sprintf(coveringText, strings.ReplaceAll(list, " ", ", ")))
	}

	result := &job.Document{Work: w, Name: overlaid}
	if err := afterOverlay(ctx, result, claims, &made); err != nil {
		return job.Changed{}, err
	}
	return made, job.Finish(ctx, &original, encrypted, overlaid)
}

// pairs returns the pages to draw on with those of the overlay.
func (a OverlayArgs) pairs(doc, over *job.Document) (pairs []overlayPage, err error) {
	to, err := doc.Resolve(a.Pages)
	if err != nil {
		return nil, err
	}
	from, err := over.Resolve(a.From)
	if err != nil {
		return nil, selectionOf(OverlayFrom, err)
	}

	var again []int
	if a.Repeat != "" {
		if again, err = over.Resolve(a.Repeat); err != nil {
			return nil, selectionOf(OverlayRepeat, err)
		}
	}

	for i, page := range withoutRepeats(to) {
		switch {
		case i < len(from):
			pairs = append(pairs, overlayPage{page, from[i]})
		case len(again) > 0:
			pairs = append(pairs, overlayPage{page, again[(i-len(from))%len(again)]})
		}
	}
	return pairs, nil
}

// flatOverlay prepares an overlay: not encrypted, with its comments and fields drawn on its pages. It returns the
// standards that it claims, and adds what is lost.
func flatOverlay(
	ctx context.Context, d *job.Document, input *overlayInput, made *job.Changed,
) (claims []pdffile.Standard, err error) {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return nil, err
	}

	used := map[int]bool{}
	for _, pair := range input.Pages {
		used[pair.From] = true
	}

	linked := false
	for i, page := range s.Pages {
		if !used[i+1] {
			continue
		}

		entries := s.Dict(page.Object)
		list, _ := s.Target(entries["/Annots"]).([]any)
		linked = linked || slices.ContainsFunc(list, func(v any) bool {
			return s.Target(s.Entry(v)["/Subtype"]) == "/Link"
		})
	}

	if linked {
		made.Changes = append(made.Changes, unlinkedChange)
	}

	input.Tagged = s.Catalog()["/StructTreeRoot"] != nil
	input.Overlay = "overlay-flat.pdf"
	incomplete, err := form.FlattenComments(ctx, d, input.Overlay, "screen")
	if len(incomplete) > 0 {
		made.Changes = append(made.Changes, fmt.Sprintf(job.PoorerText, job.ShortList(incomplete)))
	}
	return claimsOf(s), err
}

// claimsOf returns the standards that a document claims.
func claimsOf(s *job.Structure) (claims []pdffile.Standard) {
	values, _ := archive.ReadXMP(readXMPOf(s))
	if part := values[archive.XMPPDFA+"part"]; part != "" {
		claims = append(claims, pdffile.Standard("a-"+part+strings.ToLower(values[archive.XMPPDFA+"conformance"])))
	}
	if part := values[archive.XMPUA+"part"]; part != "" {
		claims = append(claims, pdffile.Standard("ua-"+part))
	}
	return claims
}

// afterOverlay gives a document the layers of its overlay, and takes the claims of standards that are no longer true.
// overlaid are the standards that the overlay claims.
func afterOverlay(ctx context.Context, d *job.Document, overlaid []pdffile.Standard, made *job.Changed) error {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return err
	}

	catalog := s.Catalog()
	changes := s.NewUpdate()
	if layers := catalog[carriedKey]; layers != nil {
		all := []any{layers}
		if own := catalog["/OCProperties"]; own != nil {
			all = []any{own, layers}
		}

		catalog = pdffile.Without(catalog, carriedKey)
		catalog["/OCProperties"] = joinedLayers(s.File, all)
		changes.Set(s.Root(), catalog)
		if err := d.Change(changes); err != nil {
			return err
		}
		if s, err = d.ReadStructure(ctx); err != nil {
			return err
		}
		changes = s.NewUpdate()
	}

	claims := claimsOf(s)
	if len(claims) == 0 {
		return nil
	}

	content, err := d.Content()
	if err != nil {
		return err
	}

	gone := map[string]bool{} // namespaces of claims
	for i, result := range pdfcheck.Check(pdfcheck.Source{File: s.File, Original: content}, claims).Results {
		if len(result.Violations) == 0 && holds(claims[i], overlaid) {
			continue
		}
		space := archive.XMPUA
		if claims[i].Part() > 0 {
			space = archive.XMPPDFA
		}
		gone[space] = true
		made.Changes = append(made.Changes, fmt.Sprintf(unclaimedText, claims[i].Family()))
	}

	if len(gone) == 0 {
		return nil
	}
	edited, err := editXMP(readXMPOf(s), func(name xml.Name) bool { return gone[name.Space] }, "")
	if err != nil {
		edited = nil
	}
	setXMP(s, changes, edited)
	return d.Change(changes)
}

// holds reports whether a document that claims a standard may still do so with an overlay that claims some. Of PDF/A,
// not all rules are checked: the overlay has to be of the same part or an earlier one.
func holds(claim pdffile.Standard, overlaid []pdffile.Standard) bool {
	return claim.Part() == 0 || slices.ContainsFunc(overlaid, func(s pdffile.Standard) bool {
		return s.Part() > 0 && s.Part() <= claim.Part()
	})
}

// selectionOf names the selection in an error about it.
func selectionOf(name string, err error) error {
	var failed *job.Error
	if errors.As(err, &failed) {
		failed.Text = name
	}
	return err
}
