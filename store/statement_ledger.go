package store

import (
	"context"

	"github.com/uptrace/bun"
)

// Statement lists the journal of an account as Postings does, with the details of calls.
func (s *Store) Statement(ctx context.Context, f PostingFilter) (Page[JournalEntry], error) {
	page, err := s.Postings(ctx, f)
	if err == nil {
		err = wrapped("list postings", s.nameCalls(ctx, page.Items))
	}
	if err != nil {
		return Page[JournalEntry]{}, err
	}
	return page, nil
}

// nameCalls fills in the operations and the keys of postings.
func (s *Store) nameCalls(ctx context.Context, items []JournalEntry) error {
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
		return tx.NewSelect().Model(&calls).Column("id", "operation", "key_id", "status").
			Where("id IN (?)", bun.List(ids)).Scan(ctx)
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
			items[i].Failed = call.Status == CallFailed
			if call.KeyID != nil {
				items[i].KeyID = *call.KeyID
			}
		}
	}

	return nil
}
