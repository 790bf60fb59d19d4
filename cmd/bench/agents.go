package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"relaypdf/api"
	"relaypdf/api/mcp"
)

// agentGoal is what the door of agents may add to a call, in milliseconds.
const (
	agentGoal   = 3
	agentFigure = "a tool's call above the same request, p50"
)

// agents measures what the door of agents takes.
type agents struct{ *lab }

// above measures what a call of a tool takes above the same request: the paid path
// without its run, with a stored result, over HTTP, on SQLite.
func (l agents) above(ctx context.Context, r *report) (err error) {
	l.say("agents")
	b, err := startBare(ctx, l.lab, bareConfig{outbound: noWayOut{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	input := map[string]string{"html": invoice()}
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "pdf_create", "arguments": input},
	})
	if err != nil {
		return err
	}
	input["response"] = "url"
	body, err := json.Marshal(input)
	if err != nil {
		return err
	}
	plain := request{path: "/v1/pdf", body: body, magic: []byte(`{"id":"file_`)}
	tool := request{path: api.AgentPath, body: message, magic: []byte(`{"jsonrpc":"2.0","id":1,"result":{`)}
	first, err := b.client.post(ctx, b.keys[0], tool)
	if err != nil || !bytes.Contains(first.result, []byte(`"resource_link"`)) {
		return errors.Join(err, fmt.Errorf("the tool made nothing: %d %s%.200s", first.status, first.text, first.result))
	}
	// In turn, so that both meet the same machine.
	var took [2][]time.Duration
	for range choose(l.lab, 500, 50) {
		for i, q := range []request{plain, tool} {
			begin := time.Now()
			if err := b.client.make(ctx, b.keys[0], q); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	above := ms(percentile(took[1], 50)) - ms(percentile(took[0], 50))
	r.reach(goalFigures{Name: agentFigure, Got: above, Goal: agentGoal, Unit: "ms", Beside: "paid path, stored result, SQLite"})
	return nil
}

// openAgents puts the door of agents on a bare API.
func openAgents(d *api.AgentDoor) (http.Handler, error) {
	return mcp.NewDoor(d, nil, slog.New(slog.DiscardHandler))
}
