package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// MergeArgs is the arguments of MergeJob and MeasureJob: the inputs in their order.
type MergeArgs struct {
	Inputs []MergeInput
	// Contents means that the first input is a table of contents, whose links are URLs with ContentsURL. The result
	// then has an outline in any case.
	Contents bool
}

// MergeInput is one input of a merge. Title names it in the outline.
type MergeInput struct {
	job.Input
	Title string
}

// openAtOnce is the number of inputs of a merge that are read at a time: qpdf waits for the disk and for its own
// start as much as it computes.
const openAtOnce = 4

// part is one input of a merge.
type part struct {
	*job.Document
	title string
	// rich means that it may have an outline, links, layers or files. Of one that surely
	// has none, reading all objects would be a waste of time.
	rich bool
	// contents means that it is the table of contents of the others.
	contents bool
	first    int // the number of its first page in the result, from 0
	// structure is nil where neither outline nor links are to be carried over.
	structure *job.Structure
	// claims are the standards that it claims.
	claims []pdffile.Standard
	// outline is its own, with the markers of pages in the result.
	outline []outlineNode
	// carried is true if its first page holds entries for the catalog.
	carried bool
}

// MergeJob joins PDFs in the order of its arguments.
var MergeJob = job.Define("pdf.merge", engine.MakeTime, merge)

// merge joins documents. If one of them has an outline, the result has one with an entry for each document and its
// own entries below. Links continue to work. The result is not encrypted.
func merge(ctx context.Context, w *engine.Work, args MergeArgs) (job.Changed, error) {
	parts, rich, err := newParts(w, args)
	if err != nil {
		return job.Changed{}, err
	}

	if !rich {
		if done, err := joinPages(ctx, w, parts); done || err != nil {
			return lostClaims(parts), err
		}
	}
	if err := openParts(ctx, parts); err != nil {
		return job.Changed{}, err
	}

	m := newPageMarker()
	if err := each(ctx, parts, func(_ context.Context, i int) error { return parts[i].carry(parts, m) }); err != nil {
		return job.Changed{}, err
	}

	last := parts[len(parts)-1]
	return lostClaims(parts), joinRich(ctx, w, parts, last.first+last.Pages, m)
}

// lostClaims returns the standards that the result does not claim, although parts do.
func lostClaims(parts []part) job.Changed {
	lost := job.Changed{Changes: []string{}}
	for _, p := range parts {
		for _, claim := range p.claims {
			if text := fmt.Sprintf(unclaimedMerge, claim.Family()); !slices.Contains(lost.Changes, text) {
				lost.Changes = append(lost.Changes, text)
			}
		}
	}
	return lost
}

// unclaimedMerge is the change that joining documents of a standard causes.
const unclaimedMerge = "The result does not claim %s, which a source claims."

// firstInfo returns the information of the first document, which becomes the information of the result.
func firstInfo(parts []part) pdffile.Dict {
	first := parts[0]
	if first.contents && len(parts) > 1 {
		first = parts[1]
	}
	if first.structure != nil {
		return information(first.structure.File)
	}
	if f, err := first.ReadSelf(); err == nil {
		return information(f)
	}
	return nil
}

// openParts opens all parts, and numbers their pages.
func openParts(ctx context.Context, parts []part) error {
	if err := each(ctx, parts, func(ctx context.Context, i int) error { return parts[i].open(ctx) }); err != nil {
		return err
	}
	total := 0
	for i, p := range parts {
		parts[i].first = total
		total += p.Pages
	}
	return job.CheckPages(total)
}

// joinTimeout is the time limit for joining documents that were not checked before: far longer than valid ones
// take.
const joinTimeout = 3 * time.Second

// joinPages joins documents of which only the pages matter. It returns false if they have to be opened one by one:
// to be repaired, or to find the faulty one.
func joinPages(ctx context.Context, w *engine.Work, parts []part) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if err := join(ctx, w, newFrame(nil, firstInfo(parts)), files(parts), job.Output); err != nil {
		return false, nil // it shows again, with the document
	}

	pages, err := pagesOf(w.Path(job.Output))
	if err != nil {
		return false, nil
	}
	if err := job.CheckPages(len(pages)); err != nil {
		return false, err
	}

	w.Output(job.Output)
	return true, nil
}

