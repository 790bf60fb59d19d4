package redact

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// scrubber rewrites a document from its pages and the objects that they and the catalog need. Every page, form,
// pattern and glyph gets its own Resources, with the names that its content uses, and only the drawing operators of
// its content. Secrets are removed from strings and names.
type scrubber struct {
	*pdffile.File

	update *pdffile.Update
	terms  redactionTerms
	refs   map[string]string // references of the result, by those of the source
	todo   []func() error
	type3  []*glyphs
	names  map[string]string // that have become others
	found  bool              // something was taken out
	// meanings is true where secrets stay in what content says of itself, and fonts of their glyphs, until it is known
	// which glyphs these are.
	meanings bool
}

// glyphs is a Type 3 font; the result has only its visible glyphs.
type glyphs struct {
	ref       string // in the result
	entries   pdffile.Dict
	inherited pdffile.Dict // Resources of the page that shows it
	codes     map[byte]bool
	done      bool
}

// scrub returns the rewritten document, and whether it contained secrets. See scrubber for meanings.
func scrub(content []byte, s redactionTerms, meanings bool) (out []byte, found bool, err error) {
	f, err := pdffile.Read(content)
	if err != nil {
		return nil, false, err
	}
	pages, err := f.Pages(job.MaxPages)
	if err != nil {
		return nil, false, err
	}

	u, root := pdffile.NewDocument()
	sc := &scrubber{File: f, update: u, terms: s, refs: map[string]string{f.Root(): root}, names: map[string]string{}, meanings: meanings}
	tree := u.Reserve()
	kids := []any{}
	for _, page := range pages {
		sc.refs[page.Ref] = u.Reserve()
		kids = append(kids, sc.refs[page.Ref])
	}
	u.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Kids": kids, "/Count": len(kids)})

	for _, page := range pages {
		if err := sc.page(page, tree); err != nil {
			return nil, false, err
		}
	}

	catalog := sc.picked(f.Catalog(), "/Type /Outlines /PageMode /PageLayout /PageLabels /Dests /ViewerPreferences /OCProperties /KeptOCProperties /Lang /MarkInfo /StructTreeRoot /OutputIntents")
	if names := sc.picked(f.Entry(f.Catalog()["/Names"]), "/Dests"); len(names) > 0 {
		catalog["/Names"] = names
	}
	catalog["/Pages"], catalog["/Version"] = tree, "/"+max(f.Version(), "1.4")
	u.Set(root, catalog)
	if info := sc.dict(f.Entry(f.Trailer("/Info"))); len(info) > 0 {
		u.SetInfo(info)
	}

	if err := sc.work(); err != nil {
		return nil, false, err
	}

	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	name := "b:" + hex.EncodeToString(id)
	u.SetID(name, name)
	return u.Document(root), sc.found, nil
}

// work copies the referenced objects, and the fonts of Type 3 when all their visible glyphs are known.
func (s *scrubber) work() error {
	for {
		for len(s.todo) > 0 {
			next := s.todo[len(s.todo)-1]
			s.todo = s.todo[:len(s.todo)-1]
			if err := next(); err != nil {
				return err
			}
		}

		font := (*glyphs)(nil)
		for _, g := range s.type3 {
			if !g.done {
				font = g
			}
		}

		if font == nil {
			return nil
		}
		if err := s.glyphs(font); err != nil {
			return err
		}
	}
}

// picked returns the entries of a dictionary that are named.
func (s *scrubber) picked(entries pdffile.Dict, keys string) pdffile.Dict {
	kept := pdffile.Dict{}
	for key := range strings.FieldsSeq(keys) {
		if v := s.value(entries[key]); v != nil {
			kept[key] = v
		}
	}
	return kept
}

// page writes a page.
func (s *scrubber) page(page pdffile.Page, tree string) error {
	entries := s.picked(page.Entries, "/Type /MediaBox /CropBox /BleedBox /TrimBox /ArtBox /Rotate /UserUnit /Group /StructParents /Tabs /Trans /Dur /KeptRotate /KeptUserUnit /KeptMediaBox /KeptCropBox")
	var links []any
	annots, _ := s.Target(page.Entries["/Annots"]).([]any)
	for _, v := range annots {
		if link := s.value(v); link != nil {
			links = append(links, link)
		}
	}
	if len(links) > 0 {
		entries["/Annots"] = links
	}

	content, err := s.content(page.Entries["/Contents"])
	if err != nil {
		return err
	}

	node := page.Entries
	for depth := 0; node["/Resources"] == nil && node["/Parent"] != nil && depth < pdffile.MaxDepth; depth++ {
		node = s.Entry(node["/Parent"])
	}
	content, resources := s.own(content, s.Entry(node["/Resources"]))

	body := s.update.Reserve()
	s.update.Set(body, pdffile.Deflated(pdffile.Dict{}, content))
	entries["/Contents"], entries["/Resources"], entries["/Parent"] = body, resources, tree
	s.update.Set(s.refs[page.Ref], entries)
	return nil
}

