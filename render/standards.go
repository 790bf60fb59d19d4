package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"relaypdf/render/chrome"
	"relaypdf/render/engine"
	"relaypdf/render/pdf"
	"relaypdf/render/pdftag"
)

// StandardUnmet is the code of the warning that a document does not conform to a standard, or that a part of it was
// left out of its structure.
const StandardUnmet = "standard_unmet"

// StandardError means that a document has faults because of which it cannot claim all standards of PDF.Standards.
type StandardError struct{ Faults []chrome.Warning }

func (e *StandardError) Error() string { return "render: " + e.Faults[0].Message }

// conform makes a tagged document conform to the standards of the settings. Named means that the source names its
// language: for others Chromium writes its own.
func (a *Account) conform(ctx context.Context, doc chrome.Document, opt PDF, named bool) (_ chrome.Document, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, doc.Body.Close())
		}
	}()
	files, input := PDFFile{Content: doc.Body}.input()
	args := pdf.StandardsArgs{Input: input, Options: pdftag.Options{Standards: opt.Standards, NoLanguage: !named}}
	for _, u := range doc.Untagged {
		args.Options.Untagged = append(args.Options.Untagged, pdftag.Untagged(u))
	}
	result, err := a.runTool(ctx, engine.Job{Name: pdf.StandardsJob, Args: args, Files: files})
	if err != nil {
		return chrome.Document{}, err
	}
	var about pdf.Standards
	if err := json.Unmarshal(result.Body, &about); err != nil {
		return chrome.Document{}, errors.Join(fmt.Errorf("standards: %w", err), result.Close())
	}
	faults := standardFaults(about.Faults)
	if opt.StandardsStrict && len(about.Claimed) < len(opt.Standards) {
		return chrome.Document{}, errors.Join(&StandardError{Faults: faults}, result.Close())
	}
	before := doc.Body
	doc.Body = result.Output(0)
	doc.Warnings = append(doc.Warnings, faults...)
	return doc, before.Close()
}

// standardFaults returns the faults as warnings, those that break a standard first.
func standardFaults(faults []pdftag.Fault) []chrome.Warning {
	var broken, other []chrome.Warning
	for _, f := range faults {
		w := chrome.Warning{Code: StandardUnmet, Message: standardText(f)}.Bounded()
		if len(f.Breaks) > 0 {
			broken = append(broken, w)
		} else {
			other = append(other, w)
		}
	}
	all := slices.Concat(broken, other)
	return all[:min(len(all), chrome.MaxWarnings)]
}

// standardText describes a fault: its page and element, what is wrong, and which standards it breaks.
func standardText(f pdftag.Fault) string {
	var where []string
	if f.Page > 0 {
		where = append(where, fmt.Sprintf("page %d", f.Page))
	}
	if f.Element != "" {
		where = append(where, f.Element)
	}
	text := f.Text
	if len(where) > 0 {
		text = strings.Join(where, ", ") + ": " + text
	}
	if len(f.Breaks) > 0 {
		names := make([]string, len(f.Breaks))
		for i, s := range f.Breaks {
			names[i] = string(s)
		}
		text += " The file cannot claim " + strings.Join(names, ", ") + "."
	}
	return text
}
