package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"golang.org/x/text/unicode/norm"
)

// User is a user who can log in. The user's permissions depend on the role in each account.
type User struct {
	ID            string
	Email         string // unique, as NormalAddress returns it
	Name          string
	Password      string // its hash; empty is none
	PasswordSetAt *time.Time
	VerifiedAt    *time.Time // when the address was shown to be theirs
	Factor        []byte     // the sealed secret of their authenticator; empty is none
	FactorStep    int64      // the last time step whose code was used
	Operator      bool       // of the installation
	Identity      string     // "issuer subject" at an outside provider; empty is none
	CreatedAt     time.Time
}

// NewUser describes a user to be made.
type NewUser struct {
	Email, Name, Password string
	Verified              bool
	Identity              string // at an outside provider; empty is none
}

type personRow struct {
	bun.BaseModel `bun:"table:people,alias:p"`

	ID            string `bun:",pk"`
	Email         string
	Name          string
	Password      string
	PasswordSetAt *int64
	VerifiedAt    *int64
	Factor        []byte
	FactorStep    int64
	Operator      bool
	Identity      *string
	CreatedAt     int64
}

func (r *personRow) person() User {
	p := User{
		ID:            r.ID,
		Email:         r.Email,
		Name:          r.Name,
		Password:      r.Password,
		Factor:        r.Factor,
		FactorStep:    r.FactorStep,
		Operator:      r.Operator,
		PasswordSetAt: fromMicrosPtr(r.PasswordSetAt),
		VerifiedAt:    fromMicrosPtr(r.VerifiedAt),
		CreatedAt:     fromMicros(r.CreatedAt),
	}

	if r.Identity != nil {
		p.Identity = *r.Identity
	}
	return p
}

// ErrUsed means that a link or a code does not work: it was used before, has
// expired, or never existed.
var ErrUsed = errors.New("the link or code was used before, or has expired")

// NormalAddress returns the one spelling of an email address by which users are found and attempts are counted: in
// Unicode's composed form, lower-case, without the space around it.
func NormalAddress(text string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(text)))
}

// MailAddress returns an email address in the form in which it is stored, or an error for users.
func MailAddress(text string) (string, error) {
	address := NormalAddress(text)
	at := strings.LastIndexByte(address, '@')
	if !storable(text) || at < 1 || at == len(address)-1 || len(address) > 254 ||
		strings.ContainsAny(address, " \t\r\n<>,;:\"\\") {
		return "", errors.New("must be an email address such as maya@example.com")
	}
	return address, nil
}

// CreateUser adds a user. It returns ErrExists when the address has one, or the outside identity.
func (s *Store) CreateUser(ctx context.Context, n NewUser) (User, error) {
	var made User
	err := s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		made, err = s.createPerson(ctx, tx, n)
		return err
	})
	return made, wrapped("create person", err)
}

func (s *Store) createPerson(ctx context.Context, tx txn, n NewUser) (User, error) {
	email, err := MailAddress(n.Email)
	if err != nil {
		return User{}, err
	}

	now := toMicros(s.now())
	row := personRow{ID: s.NewID("per"), Email: email, Name: clean(n.Name, 100), Password: n.Password, CreatedAt: now}
	if n.Password != "" {
		row.PasswordSetAt = &now
	}
	if n.Verified {
		row.VerifiedAt = &now
	}
	if n.Identity != "" {
		row.Identity = &n.Identity
	}

	added, err := changed(tx.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Exec(ctx))
	if err == nil && !added {
		err = ErrExists
	}
	return row.person(), err
}

// User returns a user, or ErrNotFound.
func (s *Store) User(ctx context.Context, id string) (User, error) {
	return s.personWhere(ctx, "id = ?", id)
}

// UserByEmail returns the user with an address in any spelling, or ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email string) (User, error) {
	return s.personWhere(ctx, "email = ?", NormalAddress(email))
}

// UserByIdentity returns the user linked to an outside identity, or ErrNotFound.
func (s *Store) UserByIdentity(ctx context.Context, identity string) (User, error) {
	return s.personWhere(ctx, "identity = ?", identity)
}

func (s *Store) personWhere(ctx context.Context, where, arg string) (User, error) {
	var row personRow
	if !storable(arg) || arg == "" {
		return User{}, fmt.Errorf("read person: %w", ErrNotFound)
	}
	if err := s.read.NewSelect().Model(&row).Where(where, arg).Scan(ctx); err != nil {
		return User{}, fmt.Errorf("read person: %w", notFound(err))
	}
	return row.person(), nil
}

