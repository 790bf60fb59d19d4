// Package views renders the pages: templ components and the typed models that they show. It knows no database, no
// request and no session; handlers fill the models.
//
// A component corresponds to one class group of static/src/app.css. The content of a page is in its model, including
// words that depend on a state; constant text is in its template.
package views

//go:generate go tool templ generate -path .
