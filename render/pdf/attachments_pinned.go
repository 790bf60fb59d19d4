package pdf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// pin is a comment on a page that is a file.
type pin struct {
	page    int
	comment pdffile.Dict
	file    pdffile.Dict // file specification
	content string       // the reference of its stream
}

// pin reads an annotation, and reports whether it is a pinned attachment.
func (s *structure) pin(page int, annotation any) (pin, bool) {
	comment := s.Entry(annotation)
	if s.Target(comment["/Subtype"]) != "/FileAttachment" {
		return pin{}, false
	}
	file := s.Entry(comment["/FS"])
	streams := s.Entry(file["/EF"])
	content := cmp.Or(pdffile.Reference(streams["/UF"]), pdffile.Reference(streams["/F"]))
	return pin{page, comment, file, content}, s.Dict(content) != nil
}

// annotations returns the annotations of a page.
func (s *structure) annotations(page pageObject) []any {
	list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
	return list
}

// pinned are the files that are pinned on pages and are none of the others, each once and
// with a name that no other has.
func (s *structure) pinned(others []Attachment) (list []Attachment) {
	contents := map[string]bool{}
	names := map[string]bool{}
	numbers := map[string]int{}
	for _, a := range others {
		contents[a.content] = true
		names[a.Name] = true
	}

	for i, page := range s.Pages {
		for _, annotation := range s.annotations(page) {
			p, ok := s.pin(i+1, annotation)
			if !ok || contents[p.content] {
				continue
			}

			a := s.describePin(p)
			for names[a.Name] {
				numbers[a.Filename]++
				a.Name = fmt.Sprintf("%s (%d)", a.Filename, 1+numbers[a.Filename])
			}
			contents[p.content] = true
			names[a.Name] = true
			list = append(list, a)
		}
	}

	return list
}

// describePin returns the document's description of a file that is pinned on a page.
func (s *structure) describePin(p pin) Attachment {
	said := func(entries pdffile.Dict, key string) string { return pdffile.Text(s.Target(entries[key])) }
	name := cmp.Or(said(p.file, "/UF"), said(p.file, "/F"), "attachment")
	stream := s.Dict(p.content)
	kind, _ := s.Target(stream["/Subtype"]).(string)
	params := s.Entry(stream["/Params"])
	return Attachment{
		Name: name, Filename: name, Description: cmp.Or(said(p.file, "/Desc"), said(p.comment, "/Contents")),
		ContentType: strings.TrimPrefix(kind, "/"), CreatedAt: date(said(params, "/CreationDate")),
		ModifiedAt: date(said(params, "/ModDate")),
		Page:       &p.page, content: p.content,
	}
}

// unpin takes files off the pages on which they are pinned, and their content away.
func (s *structure) unpin(contents map[string]bool) *pdffile.Update {
	changes := s.NewUpdate()
	for i, page := range s.Pages {
		annotations := s.annotations(page)
		gone := map[string]bool{} // with their comments go the windows that show these
		kept := slices.DeleteFunc(slices.Clone(annotations), func(annotation any) bool {
			p, ok := s.pin(i+1, annotation)
			if ok = ok && contents[p.content]; ok {
				gone[pdffile.Reference(p.comment["/Popup"])] = true
				changes.Set(p.content, nil)
			}
			return ok
		})
		if len(kept) == len(annotations) {
			continue
		}

		kept = slices.DeleteFunc(kept, func(annotation any) bool {
			ref := pdffile.Reference(annotation)
			return ref != "" && gone[ref]
		})

		entries := pdffile.Without(s.Dict(page.Object))
		entries["/Annots"] = kept
		changes.Set(page.Object, entries)
	}

	return changes
}
