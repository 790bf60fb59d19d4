package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"

	"relaypdf/render/engine"
)

// Merge is the arguments of MergeJob: the inputs in their order.
type Merge struct{ Inputs []MergeInput }

// MergeInput is one input of a merge. Title names it in the outline.
type MergeInput struct {
	Input
	Title string
}

// openAtOnce is how many inputs of a merge are read at a time: qpdf waits for
// the disk and for its own start as much as it computes.
const openAtOnce = 4

// part is one input of a merge.
type part struct {
	*document
	title string
	first int // the number of its first page in the result, from 0
	// rich tells that there are an outline or links to be carried over.
	rich bool
	// outline is its own, with the numbers of pages in the result.
	outline []outlineNode
}

// merge joins documents. Where one of them has an outline, the result has one
// with an entry for each document and its own entries below. Links go on
// working. The result is not encrypted.
func merge(ctx context.Context, w *engine.Work, args Merge) ([]byte, error) {
	parts := make([]part, len(args.Inputs))
	err := each(ctx, parts, func(ctx context.Context, i int) (err error) {
		parts[i].title = args.Inputs[i].Title
		parts[i].document, err = open(ctx, w, i, args.Inputs[i].Input)
		return err
	})
	if err != nil {
		return nil, err
	}
	total := 0
	for i := range parts {
		parts[i].first = total
		total += parts[i].pages
	}
	if err := checkPages(total); err != nil {
		return nil, err
	}
	if err := each(ctx, parts, func(ctx context.Context, i int) error { return parts[i].read(ctx) }); err != nil {
		return nil, err
	}
	return nil, join(ctx, w, parts, total)
}

// each runs f for all parts, some of them side by side.
func each(ctx context.Context, parts []part, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(openAtOnce)
	for i := range parts {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// read prepares a part whose outline and links are to be carried over.
func (p *part) read(ctx context.Context) error {
	content, err := os.ReadFile(p.work.Path(p.name))
	if err != nil {
		return err
	}
	if !mayBeRich(content) {
		return nil
	}
	s, err := p.describe(ctx, []string{"pages", "outlines", "qpdf"}, nil)
	if errors.Is(err, engine.ErrOutputTooLarge) {
		return nil // its pages alone are better than nothing
	}
	if err != nil {
		return err
	}
	number := s.dests().number(p.first)
	nodes := outlineNodes(s.Outlines, s.values(outlineObjects(s.Outlines)))
	setActions(nodes, s.values(actionObjects(nodes)))
	p.outline = movedOutline(nodes, number)
	changes := s.newUpdate()
	linked := s.rewriteDests(changes, number)
	p.rich = linked || len(p.outline) > 0
	if !linked {
		return nil
	}
	name, err := changes.file(p.document)
	if err != nil {
		return err
	}
	numbered := strconv.Itoa(p.number) + "numbered.pdf"
	_, err = qpdf(ctx, p.work, qpdfJob{
		"inputFile": p.name, "password": p.password, "updateFromJson": name, "decrypt": "", "streamData": "preserve", "outputFile": numbered,
	})
	if err != nil {
		return p.damaged(err)
	}
	p.name, p.password = numbered, ""
	return nil
}

// mayBeRich tells documents that surely have neither an outline nor links, to
// which reading all objects would be a waste of time.
func mayBeRich(content []byte) bool {
	for _, sign := range []string{"/ObjStm", "/Annots", "/Outlines", "/Encrypt"} {
		if bytes.Contains(content, []byte(sign)) {
			return true
		}
	}
	return false
}

// join writes the pages of all parts into one file, and then what qpdf leaves
// behind when it does.
func join(ctx context.Context, w *engine.Work, parts []part, total int) error {
	var files []qpdfJob
	rich := false
	for _, p := range parts {
		rich = rich || p.rich
		files = append(files, qpdfJob{"file": p.name, "password": p.password, "range": "1-z"})
	}
	joined := document{work: w, name: output, pages: total}
	if rich {
		joined.name = "joined.pdf"
	}
	if _, err := qpdf(ctx, w, qpdfJob{"empty": "", "pages": files, "outputFile": joined.name}); err != nil {
		return joined.damaged(err)
	}
	if !rich {
		w.Output(output)
		return nil
	}
	return joined.carryOver(ctx, parts)
}

// carryOver gives the joined document the outlines and the links of its parts.
func (d *document) carryOver(ctx context.Context, parts []part) error {
	s, err := d.describe(ctx, []string{"pages", "qpdf"}, nil)
	if errors.Is(err, engine.ErrOutputTooLarge) {
		return d.write(ctx, qpdfJob{})
	}
	if err != nil {
		return err
	}
	catalog := s.value(s.root())
	if len(s.Pages) != d.pages || catalog == nil {
		return d.fail(Damaged, fmt.Errorf("%d pages joined, want %d", len(s.Pages), d.pages))
	}
	changes := s.newUpdate()
	s.rewriteDests(changes, s.unnumber)
	if nodes := joinedOutline(s, parts); nodes != nil {
		catalog["/PageMode"] = "/UseOutlines"
		changes.setOutline(s.root(), catalog, nodes)
	}
	name, err := changes.file(d)
	if err != nil {
		return err
	}
	return d.write(ctx, qpdfJob{"updateFromJson": name})
}

// joinedOutline is the outline of the result; nil where no part has one.
func joinedOutline(s *structure, parts []part) (nodes []outlineNode) {
	outlined := false
	for i, p := range parts {
		outlined = outlined || len(p.outline) > 0
		title := p.title
		if title == "" {
			title = fmt.Sprintf("Document %d", i+1)
		}
		nodes = append(nodes, outlineNode{
			entry: dict{"/Title": "u:" + title, "/Dest": s.topOf(p.first + 1)}, open: true, kids: movedOutline(p.outline, s.unnumber),
		})
	}
	if !outlined {
		return nil
	}
	return nodes
}

// movedOutline is an outline for pages that move to another document: move
// returns where a destination is then. Only what stands on its own comes along:
// titles, their looks, addresses.
func movedOutline(nodes []outlineNode, move func(dest any) (any, bool)) (moved []outlineNode) {
	for _, node := range nodes {
		entry := dict{}
		for _, key := range []string{"/Title", "/C", "/F"} {
			if v := node.entry[key]; v != nil && reference(v) == "" {
				entry[key] = v
			}
		}
		action, _ := node.entry["/A"].(dict)
		if dest, ok := move(node.dest()); ok {
			entry["/Dest"] = dest
		} else if action["/S"] == "/URI" && reference(action["/URI"]) == "" {
			entry["/A"] = dict{"/S": "/URI", "/URI": action["/URI"]}
		}
		moved = append(moved, outlineNode{entry: entry, open: node.open, kids: movedOutline(node.kids, move)})
	}
	return moved
}
