package pdf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"relaypdf/render/engine"
	"relaypdf/render/pdffile"
)

// SeparateArgs are the arguments of SeparateJob. Its input is a print of a document that package batch has joined, with
// a page for each part.
type SeparateArgs struct {
	Input

	// Parts are the parts in the order of the pages.
	Parts []Part
	// Prefix begins the names of the destinations at the ends of the parts, which are numbered from 1.
	Prefix string
	// Joined leaves the parts in one document, without those destinations.
	Joined bool
}

// Part is a part of a joined document.
type Part struct {
	Title string
	// End is the distance of the part's end from the top of its page, in points, as it was measured before the print.
	End float64
	// Unfit means that the part is not wanted.
	Unfit bool
}

// Separated is the result of SeparateJob.
type Separated struct {
	// Sizes are the sizes of the documents, which follow each other in the output, in bytes. 0 is none: the part is not as
	// it would be alone. With Joined, the first is the size of the document of all parts, and the others are 0.
	Sizes []int
}

// separatedName is the name of the output, which has no end that would have it checked: it is no PDF.
const separatedName = "parts"

var errNotJoined = errors.New("some parts are not as they would be alone")

// endTolerance is the maximum difference between the measured and the printed end of a part, in points.
const endTolerance = 1.5

// separate makes a document of each page of a joined one. It has only what its page uses: of fonts, too.
func separate(ctx context.Context, w *engine.Work, args SeparateArgs) (result Separated, err error) {
	content, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return result, fmt.Errorf("joined document: %w", err)
	}
	s := &separator{SeparateArgs: args, digest: sha256.Sum256(content), fonts: map[string]*narrowFont{}}
	if s.File, err = pdffile.Read(content); err != nil {
		return result, fmt.Errorf("joined document: %w", err)
	}
	if s.pages, err = s.Pages(len(args.Parts)); err != nil || len(s.pages) != len(args.Parts) {
		return result, fmt.Errorf("joined document of %d parts: %d pages, %w", len(args.Parts), len(s.pages), err)
	}
	var out []byte
	result.Sizes = make([]int, len(args.Parts))
	changes := s.NewUpdate()
	for i := range s.pages {
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		entries, ok := s.page(i)
		if !ok && args.Joined {
			return result, errNotJoined
		}
		if !ok {
			continue
		}
		if args.Joined {
			changes.Set(s.pages[i].Ref, entries)
			continue
		}
		made, err := s.part(i, entries)
		if err != nil {
			continue // it is printed alone
		}
		result.Sizes[i] = len(made)
		out = append(out, made...)
	}
	if args.Joined {
		changes.Set(s.Root(), pdffile.Without(s.Catalog(), "/Dests", "/Names"))
		if out, err = changes.Plain(); err != nil {
			return result, fmt.Errorf("joined document: %w", err)
		}
		result.Sizes[0] = len(out)
	}
	if err := os.WriteFile(w.Path(separatedName), out, 0o600); err != nil { //nolint:gosec // The name is a constant.
		return result, fmt.Errorf("parts: %w", err)
	}
	w.Output(separatedName)
	return result, nil
}

// separator separates the pages of a document.
type separator struct {
	*pdffile.File
	SeparateArgs

	digest [sha256.Size]byte
	pages  []pdffile.Page
	fonts  map[string]*narrowFont // by reference
}

// page returns a page's entries without the mark at the end of its part; false if the part is not where it was measured.
func (s *separator) page(i int) (pdffile.Dict, bool) {
	entries := maps.Clone(s.pages[i].Entries)
	annotations, _ := s.Target(entries["/Annots"]).([]any)
	box, _ := entries["/MediaBox"].([]any)
	if len(box) != 4 || s.Parts[i].Unfit {
		return nil, false
	}
	top, _ := box[3].(float64)
	var rest []any
	ends := 0
	for _, annotation := range annotations {
		about := s.Entry(annotation)
		name, _ := about["/Dest"].(string)
		if name == "" {
			rest = append(rest, annotation)
			continue
		}
		if number, ok := strings.CutPrefix(name, "/"+s.Prefix); !ok || number != strconv.Itoa(i+1) {
			return nil, false
		}
		area, _ := s.Target(about["/Rect"]).([]any)
		if len(area) != 4 {
			return nil, false
		}
		bottom, _ := area[1].(float64)
		if math.Abs(top-s.Parts[i].End-bottom) > endTolerance {
			return nil, false
		}
		ends++
	}
	delete(entries, "/Annots")
	if len(rest) > 0 {
		entries["/Annots"] = rest
	}
	return entries, ends == 1
}

// part makes a document of a page.
func (s *separator) part(i int, entries pdffile.Dict) ([]byte, error) {
	changes := s.NewUpdate()
	catalog := s.Catalog()
	tree := pdffile.Reference(catalog["/Pages"])
	entries["/Parent"] = tree
	changes.Set(s.pages[i].Ref, entries)
	changes.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": []any{s.pages[i].Ref}})
	changes.Set(s.Root(), pdffile.Without(catalog, "/Dests", "/Names"))
	info := maps.Clone(s.Entry(s.Trailer("/Info")))
	if info["/Title"] != nil && s.Parts[i].Title != "" {
		info["/Title"] = "u:" + s.Parts[i].Title
	}
	changes.SetInfo(info)
	name := sha256.Sum256(append(s.digest[:], strconv.Itoa(i)...))
	id := "b:" + hex.EncodeToString(name[:16])
	changes.SetID(id, id)
	if err := s.narrowFonts(changes, entries); err != nil {
		return nil, err
	}
	return changes.Plain()
}