// content returns the streams of a page's content in one.
func (s *scrubber) content(v any) (all []byte, err error) {
	list, ok := s.Target(v).([]any)
	if !ok {
		list = []any{v}
	}

	for _, item := range list {
		ref := pdffile.Reference(item)
		if ref == "" {
			continue
		}
		stream, ok := s.Stream(ref)
		if !ok {
			if s.Target(ref) == nil {
				continue
			}
			return nil, fmt.Errorf("content %s: %w", ref, pdffile.ErrUnread)
		}
		plain, rest, err := PlainStream(s.File, stream)
		if err != nil || rest != "" {
			return nil, fmt.Errorf("content %s: %w", ref, ErrFilter)
		}
		all = append(append(all, plain...), '\n')
	}
	return all, nil
}

// own returns rewritten content, and Resources with the inherited entries that it uses.
func (s *scrubber) own(content []byte, resources pdffile.Dict) ([]byte, pdffile.Dict) {
	r := s.rewrite(content, resources)
	kept := pdffile.Dict{}

	for _, category := range []string{"/XObject", "/Font", "/ExtGState", "/ColorSpace", "/Pattern", "/Shading", "/Properties"} {
		entries := s.Entry(resources[category])
		part := pdffile.Dict{}
		for name, v := range entries {
			if !r.used[category][name] && (category != "/ColorSpace" || !strings.HasPrefix(name, "/Default")) {
				continue
			}

			var better any
			switch category {
			case "/Font":
				better = s.font(v, r.codes[s.name(name)], resources)
			case "/XObject", "/Pattern":
				better = s.object(v, resources)
			default:
				better = s.value(v)
			}
			if better != nil {
				part[s.name(name)] = better
			}
		}

		if len(part) > 0 {
			kept[category] = part
		}
	}
	return r.out, kept
}

// font copies a font, or notes one of Type 3.
func (s *scrubber) font(v any, codes map[byte]bool, inherited pdffile.Dict) any {
	entries := s.Entry(v)
	if entries["/Subtype"] != "/Type3" {
		return s.value(v)
	}

	ref := pdffile.Reference(v)
	if ref == "" || s.refs[ref] == "" {
		made := s.update.Reserve()
		s.type3 = append(s.type3, &glyphs{ref: made, entries: entries, inherited: inherited, codes: map[byte]bool{}})
		if ref == "" {
			ref = made + " of " + fmt.Sprint(len(s.type3)) // nothing else refers to it
		}
		s.refs[ref] = made
	}

	for _, g := range s.type3 {
		if g.ref == s.refs[ref] {
			for c := range codes {
				g.codes[c] = true
			}
			if g.done {
				g.done = false // another glyph of it is shown by one
			}
		}
	}
	return s.refs[ref]
}

// glyphs writes a font of Type 3 with its visible glyphs.
func (s *scrubber) glyphs(g *glyphs) error {
	g.done = true
	shown := map[string]bool{}
	differences, _ := s.Target(s.Entry(g.entries["/Encoding"])["/Differences"]).([]any)
	code := 0

	for _, v := range differences {
		switch v := v.(type) {
		case float64:
			code = int(v)
		case string:
			if code >= 0 && code < 256 && g.codes[byte(code)] {
				shown[v] = true
			}
			code++
		}
	}

	resources := s.Entry(g.entries["/Resources"])
	if resources == nil {
		resources = g.inherited
	}
	entries := s.dict(pdffile.Without(g.entries, "/Resources", "/CharProcs"))
	procs := pdffile.Dict{}
	all := pdffile.Dict{}

	for name, v := range s.Entry(g.entries["/CharProcs"]) {
		if !shown[name] && differences != nil {
			continue
		}
		content, err := s.content(v)
		if err != nil {
			return err
		}

		content, used := s.own(content, resources)
		for category, part := range used {
			if all[category] == nil {
				all[category] = pdffile.Dict{}
			}
			of, _ := all[category].(pdffile.Dict)
			names, _ := part.(pdffile.Dict)
			for name, v := range names {
				of[name] = v
			}
		}
		body := s.update.Reserve()
		s.update.Set(body, pdffile.Deflated(pdffile.Dict{}, content))
		procs[s.name(name)] = body
	}

	entries["/CharProcs"], entries["/Resources"] = procs, all
	s.update.Set(g.ref, entries)
	return nil
}
