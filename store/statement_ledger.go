package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Statement lists the journal of an account as Postings does, with what the
// wallet held once each posting was made, and what the calls were.
func (s *Store) Statement(ctx context.Context, f PostingFilter) (Page[Posted], error) {
	page, err := s.Postings(ctx, f)
	if err != nil || len(page.Items) == 0 {
		return page, err
	}
	items := page.Items
	for i := range items {
		switch {
		case items[i].balanced:
			continue
		case i == 0:
			err = s.findBalance(ctx, &items[i])
		case f.Kind != "" || f.WithoutCalls:
			err = s.balanceBelow(ctx, &items[i], &items[i-1])
		default: // There is nothing between the two.
			items[i].Balance = items[i-1].Balance - items[i-1].Wallet
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = s.nameCalls(ctx, items)
	}
	if err != nil {
		return Page[Posted]{}, fmt.Errorf("list postings: %w", err)
	}
	return page, nil
}

// balanceQuery is what the wallet held after a posting that does not say it: that of
// the next one which does, or of the account, without what came in between. ?0
// account, ?1 posting.
const balanceQuery = `WITH next AS (
		SELECT id, balance - wallet AS balance FROM journal WHERE account_id = ?0 AND id > ?1 AND balance IS NOT NULL ORDER BY id LIMIT 1
	)
	SELECT COALESCE((SELECT balance FROM next), (SELECT balance FROM accounts WHERE id = ?0), 0) - CAST(COALESCE((SELECT SUM(wallet) FROM journal
		WHERE account_id = ?0 AND id > ?1 AND id < COALESCE((SELECT id FROM next), 'jrn` + "`" + `')), 0) AS BIGINT)`

// findBalance fills in what the wallet held after a posting of before balances were
// noted.
func (s *Store) findBalance(ctx context.Context, p *Posted) error {
	return s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewRaw(balanceQuery, p.AccountID, p.ID).Scan(ctx, &p.Balance)
	})
}

// balanceBelow is findBalance for a posting before another one whose balance is known.
func (s *Store) balanceBelow(ctx context.Context, p, next *Posted) error {
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewRaw("SELECT CAST(COALESCE(SUM(wallet), 0) AS BIGINT) FROM journal WHERE account_id = ? AND id > ? AND id < ?",
			p.AccountID, p.ID, next.ID).Scan(ctx, &p.Balance)
	})
	p.Balance = next.Balance - next.Wallet - p.Balance
	return err
}

// NoteBalances fills in the balances of at most limit postings without calls of before
// they were noted, the latest first, so that lists need not sum up what came since.
// One posting is one short transaction, and the postings between two are read once.
func (s *Store) NoteBalances(ctx context.Context, limit int) error {
	var old []struct{ ID, AccountID string }
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewRaw("SELECT id, account_id FROM journal WHERE balance IS NULL AND "+outsideCalls+" ORDER BY id DESC LIMIT ?", limit).Scan(ctx, &old)
	})
	for _, p := range old {
		if err != nil {
			break
		}
		err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
			_, err := tx.NewRaw("UPDATE journal SET balance = ("+balanceQuery+") WHERE id = ?1 AND balance IS NULL", p.AccountID, p.ID).Exec(ctx)
			return err
		})
	}
	return wrapped("note balances", err)
}

// nameCalls fills in the operations and the keys of postings.
func (s *Store) nameCalls(ctx context.Context, items []Posted) error {
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
	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewSelect().Model(&calls).Column("id", "operation", "key_id").Where("id IN (?)", bun.List(ids)).Scan(ctx)
	})
	if err != nil {
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
