package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// maxPart bounds a part of a document that is read here, in bytes.
const maxPart = 64 << 20

// linkedImages are the images that a Word document links to instead of containing them. LibreOffice has no network:
// it would silently leave them out.
type linkedImages struct {
	// missing are the addresses that were not asked for yet.
	missing []Reference
	// nowhere are PageResult's.
	nowhere []string
	// parts are the new contents of parts of the document, by their names; added are parts
	// that it lacks.
	parts, added map[string][]byte
	fetched      map[string]string // file names by address
	work         *engine.Work
}

// relationTag finds the relations of a part to others.
var relationTag = regexp.MustCompile(`<(?:\w+:)?Relationship\b[^>]*>`)

// imageTag finds the images of a part.
var imageTag = regexp.MustCompile(`<(?:\w+:)?(?:blip|imagedata)\b[^>]*>`)

// contentTypes is the part that lists the types of the others.
const contentTypes = "[Content_Types].xml"

// embedLinked embeds the images that a Word document links to. Files maps a URL to the name of the fetched file, or
// to "" if it is missing.
func embedLinked(w *engine.Work, input string, files map[string]string) (*linkedImages, error) {
	archive, err := zip.OpenReader(w.Path(input))
	if err != nil {
		return &linkedImages{}, nil // LibreOffice reports an unreadable document.
	}
	defer archive.Close()

	l := &linkedImages{parts: map[string][]byte{}, added: map[string][]byte{}, fetched: files, work: w}
	for _, f := range archive.File {
		folder, name := path.Split(f.Name)
		if path.Dir(folder) == "word/_rels" && strings.HasSuffix(name, ".rels") {
			if err := l.relations(&archive.Reader, f, "word/"+strings.TrimSuffix(name, ".rels")); err != nil {
				return l, err
			}
		}
	}

	if len(l.missing) > 0 || len(l.added) == 0 {
		return l, nil
	}
	if err := l.declare(&archive.Reader); err != nil {
		return l, err
	}
	err = l.write(&archive.Reader, input)
	return l, err
}

// relations reads the relations of a part, and changes those to images that were fetched.
func (l *linkedImages) relations(archive *zip.Reader, f *zip.File, part string) error {
	content, err := readPart(f)
	if err != nil || !bytes.Contains(content, []byte("External")) {
		return err
	}

	embedded := map[string]bool{}
	changed := relationTag.ReplaceAllFunc(content, func(tag []byte) []byte {
		entries := attributesOf(tag)
		if entries["TargetMode"] != "External" || !strings.HasSuffix(entries["Type"], "/image") {
			return tag
		}
		target := l.embed(entries["Target"])
		if target == "" {
			return tag
		}
		embedded[entries["Id"]] = true

		end := ">"
		if bytes.HasSuffix(tag, []byte("/>")) {
			end = "/>"
		}
		name, _, _ := bytes.Cut(tag, []byte(" "))
		return fmt.Appendf(nil, `%s Id="%s" Type="%s" Target="%s"%s`,
			name, escaped(entries["Id"]), escaped(entries["Type"]), target, end)
	})

	if len(embedded) == 0 {
		return nil
	}
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == part })
	if i < 0 {
		return nil
	}
	text, err := readPart(archive.File[i])
	if err != nil {
		return err
	}

	l.parts[f.Name] = changed
	l.parts[part] = imageTag.ReplaceAllFunc(text, func(tag []byte) []byte {
		for id := range embedded {
			tag = bytes.ReplaceAll(tag, []byte(`r:link="`+id+`"`), []byte(`r:embed="`+id+`"`))
			tag = bytes.ReplaceAll(tag, []byte(`r:href="`+id+`"`), []byte(`r:id="`+id+`"`))
		}
		return tag
	})
	return nil
}

// embed returns the target of a relation to the image of a URL, or "" if there is none.
func (l *linkedImages) embed(address string) string {
	parsed, err := url.Parse(strings.TrimSpace(address))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		if len(l.nowhere) < maxNowhere && !slices.Contains(l.nowhere, address) {
			l.nowhere = append(l.nowhere, address)
		}
		return ""
	}

	request := Reference{Address: parsed.String()}
	file, asked := l.fetched[request.Address]
	switch {
	case !asked && !slices.Contains(l.missing, request):
		l.missing = append(l.missing, request)
		return ""
	case file == "":
		return ""
	}

	content, err := os.ReadFile(l.work.Path(file))
	extension, image := strings.CutPrefix(mediaType(content), "image/")
	if err != nil || !image {
		l.nowhere = append(l.nowhere, address)
		return ""
	}

	extension, _, _ = strings.Cut(extension, "+")
	name := "word/media/" + file + ".linked" + extension
	l.added[name] = content
	return "/" + name
}

// declare adds the images' types to those of the document's parts.
func (l *linkedImages) declare(archive *zip.Reader) error {
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == contentTypes })
	if i < 0 {
		return &Error{Reason: Damaged, Detail: "no content types"}
	}
	content, err := readPart(archive.File[i])
	if err != nil {
		return err
	}

	end := bytes.LastIndex(content, []byte("</"))
	if end < 0 {
		return &Error{Reason: Damaged, Detail: "content types cannot be read"}
	}

	var types strings.Builder
	for name, image := range l.added {
		fmt.Fprintf(&types, `<Override PartName="/%s" ContentType="%s"/>`, name, mediaType(image))
	}
	l.parts[contentTypes] = slices.Concat(content[:end], []byte(types.String()), content[end:])
	return nil
}

// write writes the document again, and replaces the input.
func (l *linkedImages) write(archive *zip.Reader, input string) (err error) {
	const embeddedName = "embedded.docx"
	file, err := os.OpenFile(l.work.Path(embeddedName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	out := zip.NewWriter(file)
	for _, f := range archive.File {
		if content, changed := l.parts[f.Name]; changed {
			l.added[f.Name] = content
			continue
		}
		err = errors.Join(err, out.Copy(f))
	}

	for name, content := range l.added {
		part, createErr := out.Create(name)
		if createErr == nil {
			_, createErr = part.Write(content)
		}
		err = errors.Join(err, createErr)
	}

	if err := errors.Join(err, out.Close(), file.Close()); err != nil {
		return fmt.Errorf("embed images: %w", err)
	}
	return os.Rename(l.work.Path(embeddedName), l.work.Path(input))
}

// readPart reads a part of a document, up to a bound.
func readPart(f *zip.File) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, &Error{Reason: Damaged, Detail: err.Error()}
	}
	defer in.Close()

	content, err := io.ReadAll(io.LimitReader(in, maxPart+1))
	switch {
	case err != nil:
		return nil, &Error{Reason: Damaged, Detail: err.Error()}
	case len(content) > maxPart:
		return nil, &Error{Reason: Exhausted, Detail: f.Name + " is too large"}
	}
	return content, nil
}

// attributesOf returns the attributes of a tag.
func attributesOf(tag []byte) map[string]string {
	entries := map[string]string{}
	decoder := xml.NewDecoder(bytes.NewReader(tag))
	decoder.Strict = false

	token, err := decoder.Token()
	if element, ok := token.(xml.StartElement); ok && err == nil {
		for _, a := range element.Attr {
			entries[a.Name.Local] = a.Value
		}
	}
	return entries
}

// escaped is a text as an attribute has it.
func escaped(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // A Builder takes everything.
	return out.String()
}