// newParts reads the inputs, and reports whether one of them may have an outline or links.
func newParts(w *engine.Work, args MergeArgs) (parts []part, rich bool, err error) {
	for i, in := range args.Inputs {
		p := part{
			Document: &job.Document{Work: w, Name: in.Name, Password: in.Password, Number: i},
			title:    in.Title,
			contents: args.Contents && i == 0,
		}
		if args.Contents {
			p.Number = max(0, i-1)
		}

		if err := p.CheckHeader(); err != nil {
			return nil, false, err
		}
		content, err := p.Content()
		if err != nil {
			return nil, false, err
		}

		p.Packed = bytes.Contains(content, []byte("/ObjStm"))
		signs := []string{
			"/Annots", "/Outlines", "/Encrypt", "/OCProperties", "/EmbeddedFiles", "pdfaid:", "pdfuaid:",
		}
		p.rich = p.Packed || p.contents || slices.ContainsFunc(signs, func(sign string) bool {
			return bytes.Contains(content, []byte(sign))
		})
		parts = append(parts, p)
		rich = rich || p.rich
	}
	return parts, rich, nil
}

// each runs f for all parts, some of them side by side.
func each(ctx context.Context, parts []part, f func(ctx context.Context, i int) error) error {
	group, ctx := guard.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for i := range parts {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// open counts a part's pages, and reads its structure if it may matter.
func (p *part) open(ctx context.Context) error {
	if p.rich {
		packed := p.Packed
		var err error
		p.structure, err = p.OpenStructure(ctx)
		p.Packed = packed // the state of the original, not of the rewritten file
		if err == nil {
			p.claims = claimsOf(p.structure)
		}

		if !errors.Is(err, engine.ErrOutputTooLarge) {
			return err
		}
		// Its pages alone are better than nothing.
	}
	return p.Prepare(ctx)
}

// carry prepares a part's outline and its links for the result.
func (p *part) carry(parts []part, m pageMarker) error {
	s := p.structure
	if s == nil {
		return nil
	}

	number := destsOf(s).number(p.first, m)
	p.outline = movedOutline(outlineNodes(s, s.Outlines), number)
	changes := s.NewUpdate()
	rewriteAllDests(s, changes, outlineObjects(s.Outlines), number)

	if p.contents {
		linkContents(s, changes, parts, m)
	}

	if carried := carriedOf(s); carried != nil {
		if page, ok := changes.Value(s.Pages[0].Object).(pdffile.Dict); ok {
			page[carriedKey] = carried
			p.carried = true
			changes.Set(s.Pages[0].Object, page)
		}
	}

	if tail, err := changes.Replace("/StructTreeRoot", "/Outlines"); err == nil {
		return p.Append(tail)
	}
	return p.Change(changes)
}

// files names the parts to qpdf.
func files(parts []part) (inputs []job.QPDFJob) {
	for _, p := range parts {
		inputs = append(inputs, job.QPDFJob{"file": p.Name, "password": p.Password, "range": "1-z"})
	}
	return inputs
}

// join writes the pages of all inputs into one file with the outline and the information of the frame. qpdf copies
// nothing but the pages.
func join(ctx context.Context, w *engine.Work, frame []byte, inputs []job.QPDFJob, name string) error {
	const framed = "frame.pdf"
	if err := os.WriteFile(w.Path(framed), frame, 0o600); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	_, err := job.QPDF(ctx, w, job.QPDFJob{"inputFile": framed, "pages": inputs, "outputFile": name})
	return err
}

// joinRich joins the parts, and gives the result their outlines and links: the pages are put into a frame with the
// outline, and then the markers of pages are replaced in place.
func joinRich(ctx context.Context, w *engine.Work, parts []part, total int, m pageMarker) error {
	doc := &job.Document{Work: w, Name: "joined.pdf", Pages: total}
	packed := false
	carried := hasCarried(parts)
	for _, p := range parts {
		packed = packed || p.Packed
	}
	if !packed && !carried {
		doc.Name = job.Output
	}

	frame := newFrame(joinedOutline(parts, m), firstInfo(parts))
	if err := join(ctx, w, frame, files(parts), doc.Name); err != nil {
		return doc.Damaged(err)
	}
	if err := replaceMarkers(doc, m); err != nil {
		return err
	}

	if carried {
		if err := placeCarried(doc, parts); err != nil {
			return err
		}
	}

	if packed || carried {
		doc.Packed = packed
		return doc.Write(ctx, job.QPDFJob{})
	}
	w.Output(job.Output)
	return nil
}

// newFrame makes a document without pages that has an outline and information.
func newFrame(nodes []outlineNode, info pdffile.Dict) []byte {
	u, root := pdffile.NewDocument()
	if len(info) > 0 {
		u.SetInfo(info)
	}
	pages := u.Reserve()
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{}, "/Count": 0})
	catalog := pdffile.Dict{"/Type": "/Catalog", "/Pages": pages}
	if len(nodes) > 0 {
		catalog["/PageMode"] = "/UseOutlines"
	}
	setOutline(u, root, catalog, nodes)
	return u.Document(root)
}

