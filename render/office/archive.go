package office

import (
	"bytes"
	"os"
	"regexp"
	"time"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// xmpDate finds the dates in the XMP of a PDF that LibreOffice wrote.
var xmpDate = regexp.MustCompile(`[ \t]*<xmp:(CreateDate|ModifyDate|MetadataDate)>[^<]*</xmp:\w+>\n?`)

// agreeOnDates makes the XMP of a PDF/A have the dates of its information, as the standard demands. LibreOffice 25.2
// writes dates of the document, or a year 0000.
func agreeOnDates(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := pdffile.Read(content)
	if err != nil {
		return err
	}

	metadata := pdffile.Reference(file.Catalog()["/Metadata"])
	stream, ok := file.Stream(metadata)
	if !ok || stream.Entries["/Filter"] != nil {
		return nil
	}

	dates := map[string]string{}
	info := file.Entry(file.Trailer("/Info"))
	for key, name := range map[string]string{"/CreationDate": "CreateDate", "/ModDate": "ModifyDate"} {
		text := pdffile.Text(file.Target(info[key]))
		if at, err := time.Parse("D:20060102150405", text[:min(len("D:20060102150405"), len(text))]); err == nil {
			dates[name] = at.Format("2006-01-02T15:04:05Z")
		}
	}

	agreed := xmpDate.ReplaceAllFunc(stream.Content, func(element []byte) []byte {
		name := string(xmpDate.FindSubmatch(element)[1])
		if dates[name] == "" {
			return nil
		}
		return []byte("   <xmp:" + name + ">" + dates[name] + "</xmp:" + name + ">\n")
	})
	if bytes.Equal(agreed, stream.Content) {
		return nil
	}

	update := file.NewUpdate()
	update.Set(metadata, pdffile.Stream{Entries: stream.Entries, Content: agreed})
	added, err := update.Append()
	if err != nil {
		return err
	}
	return appendTo(path, added)
}