// narrowFonts leaves in the fonts of a page only what the page uses: the glyphs of others would disclose what they write.
func (s *separator) narrowFonts(changes *pdffile.Update, page pdffile.Dict) error {
	u := &fontUse{File: s.File, used: map[string]map[int]bool{}, seen: map[string]bool{}}
	contents, ok := s.contents(page["/Contents"])
	if !ok {
		return pdffile.ErrUnread
	}
	if err := u.content(contents, s.Entry(page["/Resources"]), 0); err != nil {
		return err
	}
	for _, annotation := range u.list(page["/Annots"]) {
		if s.Entry(annotation)["/AP"] != nil {
			return pdffile.ErrUnread
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(u.used)) {
		font, known := s.fonts[ref]
		if !known {
			font = readNarrowFont(s.File, ref)
			s.fonts[ref] = font
		}
		if font == nil {
			return pdffile.ErrUnread
		}
		font.narrow(changes, u.used[ref])
	}
	return nil
}

// contents returns the content of a page.
func (s *separator) contents(v any) ([]byte, bool) {
	list, isList := s.Target(v).([]any)
	if !isList {
		list = []any{v}
	}
	var all []byte
	for _, item := range list {
		stream, ok := s.Stream(pdffile.Reference(item))
		if !ok {
			return nil, false
		}
		plain, err := s.Plain(stream)
		if err != nil {
			return nil, false
		}
		all = append(append(all, plain...), '\n')
	}
	return all, true
}

// fontUse finds the characters that content writes in each font.
type fontUse struct {
	*pdffile.File

	used map[string]map[int]bool // codes by the reference of a font
	seen map[string]bool         // streams
}

func (u *fontUse) list(v any) []any {
	list, _ := u.Target(v).([]any)
	return list
}

// content reads content, and that of the forms and patterns among its resources. Each of these must be its own.
func (u *fontUse) content(content []byte, resources pdffile.Dict, depth int) error {
	if depth > pdffile.MaxDepth {
		return pdffile.ErrUnread
	}
	fonts := u.Entry(resources["/Font"])
	for _, ref := range fonts {
		if u.used[pdffile.Reference(ref)] == nil {
			u.used[pdffile.Reference(ref)] = map[int]bool{}
		}
	}
	if err := u.text(content, fonts); err != nil {
		return err
	}
	var nested []any
	for _, kind := range []string{"/XObject", "/Pattern"} {
		for _, v := range u.Entry(resources[kind]) {
			nested = append(nested, v)
		}
	}
	for _, v := range u.Entry(resources["/ExtGState"]) {
		state := u.Entry(v)
		if state["/Font"] != nil {
			return pdffile.ErrUnread
		}
		if mask, ok := u.Target(state["/SMask"]).(pdffile.Dict); ok {
			nested = append(nested, mask["/G"])
		}
	}
	for _, v := range nested {
		if err := u.nested(pdffile.Reference(v), depth); err != nil {
			return err
		}
	}
	return nil
}

func (u *fontUse) nested(ref string, depth int) error {
	if u.seen[ref] {
		return nil
	}
	u.seen[ref] = true
	stream, ok := u.Stream(ref)
	if !ok || stream.Entries["/Subtype"] == "/Image" {
		return nil // a shading, or without text
	}
	plain, err := u.Plain(stream)
	if err != nil {
		return err
	}
	return u.content(plain, u.Entry(stream.Entries["/Resources"]), depth+1)
}

// text reads the characters of content. Their codes have two bytes, as Chromium writes them: in hexadecimal digits. It is
// one loop without values of operands, because most of a page's content is text.
func (u *fontUse) text(content []byte, fonts pdffile.Dict) error {
	var current, name string
	var outer []string
	var codes []byte // of the operands
	for at := 0; at < len(content); {
		start := at
		switch c := content[at]; {
		case c <= ' ', strings.IndexByte("[]", c) >= 0:
			at++
		case bytes.HasPrefix(content[at:], []byte("<<")), bytes.HasPrefix(content[at:], []byte(">>")):
			at += 2
		case c == '<':
			end := bytes.IndexByte(content[at:], '>')
			if end < 0 {
				return pdffile.ErrUnread
			}
			codes = append(codes, content[at+1:at+end]...)
			at += end + 1
		case c == '(':
			if at = literalEnd(content, at); at == 0 {
				return pdffile.ErrUnread
			}
			codes = append(codes, '(') // wrong as the code of a character
		case strings.IndexByte("%>{})", c) >= 0:
			return pdffile.ErrUnread
		default:
			for at++; at < len(content) && content[at] > ' ' && strings.IndexByte("/<>[]()%{}", content[at]) < 0; at++ {
			}
			word := content[start:at]
			if c == '/' {
				name = string(word)
				continue
			}
			if c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
				continue
			}
			switch string(word) {
			case "q":
				outer = append(outer, current)
			case "Q":
				if n := len(outer); n > 0 {
					current, outer = outer[n-1], outer[:n-1]
				}
			case "Tf":
				current = pdffile.Reference(fonts[name])
			case "BI":
				return pdffile.ErrUnread
			case "Tj", "TJ", "'", "\"":
				raw, err := hex.AppendDecode(nil, codes)
				used := u.used[current]
				if err != nil || len(raw)%2 != 0 || used == nil {
					return pdffile.ErrUnread
				}
				for ; len(raw) > 0; raw = raw[2:] {
					used[int(raw[0])<<8|int(raw[1])] = true
				}
			}
			codes = codes[:0]
		}
	}
	return nil
}

// literalEnd returns the end of a string in parentheses; 0 if there is none.
func literalEnd(content []byte, at int) int {
	for depth := 0; at < len(content); at++ {
		switch content[at] {
		case '\\':
			at++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return 0
}
