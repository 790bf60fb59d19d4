package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Info is the result of InfoJob: the information about a document.
type Info struct {
	PageCount       int         `json:"pageCount" jsonschema:"required" jsonschema_description:"Number of pages."`
	PDFVersion      string      `json:"pdfVersion" jsonschema:"required" jsonschema_description:"Version of the PDF format, such as 1.7."`
	Title           string      `json:"title" jsonschema:"required" jsonschema_description:"Title; empty if there is none, as are the other texts."`
	Author          string      `json:"author" jsonschema:"required" jsonschema_description:"Author."`
	Subject         string      `json:"subject" jsonschema:"required" jsonschema_description:"Subject."`
	Keywords        []string    `json:"keywords" jsonschema:"required" jsonschema_description:"Keywords."`
	Creator         string      `json:"creator" jsonschema:"required" jsonschema_description:"Application that wrote the source document."`
	Producer        string      `json:"producer" jsonschema:"required" jsonschema_description:"Application that created the PDF."`
	CreatedAt       *time.Time  `json:"createdAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Creation time of the document; null if unknown."`
	ModifiedAt      *time.Time  `json:"modifiedAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time of the document's last change; null if unknown."`
	Encrypted       bool        `json:"encrypted" jsonschema:"required" jsonschema_description:"If true, the document is encrypted."`
	Permissions     Permissions `json:"permissions" jsonschema:"required" jsonschema_description:"Permissions with the user password; all true if the document is not encrypted."`
	Tagged          bool        `json:"tagged" jsonschema:"required" jsonschema_description:"If true, the document has the structure for screen readers."`
	Linearized      bool        `json:"linearized" jsonschema:"required" jsonschema_description:"If true, readers can display the first page before the whole file has arrived."`
	HasForm         bool        `json:"hasForm" jsonschema:"required" jsonschema_description:"If true, the document has form fields."`
	HasSignatures   bool        `json:"hasSignatures" jsonschema:"required" jsonschema_description:"If true, the document is signed."`
	HasOutline      bool        `json:"hasOutline" jsonschema:"required" jsonschema_description:"If true, the document has bookmarks."`
	AttachmentCount int         `json:"attachmentCount" jsonschema:"required" jsonschema_description:"Number of attached files, excluding files in comments on pages."`
	SizeBytes       int64       `json:"sizeBytes" jsonschema:"required" jsonschema_description:"Size of the file in bytes."`
	Pages           []PageInfo  `json:"pages" jsonschema:"required" jsonschema_description:"Pages in order."`
}

// PageInfo is the size of one page.
type PageInfo struct {
	Page     int     `json:"page" jsonschema:"required" jsonschema_description:"Number of the page, from 1."`
	Width    float64 `json:"width" jsonschema:"required" jsonschema_description:"Width of the visible area in points, before rotation."`
	Height   float64 `json:"height" jsonschema:"required" jsonschema_description:"Height of the visible area in points, before rotation."`
	Rotation int     `json:"rotation" jsonschema:"required" jsonschema_description:"Clockwise rotation of the page in degrees: 0, 90, 180 or 270."`
}

// facts are the parts of qpdf's description that info needs.
type facts struct {
	Form struct {
		Has    bool `json:"hasacroform"`
		Fields []struct {
			Type  string `json:"fieldtype"`
			Value any    `json:"value"`
		} `json:"fields"`
	} `json:"acroform"`
	Attachments map[string]json.RawMessage `json:"attachments"`
	Encryption  struct {
		Encrypted bool   `json:"encrypted"`
		Allow     allows `json:"capabilities"`
	} `json:"encrypt"`
}

// allows are the permissions in qpdf's words.
type allows struct {
	Extract  bool `json:"extract"`
	Annotate bool `json:"modifyannotations"`
	Assemble bool `json:"modifyassembly"`
	Fill     bool `json:"modifyforms"`
	Modify   bool `json:"modifyother"`
	High     bool `json:"printhigh"`
	Low      bool `json:"printlow"`
}

// InfoJob reads the information about a PDF.
var InfoJob = job.Define("pdf.info", engine.ReadTime, info)

// info describes a document.
func info(ctx context.Context, w *engine.Work, args job.Input) (Info, error) {
	doc := &job.Document{Work: w, Name: args.Name, Password: args.Password}
	if err := doc.CheckHeader(); err != nil {
		return Info{}, err
	}

	result, file, err := readInfo(doc)
	if err != nil {
		result, file, err = askInfo(ctx, doc)
	}
	if err != nil {
		return Info{}, err
	}

	result.PageCount = len(result.Pages)
	if err := describeCatalog(doc, file, &result); err != nil {
		return Info{}, err
	}

	result.Linearized, result.SizeBytes, err = linearized(w.Path(args.Name))
	return result, err
}

// askInfo asks qpdf and poppler for the information about a document.
func askInfo(ctx context.Context, d *job.Document) (Info, *pdffile.File, error) {
	f, err := openFacts(ctx, d)
	if err != nil {
		return Info{}, nil, err
	}

	result := f.info()
	// pdfinfo takes passwords on its command line only.
	if _, err := job.Decrypt(ctx, d); err != nil {
		return Info{}, nil, err
	}
	if result.Pages, err = measurePages(ctx, d); err != nil {
		return Info{}, nil, err
	}

	file, err := d.SoundFile(ctx)
	return result, file, err
}

// openFacts reads qpdf's information, and repairs the document if that fails.
func openFacts(ctx context.Context, d *job.Document) (*facts, error) {
	var f facts
	err := readFacts(ctx, d, &f)
	var failed *job.Error
	if err == nil || errors.As(err, &failed) && failed.Kind == job.Exhausted {
		return &f, err
	}
	if err := d.Prepare(ctx); err != nil {
		return nil, err
	}
	f = facts{}
	err = readFacts(ctx, d, &f)
	return &f, err
}

