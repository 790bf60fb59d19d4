package fakestripe

import (
	"cmp"
	"net/http"
)

func (s api) newCustomer(r *http.Request) (Object, error) {
	return s.add("cus", "customer", Object{
		"email": r.Form.Get("email"), "name": r.Form.Get("name"), "metadata": fields(r.Form, "metadata"), "invoice_settings": Object{"default_payment_method": nil},
	}), nil
}

// buyer returns a customer. One of before a restart is known again.
func (s *Server) buyer(id string) Object {
	if s.objects[id] == nil {
		s.objects[id] = Object{"id": id, "object": "customer", "livemode": false, "invoice_settings": Object{"default_payment_method": nil}}
	}
	return s.objects[id]
}

func (s api) getCustomer(r *http.Request) (Object, error) { return s.buyer(r.PathValue("id")), nil }

func (s api) listMethods(r *http.Request) (Object, error) {
	data := []Object{}
	if saved, ok := s.buyer(r.PathValue("id"))["saved"].(Object); ok {
		data = append(data, saved)
	}
	return Object{"object": "list", "has_more": false, "url": r.URL.Path, "data": data}, nil
}

// method returns a saved method.
func (s *Server) method(id string) Object {
	last4 := map[string]string{CardDeclined: "0002", CardAction: "3184"}[id]
	return Object{
		"id": id, "object": "payment_method", "type": "card", "livemode": false,
		"card": Object{"brand": "visa", "last4": cmp.Or(last4, "4242"), "exp_month": 11, "exp_year": s.cfg.Now().Year() + 2},
	}
}

// SetCard makes a method the one that a customer has chosen.
func (s *Server) SetCard(customer, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buyer(customer)["saved"] = s.method(method)
	s.buyer(customer)["invoice_settings"] = Object{"default_payment_method": s.method(method)}
}

func (s api) newSession(r *http.Request) (Object, error) {
	amount := number(r.Form, "line_items[0][price_data][unit_amount]") * number(r.Form, "line_items[0][quantity]")
	if amount < 50 || r.Form.Get("line_items[0][price_data][currency]") != "usd" || r.Form.Get("mode") != "payment" || r.Form.Get("success_url") == "" {
		return nil, invalid("The page needs a mode, a line of at least 50 cents in usd, and a success_url.")
	}
	o := s.add("cs_test", "checkout.session", Object{
		"amount_total": amount, "currency": "usd", "mode": "payment", "status": "open", "payment_status": "unpaid", "payment_intent": nil,
		"customer": r.Form.Get("customer"), "client_reference_id": r.Form.Get("client_reference_id"), "metadata": fields(r.Form, "metadata"),
		"adaptive_pricing": r.Form.Get("adaptive_pricing[enabled]"), "success_url": r.Form.Get("success_url"), "cancel_url": r.Form.Get("cancel_url"),
		"intent_metadata": fields(r.Form, "payment_intent_data[metadata]"), "setup_future_usage": r.Form.Get("payment_intent_data[setup_future_usage]"),
	})
	o["url"] = s.cfg.PageURL + "/pay/" + text(o, "id")
	return o, nil
}

func (s api) newPortal(r *http.Request) (Object, error) {
	o := s.add("bps", "billing_portal.session", Object{"customer": r.Form.Get("customer"), "return_url": r.Form.Get("return_url")})
	o["url"] = s.cfg.PageURL + "/card/" + text(o, "id")
	return o, nil
}

// Pay acts as a customer on a page, with a card that is saved if requested. It reports whether the payment succeeded.
func (s *Server) Pay(session, method string) bool {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[session]
	if o == nil || text(o, "status") != "open" {
		return false
	}
	intent := s.inside(o, "payment_intent")
	if intent == nil {
		if s.BuyersCurrency != "" && o["adaptive_pricing"] != "false" {
			o["currency"] = s.BuyersCurrency
		}
		intent = s.add("pi", "payment_intent", Object{
			"amount": o["amount_total"], "amount_received": int64(0), "currency": o["currency"], "customer": o["customer"], "metadata": o["intent_metadata"],
			"status": "requires_payment_method", "setup_future_usage": o["setup_future_usage"], "latest_charge": nil,
		})
		o["payment_intent"] = intent["id"]
	}
	if !s.confirm(intent, method) {
		return false
	}
	o["status"], o["payment_status"] = "complete", "paid"
	if text(o, "setup_future_usage") != "" {
		s.buyer(text(o, "customer"))["saved"] = s.method(method)
	}
	s.happen("checkout.session.completed", o)
	return true
}

// Expire ends an unpaid payment page.
func (s *Server) Expire(session string) {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[session]; o != nil && text(o, "status") == "open" {
		o["status"] = "expired"
		s.happen("checkout.session.expired", o)
	}
}

// confirm charges a method for a payment, and reports whether that worked.
func (s *Server) confirm(intent Object, method string) bool {
	intent["payment_method"] = method
	s.objects[method] = s.method(method)
	if method == CardDeclined {
		intent["status"] = "requires_payment_method"
		intent["last_payment_error"] = Object{"type": "card_error", "code": "card_declined", "message": "Your card was declined."}
		s.happen("payment_intent.payment_failed", intent)
		return false
	}
	amount := whole(intent, "amount")
	charge := s.add("ch", "charge", Object{
		"amount": amount, "amount_refunded": int64(0), "currency": intent["currency"], "customer": intent["customer"], "payment_intent": intent["id"], "metadata": intent["metadata"],
		"paid": true, "status": "succeeded", "payment_method": method, "payment_method_details": Object{"type": "card", "card": s.method(method)["card"]},
	})
	charge["receipt_url"] = s.cfg.PageURL + "/receipt/" + text(charge, "id")
	intent["status"], intent["amount_received"], intent["latest_charge"], intent["last_payment_error"] = "succeeded", amount, charge["id"], nil
	s.happen("payment_intent.succeeded", intent)
	return true
}

