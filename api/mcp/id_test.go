package mcp_test

import (
	"encoding/json"
	"testing"
)

// TestIDsAreStored sends ids of all kinds, which the response repeats as they are.
func TestIDsAreStored(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	for _, id := range []string{`"a"`, `1`, `-7`, `1.50`, `1e400`, `null`, `true`, `[1,"a"]`, `{"a":{"b":[null]}}`} {
		for _, method := range []string{"ping", "no/such"} {
			got := send(t, s, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`, nil).OK(t)
			var answer struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || string(answer.ID) != id {
				t.Errorf("%s with the id %s is answered with %s, %v", method, id, got.Body, err)
			}
		}
	}
}
