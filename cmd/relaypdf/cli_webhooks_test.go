package main

import (
	"strings"
	"testing"

	"relaypdf/client"
)

// TestAccountWebhooks makes an endpoint, shows it and deletes it.
func TestAccountWebhooks(t *testing.T) {
	b := newBench(t, nil)
	secret := b.run("", "webhooks", "create", "https://example.com/hook", "--events", "job.completed")
	if secret.code != 0 || !strings.HasPrefix(secret.out, "whsec_") || strings.Count(secret.out, "\n") != 1 {
		t.Fatalf("create: got %+v, want the secret", secret)
	}
	list := decodeJSON[struct{ Webhooks []client.Webhook }](t, b.run("", "webhooks", "list", "--json").out).Webhooks
	if len(list) != 1 || list[0].URL != "https://example.com/hook" || len(list[0].Events) != 1 {
		t.Fatalf("list: got %+v", list)
	}
	if r := b.run("", "webhooks", "list"); !strings.Contains(r.out, list[0].ID+"  https://example.com/hook  job.completed  yes") {
		t.Errorf("list: got %+v", r)
	}

	if r := b.run("", "webhooks", "delete", list[0].ID); r.code != 0 {
		t.Errorf("delete: got %+v", r)
	}
	if r := b.run("", "webhooks", "delete", list[0].ID); r.code != exitNotFound {
		t.Errorf("delete again: got %+v", r)
	}
}
