package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// DeviceLife is the lifetime of a device's code.
	DeviceLife = 10 * time.Minute
	// DevicePause is the initial pause between two requests of a device, and the increase of the pause after a
	// request that came too early.
	DevicePause = 5 * time.Second
	// deviceEarly is the tolerated earliness of a request: the previous one may have been delayed on its way.
	deviceEarly = time.Second
	// deviceCollect is the minimum time that a device has to collect its key.
	deviceCollect = time.Minute
)

// Why a device gets no key. Compare with errors.Is.
var (
	// ErrWaiting means that the user has not decided yet.
	ErrWaiting = errors.New("no decision yet")
	// ErrTooEarly means that the device asks more often than it may.
	ErrTooEarly = errors.New("asked too early")
	// ErrDenied means that a user has refused, or may not make keys any more.
	ErrDenied = errors.New("denied")
	// ErrExpired means that the code's time is over.
	ErrExpired = errors.New("expired")
)

// States of a device's code.
const (
	deviceWaiting  = "waiting"
	deviceApproved = "approved"
	deviceDenied   = "denied"
	deviceUsed     = "used"
)

// NewDevice describes a machine that asks for a key, in its own words.
type NewDevice struct {
	Machine, System string
	Address         string // the client's
}

// Device is a machine that has asked for a key.
type Device struct {
	ID                       string
	Machine, System, Address string
	CreatedAt, ExpiresAt     time.Time
}

// DeviceCodes are the codes of a device that asks: a secret one, and one for a user to type.
type DeviceCodes struct {
	Device Device
	Secret string
	Typed  string // as displayed, such as "WDJB-MJHT"
}

// CollectedKey is the key of a device, with its secret and its account.
type CollectedKey struct {
	Key     Key
	Secret  string
	Account string // as displayed
}

// KeyMailBuilder writes the sealed emails that notify the users with these addresses of a key made for a device. It is
// called within the key's transaction, which may run again.
type KeyMailBuilder func(key Key, device Device, to []string) ([]QueuedEmail, error)

type deviceRow struct {
	bun.BaseModel `bun:"table:device_codes,alias:d"`

	ID           string `bun:",pk"`
	DeviceHash   []byte
	UserHash     []byte
	Machine      string
	System       string
	Address      string
	State        string
	PersonID     *string
	AccountID    *string
	KeyName      string
	KeyTest      bool
	KeyLimit     *credit.Amount
	KeyExpiresAt *int64
	KeyID        *string
	Pause        int64 // microseconds
	PolledAt     *int64
	CreatedAt    int64
	ExpiresAt    int64
}

func (r *deviceRow) device() Device {
	return Device{r.ID, r.Machine, r.System, r.Address, fromMicros(r.CreatedAt), fromMicros(r.ExpiresAt)}
}

// codeLetters are the letters of codes that users type: no vowels, so that codes are not words, and no letters that
// are easily confused.
const codeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// codeLength is the number of letters of a code. A hyphen separates the halves.
const codeLength = 8

// newTypedCode returns a code of random letters.
func newTypedCode() string {
	out := make([]byte, 0, codeLength)
	var buf [32]byte

	for len(out) < codeLength {
		_, _ = rand.Read(buf[:]) // crypto/rand.Read never fails: it ends the process instead.
		for _, b := range buf {
			// Values from 240 on are dropped: they would favour the first letters.
			if b < 240 && len(out) < codeLength {
				out = append(out, codeLetters[b%20])
			}
		}
	}

	return ShownCode(string(out))
}

// ShownCode returns a code as it is displayed, however the user typed it.
func ShownCode(typed string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(codeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(typed))

	if len(letters) != codeLength {
		return ""
	}
	return letters[:codeLength/2] + "-" + letters[codeLength/2:]
}

// CreateDevice adds a machine that asks for a key, and returns its codes.
func (s *Store) CreateDevice(ctx context.Context, n NewDevice) (DeviceCodes, error) {
	now := s.now()
	row := deviceRow{
		ID:        s.NewID("dev"),
		Machine:   clean(n.Machine, 100),
		System:    clean(n.System, 100),
		Address:   clean(n.Address, 64),
		State:     deviceWaiting,
		Pause:     DevicePause.Microseconds(),
		CreatedAt: toMicros(now),
		ExpiresAt: toMicros(now.Add(DeviceLife)),
	}

	codes := DeviceCodes{Device: row.device(), Secret: newSecret("")}
	row.DeviceHash = hashSecret(codes.Secret)

	// Another device may be waiting under the same letters.
	for range 5 {
		codes.Typed = newTypedCode()
		row.UserHash = hashSecret(codes.Typed)
		added := false
		err := s.update(ctx, "keep device", func(ctx context.Context, tx txn) (err error) {
			added, err = changed(tx.NewInsert().Model(&row).On("CONFLICT (user_hash) DO NOTHING").Exec(ctx))
			return err
		})
		if err != nil || added {
			return codes, err
		}
	}

	return codes, errors.New("keep device: every code is taken")
}

