package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/email"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// EmailFiles selects what is done with the attachments of an email.
type EmailFiles string

const (
	// EmbedFiles attaches them to the PDF.
	EmbedFiles EmailFiles = "embed"
	// AppendFiles appends attachments as pages where this is possible, and embeds the others.
	AppendFiles EmailFiles = "append"
	// IgnoreFiles leaves them out. The first page lists their names.
	IgnoreFiles EmailFiles = "ignore"
)

// Email holds the settings for making a PDF of an email. Lengths are in inches.
type Email struct {
	Width, Height float64
	Files         EmailFiles
}

// The codes of an email's warnings.
const (
	// emailUnread means that a part of the email could not be read.
	emailUnread = "content_unread"
	// emailEmbedded means that an attachment was not appended as pages.
	emailEmbedded = "attachment_embedded"
)

const (
	// maxAppended is the maximum number of attachments that become pages.
	maxAppended = 30
	// emailDepth is the maximum nesting depth of emails that become pages.
	emailDepth = 3
)

// PrintEmail makes a PDF of an email without using the network. Remote content is left out and reported as
// warnings. A file that is not an email returns a *job.Error of the kind job.NotEmail.
func (e *Account) PrintEmail(ctx context.Context, content engine.Content, how Email) (chrome.PrintedPDF, error) {
	p := emailPrint{Account: e, how: how, left: maxAppended}
	doc, err := p.message(ctx, content, 0)
	doc.Warnings = doc.Warnings[:min(len(doc.Warnings), chrome.MaxWarnings)]
	return doc, err
}

// emailPrint is the state of printing one email with its nested emails.
type emailPrint struct {
	*Account
	how  Email
	left int // number of attachments that may still become pages
}

// message makes a PDF of an email at a nesting depth.
func (p *emailPrint) message(ctx context.Context, content engine.Content, depth int) (_ chrome.PrintedPDF, err error) {
	const name = "message.eml"
	made, err := p.runEngine(
		ctx, engine.Job{Name: email.Job, Args: name, Files: []engine.File{{Name: name, Content: content}}},
	)
	var refused *email.Error
	if errors.As(email.FromJob(err), &refused) {
		return chrome.PrintedPDF{}, &job.Error{Kind: job.NotEmail, Text: refused.Text}
	}
	if err != nil {
		return chrome.PrintedPDF{}, err
	}
	defer func() { err = errors.Join(err, made.Close()) }()

	var about email.Result
	if err := json.Unmarshal(made.Body, &about); err != nil {
		return chrome.PrintedPDF{}, fmt.Errorf("%s: %w", email.Job, err)
	}

	page, err := io.ReadAll(made.Output(0).Open())
	if err != nil {
		return chrome.PrintedPDF{}, fmt.Errorf("%s: %w", email.Job, err)
	}

	doc, err := p.PDF(ctx, Source{HTML: string(page)}, PageSettings{Offline: true}, PDF{
		Width: p.how.Width, Height: p.how.Height, PrintBackground: true, Metadata: pdffile.Info{Author: about.From},
	})
	if err != nil {
		return chrome.PrintedPDF{}, err
	}

	doc.Warnings = append(emailWarnings(about), doc.Warnings...)
	if p.how.Files == IgnoreFiles || len(about.Files) == 0 {
		return doc, nil
	}

	var files []NewAttachment
	for i, f := range about.Files {
		files = append(files, NewAttachment{Filename: f.Name, ContentType: f.Type, Content: made.Output(i + 1)})
	}

	if p.how.Files == AppendFiles {
		if files, err = p.appendTo(ctx, &doc, files, depth); err != nil {
			return chrome.PrintedPDF{}, errors.Join(err, doc.Body.Close())
		}
	}
	if len(files) == 0 {
		return doc, nil
	}

	whole, err := p.AddAttachments(ctx, PDFFile{Content: doc.Body}, files)
	err = errors.Join(err, doc.Body.Close())
	doc.Body = whole
	return doc, err
}

