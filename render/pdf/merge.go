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
	// outline is its own, with the numbers of pages in the result.
	outline []outlineNode
	// linked tells that its links have numbers in the place of pages.
	linked bool
}

// merge joins documents. Where one of them has an outline, the result has one
// with an entry for each document and its own entries below. Links go on
// working. The result is not encrypted.
func merge(ctx context.Context, w *engine.Work, args Merge) ([]byte, error) {
	parts, rich, err := newParts(w, args)
	if err != nil {
		return nil, err
	}
	early, cancel := context.WithCancel(ctx)
	defer cancel()
	joined := make(chan error, 1)
	if inputs := files(parts); rich {
		joined <- errNotJoined
	} else {
		// The pages alone will do, and are counted at the same time, since only
		// damaged and huge documents make the result worthless.
		go func() { joined <- join(early, w, inputs, output) }()
	}
	err = each(ctx, parts, func(ctx context.Context, i int) error { return parts[i].prepare(ctx) })
	total, repaired := 0, false
	for i, p := range parts {
		parts[i].first = total
		total += p.pages
		repaired = repaired || p.name != args.Inputs[i].Name
	}
	if err == nil {
		err = checkPages(total)
	}
	if err != nil {
		cancel()
	}
	joinErr := <-joined
	if err != nil {
		return nil, err
	}
	if joinErr == nil && !repaired {
		w.Output(output)
		return nil, nil
	}
	if err := each(ctx, parts, func(ctx context.Context, i int) error { return parts[i].read(ctx) }); err != nil {
		return nil, err
	}
	return nil, joinRich(ctx, w, parts, total)
}

var errNotJoined = errors.New("not joined yet")

// newParts looks at the inputs, and tells whether one of them may have an
// outline or links.
func newParts(w *engine.Work, args Merge) (parts []part, rich bool, err error) {
	for i, in := range args.Inputs {
		p := part{document: &document{work: w, name: in.Name, password: in.Password, number: i}, title: in.Title}
		if err := p.checkHeader(); err != nil {
			return nil, false, err
		}
		may, err := p.mayBeRich()
		if err != nil {
			return nil, false, err
		}
		parts, rich = append(parts, p), rich || may
	}
	return parts, rich, nil
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

// mayBeRich tells a document that surely has neither an outline nor links, of
// which reading all objects would be a waste of time.
func (p *part) mayBeRich() (bool, error) {
	content, err := os.ReadFile(p.work.Path(p.name))
	if err != nil {
		return false, err
	}
	for _, sign := range []string{"/ObjStm", "/Annots", "/Outlines", "/Encrypt"} {
		if bytes.Contains(content, []byte(sign)) {
			return true, nil
		}
	}
	return false, nil
}

// read prepares a part whose outline and links are to be carried over.
func (p *part) read(ctx context.Context) error {
	if may, err := p.mayBeRich(); err != nil || !may {
		return err
	}
	if err := p.unpack(ctx); err != nil {
		return err
	}
	s, err := p.describe(ctx, []string{"pages", "outlines", "qpdf"}, nil)
	if errors.Is(err, engine.ErrOutputTooLarge) {
		return nil // its pages alone are better than nothing
	}
	if err != nil {
		return err
	}
	number := s.dests().number(p.first)
	entries := outlineObjects(s.Outlines)
	nodes := outlineNodes(s.Outlines, s.values(entries))
	setActions(nodes, s.values(actionObjects(nodes)))
	p.outline = movedOutline(nodes, number)
	for _, entry := range entries {
		s.drop(entry) // so that only links are left
	}
	changes := s.newUpdate()
	if p.linked = s.rewriteDests(changes, number); !p.linked {
		return nil
	}
	name, err := changes.file(p.document)
	if err != nil {
		return err
	}
	numbered := strconv.Itoa(p.number) + "numbered.pdf"
	if err := p.writeTo(ctx, numbered, qpdfJob{"updateFromJson": name, "decrypt": "", "streamData": "preserve"}); err != nil {
		return err
	}
	p.name, p.password = numbered, ""
	return nil
}

// files names the parts to qpdf.
func files(parts []part) (inputs []qpdfJob) {
	for _, p := range parts {
		inputs = append(inputs, qpdfJob{"file": p.name, "password": p.password, "range": "1-z"})
	}
	return inputs
}

// join writes the pages of all inputs into one file. What is in them beside
// pages, qpdf leaves behind.
func join(ctx context.Context, w *engine.Work, inputs []qpdfJob, name string) error {
	_, err := qpdf(ctx, w, qpdfJob{"empty": "", "pages": inputs, "outputFile": name})
	return err
}

// joinRich joins the parts, and gives the result their outlines and links.
func joinRich(ctx context.Context, w *engine.Work, parts []part, total int) error {
	doc := &document{work: w, name: "joined.pdf", pages: total}
	if err := join(ctx, w, files(parts), doc.name); err != nil {
		return doc.damaged(err)
	}
	objects := []string{"trailer"}
	for _, p := range parts {
		if p.linked {
			objects = nil // all of them: links may be anywhere
		}
		doc.packed = doc.packed || p.packed
	}
	s, err := doc.describe(ctx, []string{"pages", "qpdf"}, objects)
	if errors.Is(err, engine.ErrOutputTooLarge) {
		s, err = doc.describe(ctx, []string{"pages", "qpdf"}, []string{"trailer"})
	}
	if err != nil {
		return err
	}
	root, err := doc.objects(ctx, []string{s.root()})
	if err != nil {
		return err
	}
	catalog := root[s.root()]
	if len(s.Pages) != total || catalog == nil {
		return doc.fail(Damaged, fmt.Errorf("%d pages joined, want %d", len(s.Pages), total))
	}
	changes := s.newUpdate()
	s.rewriteDests(changes, s.unnumber)
	if nodes := joinedOutline(s, parts); nodes != nil {
		catalog["/PageMode"] = "/UseOutlines"
		changes.setOutline(s.root(), catalog, nodes)
	}
	name, err := changes.file(doc)
	if err != nil {
		return err
	}
	return doc.write(ctx, qpdfJob{"updateFromJson": name})
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
