package pdf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// splitter writes parts of a document: files with only the objects that their pages need.
type splitter struct {
	*job.Document // not encrypted; each of its pages has only the resources that it uses
	*pdffile.File

	refs    []string       // of pages
	numbers map[string]int // of the pages that pages and annotations are on, from 1, by reference
	outline []pageNode
	fields  []pageNode // of the form
	labels  []pageLabel
	tags    *tags
	filled  int               // pages of the last part that was filled up to a size
	digest  [sha256.Size]byte // of the document
	// archival means that the document claims PDF/A-1, which forbids object streams.
	archival bool
	cipher   *pdffile.Cipher // of the parts; nil if the document is not encrypted
}

// pageNode is an entry of an outline, or a field of a form, with those below it.
type pageNode struct {
	ref         string
	entry       pdffile.Dict
	page        int // from 1; 0 is none
	first, last int // of the pages of this and all below; 0 is none
	open        bool
	kids        []pageNode
}

// span sets the pages of a node.
func (n *pageNode) span() {
	n.first = n.page
	n.last = n.page
	for _, kid := range n.kids {
		if kid.first > 0 && (n.first == 0 || kid.first < n.first) {
			n.first = kid.first
		}
		n.last = max(n.last, kid.last)
	}
}

// on reports whether a node leads to a page of a part.
func (n *pageNode) on(p piece) bool { return n.first > 0 && n.first <= p.last && n.last >= p.first }

// newSplitter prepares a document: not encrypted, with explicit destinations, and on request with the test mark.
func newSplitter(ctx context.Context, doc *job.Document, testMark bool) (*splitter, error) {
	encrypted, err := job.FileContains(doc.Work.Path(doc.Name), "/Encrypt")
	if err != nil {
		return nil, err
	}

	plain := &job.Document{Work: doc.Work, Name: "plain.pdf", Number: doc.Number}
	if err := doc.WriteTo(ctx, plain.Name, job.QPDFJob{
		"decrypt": "", "objectStreams": "disable", "removeUnreferencedResources": "yes",
		"pages": []job.QPDFJob{{"file": ".", "password": doc.Password, "range": "1-z"}},
	}); err != nil {
		return nil, err
	}

	if err := makeExplicit(ctx, plain); err != nil {
		return nil, err
	}

	found, err := plain.ReadStructure(ctx)
	if err != nil {
		return nil, err
	}
	if testMark {
		if err := drawMarks(ctx, plain, found); err != nil {
			return nil, err
		}
		if found, err = plain.ReadStructure(ctx); err != nil {
			return nil, err
		}
	}

	if len(found.Pages) != doc.Pages {
		return nil, doc.Fail(job.Damaged, fmt.Errorf("%d pages, want %d", len(found.Pages), doc.Pages))
	}

	content, err := plain.Content()
	if err != nil {
		return nil, err
	}

	s := &splitter{Document: plain, File: found.File, numbers: map[string]int{}, digest: sha256.Sum256(content)}
	if encrypted {
		if s.cipher, err = cipherOf(ctx, doc); err != nil {
			return nil, err
		}
	}

	for i, page := range found.Pages {
		if s.Dict(page.Object) == nil {
			return nil, doc.Fail(job.Damaged, fmt.Errorf("page %d is not a dictionary", i+1))
		}
		s.refs = append(s.refs, page.Object)
		s.numbers[page.Object] = i + 1
	}

	for i, ref := range s.refs {
		list, _ := s.Target(s.Dict(ref)["/Annots"]).([]any)
		for _, annotation := range list {
			if at := pdffile.Reference(annotation); at != "" && s.numbers[at] == 0 {
				s.numbers[at] = i + 1
			}
		}
	}

	s.outline = s.outlineOf(found.Outlines)
	seen := map[string]bool{}
	s.fields = s.fieldsOf(s.Entry(s.Catalog()["/AcroForm"])["/Fields"], seen, 0)
	s.readLabels()
	values, _ := archive.ReadXMP(readXMPOf(found))
	s.archival = values[archive.XMPPDFA+"part"] == "1"
	s.tags = newTags(s)

	return s, nil
}

// makeExplicit makes the destinations of a document explicit, because its parts do not have their names. Parts do not
// claim PDF/UA: their headings may begin below the first level.
func makeExplicit(ctx context.Context, d *job.Document) error {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return err
	}

	all := destsOf(s)
	changes := s.NewUpdate()
	rewriteAllDests(s, changes, nil, func(dest any) (any, bool) {
		name, ok := dest.(string)
		view := all.array(dest)
		if ok && view == nil {
			view = all.byName[name]
		}
		return view, ok && view != nil
	})

	if xmp := readXMPOf(s); bytes.Contains(xmp, []byte(archive.XMPUA)) {
		if edited, err := editXMP(xmp, func(name xml.Name) bool { return name == claimsUA }, ""); err == nil {
			setXMP(s, changes, edited)
		}
	}

	return d.Change(changes)
}

