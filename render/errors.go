package render

import (
	"relaypdf/render/chrome"
	"relaypdf/render/pagerange"
)

// ReasonText words chrome.LoadError.Reason for the customer, who never reads Chromium's names.
func ReasonText(reason string) string { return chrome.ReasonText(reason) }

// CheckPageRanges says what is wrong with page ranges, in words that go on from
// the name of the field that holds them. Whether the pages exist is found out
// by printing.
func CheckPageRanges(ranges string) error {
	_, err := pagerange.Parse(ranges)
	return err
}