func (s api) newIntent(r *http.Request) (Object, error) {
	method := r.Form.Get("payment_method")
	if number(r.Form, "amount") < 50 || r.Form.Get("currency") != "usd" || r.Form.Get("confirm") != "true" || r.Form.Get("off_session") != "true" || method == "" || r.Form.Get("customer") == "" {
		return nil, invalid("A payment needs an amount of at least 50 cents in usd, a customer, a method, and to be confirmed off session.")
	}
	intent := s.add("pi", "payment_intent", Object{
		"amount": number(r.Form, "amount"), "amount_received": int64(0), "currency": "usd", "customer": r.Form.Get("customer"), "metadata": fields(r.Form, "metadata"),
		"status": "requires_confirmation", "latest_charge": nil,
	})
	switch {
	case method == CardAction:
		intent["status"], intent["payment_method"] = "requires_action", method
		intent["next_action"] = Object{"type": "redirect_to_url", "redirect_to_url": Object{"url": s.cfg.PageURL + "/confirm/" + text(intent, "id"), "return_url": r.Form.Get("return_url")}}
		s.happen("payment_intent.requires_action", intent)
	case !s.confirm(intent, method):
		return nil, &fault{status: http.StatusPaymentRequired, kind: "card_error", code: "card_declined", decline: "generic_decline", text: "Your card was declined.", intent: intent}
	}
	return s.expanded(intent, r.Form, ""), nil
}

// Confirm acts as a card's owner at the bank: it approves or rejects a payment that waits for it.
func (s *Server) Confirm(intent string, yes bool) {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[intent]
	if o == nil || text(o, "status") != "requires_action" {
		return
	}
	method := CardWorks
	if !yes {
		method = CardDeclined
	}
	o["next_action"] = nil
	s.confirm(o, method)
}

func (s api) cancelIntent(r *http.Request) (Object, error) {
	o := s.objects[r.PathValue("id")]
	switch {
	case o == nil:
		return nil, missing(r.PathValue("id"))
	case text(o, "status") == "succeeded":
		return nil, &fault{status: http.StatusBadRequest, kind: "invalid_request_error", code: "payment_intent_unexpected_state", text: "The payment has succeeded.", intent: o}
	}
	o["status"], o["next_action"] = "canceled", nil
	s.happen("payment_intent.canceled", o)
	return o, nil
}

// Refund gives some of a payment back, in cents, and returns the refund's id.
func (s *Server) Refund(intent string, amount int64) string {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.refund(intent, amount), "id")
}

func (s api) newRefund(r *http.Request) (Object, error) {
	o := s.refund(r.Form.Get("payment_intent"), number(r.Form, "amount"))
	if o == nil {
		return nil, invalid("A refund needs a payment_intent that was paid, and an amount of at most what is left of it.")
	}
	return o, nil
}

// refund returns nil if there is not as much to give back. The caller has the lock.
func (s *Server) refund(intent string, amount int64) Object {
	charge := s.inside(s.objects[intent], "latest_charge")
	if charge == nil || amount <= 0 || whole(charge, "amount_refunded")+amount > whole(charge, "amount") {
		return nil
	}
	charge["amount_refunded"] = whole(charge, "amount_refunded") + amount
	charge["refunded"] = charge["amount_refunded"] == charge["amount"]
	o := s.add("re", "refund", Object{"amount": amount, "currency": charge["currency"], "charge": charge["id"], "payment_intent": intent, "status": "succeeded", "metadata": Object{}})
	s.happen("charge.refunded", charge)
	return o
}

// FailRefund makes the bank reject a refund, days after it was reported.
func (s *Server) FailRefund(id string) {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[id]
	if o == nil || text(o, "status") == "failed" {
		return
	}
	o["status"], o["failure_reason"] = "failed", "expired_or_canceled_card"
	charge := s.inside(o, "charge")
	charge["amount_refunded"], charge["refunded"] = whole(charge, "amount_refunded")-whole(o, "amount"), false
	s.happen("refund.failed", o)
	s.happen("charge.refund.updated", o)
}

// Dispute acts as a bank on behalf of a card's owner. It returns the ID of the dispute.
func (s *Server) Dispute(intent string) string {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	charge := s.inside(s.objects[intent], "latest_charge")
	if charge == nil {
		return ""
	}
	o := s.add("du", "dispute", Object{
		"amount": whole(charge, "amount") - whole(charge, "amount_refunded"), "currency": charge["currency"], "charge": charge["id"], "payment_intent": intent, "status": "needs_response", "metadata": Object{},
	})
	s.happen("charge.dispute.created", o)
	return text(o, "id")
}

// CloseDispute is the bank's decision.
func (s *Server) CloseDispute(id string, won bool) {
	defer s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[id]
	if o == nil {
		return
	}
	o["status"] = "lost"
	if won {
		o["status"] = "won"
	}
	s.happen("charge.dispute.closed", o)
}

// Reprice makes a page one of before Adaptive Pricing was switched off, whose buyer
// pays in another currency.
func (s *Server) Reprice(session, currency string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[session]["currency"] = currency
}

// Recurrency changes the currency of the charges and disputes so far.
func (s *Server) Recurrency(currency string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.objects {
		if kind := text(o, "object"); kind == "charge" || kind == "dispute" {
			o["currency"] = currency
		}
	}
}
