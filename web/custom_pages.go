package web

import (
	"net/http"

	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

// customPages are the pages that the operator has written.
func (w *Web) customPages() []pageRoute {
	var list []pageRoute
	for _, own := range w.cfg.CustomPages {
		list = append(list, pageRoute{"GET", own.Path, sameForAll, func(v *pageRequest) error {
			p := w.publicPage(own.Title, customPageDescription(own), "", own.Path)
			return v.show(http.StatusOK, views.CustomPage(p, own.Title, own.HTML))
		}})
	}
	return list
}

// customPageDescription describes a page for search engines.
func customPageDescription(own docs.CustomPage) string {
	return own.Name + " of the operator of this service."
}

// customLinks are the links to these pages.
func (w *Web) customLinks() []views.Link {
	var list []views.Link
	for _, own := range w.cfg.CustomPages {
		list = append(list, views.Link{URL: own.Path, Text: own.Name})
	}
	return list
}
