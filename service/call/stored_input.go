package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// keptPurpose returns the purpose under which a stored input is encrypted.
func keptPurpose(callID string) string { return "kept input " + callID }

// keepInput stores the input of the call, for an account that has enabled this. A failure costs the copy and does
// not fail the call.
func keepInput(ctx context.Context, c *paidCall) {
	if !c.holdWritten || c.unstored || !c.Caller.Account.KeepInputs || c.holdsKey() {
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	input := &bounded{}
	if err := c.call.WriteInput(input); err != nil {
		return // Longer inputs are not stored.
	}
	text, err := withoutDestination(input.Bytes())
	if err != nil {
		return
	}

	sealed, err := c.box.Seal(keptPurpose(c.id), text)
	if err == nil {
		err = c.store.AddStoredInput(ctx, c.Caller.Account.ID, c.id, sealed)
	}
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "keep input failed", slog.String("call", c.id), slog.Any("error", err))
	}
}

// holdsKey reports whether the input of the call or of a step has a private key.
func (c *paidCall) holdsKey() bool {
	return slices.ContainsFunc(c.call.Calls(), func(step operation.Step) bool {
		in, ok := step.Input().(interface{ HoldsKey() bool })
		return ok && in.HoldsKey()
	})
}

// withoutDestination returns an input without deliverTo: its secrets are not shown, and a repeated call does not send
// its result again.
func withoutDestination(input []byte) ([]byte, error) {
	if !bytes.Contains(input, []byte(`"`+schema.DeliverField+`"`)) {
		return input, nil
	}

	var members map[string]json.RawMessage
	if err := json.Unmarshal(input, &members); err != nil {
		return nil, err
	}

	delete(members, schema.DeliverField)
	return json.Marshal(members)
}

// bounded is a buffer with the maximum size of a stored input.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > store.MaxStoredInput {
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}

// Input returns the JSON of an account's call as it was stored. It returns store.ErrNotFound if it was not stored. It
// reads from the given store: pages have their own connections.
func (r *Runner) Input(ctx context.Context, from *store.Store, accountID, callID string) ([]byte, error) {
	sealed, err := from.StoredInput(ctx, accountID, callID)
	if err != nil {
		return nil, err
	}
	return r.box.Open(keptPurpose(callID), sealed)
}

// Repeat repeats a call from its stored input, as a job of the account without a key, and returns the ID of the new
// call. Only the account's endpoints are notified of its end.
func (r *Runner) Repeat(ctx context.Context, account store.Account, callID, requestID string) (string, error) {
	text, err := r.Input(ctx, r.store, account.ID, callID)
	if err != nil {
		return "", err
	}
	before, err := r.store.Call(ctx, callID)
	if err != nil {
		return "", err
	}

	operation := r.table.Lookup(before.Operation)
	if operation == nil {
		return "", fmt.Errorf("call of operation %q, which this release does not know: %w", before.Operation,
			store.ErrNotFound)
	}

	var input map[string]json.RawMessage
	if err := json.Unmarshal(text, &input); err != nil {
		return "", err
	}
	delete(input, "callbackUrl")
	input["response"] = json.RawMessage(`"` + schema.Async + `"`)
	body, err := json.Marshal(input)
	if err != nil {
		return "", err
	}

	outcome, _, err := r.Do(ctx, Request{
		Operation: operation, Caller: Caller{Account: account, Kind: ByPerson}, Body: bytes.NewReader(body),
		RequestID: requestID,
	})
	if err != nil {
		return "", err
	}
	return outcome.CallID, nil
}