// ClaimDevice returns the device that shows the code that a user has typed. From then on only this user can decide. It
// returns ErrNotFound for a code that does not wait for a user: unknown, expired, decided, or typed by another user.
func (s *Store) ClaimDevice(ctx context.Context, code, personID string) (Device, error) {
	shown := ShownCode(code)
	if shown == "" {
		return Device{}, wrapped("read device", ErrNotFound)
	}
	return s.claimDeviceWhere(ctx, personID, "user_hash = ?", hashSecret(shown))
}

// ClaimedDevice returns a device whose code the user has typed, while it waits for a decision, or ErrNotFound.
func (s *Store) ClaimedDevice(ctx context.Context, id, personID string) (Device, error) {
	return s.claimDeviceWhere(ctx, personID, "person_id IS NOT NULL AND id = ?", id)
}

func (s *Store) claimDeviceWhere(ctx context.Context, personID, which string, value any) (Device, error) {
	var row deviceRow
	err := s.update(ctx, "read device", func(ctx context.Context, tx txn) error {
		row = deviceRow{}
		return notFound(tx.NewUpdate().Model(&row).Set("person_id = ?", personID).Where(which, value).
			Where("state = ? AND expires_at > ? AND (person_id IS NULL OR person_id = ?)",
				deviceWaiting, toMicros(s.now()), personID).Returning("*").Scan(ctx))
	})
	return row.device(), err
}

// ApproveDevice lets a device collect a key. It returns ErrNotFound if this user has not claimed the device, and after
// a decision.
func (s *Store) ApproveDevice(ctx context.Context, id, personID string, key NewKey) error {
	if err := key.check(); err != nil {
		return fmt.Errorf("approve device: %w", err)
	}
	collect := toMicros(s.now().Add(deviceCollect))
	return s.decideDevice(ctx, "approve device", id, personID, func(q *bun.UpdateQuery) {
		q.Set("state = ?, account_id = ?, key_name = ?, key_test = ?, key_limit = ?, key_expires_at = ?",
			deviceApproved, key.AccountID, clean(key.Name, 200), key.Test, key.SpendLimit, toMicrosPtr(key.ExpiresAt)).
			Set("expires_at = CASE WHEN expires_at < ? THEN ? ELSE expires_at END", collect, collect)
	})
}

// DenyDevice refuses a device its key. It returns ErrNotFound as ApproveDevice does.
func (s *Store) DenyDevice(ctx context.Context, id, personID string) error {
	return s.decideDevice(ctx, "deny device", id, personID, func(q *bun.UpdateQuery) {
		q.Set("state = ?", deviceDenied)
	})
}

func (s *Store) decideDevice(ctx context.Context, doing, id, personID string, set func(*bun.UpdateQuery)) error {
	return s.update(ctx, doing, func(ctx context.Context, tx txn) error {
		query := tx.NewUpdate().Model((*deviceRow)(nil)).
			Where("id = ? AND person_id = ? AND state = ? AND expires_at > ?",
				id, personID, deviceWaiting, toMicros(s.now()))
		set(query)
		ok, err := changed(query.Exec(ctx))
		if err == nil && !ok {
			err = ErrNotFound
		}
		return err
	})
}

// CollectKey makes the key of a device that was approved, once: with the entry in the audit log and the emails to the
// account's owners and to the user who approved it. It returns ErrWaiting, ErrTooEarly, ErrDenied, ErrExpired,
// ErrUsed for a secret that a key was made for, or ErrNotFound. A secret that comes again has two owners: its key is
// revoked.
func (s *Store) CollectKey(ctx context.Context, secret string, buildMail KeyMailBuilder) (CollectedKey, error) {
	var collected CollectedKey
	var denial error
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		collected = CollectedKey{}
		denial = nil

		var row deviceRow
		// The change of nothing lets no other question of the same device in before the end.
		err := notFound(tx.NewUpdate().Model(&row).Set("pause = pause").Where("device_hash = ?", hashSecret(secret)).
			Returning("*").Scan(ctx))
		if err != nil {
			return err
		}

		now := s.now()
		if denial = row.denial(now); denial != nil {
			return s.refuseDevice(ctx, tx, &row, now, denial)
		}

		if denial, err = refusal(ctx, tx, *row.AccountID, *row.PersonID); err != nil {
			return err
		}
		if denial != nil {
			_, err := tx.NewUpdate().Model((*deviceRow)(nil)).Set("state = ?", deviceDenied).Where("id = ?", row.ID).
				Exec(ctx)
			return err
		}

		collected, err = s.createDeviceKey(ctx, tx, &row, buildMail)
		return err
	})
	if err == nil {
		err = denial
	}
	return collected, wrapped("collect key", err)
}

