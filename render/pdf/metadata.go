package pdf

import (
	"context"
	"encoding/xml"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Metadata is the result of MetadataJob: the document information and XMP of a document.
type Metadata struct {
	Title       string            `json:"title" jsonschema:"required" jsonschema_description:"Title; empty if there is none, as are the other texts. The document information takes precedence over XMP."`
	Author      string            `json:"author" jsonschema:"required" jsonschema_description:"Author."`
	Subject     string            `json:"subject" jsonschema:"required" jsonschema_description:"Subject."`
	Keywords    string            `json:"keywords" jsonschema:"required" jsonschema_description:"Keywords."`
	Creator     string            `json:"creator" jsonschema:"required" jsonschema_description:"Application that wrote the source document."`
	Producer    string            `json:"producer" jsonschema:"required" jsonschema_description:"Application that created the PDF."`
	CreatedAt   *time.Time        `json:"createdAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Creation time of the document; null if unknown."`
	ModifiedAt  *time.Time        `json:"modifiedAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time of the document's last change; null if unknown."`
	Custom      map[string]string `json:"custom" jsonschema:"required" jsonschema_description:"Other entries of the document information."`
	Standards   []string          `json:"standards" jsonschema:"required" jsonschema_description:"Standards that XMP claims, such as a-2b and ua-1. pdf.check verifies these."`
	Differences []string          `json:"differences" jsonschema:"required" jsonschema_description:"Fields whose values in the document information and in XMP differ."`
	XMP         *string           `json:"xmp" jsonschema:"required,oneof_type=string;null" jsonschema_description:"XMP metadata as XML; null if there is none."`
}

// MetadataArgs are the arguments of SetMetadataJob. The keys of Set and Remove are those of the document information,
// with their slash. Set takes precedence. The output is the PDF, and the result a Changed.
type MetadataArgs struct {
	job.Input

	Set       map[string]string // dates in RFC 3339
	Remove    []string
	RemoveAll bool
}

// dateKeys are the entries of the document information that are dates.
var dateKeys = []string{"/CreationDate", "/ModDate"}

// standardKeys are the entries of the document information with a meaning of their own.
func standardKeys() []string {
	keys := []string{"/Trapped"}
	for _, p := range xmpProperties() {
		keys = append(keys, p.key)
	}
	return keys
}

// MetadataJob reads the document information and XMP of a PDF.
var MetadataJob = job.Define("pdf.metadata", engine.ReadTime, metadata)

// metadata reads the metadata of a document.
func metadata(ctx context.Context, w *engine.Work, args job.Input) (Metadata, error) {
	_, s, err := job.OpenStructure(ctx, w, args)
	if err != nil {
		return Metadata{}, err
	}

	texts, differences := metadataOf(s)
	m := Metadata{
		Title: texts["/Title"], Author: texts["/Author"], Subject: texts["/Subject"], Keywords: texts["/Keywords"],
		Creator: texts["/Creator"], Producer: texts["/Producer"],
		CreatedAt: isoTime(texts["/CreationDate"]), ModifiedAt: isoTime(texts["/ModDate"]),
		Custom: map[string]string{}, Standards: []string{}, Differences: []string{},
	}

	names := map[string]string{"/CreationDate": "createdAt", "/ModDate": "modifiedAt"}
	for _, key := range differences {
		name := names[key]
		if name == "" {
			name = strings.ToLower(key[1:])
		}
		m.Differences = append(m.Differences, name)
	}

	for key, value := range s.Entry(s.Trailer("/Info")) {
		if text := pdffile.Text(s.Target(value)); text != "" && !slices.Contains(standardKeys(), key) {
			m.Custom[strings.ToValidUTF8(key[1:], "\uFFFD")] = text
		}
	}

	if xmp := readXMPOf(s); len(xmp) > 0 {
		text := string(xmp)
		m.XMP = &text
		for _, standard := range claimsOf(s) {
			m.Standards = append(m.Standards, string(standard))
		}
	}

	return m, nil
}

// metadataOf returns the values that the document information and XMP have in common, by their keys. A value of the
// information precedes that of XMP. Dates are in RFC 3339. differences are the keys of those that differ.
func metadataOf(s *job.Structure) (texts map[string]string, differences []string) {
	texts = map[string]string{}
	info := s.Entry(s.Trailer("/Info"))
	values, _ := archive.ReadXMP(readXMPOf(s))

	for _, p := range xmpProperties() {
		own := strings.TrimSpace(pdffile.Text(s.Target(info[p.key])))
		other := values[p.name.Space+p.name.Local]
		if slices.Contains(dateKeys, p.key) {
			own = formatTime(job.ParseDate(own))
			other = formatTime(isoTime(other))
		}

		if texts[p.key] = own; own == "" {
			texts[p.key] = other
		} else if other != "" && archive.CleanText(own) != archive.CleanText(other) {
			differences = append(differences, p.key)
		}
	}
	return texts, differences
}

// isoTime reads a time of XMP; nil means that it is none.
func isoTime(text string) *time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return &at
		}
	}
	return nil
}

func formatTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Format(time.RFC3339)
}

// Changes that writing metadata causes.
const (
	untitledChange   = "The result does not claim PDF/UA, which requires a title."
	unreadableChange = "The XMP metadata was not readable and is replaced. The result does not claim PDF/A or PDF/UA."
)

// SetMetadataJob writes the document information and XMP of a PDF.
var SetMetadataJob = job.Define("pdf.metadata.set", engine.ChangeTime, setMetadata)

// setMetadata writes the document information and XMP of a document with the same values.
func setMetadata(ctx context.Context, w *engine.Work, args MetadataArgs) (job.Changed, error) {
	doc, s, err := job.OpenStructure(ctx, w, args.Input)
	if err != nil {
		return job.Changed{}, err
	}

	changed := job.Changed{Changes: []string{}}
	texts, _ := metadataOf(s)
	info := newInfo(s, args, texts)
	changes := s.NewUpdate()
	changes.SetInfo(info)

	var added strings.Builder
	dropped := map[xml.Name]bool{}
	for _, p := range xmpProperties() {
		dropped[p.name] = true
		if texts[p.key] != "" {
			added.WriteString(p.text(texts[p.key]))
		}
	}

	if args.removes("/Keywords") || args.Set["/Keywords"] != "" {
		dropped[xml.Name{Space: archive.XMPDC, Local: "subject"}] = true // keywords as a list
	}

	old := readXMPOf(s)
	values, _ := archive.ReadXMP(old)
	if values[claimsUA.Space+claimsUA.Local] != "" && texts["/Title"] == "" {
		dropped[claimsUA] = true
		changed.Changes = append(changed.Changes, untitledChange)
	}

	all := args.RemoveAll
	drops := func(name xml.Name) bool { return dropped[name] || all && !stays(name) }
	packet, err := editXMP(old, drops, added.String())
	if err != nil || len(old) == 0 {
		if s.Catalog()["/Metadata"] != nil {
			changed.Changes = append(changed.Changes, unreadableChange)
		}
		if packet, err = editXMP([]byte(emptyXMP), func(xml.Name) bool { return false }, added.String()); err != nil {
			return job.Changed{}, err
		}
	}
	setXMP(s, changes, packet)
	if added.Len() == 0 && len(old) == 0 {
		setXMP(s, changes, nil)
	}

	if err := doc.Change(changes); err != nil {
		return job.Changed{}, err
	}
	return changed, doc.Write(ctx, job.QPDFJob{})
}

// stays reports whether a property of XMP describes the file rather than its origin: the claims of standards.
func stays(name xml.Name) bool {
	switch name.Space {
	case archive.XMPPDFA, archive.XMPUA, archive.XMPTerms, archive.XMPRDF:
		return true
	}
	return false
}

func (a MetadataArgs) removes(key string) bool { return a.RemoveAll || slices.Contains(a.Remove, key) }

// newInfo returns the information after the change, and changes texts to its values.
func newInfo(s *job.Structure, args MetadataArgs, texts map[string]string) pdffile.Dict {
	info := pdffile.Dict{}
	old := s.Entry(s.Trailer("/Info"))
	for key, value := range old {
		if value = s.Target(value); value != nil && (!args.removes(key) || key == "/Trapped") {
			if _, isDict := value.(pdffile.Dict); !isDict {
				info[key] = value
			}
		}
	}

	set := map[string]string{}
	for key, text := range texts { // those that only XMP has are in the information as well
		if args.removes(key) {
			delete(texts, key)
		} else if info[key] == nil && text != "" {
			set[key] = text
		}
	}

	for key, text := range args.Set {
		set[key] = archive.CleanText(text)
		if slices.ContainsFunc(xmpProperties(), func(p xmpProperty) bool { return p.key == key }) {
			texts[key] = set[key]
		}
	}

	for key, text := range set {
		if at := isoTime(text); slices.Contains(dateKeys, key) && at != nil {
			text = archive.PDFDate(*at)
		}
		info[key] = "u:" + text
	}

	return info
}