func (s *splitter) outlineOf(items []pdffile.OutlineItem) (nodes []pageNode) {
	for _, item := range items {
		entry := s.Dict(item.Object)
		if entry == nil {
			continue
		}

		node := pageNode{open: item.Open, kids: s.outlineOf(item.Kids), entry: pdffile.Dict{"/Title": s.Target(entry["/Title"])}}
		for _, key := range []string{"/C", "/F"} {
			if v := s.Target(entry[key]); v != nil {
				node.entry[key] = v
			}
		}
		if dest, ok := s.Target(item.Dest).([]any); ok && item.Page != nil && *item.Page <= len(s.refs) {
			node.page, node.entry["/Dest"] = *item.Page, dest
		}

		node.span()
		nodes = append(nodes, node)
	}
	return nodes
}

// fieldsOf reads fields of a form, with the pages that they are on.
func (s *splitter) fieldsOf(list any, seen map[string]bool, depth int) (nodes []pageNode) {
	fields, _ := s.Target(list).([]any)
	for _, field := range fields {
		ref := pdffile.Reference(field)
		entry := s.Dict(ref)
		if entry == nil || seen[ref] || depth > pdffile.MaxDepth {
			continue
		}
		seen[ref] = true

		node := pageNode{ref: ref, entry: entry, page: s.numbers[ref], kids: s.fieldsOf(entry["/Kids"], seen, depth+1)}
		node.span()
		nodes = append(nodes, node)
	}
	return nodes
}

// pageLabel is the style of the numbers of pages from one on.
type pageLabel struct {
	from  int // counted from 1
	style pdffile.Dict
}

// readLabels reads the labels of pages.
func (s *splitter) readLabels() {
	for key, style := range s.TreeEntries(s.Catalog()["/PageLabels"], "/Nums") {
		if len(s.labels) > len(s.refs) {
			return
		}
		if from, ok := s.Target(key).(float64); ok && from >= 0 && int(from) < len(s.refs) {
			s.labels = append(s.labels, pageLabel{int(from) + 1, s.Entry(style)})
		}
	}
}

// labelsOf returns the labels of a part's pages.
func (s *splitter) labelsOf(p piece) pdffile.Dict {
	list := []any{}
	for _, label := range s.labels {
		if label.from > p.last {
			continue
		}

		style := pdffile.Without(label.style)
		at := max(0, label.from-p.first)
		if skipped := p.first - label.from; skipped > 0 {
			start, ok := s.Target(style["/St"]).(float64)
			if !ok {
				start = 1
			}
			style["/St"] = start + float64(skipped)
			list = list[:0]
		}
		list = append(list, at, style)
	}

	if len(list) == 0 {
		return nil
	}
	return pdffile.Dict{"/Nums": list}
}

// copiedToParts are the entries of a catalog that parts have as well. The others concern the whole document.
var copiedToParts = []string{
	"/Extensions", "/Lang", "/MarkInfo", "/Metadata", "/OCProperties", "/OutputIntents", "/PageLayout", "/Version", "/ViewerPreferences",
}

// write returns a part as a file.
func (s *splitter) write(p piece) ([]byte, error) {
	u := s.NewUpdate()
	name := sha256.Sum256(fmt.Appendf(s.digest[:], "%d-%d", p.first, p.last))
	id := "b:" + hex.EncodeToString(name[:16])
	u.SetID(id, id)

	catalog := pdffile.Dict{"/Type": "/Catalog"}
	old := s.Catalog()
	for _, key := range copiedToParts {
		if v := old[key]; v != nil {
			catalog[key] = v
		}
	}

	if version := s.Version(); version > "1.7" {
		catalog["/Version"] = "/" + version
	}

	tree := u.Reserve()
	var kids []any
	for n := p.first; n <= p.last; n++ {
		ref := s.refs[n-1]
		kids = append(kids, ref)
		u.Set(ref, s.page(u, s.Dict(ref), tree, p))
	}
	u.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Kids": kids, "/Count": len(kids)})
	catalog["/Pages"] = tree

	if form := s.Entry(old["/AcroForm"]); form != nil {
		if fields := fieldsIn(u, s.fields, p); len(fields) > 0 {
			form = pdffile.Without(form, "/XFA", "/CO", "/SigFlags")
			form["/Fields"] = fields
			catalog["/AcroForm"] = form
		}
	}
	if labels := s.labelsOf(p); labels != nil {
		catalog["/PageLabels"] = labels
	}

	s.tags.write(u, catalog, p)
	u.Omit(func(ref string) bool {
		n := s.numbers[ref]
		return n > 0 && (n < p.first || n > p.last)
	})

	nodes := outlineIn(s.outline, p)
	if len(nodes) > 0 && old["/PageMode"] == "/UseOutlines" {
		catalog["/PageMode"] = "/UseOutlines"
	}
	setOutline(u, s.Root(), catalog, nodes)

	u.Encrypt(s.cipher)
	content, err := s.finish(u)
	if err != nil {
		return nil, s.Fail(job.Damaged, fmt.Errorf("part from page %d: %w", p.first, err))
	}
	return content, nil
}