// denial returns the reason why a device gets no key at a time, or nil.
func (r *deviceRow) denial(now time.Time) error {
	switch {
	case r.State == deviceUsed:
		return ErrUsed
	case r.State == deviceDenied:
		return ErrDenied
	case r.ExpiresAt <= toMicros(now):
		return ErrExpired
	case r.PolledAt != nil && toMicros(now.Add(deviceEarly)) < *r.PolledAt+r.Pause:
		return ErrTooEarly
	case r.State == deviceWaiting:
		return ErrWaiting
	}

	return nil
}

// refuseDevice records a request that got no key.
func (s *Store) refuseDevice(ctx context.Context, tx txn, row *deviceRow, now time.Time, denial error) error {
	query := tx.NewUpdate().Model((*deviceRow)(nil)).Where("id = ?", row.ID).Set("polled_at = ?", toMicros(now))
	switch {
	case errors.Is(denial, ErrUsed) && row.KeyID != nil && row.ExpiresAt > toMicros(now):
		_, err := tx.NewUpdate().Model((*keyRow)(nil)).Set("revoked_at = COALESCE(revoked_at, ?)", toMicros(now)).
			Where("id = ?", *row.KeyID).Exec(ctx)
		return err
	case errors.Is(denial, ErrTooEarly):
		query.Set("pause = pause + ?", DevicePause.Microseconds())
	case !errors.Is(denial, ErrWaiting):
		return nil
	}

	_, err := query.Exec(ctx)
	return err
}

// createDeviceKey makes the key of a device.
func (s *Store) createDeviceKey(
	ctx context.Context, tx txn, row *deviceRow, buildMail KeyMailBuilder,
) (CollectedKey, error) {
	created, secret := s.newRow(NewKey{
		AccountID:  *row.AccountID,
		Name:       row.KeyName,
		Test:       row.KeyTest,
		ExpiresAt:  fromMicrosPtr(row.KeyExpiresAt),
		SpendLimit: row.KeyLimit,
	})

	if _, err := tx.NewInsert().Model(created).Exec(ctx); err != nil {
		return CollectedKey{}, err
	}
	_, err := tx.NewUpdate().Model((*deviceRow)(nil)).Set("state = ?, key_id = ?", deviceUsed, created.ID).
		Where("id = ?", row.ID).Exec(ctx)
	if err != nil {
		return CollectedKey{}, err
	}

	key := created.key()
	var who, account string
	err = tx.NewSelect().TableExpr("people AS p, accounts AS a").
		ColumnExpr("p.email, COALESCE(NULLIF(a.name, ''), a.email)").
		Where("p.id = ? AND a.id = ?", row.PersonID, row.AccountID).Scan(ctx, &who, &account)
	if err != nil {
		return CollectedKey{}, err
	}

	entry := s.newAuditRow(AuditEntry{
		AccountID: key.AccountID, PersonID: *row.PersonID, Who: who, Action: "key.made", Object: key.Name,
		Note: "for the command line on " + row.Machine, Address: row.Address,
	})
	if _, err := tx.NewInsert().Model(&entry).Exec(ctx); err != nil {
		return CollectedKey{}, err
	}

	return CollectedKey{key, secret, account}, s.enqueueDeviceEmails(ctx, tx, row, key, buildMail)
}

// enqueueDeviceEmails queues the emails about a device's key.
func (s *Store) enqueueDeviceEmails(
	ctx context.Context, tx txn, row *deviceRow, key Key, buildMail KeyMailBuilder,
) error {
	if buildMail == nil {
		return nil
	}

	to, err := ownersAnd(ctx, tx, key.AccountID, *row.PersonID)
	if err != nil {
		return err
	}

	emails, err := buildMail(key, row.device(), to)
	if err != nil || len(emails) == 0 {
		return err
	}

	return enqueueEmails(ctx, tx, emails, s.now())
}

// ownersAnd returns the addresses of an account's owners and of a member.
func ownersAnd(ctx context.Context, tx txn, accountID, personID string) (to []string, err error) {
	err = tx.NewSelect().TableExpr("members AS m").Join("JOIN people AS p ON p.id = m.person_id").Column("p.email").
		Where("m.account_id = ? AND (m.role = ? OR m.person_id = ?)", accountID, RoleOwner, personID).Order("p.email").
		Scan(ctx, &to)
	return to, err
}
