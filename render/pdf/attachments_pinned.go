package pdf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// fileAnnotation is a FileAttachment annotation: a comment on a page that holds a file.
type fileAnnotation struct {
	page    int
	comment pdffile.Dict
	file    pdffile.Dict // file specification
	content string       // the reference of its stream
}

// fileAnnotationOf reads an annotation, and reports whether it is a pinned attachment.
func fileAnnotationOf(s *job.Structure, page int, annotation any) (fileAnnotation, bool) {
	comment := s.Entry(annotation)
	if s.Target(comment["/Subtype"]) != "/FileAttachment" {
		return fileAnnotation{}, false
	}
	file := s.Entry(comment["/FS"])
	streams := s.Entry(file["/EF"])
	content := cmp.Or(pdffile.Reference(streams["/UF"]), pdffile.Reference(streams["/F"]))
	return fileAnnotation{page, comment, file, content}, s.Dict(content) != nil
}

// annotationsOf returns the annotations of a page.
func annotationsOf(s *job.Structure, page job.PageObject) []any {
	list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
	return list
}

// pageAttachments returns the files that are pinned on pages and are not among the others, each once and with a name
// that no other has.
func pageAttachments(s *job.Structure, others []Attachment) (list []Attachment) {
	contents := map[string]bool{}
	names := map[string]bool{}
	numbers := map[string]int{}
	for _, a := range others {
		contents[a.content] = true
		names[a.Name] = true
	}

	for i, page := range s.Pages {
		for _, annotation := range annotationsOf(s, page) {
			p, ok := fileAnnotationOf(s, i+1, annotation)
			if !ok || contents[p.content] {
				continue
			}

			a := describeFileAnnotation(s, p)
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

// describeFileAnnotation returns the document's description of a file that is pinned on a page.
func describeFileAnnotation(s *job.Structure, p fileAnnotation) Attachment {
	text := func(entries pdffile.Dict, key string) string { return pdffile.Text(s.Target(entries[key])) }
	name := cmp.Or(text(p.file, "/UF"), text(p.file, "/F"), "attachment")
	stream := s.Dict(p.content)
	kind, _ := s.Target(stream["/Subtype"]).(string)
	params := s.Entry(stream["/Params"])
	return Attachment{
		Name: name, Filename: name, Description: cmp.Or(text(p.file, "/Desc"), text(p.comment, "/Contents")),
		ContentType: strings.TrimPrefix(kind, "/"), CreatedAt: job.ParseDate(text(params, "/CreationDate")),
		ModifiedAt: job.ParseDate(text(params, "/ModDate")),
		Page:       &p.page, content: p.content,
	}
}

// removeFileAnnotations removes files from the pages on which they are pinned, and their content.
func removeFileAnnotations(s *job.Structure, contents map[string]bool) *pdffile.Update {
	changes := s.NewUpdate()
	for i, page := range s.Pages {
		annotations := annotationsOf(s, page)
		popups := map[string]bool{} // windows that show the removed comments
		remaining := slices.DeleteFunc(slices.Clone(annotations), func(annotation any) bool {
			p, ok := fileAnnotationOf(s, i+1, annotation)
			if ok = ok && contents[p.content]; ok {
				popups[pdffile.Reference(p.comment["/Popup"])] = true
				changes.Set(p.content, nil)
			}
			return ok
		})
		if len(remaining) == len(annotations) {
			continue
		}

		remaining = slices.DeleteFunc(remaining, func(annotation any) bool {
			ref := pdffile.Reference(annotation)
			return ref != "" && popups[ref]
		})

		entries := pdffile.Without(s.Dict(page.Object))
		entries["/Annots"] = remaining
		changes.Set(page.Object, entries)
	}

	return changes
}
