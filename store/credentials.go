package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"
)

// UndoLife is the period in which a change of credentials can be undone.
const UndoLife = 7 * 24 * time.Hour

// CredentialChange is a change of how a user logs in. Fields that are nil stay.
type CredentialChange struct {
	Password *string // its hash
	Email    *string // shown to be the user's
	Identity *string // empty ends the link
	Factor   *Factor
	// KeepSession is the stored token of the one session that continues; empty is none.
	KeepSession string
	// BuildMail writes the encrypted emails about the change. Undo is the secret of the link that undoes it. Tell runs
	// within the transaction, which may run again.
	BuildMail func(before User, undo string) ([]QueuedEmail, error)
}

// Factor is a second factor: the encrypted secret of an authenticator and its recovery codes. The zero value means
// none.
type Factor struct {
	Sealed []byte
	Codes  []string
}

// credentials are a user's credentials before a change, as a link that undoes it holds them. The password is not
// among them: the link sets a new one.
type credentials struct {
	Email    string   `json:"email"`
	Identity *string  `json:"identity,omitempty"`
	Factor   []byte   `json:"factor,omitempty"`
	Codes    [][]byte `json:"codes,omitempty"` // hashes of recovery codes
}

// ChangeCredentials changes how a user logs in. Every other session of the user ends, and so does every link, code
// and pending change that was made before. It returns ErrExists when the address or the identity is another user's.
func (s *Store) ChangeCredentials(ctx context.Context, id string, c CredentialChange) error {
	if c.Email != nil {
		email, err := MailAddress(*c.Email)
		if err != nil {
			return err
		}
		c.Email = &email
	}

	return s.update(ctx, "change credentials", func(ctx context.Context, tx txn) error {
		before, saved, err := s.personCredentials(ctx, tx, id)
		if err != nil {
			return err
		}

		if err := s.applyCredentials(ctx, tx, id, c); err != nil {
			return err
		}
		if err := s.endSessions(ctx, tx, id, c.KeepSession); err != nil {
			return err
		}

		if c.BuildMail == nil {
			return nil
		}

		undo, err := s.addUndo(ctx, tx, id, saved)
		if err != nil {
			return err
		}
		emails, err := c.BuildMail(before.person(), undo)
		if err != nil || len(emails) == 0 {
			return err
		}
		return enqueueEmails(ctx, tx, emails, s.now())
	})
}

// personCredentials reads a user and locks the row until the transaction ends.
func (s *Store) personCredentials(ctx context.Context, tx txn, id string) (personRow, credentials, error) {
	var row personRow
	err := notFound(tx.NewUpdate().Model(&row).Set("email = email").Where("id = ?", id).Returning("*").Scan(ctx))
	if err != nil {
		return row, credentials{}, err
	}
	saved := credentials{Email: row.Email, Identity: row.Identity, Factor: row.Factor}
	err = tx.NewSelect().Table("recovery_codes").Column("hash").Where("person_id = ?", id).Scan(ctx, &saved.Codes)
	return row, saved, err
}

func (s *Store) applyCredentials(ctx context.Context, tx txn, id string, c CredentialChange) error {
	now := toMicros(s.now())
	if c.Password != nil {
		if err := s.setPerson(ctx, tx, id, "password = ?, password_set_at = ?", *c.Password, now); err != nil {
			return err
		}
	}

	if c.Email != nil {
		if err := s.freePersonColumn(ctx, tx, id, "email", *c.Email); err != nil {
			return err
		}
		if err := s.setPerson(ctx, tx, id, "email = ?, verified_at = ?", *c.Email, now); err != nil {
			return err
		}
	}

	if c.Identity != nil {
		if err := s.setIdentity(ctx, tx, id, *c.Identity); err != nil {
			return err
		}
	}

	if c.Factor == nil {
		return nil
	}
	hashes := make([][]byte, len(c.Factor.Codes))
	for i, code := range c.Factor.Codes {
		hash := sha256.Sum256([]byte(code))
		hashes[i] = hash[:]
	}

	return s.setFactor(ctx, tx, id, c.Factor.Sealed, hashes)
}

