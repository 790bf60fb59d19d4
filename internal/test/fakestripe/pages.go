package fakestripe

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"net/http"
)

// shown is the content of a page.
type shown struct {
	Style, Title, Text string
	Choices            []choice
	Back               string
}

// choice is a button.
type choice struct {
	Value, Text string
	First       bool
}

var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · test payments</title>
<link rel="stylesheet" href="{{.Style}}">
</head>
<body class="alone">
<main id="main">
<div class="sheet crop stack">
<div class="banner" data-is="warn" role="status"><p><b>Test payments.</b> This page stands in for Stripe’s on a development server. No money moves, and no card is asked for.</p></div>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{if .Choices}}<form class="stack" method="post">
{{range .Choices}}<button class="btn block{{if .First}} primary{{end}}" type="submit" name="do" value="{{.Value}}">{{.Text}}</button>
{{end}}</form>{{end}}
{{if .Back}}<p class="sm"><a href="{{.Back}}">Back to the wallet</a></p>{{end}}
</div>
</main>
</body>
</html>
`))

// pages are the web pages.
type pages struct{ *Server }

// Pages serves the pages that Stripe would show, below prefix.
func (s *Server) Pages(prefix string) http.Handler {
	mux := http.NewServeMux()
	p := pages{s}
	mux.HandleFunc("GET "+prefix+"/pay/{id}", p.showPay)
	mux.HandleFunc("POST "+prefix+"/pay/{id}", p.doPay)
	mux.HandleFunc("GET "+prefix+"/card/{id}", p.showCard)
	mux.HandleFunc("POST "+prefix+"/card/{id}", p.doCard)
	mux.HandleFunc("GET "+prefix+"/confirm/{id}", p.showConfirm)
	mux.HandleFunc("POST "+prefix+"/confirm/{id}", p.doConfirm)
	mux.HandleFunc("GET "+prefix+"/receipt/{id}", p.showReceipt)
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	}))
}

func (s pages) show(w http.ResponseWriter, p shown) {
	p.Style = s.cfg.StyleURL
	var out bytes.Buffer
	if err := page.Execute(&out, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes())
}

// object returns a copy of an object, or answers that there is none.
func (s pages) object(w http.ResponseWriter, r *http.Request) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := maps.Clone(s.objects[r.PathValue("id")])
	if o == nil {
		w.WriteHeader(http.StatusNotFound)
		s.show(w, shown{Title: "No such test payment", Text: "Test payments are forgotten when the server stops."})
	}
	return o
}

func dollars(cents int64) string { return fmt.Sprintf("$%d.%02d", cents/100, cents%100) }

func (s pages) showPay(w http.ResponseWriter, r *http.Request) {
	o := s.object(w, r)
	switch {
	case o == nil:
	case text(o, "status") != "open":
		s.show(w, shown{Title: "This page was used", Text: "A page of Stripe’s is paid once.", Back: text(o, "success_url")})
	default:
		s.show(w, shown{
			Title: "Pay " + dollars(whole(o, "amount_total")), Text: "Choose what becomes of the payment.", Back: text(o, "cancel_url"),
			Choices: []choice{{"pay", "Pay with the test card 4242", true}, {"decline", "Pay with a card that is declined", false}, {"action", "Pay with a card whose bank asks each time", false}},
		})
	}
}

func (s pages) doPay(w http.ResponseWriter, r *http.Request) {
	o := s.object(w, r)
	if o == nil {
		return
	}
	method := map[string]string{"decline": CardDeclined, "action": CardAction}[r.FormValue("do")]
	if method == "" {
		method = CardWorks
	}
	if !s.Pay(text(o, "id"), method) {
		s.show(w, shown{Title: "The card was declined", Text: "Nothing was paid. Another card can be tried on the same page.", Choices: []choice{{"pay", "Pay with the test card 4242", true}}, Back: text(o, "cancel_url")})
		return
	}
	http.Redirect(w, r, text(o, "success_url"), http.StatusSeeOther)
}

func (s pages) showCard(w http.ResponseWriter, r *http.Request) {
	if o := s.object(w, r); o != nil {
		s.show(w, shown{Title: "Change card", Text: "Stripe’s page for customers shows receipts too; here are the test cards.", Back: text(o, "return_url"), Choices: []choice{
			{CardWorks, "The test card 4242", true}, {CardDeclined, "A card that is declined", false}, {CardAction, "A card whose bank asks each time", false},
		}})
	}
}

func (s pages) doCard(w http.ResponseWriter, r *http.Request) {
	o := s.object(w, r)
	if o == nil {
		return
	}
	switch method := r.FormValue("do"); method {
	case CardWorks, CardDeclined, CardAction:
		s.SetCard(text(o, "customer"), method)
	}
	http.Redirect(w, r, text(o, "return_url"), http.StatusSeeOther)
}

func (s pages) showConfirm(w http.ResponseWriter, r *http.Request) {
	if o := s.object(w, r); o != nil {
		s.show(w, shown{Title: "Confirm a payment of " + dollars(whole(o, "amount")), Text: "This stands for the page of the card’s bank.", Choices: []choice{
			{"yes", "Confirm", true}, {"no", "Refuse", false},
		}})
	}
}

func (s pages) doConfirm(w http.ResponseWriter, r *http.Request) {
	o := s.object(w, r)
	if o == nil {
		return
	}
	next, _ := o["next_action"].(Object)
	target, _ := next["redirect_to_url"].(Object)
	s.Confirm(text(o, "id"), r.FormValue("do") == "yes")
	if target == nil {
		s.show(w, shown{Title: "This payment waits for nothing", Text: "It was confirmed, refused or cancelled before."})
		return
	}
	http.Redirect(w, r, text(target, "return_url"), http.StatusSeeOther)
}

func (s pages) showReceipt(w http.ResponseWriter, r *http.Request) {
	if o := s.object(w, r); o != nil {
		words := "Paid: " + dollars(whole(o, "amount")) + "."
		if back := whole(o, "amount_refunded"); back > 0 {
			words += " Given back: " + dollars(back) + "."
		}
		s.show(w, shown{Title: "Test receipt", Text: words})
	}
}
