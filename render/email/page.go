package email

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed page.html
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// pageModel holds the values of the page.
type pageModel struct {
	*Message

	Rows        []pageRow
	Attachments []pageFile
	Body        template.HTML
}

type pageRow struct {
	Name   string
	People mailboxes
}

type pageFile struct{ Name, Size string }

// Page makes an HTML document of the message. HTML parts are in a shadow tree of their own
// and in a box that they cannot leave, so neither their styles nor their overlays reach the
// message's header. remote are the URLs of images that are left out.
func (m *Message) Page() (page string, remote []string, err error) {
	c := &cleaner{message: m, budget: maxPictures, seen: map[string]bool{}}
	var body strings.Builder

	for _, b := range m.body {
		switch b.kind {
		case plainBlock:
			body.WriteString(plainHTML(b.text, b.flow))
		case noteBlock:
			body.WriteString(`<p class="note">` + template.HTMLEscapeString(b.text) + `</p>`)
		case htmlBlock:
			body.WriteString(c.tree(b.text))
		case pictureBlock:
			body.WriteString(c.show(b.file))
		}
	}

	model := pageModel{Message: m, Body: template.HTML(body.String())} //nolint:gosec // cleaned, or escaped
	for _, row := range []pageRow{
		{"From", m.From}, {"Reply to", m.ReplyTo}, {"To", m.To}, {"Cc", m.CC}, {"Bcc", m.BCC},
	} {
		if len(row.People) > 0 && (row.Name != "Reply to" || m.ReplyTo.String() != m.From.String()) {
			model.Rows = append(model.Rows, row)
		}
	}

	for _, f := range m.attached() {
		model.Attachments = append(model.Attachments, pageFile{f.Name, size(len(f.Content))})
	}

	var out strings.Builder
	err = pageTemplate.Execute(&out, model)
	return out.String(), c.remote, err
}

// tree returns HTML in a separate tree.
func (c *cleaner) tree(source string) string {
	cleaned, err := c.clean(source)
	if err != nil {
		c.message.note("The HTML of the message could not be rendered; only its text is shown.")
		return plainHTML(wordsOf(source), flow{})
	}
	return `<div class="box"><div><template shadowrootmode="open"><style>:host{display:block}` +
		`img{max-width:100%;object-fit:contain}table{max-width:100%}pre{white-space:pre-wrap}</style>` +
		cleaned + `</template></div></div>`
}

// show returns the HTML of an image that the text does not refer to, for the end of the
// text.
func (c *cleaner) show(f *file) string {
	if f.shown || !c.afford(len(f.Content)) {
		return ""
	}
	data := base64.StdEncoding.EncodeToString(f.Content)
	return `<img class="picture" alt="` + template.HTMLEscapeString(f.Name) +
		`" src="data:` + f.Type + ";base64," + data + `">`
}

// attached returns the files that no text shows inline. Call it after Page, which determines them.
func (m *Message) attached() []*file {
	return slices.DeleteFunc(slices.Clone(m.Files), func(f *file) bool { return f.shown })
}

func size(bytes int) string {
	const kilo = 1000
	switch {
	case bytes < kilo:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < kilo*kilo:
		return fmt.Sprintf("%.0f kB", float64(bytes)/kilo)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/kilo/kilo)
}
