package web

// PageLine is one page as the tests list it.
type PageLine struct{ Method, Pattern, Need string }

// Pages lists the pages, with the endpoints of the authorization server. Clients call these without a session, and
// read JSON.
func (w *Web) Pages() []PageLine {
	var lines []PageLine
	for _, p := range w.pages() {
		lines = append(lines, PageLine{p.method, p.pattern, string(p.need)})
	}
	for _, route := range w.oauth.Routes() {
		lines = append(lines, PageLine{route.Method, route.Path, "clients"})
	}
	return lines
}
