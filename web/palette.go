package web

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

// maxFound is the maximum number of results of each kind in the palette.
const maxFound = 5

// paletteEntry is somewhere that the palette leads to.
type paletteEntry struct {
	Group string `json:"group"`
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	Words string `json:"words,omitempty"` // other words for it
	URL   string `json:"url"`
}

// searchPalette responds with the places of the palette. Without a text these are the pages and the documentation, in which the
// browser searches. With a text they are the account's templates, documents and keys that match it.
func (w *Web) searchPalette(v *pageRequest) error {
	list := w.paletteEntries(v)
	if text := v.value("q"); text != "" {
		var err error
		if list, err = w.findOwn(v, text); err != nil {
			return err
		}
	}

	v.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(list)
}

// pageWords are other words for pages.
var pageWords = map[string]string{requestsPath: "log, request log, errors, 401"}

// paletteEntries are the pages that the user may open, the guides and the operations.
func (w *Web) paletteEntries(v *pageRequest) []paletteEntry {
	var list []paletteEntry
	person := views.Person{Role: v.member.Role, Operator: v.person.Operator, Manages: v.may(developerRole)}
	for _, page := range person.Pages() {
		list = append(list, paletteEntry{
			Group: "Pages",
			Title: page.Text,
			Note:  page.Note,
			Words: pageWords[page.Value],
			URL:   page.Value,
		})
	}

	for _, g := range w.docs.Guides {
		if g.Internal && !person.Operator {
			continue
		}
		list = append(list, paletteEntry{
			Group: "Guides",
			Title: g.Title,
			Note:  g.Group,
			Words: searchWords[g.Slug],
			URL:   docsPath + "/" + g.Slug,
		})
	}

	for _, o := range w.docs.Operations() {
		list = append(list, paletteEntry{
			Group: "API reference",
			Title: o.Summary,
			Note:  o.Method + " " + o.Path,
			Words: searchWords[o.ID],
			URL:   operationPath(o.ID),
		})
	}

	return list
}

// findOwn returns what the account has, at most maxFound of each kind. It costs the same for every account: documents
// are found by a whole ID, or by a name among the latest files.
func (w *Web) findOwn(v *pageRequest, text string) ([]paletteEntry, error) {
	list := []paletteEntry{}
	templates, err := w.store.Templates(v.ctx(), store.TemplateFilter{
		AccountID:      v.account.ID,
		Search:         text,
		WithoutContent: true,
		List:           store.List{Limit: maxFound},
	})
	if err != nil {
		return nil, err
	}
	for _, t := range templates.Items {
		list = append(list, paletteEntry{Group: "Templates", Title: t.Name, Note: t.Slug, URL: pageOf(t.ID, "")})
	}

	documents, err := w.findDocuments(v, text)
	if err != nil {
		return nil, err
	}
	keys, err := w.store.Keys(v.ctx(), v.account.ID)
	if err != nil {
		return nil, err
	}
	list = append(list, documents[:min(len(documents), maxFound)]...)

	found := 0
	for _, k := range slices.Backward(keys) {
		if found < maxFound && !k.Grant && contains(keyName(k)+" "+k.Prefix, text) {
			link := keyLink(k)
			list = append(list, paletteEntry{Group: "Keys", Title: link.Text, Note: k.Prefix + "…", URL: link.URL})
			found++
		}
	}

	return list, nil
}

func (w *Web) findDocuments(v *pageRequest, text string) (list []paletteEntry, err error) {
	if slices.ContainsFunc([]string{"call", "file", "req"}, func(kind string) bool { return store.IsID(kind, text) }) {
		calls, err := w.store.Calls(v.ctx(), store.CallFilter{
			AccountID: v.account.ID,
			Text:      text,
			List:      store.List{Limit: maxFound},
		})
		if err != nil {
			return nil, err
		}

		for _, c := range calls.Items {
			list = append(list, documentPlace(c.ID, c.Operation, c.CreatedAt))
		}
		return list, nil
	}

	files, err := w.store.Files(v.ctx(), store.FileFilter{
		AccountID: v.account.ID,
		List:      store.List{Limit: store.MaxList},
	})

	for _, f := range files.Items {
		if f.CallID != "" && contains(f.Filename, text) {
			list = append(list, documentPlace(f.CallID, f.Filename, f.CreatedAt))
		}
	}
	return list, err
}

func documentPlace(id, title string, at time.Time) paletteEntry {
	return paletteEntry{
		Group: "Documents",
		Title: title,
		Note:  at.UTC().Format("Jan 2, 15:04 UTC"),
		URL:   documentsPath + "/" + id,
	}
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
