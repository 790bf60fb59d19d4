package web

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// A template as a zip: the four files that a layout of the gallery has, and the
// account's partials in a folder.
const (
	zippedHTML    = "template.html"
	zippedSample  = "sample.json"
	zippedOptions = "options.json"
	zippedAbout   = "about.json"
	zippedPartial = "partials/"
	// maxZip is the maximum size of the ZIP archive, maxZipped the maximum unpacked size of one file, and
	// maxUnpacked that of all files together, in bytes.
	maxZip      = 16 << 20
	maxZipped   = 10 << 20
	maxUnpacked = 24 << 20
	// maxZippedFiles bounds how many files are looked at.
	maxZippedFiles = 300
)

// errTooLarge means that a file of a zip unpacks to more than it may.
var errTooLarge = errors.New("too large")

// sentence is the error of a file in words for users.
type sentence string

func (s sentence) Error() string { return string(s) }

type zippedFacts struct {
	Name        string `json:"name"`
	Category    string `json:"category"`
	Description string `json:"description"`
}

func (w *Web) exportTemplate(v *pageRequest) error {
	found, err := v.template()
	if err != nil {
		return err
	}

	partials, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return err
	}
	about, err := json.MarshalIndent(zippedFacts{found.Name, found.Category, found.Description}, "", "  ")
	if err != nil {
		return err
	}

	files := []struct{ name, text string }{
		{zippedHTML, *found.HTML}, {zippedSample, jsonText(found.SampleData)},
		{zippedOptions, jsonText(found.Options)}, {zippedAbout, string(about)},
	}
	for _, p := range partials.Partials {
		// A partial that only another partial includes is added too.
		files = append(files, struct{ name, text string }{zippedPartial + p.Name + ".html", p.HTML})
	}

	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		file, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: found.UpdatedAt})
		if err == nil {
			_, err = io.WriteString(file, f.text)
		}
		if err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}

	h := v.w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="`+found.Slug+`.zip"`)
	v.w.WriteHeader(http.StatusOK)
	_, err = v.w.Write(out.Bytes())
	return err
}

func (w *Web) showImport(v *pageRequest) error { return w.importPage(v, http.StatusOK, "") }

func (w *Web) importPage(v *pageRequest, status int, wrong string) error {
	form := views.Form{Errors: map[string]string{}}
	if wrong != "" {
		form.Errors["file"] = wrong
	}
	return v.show(status, views.ImportPage(v.page("Import template", templatesPath), form))
}

func (w *Web) importTemplate(v *pageRequest) error {
	files, err := zippedFiles(v)
	if err != nil {
		return w.importPage(v, http.StatusUnprocessableEntity, err.Error())
	}
	in, err := templateOf(files)
	if err != nil {
		return w.importPage(v, http.StatusUnprocessableEntity, err.Error())
	}

	skipped, err := w.importPartials(v, files)
	if err == nil {
		var made templates.Record
		if made, err = submit(v, in, w.templates.Create); err == nil {
			if len(skipped) > 0 {
				v.flash(
					"Template imported. Not imported: partials that exist here with other content (" +
						strings.Join(skipped, ", ") + ").",
				)
			}
			return v.redirect(pageOf(made.ID, ""))
		}
	}

	if r := refused(err); r != nil {
		return w.importPage(v, http.StatusUnprocessableEntity, r.Error())
	}
	return err
}

// zippedFiles reads the zip of a form.
func zippedFiles(v *pageRequest) (map[string]string, error) {
	file, about, err := v.r.FormFile("file")
	if err != nil {
		return nil, sentence("Select a ZIP file of 16 MiB or less that was created by “Export as ZIP”.")
	}
	defer func() { _ = file.Close() }()

	archive, err := zip.NewReader(file, about.Size)
	if err != nil || len(archive.File) > maxZippedFiles {
		return nil, sentence(fmt.Sprintf("The file must be a ZIP archive with at most %d files.", maxZippedFiles))
	}

	files := map[string]string{}
	left := int64(maxUnpacked)
	for _, f := range archive.File {
		known := slices.Contains([]string{zippedHTML, zippedSample, zippedOptions, zippedAbout}, f.Name)
		partial := strings.HasPrefix(f.Name, zippedPartial) && strings.HasSuffix(f.Name, ".html")
		if !known && !partial {
			continue
		}

		maxBytes := int64(maxZipped)
		if partial {
			maxBytes = store.MaxPartialBytes
		}
		if left < maxBytes && int64(min(f.UncompressedSize64, maxZipped)) > left {
			return nil, sentence(fmt.Sprintf("The unpacked files exceed %d MiB in total.", maxUnpacked>>20))
		}

		text, err := unzipped(f, min(maxBytes, left))
		if err != nil {
			return nil, sentence(fmt.Sprintf(
				"The file %s in the archive is damaged or larger than %s.", zippedName(f.Name), views.Bytes(maxBytes),
			))
		}
		left -= int64(len(text))
		files[f.Name] = text
	}

	return files, nil
}

// zippedName is the name of a file in a zip, as it can be shown.
func zippedName(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if short := []rune(name); len(short) > 100 {
		return string(short[:100]) + "…"
	}
	return name
}

// unzipped unpacks a file of at most most bytes.
func unzipped(f *zip.File, maxBytes int64) (string, error) {
	if f.UncompressedSize64 > uint64(maxBytes) {
		return "", errTooLarge
	}
	content, err := f.Open()
	if err != nil {
		return "", err
	}

	var text strings.Builder
	text.Grow(int(f.UncompressedSize64))
	n, err := io.Copy(&text, io.LimitReader(content, maxBytes+1))
	err = errors.Join(err, content.Close())
	if err == nil && n > maxBytes {
		err = errTooLarge
	}
	return text.String(), err
}

// templateOf returns a template made from the files of its zip.
func templateOf(files map[string]string) (templates.CreateInput, error) {
	html, ok := files[zippedHTML]
	in := templates.CreateInput{HTML: &html}
	if !ok {
		return in, sentence("The archive has no template.html at its top level.")
	}

	for name, field := range map[string]*schema.Object{zippedSample: &in.SampleData, zippedOptions: &in.Options} {
		text, ok := files[name]
		if !ok {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
			return in, sentence(fmt.Sprintf("The file %s in the archive is not a JSON object.", name))
		}
		*field = objectOf(text)
	}

	if text, ok := files[zippedAbout]; ok {
		var facts zippedFacts
		if err := json.Unmarshal([]byte(text), &facts); err != nil {
			return in, sentence("The file about.json in the archive is not a valid JSON object.")
		}
		in.Name = facts.Name
		in.Category = facts.Category
		in.Description = facts.Description
	}

	in.Name = cmp.Or(in.Name, "Imported template")
	return in, nil
}

// importPartials makes the partials that the account lacks, and returns the names
// of those that it has with another source.
func (w *Web) importPartials(v *pageRequest, files map[string]string) (skipped []string, err error) {
	have, err := w.templates.Partials(v.ctx(), v.caller(), struct{}{})
	if err != nil {
		return nil, err
	}

	for path, text := range files {
		name, ok := strings.CutPrefix(strings.TrimSuffix(path, ".html"), zippedPartial)
		if !ok {
			continue
		}

		if at := slices.IndexFunc(have.Partials, func(p wire.Partial) bool { return p.Name == name }); at >= 0 {
			if have.Partials[at].HTML != text {
				skipped = append(skipped, name)
			}
			continue
		}
		partial := templates.NewPartial{PartialRef: templates.PartialRef{Name: name}, HTML: text}
		if _, err := submit(v, partial, w.templates.PutPartial); err != nil {
			return nil, err
		}
	}

	slices.Sort(skipped)
	return skipped, nil
}
