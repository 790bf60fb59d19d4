package store

import (
	"context"
	"errors"
	"fmt"
)

// DeleteExpired removes expired data: rows first (deleteRows), then the bytes and rows of expired files and of the
// inputs of ended jobs. Data that a live job needs stays. It processes at most limit of a kind at once, until nothing
// is left or ctx ends. A failure of one kind does not stop the others.
func (s *Store) DeleteExpired(ctx context.Context, limit int) error {
	return errors.Join(s.deleteRows(ctx, limit), rounds(ctx, limit, s.deleteExpiredFiles, s.deleteSpentInputs),
		s.deleteRows(ctx, limit)) // The rows of old jobs stay until their inputs have gone.
}

// deleteRows removes expired rows without blobs: stored inputs, accounts whose owner requested it, logged requests, and
// jobs and events that are older than JobRetention.
func (s *Store) deleteRows(ctx context.Context, limit int) error {
	steps := []expiryStep{s.endAccounts, s.deleteStoredInputs, s.deleteOldRequests}
	for _, query := range oldRows {
		steps = append(steps, func(ctx context.Context, limit int) (int, error) {
			return s.deleteRowsBy(ctx, query, toMicros(s.now().Add(-JobRetention)), limit)
		})
	}
	return rounds(ctx, limit, steps...)
}

// expiryStep removes at most limit of a kind, and returns how many it found.
type expiryStep func(ctx context.Context, limit int) (int, error)

// rounds carries out steps in turn, one batch of each in a round. A step has ended when it
// finds fewer than limit, or fails.
func rounds(ctx context.Context, limit int, steps ...expiryStep) error {
	var faults []error
	for len(steps) > 0 {
		var unfinished []expiryStep
		for _, step := range steps {
			n, err := step(ctx, limit)
			if err != nil {
				faults = append(faults, err)
			} else if n == limit {
				unfinished = append(unfinished, step)
			}
		}

		steps = unfinished
		if err := ctx.Err(); err != nil && len(steps) > 0 {
			return errors.Join(append(faults, err)...)
		}
	}

	return errors.Join(faults...)
}

func (s *Store) deleteExpiredFiles(ctx context.Context, limit int) (int, error) {
	found, _, err := s.deleteExpired(ctx, limit)
	return found, err
}

func (s *Store) deleteSpentInputs(ctx context.Context, limit int) (int, error) {
	spent, err := s.spentInputs(ctx, limit)
	if err != nil {
		return 0, err
	}
	return len(spent), s.dropInputs(ctx, spent)
}

