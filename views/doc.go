// Package views draws the pages: templ components and the typed models that
// they show. It knows no database, no request and no session; whoever has
// those fills a model.
//
// A component stands for one class group of static/src/app.css. What a page
// shows is in its model, words included where they depend on a state; what
// never changes is in its template.
package views

//go:generate go tool templ generate -path .
