package render

import (
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pagerange"
)

// ReasonText returns the text of chrome.LoadError.Reason for users, without Chromium's error names.
func ReasonText(reason string) string { return chrome.ReasonText(reason) }

// CheckPageRanges returns an error if page ranges are invalid. Its text continues a sentence that begins with the
// field's name. Printing finds out whether the pages exist.
func CheckPageRanges(ranges string) error {
	_, err := pagerange.Parse(ranges)
	return err
}