// oldRows delete rows whose time has passed or whose account was deleted, children before their parents.
// ?0 the time before which they are old, ?1 how many.
var oldRows = []string{
	`DELETE FROM undeleted_blobs WHERE blob_key IN (SELECT blob_key FROM undeleted_blobs WHERE retry_at < ?0 LIMIT ?1)`,
	`DELETE FROM device_codes WHERE id IN (SELECT id FROM device_codes WHERE created_at < ?0 LIMIT ?1)`,
	`DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes WHERE created_at < ?0 LIMIT ?1)`,
	`DELETE FROM oauth_tokens WHERE hash IN (SELECT hash FROM oauth_tokens WHERE expires_at < ?0 LIMIT ?1)`,
	`DELETE FROM oauth_clients WHERE id IN (SELECT c.id FROM oauth_clients AS c
		WHERE c.created_at < ?0 AND COALESCE(c.used_at, 0) < ?0
		AND NOT EXISTS (SELECT 1 FROM oauth_grants AS g JOIN keys AS k ON k.id = g.key_id
		WHERE g.client_id = c.id AND k.revoked_at IS NULL AND k.expires_at > ?0) LIMIT ?1)`,
	`DELETE FROM titles WHERE call_id IN (SELECT call_id FROM titles WHERE created_at < ?0 LIMIT ?1)`,
	`DELETE FROM links WHERE file_id IN (SELECT file_id FROM links WHERE expires_at < ?0 LIMIT ?1)`,
	`DELETE FROM delivered WHERE file_id IN (SELECT file_id FROM delivered WHERE delivered_at < ?0 LIMIT ?1)`,
	`DELETE FROM delivered_objects WHERE file_id IN (SELECT file_id FROM delivered_objects
		WHERE delivered_at < ?0 LIMIT ?1)`,
	// A server of a release without connections and signing identities leaves those of a deleted account.
	`DELETE FROM connections WHERE id IN (SELECT c.id FROM connections AS c JOIN accounts AS a ON a.id = c.account_id
		WHERE a.email = a.id || '@deleted.invalid' LIMIT ?1)`,
	`DELETE FROM signing_identities WHERE id IN (SELECT i.id FROM signing_identities AS i
		JOIN accounts AS a ON a.id = i.account_id
		WHERE a.email = a.id || '@deleted.invalid' LIMIT ?1)`,
	`DELETE FROM quotes WHERE id IN (SELECT id FROM quotes WHERE created_at < ?0 LIMIT ?1)`,
	`DELETE FROM generation_days WHERE (account_id, day) IN (SELECT account_id, day FROM generation_days
		WHERE day < ?0 / 86400000000 LIMIT ?1)`,
	`DELETE FROM bulk_chunks WHERE (call_id, first) IN (SELECT k.call_id, k.first FROM bulk_chunks AS k
		JOIN bulks AS b ON b.call_id = k.call_id
		WHERE b.created_at < ?0 AND NOT EXISTS (SELECT 1 FROM calls
		WHERE calls.id = b.call_id AND calls.status = 'running') LIMIT ?1)`,
	`DELETE FROM bulks WHERE call_id IN (SELECT b.call_id FROM bulks AS b WHERE b.created_at < ?0
		AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.id = b.call_id AND calls.status = 'running')
		AND NOT EXISTS (SELECT 1 FROM bulk_chunks AS k WHERE k.call_id = b.call_id) LIMIT ?1)`,
	`DELETE FROM jobs WHERE seq IN (SELECT seq FROM jobs
		WHERE created_at < ?0 AND state = 'ended' AND input_key = '' LIMIT ?1)`,
	`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
		WHERE created_at < ?0 AND status <> 'pending' LIMIT ?1)`,
	`DELETE FROM delivery_attempts WHERE (delivery_id, at) IN (SELECT a.delivery_id, a.at FROM delivery_attempts AS a
		WHERE a.at < ?0
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.id = a.delivery_id) LIMIT ?1)`,
	`DELETE FROM delivery_headers WHERE (delivery_id, at) IN (SELECT h.delivery_id, h.at FROM delivery_headers AS h
		WHERE h.at < ?0
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.id = h.delivery_id) LIMIT ?1)`,
	`DELETE FROM events WHERE id IN (SELECT id FROM events WHERE created_at < ?0
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.event_id = events.id) LIMIT ?1)`,
	`DELETE FROM webhooks WHERE id IN (SELECT id FROM webhooks WHERE deleted_at < ?0
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.endpoint_id = webhooks.id) LIMIT ?1)`,
	`DELETE FROM template_drafts WHERE template_id IN (SELECT d.template_id FROM template_drafts AS d
		JOIN templates AS t ON t.id = d.template_id WHERE t.deleted_at < ?0 LIMIT ?1)`,
	`DELETE FROM callbacks WHERE call_id IN (SELECT cb.call_id FROM callbacks AS cb WHERE cb.created_at < ?0
		AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.id = cb.call_id AND calls.status = 'running') LIMIT ?1)`,
}

// deleteRowsBy runs a statement that deletes rows, and returns how many it has deleted.
func (s *Store) deleteRowsBy(ctx context.Context, query string, args ...any) (deleted int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		res, err := tx.NewRaw(query, args...).Exec(ctx)
		if err != nil {
			return err
		}

		n, err := res.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete old rows: %w", err)
	}
	return deleted, nil
}