// emailWarnings returns warnings for content that the PDF does not show.
func emailWarnings(about email.Result) (told []chrome.Warning) {
	if count := len(about.Remote); count > 0 {
		told = append(told, chrome.Warning{Code: chrome.ResourceFailed, URL: about.Remote[0], Message: fmt.Sprintf(
			"one of %d remote images and style sheets that were not loaded, because loading them tells the sender that the email was read",
			count,
		)}.Bounded())
	}
	for _, note := range about.Notes {
		told = append(told, chrome.Warning{Code: emailUnread, Message: note})
	}
	return told
}

// appendTo appends attachments as pages to a document. It returns the attachments that have no pages, with the
// reasons as warnings.
func (p *emailPrint) appendTo(
	ctx context.Context, doc *chrome.PrintedPDF, files []NewAttachment, depth int,
) (rest []NewAttachment, err error) {
	parts := []MergeInput{{PDFFile: PDFFile{Content: doc.Body}}}
	var made []*spool.File
	defer func() {
		for _, file := range made {
			err = errors.Join(err, file.Close())
		}
	}()
	for _, f := range files {
		pages, warnings, err := p.pagesOf(ctx, f, depth)
		switch {
		case err == nil:
			made = append(made, pages)
			parts = append(parts, MergeInput{PDFFile: PDFFile{Content: pages}, Title: f.Filename})
			doc.Warnings = append(doc.Warnings, warnings...)
		case ctx.Err() != nil || errors.Is(err, chrome.ErrBusy) || errors.Is(err, chrome.ErrClosed):
			return nil, err
		default:
			rest = append(rest, f)
			doc.Warnings = append(
				doc.Warnings,
				chrome.Warning{
					Code: emailEmbedded,
					Message: fmt.Sprintf(
						"%.100q was not converted to pages and is attached to the PDF as a file: %s",
						f.Filename, whyNot(err),
					),
				},
			)
		}
	}

	if len(made) == 0 {
		return rest, nil
	}

	whole, _, err := p.MergePDFs(ctx, parts)
	if err != nil {
		return nil, err
	}

	err = doc.Body.Close()
	doc.Body = whole
	return rest, err
}

// noPagesError is the reason why an attachment does not become pages.
type noPagesError struct{ text string }

func (e *noPagesError) Error() string { return e.text }

// whyNot returns a short reason why an attachment did not become pages.
func whyNot(err error) string {
	var none *noPagesError
	var failed *job.Error
	var limit *chrome.LimitError
	switch {
	case errors.As(err, &none):
		return none.text
	case errors.As(err, &failed) && failed.Kind == job.PasswordRequired:
		return "it requires a password"
	case errors.Is(err, office.ErrUnavailable):
		return "office conversion is unavailable"
	case errors.As(err, &limit):
		return "it has too many pages"
	}
	return "it is damaged or has an unsupported format"
}

// pagesOf makes pages of an attachment.
func (p *emailPrint) pagesOf(ctx context.Context, f NewAttachment, depth int) (*spool.File, []chrome.Warning, error) {
	if p.left--; p.left < 0 {
		return nil, nil, &noPagesError{fmt.Sprintf("the limit is %d converted files", maxAppended)}
	}

	if f.ContentType == "message/rfc822" || strings.EqualFold(path.Ext(f.Filename), ".eml") {
		if depth+1 >= emailDepth {
			return nil, nil, &noPagesError{"it is nested too deeply in other emails"}
		}
		doc, err := p.message(ctx, f.Content, depth+1)
		return doc.Body, doc.Warnings, err
	}

	source, err := office.Sniff(f.Content.Open(), f.Filename)
	switch {
	case err != nil:
		return nil, nil, &noPagesError{"its format has no pages"}
	case source.Kind == office.KindPDF:
		// Decrypted if it is encrypted, and repaired if it is damaged.
		pages, err := p.plainPDF(ctx, PDFFile{Content: f.Content})
		return pages, nil, err
	case source.Kind == office.KindWeb:
		return nil, nil, &noPagesError{"it could load images from other servers"}
	case source.Format == office.FormatText && !strings.EqualFold(path.Ext(f.Filename), ".txt"):
		return nil, nil, &noPagesError{"its format has no pages"}
	}

	converted, err := p.Convert(ctx, Conversion{Content: f.Content, Name: f.Filename, To: office.ToPDF})
	return converted.Body, nil, err
}
