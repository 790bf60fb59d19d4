package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// Statement lists the journal of an account as Postings does, with what the
// wallet held after each posting, and what the calls were.
func (s LedgerStore) Statement(ctx context.Context, f PostingFilter) (Page[Posted], error) {
	page, err := s.Postings(ctx, f)
	if err != nil || len(page.Items) == 0 {
		return page, err
	}
	items := page.Items
	// Of what the wallet has now, what came later is taken away.
	err = s.read.NewRaw(`SELECT a.balance - CAST(COALESCE((SELECT SUM(j.wallet) FROM journal AS j WHERE j.account_id = a.id AND j.id > ?), 0) AS BIGINT)
		FROM accounts AS a WHERE a.id = ?`, items[0].ID, f.AccountID).Scan(ctx, &items[0].Balance)
	for i := 1; i < len(items) && err == nil; i++ {
		items[i].Balance = items[i-1].Balance - items[i-1].Wallet
		if f.Kind == "" && !f.WithoutCalls {
			continue // There is nothing between the two.
		}
		var between credit.Amount
		err = s.read.NewRaw("SELECT CAST(COALESCE(SUM(wallet), 0) AS BIGINT) FROM journal WHERE account_id = ? AND id > ? AND id < ?",
			f.AccountID, items[i].ID, items[i-1].ID).Scan(ctx, &between)
		items[i].Balance -= between
	}
	if err == nil {
		err = s.nameCalls(ctx, items)
	}
	if err != nil {
		return Page[Posted]{}, fmt.Errorf("list postings: %w", err)
	}
	return page, nil
}

// nameCalls fills in the operations and the keys of postings.
func (s LedgerStore) nameCalls(ctx context.Context, items []Posted) error {
	var ids []string
	for _, p := range items {
		if p.CallID != "" {
			ids = append(ids, p.CallID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var calls []callRow
	if err := s.read.NewSelect().Model(&calls).Column("id", "operation", "key_id").Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return err
	}
	named := make(map[string]*callRow, len(calls))
	for i := range calls {
		named[calls[i].ID] = &calls[i]
	}
	for i := range items {
		if call := named[items[i].CallID]; call != nil {
			items[i].Operation = call.Operation
			if call.KeyID != nil {
				items[i].KeyID = *call.KeyID
			}
		}
	}
	return nil
}