func (s *splitter) finish(u *pdffile.Update) ([]byte, error) {
	if s.archival && s.cipher == nil {
		return u.Plain()
	}
	return u.Compact()
}

// cipherOf returns the encryption of a document. qpdf copies it to an empty file, in a standard form, and prints the key.
func cipherOf(ctx context.Context, d *job.Document) (*pdffile.Cipher, error) {
	const sample = "cipher.pdf"
	_, err := job.QPDF(ctx, d.Work, job.QPDFJob{
		"empty": "", "outputFile": sample, "copyEncryption": d.Name, "encryptionFilePassword": d.Password, "objectStreams": "disable",
	})
	if err != nil {
		return nil, d.Damaged(err)
	}

	key, err := encryptionKey(ctx, (&job.Document{Work: d.Work, Name: sample, Password: d.Password, Number: d.Number}))
	if err != nil {
		return nil, err
	}

	content, err := os.ReadFile(d.Work.Path(sample))
	if err != nil {
		return nil, fmt.Errorf("encryption: %w", err)
	}

	cipher, err := pdffile.NewCipher(content, key)
	if err != nil {
		return nil, d.Fail(job.Damaged, err)
	}
	return cipher, nil
}

// encryptionKey returns the key of an encrypted document, which qpdf derives from the password.
func encryptionKey(ctx context.Context, d *job.Document) ([]byte, error) {
	about, err := job.QPDF(ctx, d.Work, job.QPDFJob{"inputFile": d.Name, "password": d.Password, "showEncryption": "", "showEncryptionKey": ""})
	if err != nil {
		return nil, d.Damaged(err)
	}
	const label = "\nEncryption key = "
	line := string(about[max(0, bytes.LastIndex(about, []byte(label))):])
	digits, _, _ := strings.Cut(strings.TrimPrefix(line, label), "\n")
	key, err := hex.DecodeString(digits)
	if err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	return key, nil
}

// page returns a page of a part. Its annotations lead to pages of the part only.
func (s *splitter) page(u *pdffile.Update, entries pdffile.Dict, tree string, p piece) pdffile.Dict {
	entries = pdffile.Without(entries, "/B")
	entries["/Parent"] = tree

	list, _ := s.Target(entries["/Annots"]).([]any)
	annotations := []any{}
	for _, annotation := range list {
		looks := s.Entry(annotation)
		if looks == nil {
			continue
		}
		if s.leadsAway(looks["/Dest"], p) || s.leadsAway(s.Entry(looks["/A"])["/D"], p) {
			looks = pdffile.Without(looks, "/Dest", "/A")
			if ref := pdffile.Reference(annotation); ref != "" {
				u.Set(ref, looks)
			} else {
				annotation = looks
			}
		}
		annotations = append(annotations, annotation)
	}

	if delete(entries, "/Annots"); len(annotations) > 0 {
		entries["/Annots"] = annotations
	}

	return entries
}

// leadsAway reports whether a destination is a page outside of a part.
func (s *splitter) leadsAway(dest any, p piece) bool {
	view, _ := s.Target(dest).([]any)
	if len(view) == 0 {
		return false
	}
	n := s.numbers[pdffile.Reference(view[0])]
	return n > 0 && (n < p.first || n > p.last)
}

// outlineIn returns the entries of an outline that lead to pages of a part, and those above them.
func outlineIn(nodes []pageNode, p piece) (kept []outlineNode) {
	for i := range nodes {
		node := &nodes[i]
		if !node.on(p) {
			continue
		}
		entry := node.entry
		if node.page < p.first || node.page > p.last {
			entry = pdffile.Without(entry, "/Dest")
		}
		kept = append(kept, outlineNode{entry: entry, open: node.open, kids: outlineIn(node.kids, p)})
	}
	return kept
}

// fieldsIn returns the fields of a form that are on pages of a part.
func fieldsIn(u *pdffile.Update, nodes []pageNode, p piece) (kept []any) {
	for i := range nodes {
		node := &nodes[i]
		if !node.on(p) {
			continue
		}

		kept = append(kept, node.ref)
		if len(node.kids) == 0 {
			continue
		}
		kids := fieldsIn(u, node.kids, p)
		if !slices.ContainsFunc(node.kids, func(kid pageNode) bool { return !kid.on(p) }) {
			continue
		}

		entry := pdffile.Without(node.entry)
		entry["/Kids"] = kids
		u.Set(node.ref, entry)
	}
	return kept
}
