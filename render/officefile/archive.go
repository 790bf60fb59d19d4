// Package officefile reads and rewrites office documents around their conversion by LibreOffice, so that the results
// that the author's program has stored in a document appear in the conversion: values of formulas, and texts of
// fields. It also makes spreadsheets of CSV.
//
// The documents are untrusted, so that only children of render/engine call it. It changes bytes where it must, and
// copies all others as they are. A document that it cannot read stays as it is: LibreOffice reports what is wrong.
package officefile

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// maxPart is the maximum size of a part that is read into memory, in bytes.
const maxPart = 64 << 20

// errPart means that a part is missing, too large or of another kind.
var errPart = errors.New("officefile: part is missing, too large or of another kind")

// archive is a document that is a ZIP archive.
type archive struct {
	*zip.ReadCloser
	path  string
	parts map[string]*zip.File // by partName
}

func openArchive(path string) (*archive, error) {
	files, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	a := &archive{ReadCloser: files, path: path, parts: map[string]*zip.File{}}
	for _, f := range files.File {
		a.parts[partName(f.Name)] = f
	}
	return a, nil
}

// partName returns the name by which parts refer to each other: they begin with or without a slash, and ignore case.
func partName(name string) string { return strings.ToLower(strings.TrimPrefix(name, "/")) }

// read returns the content of a part.
func (a *archive) read(name string) ([]byte, error) {
	part := a.parts[partName(name)]
	if part == nil || part.UncompressedSize64 > maxPart {
		return nil, fmt.Errorf("%w: %.100q", errPart, name)
	}

	in, err := part.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()

	content, err := io.ReadAll(io.LimitReader(in, maxPart+1))
	if len(content) > maxPart {
		err = fmt.Errorf("%w: %.100q", errPart, name)
	}
	return content, err
}

// decode reads a part as XML.
func (a *archive) decode(name string, to any) error {
	content, err := a.read(name)
	if err != nil {
		return err
	}
	decoder := xml.NewDecoder(bytes.NewReader(content))
	decoder.Strict = false
	return decoder.Decode(to)
}

// stream opens a part of any size.
func (a *archive) stream(name string) (io.ReadCloser, error) {
	part := a.parts[partName(name)]
	if part == nil {
		return nil, fmt.Errorf("%w: %.100q", errPart, name)
	}
	return part.Open()
}

// relations returns the parts that a part refers to, by the ID of the reference.
func (a *archive) relations(part string) (map[string]relation, error) {
	var list struct {
		Relationships []relation `xml:"Relationship"`
	}

	folder, name := path.Split(part)
	err := a.decode(folder+"_rels/"+name+".rels", &list)
	if errors.Is(err, errPart) {
		return nil, nil
	}

	byID := map[string]relation{}
	for _, r := range list.Relationships {
		if r.Mode != "External" {
			if !strings.HasPrefix(r.Target, "/") {
				r.Target = folder + r.Target
			}
			r.Target = strings.TrimPrefix(path.Clean("/"+r.Target), "/")
		}
		byID[r.ID] = r
	}

	return byID, err
}

// relation is a reference of a part to another one, or to the outside.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
	Mode   string `xml:"TargetMode,attr"`
}

// is reports whether a relation has a type, by the end of its name: two versions of the standard differ before it.
func (r relation) is(kind string) bool { return strings.HasSuffix(r.Type, "/"+kind) }

// change writes the new content of a part.
type change func(in io.Reader, out io.Writer) error

// rewrite writes the archive to a file, with the parts that change. A nil change omits the part. The parts that are
// copied are not compressed again.
func (a *archive) rewrite(to string, changes map[string]change) (err error) {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()

	out := zip.NewWriter(file)
	out.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	for _, f := range a.File {
		how, changed := changes[partName(f.Name)]
		switch {
		case !changed:
			err = out.Copy(f)
		case how != nil:
			err = rewritePart(out, f, how)
		}
		if err != nil {
			return fmt.Errorf("officefile: %.100q: %w", f.Name, err)
		}
	}

	return out.Close()
}

func rewritePart(out *zip.Writer, f *zip.File, how change) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := out.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: f.Modified})
	if err != nil {
		return err
	}
	return how(in, w)
}
