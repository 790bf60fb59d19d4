package docs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/relaypdf/relaypdf"
	"github.com/relaypdf/relaypdf/views"
)

// releaseHeading is the heading of a release in the changelog: its version and its day, or "Unreleased".
var releaseHeading = regexp.MustCompile(`(?m)^## (\S+)(?: – (\d{4}-\d\d-\d\d))?\n`)

// changelog reads the changelog. It renders each release with anchors of its own.
func changelog() (views.Changelog, error) {
	head := releaseHeading.FindAllStringSubmatchIndex(relaypdf.Changelog, -1)
	if head == nil {
		return views.Changelog{}, fmt.Errorf("docs: the changelog has no release")
	}
	guide, err := parse("changelog", relaypdf.Changelog[:head[0][0]])
	if err != nil {
		return views.Changelog{}, fmt.Errorf("docs: changelog: %w", err)
	}

	c := views.Changelog{Title: guide.Title, Description: guide.Description}
	for i, at := range head {
		end := len(relaypdf.Changelog)
		if i+1 < len(head) {
			end = head[i+1][0]
		}

		r := views.Release{Version: relaypdf.Changelog[at[2]:at[3]]}
		if at[4] >= 0 {
			r.Day = relaypdf.Changelog[at[4]:at[5]]
		}
		r.ID = strings.ToLower(r.Version)
		if r.Day != "" {
			r.ID = "v" + r.ID
		}

		page, err := render("changelog", r.Version, "", []byte(relaypdf.Changelog[at[1]:end]))
		if err != nil {
			return views.Changelog{}, err
		}
		r.HTML = strings.ReplaceAll(page.HTML, `<h3 id="`, `<h3 id="`+r.ID+"-")
		c.Releases = append(c.Releases, r)
	}

	return c, nil
}
