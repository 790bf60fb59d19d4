package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// AccountGrace is the period in which an account's owner can undo its deletion.
const AccountGrace = 14 * 24 * time.Hour

// ScheduleDeletion revokes the account's keys at once, and schedules the deletion of everything else after AccountGrace,
// unless KeepAccount comes first. It returns the time of the deletion, or ErrNotFound for an unknown account.
func (s *Store) ScheduleDeletion(ctx context.Context, id string) (time.Time, error) {
	now := s.now()
	at := now.Add(AccountGrace)

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewUpdate().Model((*accountRow)(nil)).
			Set("closes_at = ?, auto_reload = FALSE", toMicros(at)).Where("id = ?", id).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}

		_, err = tx.NewUpdate().Model((*keyRow)(nil)).Set("revoked_at = ?", toMicros(now)).
			Where("account_id = ? AND revoked_at IS NULL", id).Exec(ctx)
		return err
	})
	return at, wrapped("end account", err)
}

// CancelDeletion undoes EndAccount; the account's keys stay revoked. It returns ErrNotFound for an unknown account.
func (s *Store) CancelDeletion(ctx context.Context, id string) error {
	return s.updateAccount(ctx, "keep account", id, "closes_at = NULL")
}

// ended holds the statements that delete an account's data; the totals of its calls and its money stay. ?0 is the
// account, ?1 now.
var ended = []string{
	`DELETE FROM template_drafts WHERE template_id IN (SELECT id FROM templates WHERE account_id = ?0)`,
	`DELETE FROM template_approvals WHERE template_id IN (SELECT id FROM templates WHERE account_id = ?0)`,
	`DELETE FROM template_versions WHERE template_id IN (SELECT id FROM templates WHERE account_id = ?0)`,
	`DELETE FROM template_partials WHERE account_id = ?0`,
	`DELETE FROM templates WHERE account_id = ?0`,
	`DELETE FROM kept_inputs WHERE account_id = ?0`,
	`DELETE FROM requests WHERE account_id = ?0`,
	`DELETE FROM bulk_chunks WHERE call_id IN (SELECT call_id FROM bulks WHERE account_id = ?0)`,
	`DELETE FROM titles WHERE account_id = ?0`,
	`DELETE FROM links WHERE account_id = ?0`,
	`DELETE FROM delivered WHERE account_id = ?0`,
	`DELETE FROM delivered_objects WHERE account_id = ?0`,
	`DELETE FROM connections WHERE account_id = ?0`,
	`DELETE FROM signing_identities WHERE account_id = ?0`,
	`DELETE FROM signing_keys WHERE account_id = ?0`,
	`DELETE FROM usage_alerts WHERE account_id = ?0`,
	// Their bytes go with the next round, and those of running jobs after it.
	`UPDATE files SET expires_at = ?1 WHERE account_id = ?0 AND expires_at > ?1`,
	`UPDATE webhooks SET enabled = FALSE, deleted_at = ?1 WHERE account_id = ?0 AND deleted_at IS NULL`,
	`UPDATE deliveries SET status = 'failed', last_error = 'the account was deleted', next_attempt_at = NULL,
		lease = '', leased_until = NULL
		WHERE account_id = ?0 AND status = 'pending'`,
	`DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE account_id = ?0)`,
	`DELETE FROM delivery_headers WHERE delivery_id IN (SELECT id FROM deliveries WHERE account_id = ?0)`,
	`DELETE FROM invites WHERE account_id = ?0`,
	`DELETE FROM device_codes WHERE account_id = ?0`,
	`DELETE FROM oauth_tokens WHERE key_id IN (SELECT key_id FROM oauth_grants WHERE account_id = ?0)`,
	`DELETE FROM oauth_grants WHERE account_id = ?0`,
	`DELETE FROM oauth_codes WHERE account_id = ?0`,
	`DELETE FROM audit WHERE account_id = ?0 AND NOT operator`,
	`UPDATE keys SET name = '', revoked_at = COALESCE(revoked_at, ?1) WHERE account_id = ?0`,
	// The ledger refers to the row.
	`UPDATE accounts SET email = id || '@deleted.invalid', name = '', suspended = TRUE,
		suspend_reason = 'deleted by its owner',
		auto_reload = FALSE, keep_inputs = FALSE, closes_at = NULL WHERE id = ?0`,
}

// endAccounts deletes accounts whose grace is over.
func (s *Store) endAccounts(ctx context.Context, limit int) (int, error) {
	var rows []accountRow
	err := s.read.NewSelect().Model(&rows).Column("id").Where("closes_at <= ?", toMicros(s.now())).Limit(int64(limit)).
		Scan(ctx)
	if err != nil {
		return 0, fmt.Errorf("read accounts that end: %w", err)
	}

	var faults []error
	for _, row := range rows {
		faults = append(faults, s.inTx(ctx, func(ctx context.Context, tx txn) error {
			return s.endAccount(ctx, tx, row.ID)
		}))
	}
	return len(rows), wrapped("delete accounts", errors.Join(faults...))
}

func (s *Store) endAccount(ctx context.Context, tx txn, id string) error {
	now := toMicros(s.now())
	// Its owner may have undone the deletion meanwhile.
	due, err := changed(tx.NewUpdate().Model((*accountRow)(nil)).Set("closes_at = closes_at").
		Where("id = ? AND closes_at <= ?", id, now).Exec(ctx))
	if err != nil || !due {
		return err
	}

	var people []string
	err = tx.NewRaw(`DELETE FROM members WHERE account_id = ? RETURNING person_id`, id).Scan(ctx, &people)
	if err != nil {
		return err
	}

	for _, person := range people {
		if err := s.deleteUnusedUser(ctx, tx, person); err != nil {
			return err
		}
	}

	for _, statement := range ended {
		if _, err := tx.NewRaw(statement, id, now).Exec(ctx); err != nil {
			return err
		}
	}

	return nil
}

// deleteUnusedUser removes a user who is a member of no account any more, operators not.
func (s *Store) deleteUnusedUser(ctx context.Context, tx txn, id string) error {
	inUse, err := tx.NewSelect().Table("people").
		Where("id = ? AND (operator OR EXISTS (SELECT 1 FROM members WHERE members.person_id = people.id))", id).
		Exists(ctx)
	if err != nil || inUse {
		return err
	}

	for _, table := range []string{"sessions", "tokens", "recovery_codes", "device_codes", "oauth_codes"} {
		if _, err := tx.NewDelete().Table(table).Where("person_id = ?", id).Exec(ctx); err != nil {
			return err
		}
	}

	_, err = tx.NewDelete().Table("people").Where("id = ?", id).Exec(ctx)
	return err
}