// freePersonColumn returns ErrExists where another user has a value of a column.
func (s *Store) freePersonColumn(ctx context.Context, tx txn, id, column, value string) error {
	taken, err := tx.NewSelect().Table("people").Where("? = ? AND id <> ?", bun.Ident(column), value, id).Exists(ctx)
	if err == nil && taken {
		err = ErrExists
	}
	return err
}

func (s *Store) setIdentity(ctx context.Context, tx txn, id, identity string) error {
	if identity == "" {
		return s.setPerson(ctx, tx, id, "identity = NULL")
	}
	if err := s.freePersonColumn(ctx, tx, id, "identity", identity); err != nil {
		return err
	}
	return s.setPerson(ctx, tx, id, "identity = ?", identity)
}

func (s *Store) setFactor(ctx context.Context, tx txn, id string, sealed []byte, hashes [][]byte) error {
	if err := s.setPerson(ctx, tx, id, "factor = ?", sealed); err != nil {
		return err
	}

	if _, err := tx.NewDelete().Table("recovery_codes").Where("person_id = ?", id).Exec(ctx); err != nil {
		return err
	}
	for _, hash := range hashes {
		row := map[string]any{"person_id": id, "hash": hash}
		if _, err := tx.NewInsert().Model(&row).TableExpr("recovery_codes").Exec(ctx); err != nil {
			return err
		}
	}

	return nil
}