// Users returns all users.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	var rows []personRow
	err := s.read.NewSelect().Model(&rows).Order("email").Scan(ctx)
	return converted(rows, (*personRow).person), wrapped("read people", err)
}

// SetUserName changes a user's name.
func (s *Store) SetUserName(ctx context.Context, id, name string) error {
	return s.changePerson(ctx, "set name", id, "name = ?", clean(name, 100))
}

// VerifyUser records that a user's email address is verified, and reports whether it was not verified before. If
// so, every other session of the user ends, and every link. It is for a user who has signed up in the same browser or
// is identified by other means: ClaimUser is for all others.
func (s *Store) VerifyUser(ctx context.Context, id, keepSession string) (first bool, err error) {
	err = s.update(ctx, "verify person", func(ctx context.Context, tx txn) (err error) {
		first, err = changed(tx.NewUpdate().Table("people").Set("verified_at = ?", toMicros(s.now())).
			Where("id = ? AND verified_at IS NULL", id).Exec(ctx))
		if err != nil || !first {
			return err
		}
		return s.endSessions(ctx, tx, id, keepSession)
	})
	return first, err
}

// SetOperator makes a user an operator of the installation, or ends that.
func (s *Store) SetOperator(ctx context.Context, id string, operator bool) error {
	return s.changePerson(ctx, "set operator", id, "operator = ?", operator)
}

// UseFactorStep records the time step of a code, so that the code works once.
// It returns ErrUsed when the step, or a later one, was used before.
func (s *Store) UseFactorStep(ctx context.Context, id string, step int64) error {
	return s.update(ctx, "use code", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewUpdate().Table("people").Set("factor_step = ?", step).
			Where("id = ? AND factor_step < ?", id, step).Exec(ctx))
		if err == nil && !ok {
			err = ErrUsed
		}
		return err
	})
}

// UseRecoveryCode uses up one of a user's recovery codes, or returns ErrUsed.
func (s *Store) UseRecoveryCode(ctx context.Context, id, code string) error {
	hash := sha256.Sum256([]byte(code))
	return s.update(ctx, "use recovery code", func(ctx context.Context, tx txn) error {
		ok, err := changed(tx.NewDelete().Table("recovery_codes").Where("person_id = ? AND hash = ?", id, hash[:]).
			Exec(ctx))
		if err == nil && !ok {
			err = ErrUsed
		}
		return err
	})
}

// RecoveryCodes returns how many a user has left.
func (s *Store) RecoveryCodes(ctx context.Context, id string) (int, error) {
	n, err := s.read.NewSelect().Table("recovery_codes").Where("person_id = ?", id).Count(ctx)
	return int(n), wrapped("count recovery codes", err)
}

// RemoveUser deletes a user with all data that belongs to the user alone: memberships, sessions, links and second
// factor. It returns ErrNotFound for an unknown user.
func (s *Store) RemoveUser(ctx context.Context, id string) error {
	return s.update(ctx, "remove person", func(ctx context.Context, tx txn) error {
		return s.removePerson(ctx, tx, id)
	})
}

func (s *Store) removePerson(ctx context.Context, tx txn, id string) error {
	for _, table := range []string{"members", "sessions", "tokens", "recovery_codes", "device_codes", "oauth_codes"} {
		if _, err := tx.NewDelete().Table(table).Where("person_id = ?", id).Exec(ctx); err != nil {
			return err
		}
	}

	ok, err := changed(tx.NewDelete().Table("people").Where("id = ?", id).Exec(ctx))
	if err == nil && !ok {
		err = ErrNotFound
	}
	return err
}

func (s *Store) changePerson(ctx context.Context, doing, id, set string, args ...any) error {
	return s.update(ctx, doing, func(ctx context.Context, tx txn) error {
		return s.setPerson(ctx, tx, id, set, args...)
	})
}

func (s *Store) setPerson(ctx context.Context, tx txn, id, set string, args ...any) error {
	ok, err := changed(tx.NewUpdate().Table("people").Set(set, args...).Where("id = ?", id).Exec(ctx))
	if err == nil && !ok {
		err = ErrNotFound
	}
	return err
}

// converted returns what the rows mean.
func converted[Row, Meaning any](rows []Row, meaning func(*Row) Meaning) []Meaning {
	list := make([]Meaning, len(rows))
	for i := range rows {
		list[i] = meaning(&rows[i])
	}
	return list
}

// wrapped adds the failed action to an error, if there is one.
func wrapped(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
