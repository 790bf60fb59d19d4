package web

import (
	"encoding/xml"
	"net/http"

	"github.com/relaypdf/relaypdf/views"
)

const (
	changelogPath        = "/changelog"
	feedPath             = changelogPath + ".atom"
	changelogTitle       = "Changelog"
	changelogDescription = "Changes of each release of relaypdf, for users and operators."
)

func (w *Web) showChangelog(v *pageRequest) error {
	c, err := w.docs.Changelog()
	if err != nil {
		return err
	}
	p := w.publicPage(changelogTitle, changelogDescription, docsPath, changelogPath)
	p.Public.Feed = feedPath
	return v.show(http.StatusOK, views.ChangelogPage(p, w.contents(changelogPath), c))
}

// feed is an Atom feed (RFC 4287).
type feed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Title   string      `xml:"title"`
	ID      string      `xml:"id"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []feedLink  `xml:"link"`
	Entries []feedEntry `xml:"entry"`
}

type feedLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type feedEntry struct {
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Link    feedLink `xml:"link"`
	Content struct {
		Type string `xml:"type,attr"`
		HTML string `xml:",chardata"`
	} `xml:"content"`
}

// showFeed sends the releases, without unreleased changes.
func (w *Web) showFeed(v *pageRequest) error {
	c, err := w.docs.Changelog()
	if err != nil {
		return err
	}

	page := w.cfg.BaseURL + changelogPath
	f := feed{
		Title:  "relaypdf " + changelogTitle,
		ID:     page,
		Author: "relaypdf",
		Links:  []feedLink{{"alternate", page}, {"self", w.cfg.BaseURL + feedPath}},
	}
	for _, r := range c.Releases {
		if r.Day == "" {
			continue
		}
		e := feedEntry{
			Title:   "relaypdf " + r.Version,
			ID:      page + "#" + r.ID,
			Updated: r.Day + "T00:00:00Z",
			Link:    feedLink{"alternate", page + "#" + r.ID},
		}
		e.Content.Type = "html"
		e.Content.HTML = r.HTML
		f.Entries = append(f.Entries, e)
		f.Updated = max(f.Updated, e.Updated)
	}

	text, err := xml.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return v.text("application/atom+xml; charset=utf-8", xml.Header+string(text)+"\n")
}