// endSessions ends everything that can act as a user without a credential: all sessions but one, all emailed links
// but those that undo a change, and all codes that no app has exchanged.
func (s *Store) endSessions(ctx context.Context, tx txn, id, keepSession string) error {
	if _, err := endSessions(tx, s.now()).Where("person_id = ? AND token <> ?", id, keepSession).Exec(ctx); err != nil {
		return err
	}

	_, err := tx.NewDelete().Table("tokens").Where("person_id = ? AND purpose <> ?", id, TokenUndo).Exec(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.NewDelete().Table("oauth_codes").Where("person_id = ? AND NOT used", id).Exec(ctx); err != nil {
		return err
	}

	_, err = tx.NewUpdate().Table("device_codes").Set("state = ?", deviceDenied).
		Where("person_id = ? AND state IN (?, ?)", id, deviceWaiting, deviceApproved).Exec(ctx)
	return err
}

func (s *Store) addUndo(ctx context.Context, tx txn, id string, saved credentials) (secret string, err error) {
	data, err := json.Marshal(saved)
	if err != nil {
		return "", err
	}

	now := s.now()
	secret = rand.Text()
	row := tokenRow{
		Hash:      tokenHash(secret),
		Purpose:   TokenUndo,
		PersonID:  id,
		Data:      string(data),
		CreatedAt: toMicros(now),
		ExpiresAt: toMicros(now.Add(UndoLife)),
	}

	_, err = tx.NewInsert().Model(&row).Exec(ctx)
	return secret, err
}

// UndoEmail returns the address that a link of TokenUndo restores, or ErrUsed.
func (s *Store) UndoEmail(ctx context.Context, secret string) (string, error) {
	t, err := s.Token(ctx, TokenUndo, secret)
	if err != nil {
		return "", err
	}
	var saved credentials
	err = json.Unmarshal([]byte(t.Data), &saved)
	return saved.Email, wrapped("read link", err)
}

// UndoCredentials uses a link of TokenUndo: the user gets the previous address, identity and second factor, and a
// new password. All sessions end, and with them every link and pending change, including those that undo later
// changes. It returns ErrUsed for an invalid link, and ErrExists if another user has verified the address since.
func (s *Store) UndoCredentials(ctx context.Context, secret, passwordHash string) (personID string, err error) {
	return personID, s.update(ctx, "undo change of credentials", func(ctx context.Context, tx txn) error {
		now := toMicros(s.now())
		var row tokenRow
		err := notFound(tx.NewRaw("DELETE FROM tokens WHERE hash = ? AND purpose = ? AND expires_at > ? RETURNING *",
			tokenHash(secret), TokenUndo, now).Scan(ctx, &row))
		if errors.Is(err, ErrNotFound) {
			return ErrUsed
		}
		if err != nil {
			return err
		}

		personID = row.PersonID
		var saved credentials
		if err := json.Unmarshal([]byte(row.Data), &saved); err != nil {
			return err
		}

		if err := s.vacateEmail(ctx, tx, personID, saved.Email); err != nil {
			return err
		}
		err = s.setPerson(ctx, tx, personID,
			"email = ?, verified_at = COALESCE(verified_at, ?), password = ?, password_set_at = ?",
			saved.Email, now, passwordHash, now)
		if err != nil {
			return err
		}

		identity := ""
		if saved.Identity != nil {
			identity = *saved.Identity
		}
		err = s.setIdentity(ctx, tx, personID, identity)
		if errors.Is(err, ErrExists) { // It was linked with another user since.
			err = s.setIdentity(ctx, tx, personID, "")
		}
		if err != nil {
			return err
		}

		if err := s.setFactor(ctx, tx, personID, saved.Factor, saved.Codes); err != nil {
			return err
		}

		_, err = tx.NewDelete().Model((*tokenRow)(nil)).
			Where("person_id = ? AND created_at >= ?", personID, row.CreatedAt).Exec(ctx)
		if err != nil {
			return err
		}
		return s.endSessions(ctx, tx, personID, "")
	})
}

// vacateEmail frees an address that belongs to a user again: a user who has signed up with it since, and has not
// verified it, is deleted. It returns ErrExists if another user has verified it.
func (s *Store) vacateEmail(ctx context.Context, tx txn, id, email string) error {
	var others []personRow
	if err := tx.NewSelect().Model(&others).Where("email = ? AND id <> ?", email, id).Scan(ctx); err != nil {
		return err
	}

	for _, other := range others {
		if other.VerifiedAt != nil {
			return ErrExists
		}
		if err := s.removePerson(ctx, tx, other.ID); err != nil {
			return err
		}
	}

	return nil
}

// ClaimUser gives a user with an unverified email address to the owner who has now verified it. It removes
// everything set up before: password, identity, second factor, sessions and links. It returns ErrExists if the
// address was already verified, or if the identity is another user's.
func (s *Store) ClaimUser(ctx context.Context, id string, n NewUser) error {
	return s.update(ctx, "claim person", func(ctx context.Context, tx txn) error {
		now := toMicros(s.now())
		first, err := changed(tx.NewUpdate().Table("people").Set("verified_at = ?, password = ?", now, n.Password).
			Where("id = ? AND verified_at IS NULL", id).Exec(ctx))
		switch {
		case err != nil:
			return err
		case !first:
			return ErrExists
		}

		if n.Password != "" {
			err = s.setPerson(ctx, tx, id, "password_set_at = ?", now)
		} else {
			err = s.setPerson(ctx, tx, id, "password_set_at = NULL")
		}
		if err != nil {
			return err
		}

		if n.Name != "" {
			if err := s.setPerson(ctx, tx, id, "name = ?", clean(n.Name, 100)); err != nil {
				return err
			}
		}

		if err := s.setIdentity(ctx, tx, id, n.Identity); err != nil {
			return err
		}
		if err := s.setFactor(ctx, tx, id, nil, nil); err != nil {
			return err
		}

		if _, err := tx.NewDelete().Model((*tokenRow)(nil)).Where("person_id = ?", id).Exec(ctx); err != nil {
			return err
		}
		return s.endSessions(ctx, tx, id, "")
	})
}