// readFacts reads qpdf's information.
func readFacts(ctx context.Context, d *job.Document, f *facts) error {
	out, err := d.Ask(ctx, job.QPDFJob{
		"inputFile": d.Name, "password": d.Password, "json": "2",
		"jsonKey": []string{"acroform", "attachments", "encrypt"},
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, f); err != nil {
		return d.Fail(job.Damaged, err)
	}
	return nil
}

// info returns the information that qpdf reports directly.
func (f *facts) info() Info {
	allow := f.Encryption.Allow
	result := Info{
		Encrypted: f.Encryption.Encrypted,
		Permissions: Permissions{
			Print: allow.Low || allow.High, HighRes: allow.High, Copy: allow.Extract, Modify: allow.Modify,
			Annotate: allow.Annotate, Fill: allow.Fill, Assemble: allow.Assemble,
		},
		HasForm: len(f.Form.Fields) > 0, AttachmentCount: len(f.Attachments), Keywords: []string{},
	}

	for _, field := range f.Form.Fields {
		if field.Type == "/Sig" && field.Value != nil {
			result.HasSignatures = true
		}
	}

	return result
}

// describeCatalog reads the catalog and the document information.
func describeCatalog(d *job.Document, f *pdffile.File, result *Info) error {
	catalog := f.Catalog()
	if catalog == nil {
		return d.Fail(job.Damaged, errNoCatalog)
	}

	result.HasOutline = f.Entry(catalog["/Outlines"])["/First"] != nil
	result.Tagged = f.Entry(catalog["/MarkInfo"])["/Marked"] == true
	result.PDFVersion = f.Version()

	about := f.Entry(f.Trailer("/Info"))
	text := func(key string) string { return pdffile.Text(f.Target(about[key])) }
	result.Title = text("/Title")
	result.Author = text("/Author")
	result.Subject = text("/Subject")
	result.Creator = text("/Creator")
	result.Producer = text("/Producer")

	for word := range strings.FieldsFuncSeq(text("/Keywords"), func(r rune) bool { return r == ',' || r == ';' }) {
		if word = strings.TrimSpace(word); word != "" {
			result.Keywords = append(result.Keywords, word)
		}
	}

	result.CreatedAt = job.ParseDate(text("/CreationDate"))
	result.ModifiedAt = job.ParseDate(text("/ModDate"))
	return nil
}

var (
	linearizedPattern = regexp.MustCompile(`/Linearized\s+[\d.]+`)
	lengthPattern     = regexp.MustCompile(`/L\s+(\d+)`)
)

// linearized reports whether a file is linearized and unchanged since, and returns its size.
func linearized(path string) (bool, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, 0, err
	}

	f, err := os.Open(path)
	if err != nil {
		return false, 0, err
	}

	start := make([]byte, pdffile.HeaderWithin)
	n, err := f.Read(start)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, 0, err
	}

	length := lengthPattern.FindSubmatch(start[:n])
	linear := linearizedPattern.Match(start[:n]) && length != nil &&
		string(length[1]) == strconv.FormatInt(info.Size(), 10)
	return linear, info.Size(), nil
}

var pagePattern = regexp.MustCompile(`(?m)^Page +(\d+) (?:size: +([\d.e+-]+) x ([\d.e+-]+) pts|rot: +(\d+))`)

var countPattern = regexp.MustCompile(`(?m)^Pages: +(\d+)$`)

// measurePages asks poppler for the number of pages and the sizes of all.
func measurePages(ctx context.Context, d *job.Document) ([]PageInfo, error) {
	out, err := d.Work.Exec(ctx, engine.Program{
		Name: "pdfinfo", Args: []string{"-f", "1", "-l", strconv.Itoa(job.MaxInputPages), engine.PathArg(d.Name)},
	})
	if err != nil {
		return nil, d.Damaged(err)
	}

	// The title, which may contain any text, comes before the pages.
	if i := bytes.LastIndex(out, []byte("\nPages: ")); i >= 0 {
		out = out[i:]
	}

	count := countPattern.FindSubmatch(out)
	if count == nil {
		return nil, d.Fail(job.Damaged, errors.New("poppler sees no pages"))
	}
	if d.Pages, err = strconv.Atoi(string(count[1])); err != nil || d.Pages < 1 {
		return nil, d.Fail(job.Damaged, errors.New("no pages"))
	}

	if err := d.CheckCount(); err != nil {
		return nil, err
	}
	pages, seen, err := parsePages(out, d.Pages)
	if err != nil {
		return nil, d.Fail(job.Damaged, err)
	}
	if seen != d.Pages {
		return nil, d.Fail(job.Damaged, fmt.Errorf("%d pages have a size, of %d", seen, d.Pages))
	}

	return pages, nil
}

// parsePages reads the sizes of pages, and returns the number of pages that it saw.
func parsePages(out []byte, count int) (pages []PageInfo, seen int, err error) {
	pages = make([]PageInfo, count)
	for _, m := range pagePattern.FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > count {
			continue
		}

		page := &pages[n-1]
		page.Page = n
		if m[4] != "" {
			page.Rotation, err = strconv.Atoi(m[4])
		} else {
			seen++
			page.Width, err = strconv.ParseFloat(m[2], 64)
			if err == nil {
				page.Height, err = strconv.ParseFloat(m[3], 64)
			}
		}
		if err != nil {
			return nil, 0, err
		}
	}

	return pages, seen, nil
}
