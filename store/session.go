package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Session is one browser in which a user is logged in.
type Session struct {
	ID        string // public: it opens nothing
	PersonID  string
	Device    string
	Address   string
	CreatedAt time.Time
	SeenAt    time.Time
	Token     string // the stored form: a hash
}

// sessionFacts are the facts in a session's own JSON data.
type sessionFacts struct {
	Person  string `json:"person"`
	Device  string `json:"device"`
	Address string `json:"address"`
}

type sessionRow struct {
	bun.BaseModel `bun:"table:sessions,alias:s"`

	Token     string `bun:",pk"`
	PublicID  string
	PersonID  *string
	Data      []byte
	Device    string
	Address   string
	CreatedAt int64
	SeenAt    int64
	ExpiresAt int64
}

// FindSession returns the JSON data of a session that has not expired. The token is the stored form, as in all methods
// of sessions.
func (s *Store) FindSession(ctx context.Context, token string) ([]byte, bool, error) {
	var row sessionRow
	err := s.read.NewSelect().Model(&row).Column("data").
		Where("token = ? AND expires_at > ? AND length(data) > 0", token, toMicros(s.now())).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read session: %w", err)
	}

	return row.Data, true, nil
}

const (
	// seenEvery is the precision of SeenAt: a page that changes nothing else of its session stores it no more
	// often.
	seenEvery = time.Minute
	// seenTimeout bounds storing it then. A page is shown without that.
	seenTimeout = time.Second
)

// CommitSession stores a session, unless it has been ended: a request that was running at that time does not restore
// it. The data is JSON.
func (s *Store) CommitSession(ctx context.Context, token string, data []byte, expiry time.Time) error {
	var envelope struct {
		Values sessionFacts `json:"values"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return fmt.Errorf("store session: %w", err)
	}

	facts := envelope.Values
	now := toMicros(s.now())
	row := sessionRow{
		Token:     token,
		PublicID:  s.NewID("ses"),
		Data:      data,
		Device:    clean(facts.Device, 200),
		Address:   clean(facts.Address, 64),
		CreatedAt: now,
		SeenAt:    now,
		ExpiresAt: toMicros(expiry),
	}
	if facts.Person != "" {
		row.PersonID = &facts.Person
	}

	var seen int64
	err := s.read.NewSelect().Model((*sessionRow)(nil)).Column("seen_at").
		Where("token = ? AND data = ?", token, data).Scan(ctx, &seen)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read session: %w", err)
	}

	same := err == nil
	if same && now-seen < seenEvery.Microseconds() {
		return nil
	}
	if same {
		soon, cancel := context.WithTimeout(ctx, seenTimeout)
		defer cancel()
		ctx = soon
	}

	err = s.update(ctx, "store session", func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (token) DO UPDATE").
			Set(`person_id = EXCLUDED.person_id, data = EXCLUDED.data, device = EXCLUDED.device,
				address = EXCLUDED.address, seen_at = EXCLUDED.seen_at, expires_at = EXCLUDED.expires_at`).
			Where("length(s.data) > 0").Exec(ctx)
		return err
	})
	if same && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// DeleteSession ends the session of a token.
func (s *Store) DeleteSession(ctx context.Context, token string) error {
	return s.update(ctx, "end session", func(ctx context.Context, tx txn) error {
		_, err := endSessions(tx, s.now()).Where("token = ?", token).Exec(ctx)
		return err
	})
}

// Sessions returns the sessions of a user, the most recently used first.
func (s *Store) Sessions(ctx context.Context, personID string) ([]Session, error) {
	var rows []sessionRow
	err := s.read.NewSelect().Model(&rows).ExcludeColumn("data").
		Where("person_id = ? AND expires_at > ?", personID, toMicros(s.now())).Order("seen_at DESC").Limit(100).
		Scan(ctx)
	return converted(rows, func(r *sessionRow) Session {
		return Session{r.PublicID, personID, r.Device, r.Address, fromMicros(r.CreatedAt), fromMicros(r.SeenAt), r.Token}
	}), wrapped("read sessions", err)
}

// EndSession ends one session of a user, or returns ErrNotFound.
func (s *Store) EndSession(ctx context.Context, personID, id string) error {
	return s.update(ctx, "end session", func(ctx context.Context, tx txn) error {
		ok, err := changed(endSessions(tx, s.now()).Where("person_id = ? AND public_id = ?", personID, id).
			Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
}

// EndOtherSessions ends all sessions of a user but the one whose stored token is given.
func (s *Store) EndOtherSessions(ctx context.Context, personID, keep string) error {
	return s.update(ctx, "end sessions", func(ctx context.Context, tx txn) error {
		_, err := endSessions(tx, s.now()).Where("person_id = ? AND token <> ?", personID, keep).Exec(ctx)
		return err
	})
}

// endedFor is the time for which an ended session is remembered: longer than any request that it had begun.
const endedFor = time.Hour

// endSessions ends the sessions that match a condition: an ended session keeps only the fact of its end.
func endSessions(tx txn, now time.Time) *bun.UpdateQuery {
	return tx.NewUpdate().Model((*sessionRow)(nil)).
		Set("person_id = NULL, data = ?, expires_at = ?", []byte{}, toMicros(now.Add(endedFor)))
}
