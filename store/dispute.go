package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// States of a dispute.
const (
	DisputeOpen = "open" // the bank has taken the money
	DisputeWon  = "won"  // the money is back, or was never taken
	DisputeLost = "lost"
)

// Dispute is a payment that the bank disputes.
type Dispute struct {
	ID     string
	State  string
	Amount credit.Amount
	// At is the time of the state by the provider's clock.
	At time.Time
}

// disputeUpsert notes a dispute. The state that the provider knew last counts: banks
// change decisions, and notices come late. Of one second, a decision outweighs an
// open dispute, and money that came back outweighs money that is gone.
const disputeUpsert = `INSERT INTO stripe_disputes AS d (id, intent, state, amount, created_at, stated_at)
	VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, stated_at = EXCLUDED.stated_at
	WHERE d.stated_at < EXCLUDED.stated_at OR d.stated_at = EXCLUDED.stated_at AND (EXCLUDED.state = 'won'
	OR d.state = 'open')`

// writeDispute notes a dispute.
func (a *paymentUpdate) writeDispute(ctx context.Context) error {
	d := a.report.Dispute
	if d == nil {
		return nil
	}
	if a.report.Intent == "" || d.ID == "" || len(d.ID) > 255 || !storable(d.ID) || d.Amount < 0 ||
		d.Amount > maxAmount {
		return errors.New("a dispute needs an id, a payment and an amount")
	}

	known, err := a.tx.NewSelect().TableExpr("stripe_disputes").Where("id = ?", d.ID).Exists(ctx)
	if err != nil {
		return err
	}

	var at int64
	if !d.At.IsZero() {
		at = toMicros(d.At.Truncate(time.Second))
	}

	a.change.Disputed = !known && d.State != DisputeWon
	_, err = a.tx.NewRaw(disputeUpsert, d.ID, a.report.Intent, d.State, int64(d.Amount), toMicros(a.now), at).Exec(ctx)
	return err
}

// takeDisputes debits the wallet with the amounts that banks have taken, and credits the amounts that they
// returned.
func (a *paymentUpdate) takeDisputes(ctx context.Context) error {
	if a.row.Intent == "" {
		return nil
	}

	var disputes []struct {
		ID, State     string
		Amount, Taken credit.Amount
	}
	err := a.tx.NewRaw("SELECT id, state, amount, taken FROM stripe_disputes WHERE intent = ? ORDER BY id",
		a.row.Intent).Scan(ctx, &disputes)
	if err != nil {
		return err
	}

	for _, d := range disputes {
		due := d.Amount
		reason := "Dispute of a payment"
		if d.State == DisputeWon {
			due = 0
			reason = "Dispute won"
		}

		more := due - d.Taken
		if more == 0 {
			continue
		}
		reference, err := a.disputeReference(ctx, d.ID)
		if err != nil {
			return err
		}

		p := NewPosting{
			AccountID: a.row.AccountID,
			Kind:      KindChargeback,
			Amount:    more,
			Reference: reference,
			Reason:    reason,
		}
		if err := a.credit(ctx, a.tx, p, ""); err != nil {
			return err
		}
		_, err = a.tx.NewRaw("UPDATE stripe_disputes SET taken = ? WHERE id = ?", int64(due), d.ID).Exec(ctx)
		if err != nil {
			return err
		}

		a.row.Disputed += more
		a.change.Taken += more
		if more > 0 {
			a.change.OffReason, err = a.switchOff(ctx, a.tx, &a.row, "A payment is disputed at the bank.", a.now)
			if err != nil {
				return err
			}
		}
	}

	return nil
}

// disputeReference returns the reference of a dispute's next posting: each movement of its money has its own.
func (a *paymentUpdate) disputeReference(ctx context.Context, id string) (string, error) {
	name := "stripe " + id
	var before int
	err := a.tx.NewRaw(`SELECT COUNT(*) FROM journal_references
		WHERE account_id = ? AND kind = ? AND (reference = ? OR SUBSTR(reference, 1, ?) = ?)`,
		a.row.AccountID, KindChargeback, name, len(name)+1, name+" ").Scan(ctx, &before)

	switch before {
	case 0:
		return name, err
	case 1:
		return name + " won", err
	}
	return fmt.Sprintf("%s %d", name, before+1), err
}

// OpenDisputes returns undecided disputes, at most limit.
func (s *Store) OpenDisputes(ctx context.Context, limit int) (ids []string, err error) {
	err = s.read.NewRaw("SELECT id FROM stripe_disputes WHERE state = ? ORDER BY created_at LIMIT ?",
		DisputeOpen, limit).Scan(ctx, &ids)
	return ids, wrapped("read open disputes", err)
}