// pagesOf returns the references of the pages in a file that qpdf has joined.
func pagesOf(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return flatPages(content)
}

// flatPages is pagesOf for the file's content. qpdf lists all pages in one array.
func flatPages(content []byte) ([]string, error) {
	f, err := pdffile.ReadTable(content)
	if err != nil {
		return nil, err
	}
	return f.FlatPages()
}

// replaceMarkers replaces the page markers of a joined document with its pages.
func replaceMarkers(d *job.Document, m pageMarker) error {
	content, err := d.Content()
	if err != nil {
		return err
	}
	if !bytes.Contains(content, []byte("/"+m)) {
		return nil
	}

	pages, err := flatPages(content)
	if err != nil || len(pages) != d.Pages {
		return d.Fail(job.Damaged, fmt.Errorf("%d pages joined, want %d: %w", len(pages), d.Pages, err))
	}

	sound := job.IsSound(d.Work, d.Name)
	m.replace(content, pages)
	if err := os.WriteFile(d.Work.Path(d.Name), content, 0o600); err != nil || !sound {
		return err
	}
	return job.MarkSound(d.Work, d.Name) // References of the same length cannot damage what qpdf wrote.
}

// joinedOutline returns the outline of the result; nil if no part has one or is the table of contents.
func joinedOutline(parts []part, m pageMarker) (nodes []outlineNode) {
	outlined := false
	own := 0 // parts that are not documents

	for i, p := range parts {
		outlined = outlined || len(p.outline) > 0 || p.contents
		if p.contents {
			own = 1
		}

		title := p.title
		if title == "" {
			title = DefaultTitle(i - own)
		}

		top := []any{m.page(p.first), "/XYZ", nil, nil, nil}
		nodes = append(nodes, outlineNode{
			entry: pdffile.Dict{"/Title": "u:" + title, "/Dest": top},
			open:  true,
			kids:  p.outline,
		})
	}

	if !outlined {
		return nil
	}
	return nodes
}

// movedOutline returns an outline for pages that move to another document: move returns the new place of a
// destination. Only self-contained entries are copied: titles, formatting, URLs.
func movedOutline(nodes []outlineNode, move func(dest any) (any, bool)) (moved []outlineNode) {
	for _, node := range nodes {
		entry := pdffile.Dict{}
		for _, key := range []string{"/Title", "/C", "/F"} {
			if v := node.entry[key]; v != nil && pdffile.Reference(v) == "" {
				entry[key] = v
			}
		}

		action, _ := node.entry["/A"].(pdffile.Dict)
		if dest, ok := move(node.dest()); ok {
			entry["/Dest"] = dest
		} else if action["/S"] == "/URI" && pdffile.Reference(action["/URI"]) == "" {
			entry["/A"] = pdffile.Dict{"/S": "/URI", "/URI": action["/URI"]}
		}

		moved = append(moved, outlineNode{entry: entry, open: node.open, kids: movedOutline(node.kids, move)})
	}
	return moved
}
