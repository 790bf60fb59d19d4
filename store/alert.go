package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// Kinds of alerts, and what their values and thresholds are. All are of the current UTC day.
const (
	AlertDayLimit    = "day_limit"    // percentage of the spending limit of a day that is used, holds included
	AlertLowBalance  = "low_balance"  // balance of the wallet, in microdollars
	AlertFailureRate = "failure_rate" // percentage of calls that failed
)

const (
	// MinAlertCalls is the number of calls of a day from which their failure rate can cause an alert.
	MinAlertCalls = 20
	// alertsBatch bounds the alerts that one statement reads.
	alertsBatch = 500
)

// AlertEvent is the data of an alert.
type AlertEvent struct {
	Kind      string `json:"kind" jsonschema:"required,enum=day_limit,enum=low_balance,enum=failure_rate" jsonschema_description:"Kind of alert."`
	Value     int64  `json:"value" jsonschema:"required" jsonschema_description:"Measured value: for low_balance the balance in microdollars, else a percentage."`
	Threshold int64  `json:"threshold" jsonschema:"required" jsonschema_description:"Threshold of the account, in the unit of value."`
}

// AlertMail writes the sealed emails that notify the users with these addresses of an alert. It is called within a
// transaction, which may run again.
type AlertMail func(news AlertEvent, to []string) ([]QueuedEmail, error)

// Alerts returns the thresholds of the alerts that an account has switched on, by kind.
func (s *Store) Alerts(ctx context.Context, accountID string) (map[string]int64, error) {
	var rows []struct {
		Kind      string
		Threshold int64
	}
	err := s.read.NewSelect().TableExpr("usage_alerts").Column("kind", "threshold").Where("account_id = ?", accountID).
		Scan(ctx, &rows)

	thresholds := make(map[string]int64, len(rows))
	for _, r := range rows {
		thresholds[r.Kind] = r.Threshold
	}
	return thresholds, wrapped("read alerts", err)
}

// SetAlerts switches on the alerts of an account that have a threshold, and the others off. An alert with a new
// threshold can be sent again.
func (s *Store) SetAlerts(ctx context.Context, accountID string, thresholds map[string]int64) error {
	kinds := slices.Sorted(maps.Keys(thresholds))

	return s.update(ctx, "set alerts", func(ctx context.Context, tx txn) error {
		for _, kind := range []string{AlertDayLimit, AlertFailureRate, AlertLowBalance} {
			if slices.Contains(kinds, kind) {
				continue
			}
			_, err := tx.NewRaw("DELETE FROM usage_alerts WHERE account_id = ? AND kind = ?", accountID, kind).Exec(ctx)
			if err != nil {
				return err
			}
		}

		for _, kind := range kinds {
			_, err := tx.NewRaw(`INSERT INTO usage_alerts AS a (account_id, kind, threshold, armed, sent_at)
				VALUES (?, ?, ?, TRUE, 0)
				ON CONFLICT (account_id, kind) DO UPDATE SET threshold = EXCLUDED.threshold, armed = TRUE, sent_at = 0
				WHERE a.threshold <> EXCLUDED.threshold`, accountID, kind, thresholds[kind]).Exec(ctx)
			if err != nil {
				return err
			}
		}

		return nil
	})
}

// alertState is an alert with what it is decided by.
type alertState struct {
	AccountID, Kind string
	Threshold       int64
	Armed           bool
	SentAt          int64
	Balance         credit.Amount
	MaxDay          *credit.Amount
	Spent           credit.Amount // today
	Calls, Failures int64         // of today
}

// value returns the measured value, and whether it is beyond the threshold.
func (a alertState) value() (value int64, beyond bool) {
	switch a.Kind {
	case AlertLowBalance:
		return int64(a.Balance), int64(a.Balance) < a.Threshold
	case AlertDayLimit:
		if a.MaxDay == nil || *a.MaxDay == 0 {
			return 0, false
		}
		value = int64(a.Spent) * 100 / int64(*a.MaxDay)
	case AlertFailureRate:
		if a.Calls+a.Failures < MinAlertCalls {
			return 0, false
		}
		value = a.Failures * 100 / (a.Calls + a.Failures)
	}

	return value, value >= a.Threshold
}

