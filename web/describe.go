package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// describesPerMinute bounds how often a person asks a model for something, or
// what that costs.
const describesPerMinute = 20

// describeDraft asks what a template of a description would cost, which is free,
// or has it written for a price that was accepted. Nothing is saved: what comes
// back is the editor's to show.
func (w editors) describeDraft(v *visit) error {
	if _, ok := w.allow(v.ctx(), "describe:"+v.person.ID, describesPerMinute, time.Minute); !ok {
		return errTooMany
	}
	found, _, err := v.template()
	if err != nil {
		return err
	}
	body, err := v.sent()
	if err != nil {
		return err
	}
	var order struct{ QuoteID string }
	if err := json.Unmarshal(body, &order); err != nil {
		return errForm
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if order.QuoteID != "" {
		// What was paid for and got lost on its way comes again, and is not paid twice.
		header.Set("Idempotency-Key", "editor "+order.QuoteID)
	}
	answer, err := v.send(http.MethodPost, templatesRoutes+"/generate", bytes.NewReader(body), header)
	if err == nil {
		err = w.forward(v, answer)
	}
	if err != nil || answer.Status != http.StatusOK || order.QuoteID == "" {
		return err
	}
	return v.record("template.described", found.Name, found.Slug)
}