// due reports whether the alert is sent now: once until the value has been within the threshold or, for the values of a
// day, until the next day; and at most once an hour.
func (a alertState) due(now time.Time) bool {
	sent := fromMicros(a.SentAt)
	repeatable := a.Armed || a.Kind != AlertLowBalance && dayOf(sent) != dayOf(now)
	return repeatable && now.Sub(sent) >= alertPause
}

// alertsSelect reads the alerts after the one of the account ?0 and the kind ?1. ?2 is today, ?3 the limit.
const alertsSelect = `SELECT al.account_id, al.kind, al.threshold, al.armed, al.sent_at, a.balance, a.max_day,
		CASE WHEN a.day = ?2 THEN a.day_spent ELSE 0 END AS spent,
		CASE WHEN al.kind = 'failure_rate' THEN (SELECT CAST(COALESCE(SUM(u.calls), 0) AS BIGINT) FROM usage_days AS u
			WHERE u.account_id = al.account_id AND u.day = ?2) ELSE 0 END AS calls,
		CASE WHEN al.kind = 'failure_rate' THEN (SELECT CAST(COALESCE(SUM(c.failures), 0) AS BIGINT)
		FROM usage_counts AS c
			WHERE c.account_id = al.account_id AND c.kind = 'operation' AND c.day = ?2) ELSE 0 END AS failures
	FROM usage_alerts AS al JOIN accounts AS a ON a.id = al.account_id
	WHERE (al.account_id, al.kind) > (?0, ?1) AND NOT a.suspended
	ORDER BY al.account_id, al.kind LIMIT ?3`

// CheckAlerts sends the alerts that are due: as events to the endpoints of their accounts, and as the emails that tell
// writes to the owners; nil sends none. It returns how many were sent.
func (s *Store) CheckAlerts(ctx context.Context, buildMail AlertMail) (sent int, err error) {
	var last alertState

	for {
		var batch []alertState
		err := s.reports.NewRaw(alertsSelect, last.AccountID, last.Kind, dayOf(s.now()), alertsBatch).Scan(ctx, &batch)
		if err != nil {
			return sent, fmt.Errorf("read alerts: %w", err)
		}

		for _, a := range batch {
			done, err := s.checkAlert(ctx, a, buildMail)
			if err != nil {
				return sent, fmt.Errorf("send alert: %w", err)
			}
			if done {
				sent++
			}
		}

		if len(batch) < alertsBatch {
			return sent, nil
		}
		last = batch[len(batch)-1]
	}
}

// checkAlert sends an alert that is due, and lets one be sent again whose value is within the threshold.
func (s *Store) checkAlert(ctx context.Context, a alertState, buildMail AlertMail) (sent bool, err error) {
	now := s.now()
	value, beyond := a.value()
	if beyond && !a.due(now) || !beyond && a.Armed {
		return false, nil
	}

	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		sent = false
		at := a.SentAt
		if beyond {
			at = toMicros(now)
		}

		// The account may have changed or removed the alert.
		same, err := changed(tx.NewRaw(`UPDATE usage_alerts SET armed = ?, sent_at = ?
			WHERE account_id = ? AND kind = ? AND threshold = ? AND sent_at = ?`,
			!beyond, at, a.AccountID, a.Kind, a.Threshold, a.SentAt).Exec(ctx))
		if err != nil || !same || !beyond {
			return err
		}

		sent = true
		news := AlertEvent{Kind: a.Kind, Value: value, Threshold: a.Threshold}
		err = s.writeEvent(ctx, tx, newEvent{accountID: a.AccountID, kind: EventAccountAlert, data: news, at: now})
		if err != nil {
			return err
		}

		if buildMail == nil {
			return nil
		}
		to, err := emailsOf(ctx, tx, a.AccountID, RoleOwner)
		if err != nil || len(to) == 0 {
			return err
		}

		emails, err := buildMail(news, to)
		if err != nil || len(emails) == 0 {
			return err
		}
		return enqueueEmails(ctx, tx, emails, now)
	})

	return sent && err == nil, err
}
