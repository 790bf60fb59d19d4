package bench

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// The size of the account whose pages are measured: a year of calls.
const pageCalls, pageDays = 1_000_000, 365

// pages measures the dashboard of a large account on both databases, against the same pages of a new one.
func (l *lab) pages(ctx context.Context) ([]Row, error) {
	return l.onDatabases(ctx, func(d database) (_ []Row, err error) {
		keyOfLarge, accountOfLarge, err := d.store.KeyBySecret(ctx, d.keys[1])
		if err != nil {
			return nil, err
		}
		now := time.Now()
		oneCall := "call_" + idAt(now) + strings.Repeat("0", 25) + "1"
		for day := range choose(l, pageDays, 10) {
			if err := d.fillDay(ctx, accountOfLarge.ID, keyOfLarge.ID, now.AddDate(0, 0, -day), max(1, pageCalls/pageDays/choose(l, 1, 1000))); err != nil {
				return nil, err
			}
		}
		if err := d.settle(ctx); err != nil {
			return nil, err
		}
		s, err := d.serve(ctx, l)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		var users [2]*client // the new account's and the large one's
		for i := range users {
			if users[i], err = d.signIn(ctx, s.url, i); err != nil {
				return nil, err
			}
		}
		paths := []string{
			"", "/documents", "/documents?status=failed", "/documents?operation=pdf.merge", "/documents?key=" + keyOfLarge.ID, "/documents?cursor=" + oneCall,
			"/keys", "/wallet", "/wallet?by=key", "/wallet?by=day",
		}
		var slowest Row
		for _, path := range paths {
			page := request{method: http.MethodGet, path: "/dashboard" + path}
			floor := &side{do: users[0].call("", page)}
			ours := &side{do: users[1].call("", page)}
			if err := interleave(ctx, choose(l, 60, 3), 1, choose(l, 5, 1), time.Nanosecond, floor, ours); err != nil {
				return nil, err
			}
			if p95 := ours.percentile(95); p95 > slowest.OurFigure {
				shown, _, _ := strings.Cut(path, "_") // without IDs
				slowest = Row{
					Name: fmt.Sprintf("dashboard of an account with %d calls, %s", pageCalls, d.kind), Floor: "the same page of a new account", Unit: "ms p95", Goal: Goal{Plus: 30},
					FloorFigure: floor.percentile(95), OurFigure: p95, Note: fmt.Sprintf("the slowest of %d pages, `/dashboard%s`; p50 %s / %s ms", len(paths), shown, figure(floor.percentile(50)), figure(ours.percentile(50))),
				}
			}
		}
		return []Row{slowest}, nil
	})
}

// settle brings the database into the state that it has after a year: each month has its partition, and its autovacuum
// has been there.
func (d database) settle(ctx context.Context) error {
	if err := d.store.MakePartitions(ctx); err != nil {
		return err
	}
	statement := "ANALYZE"
	if d.kind == store.Postgres {
		statement = "VACUUM ANALYZE"
	}
	_, err := d.ExecContext(ctx, statement)
	return err
}

// signIn makes an owner of an account, and returns a client with their session.
func (d database) signIn(ctx context.Context, url string, i int) (*client, error) {
	_, account, err := d.store.KeyBySecret(ctx, d.keys[i])
	if err != nil {
		return nil, err
	}
	person, err := d.store.CreateUser(ctx, store.NewUser{Email: fmt.Sprintf("owner-%d@example.com", i), Verified: true})
	if err != nil {
		return nil, err
	}
	if err := d.store.AddMember(ctx, account.ID, person.ID, store.RoleOwner); err != nil {
		return nil, err
	}
	token, err := d.store.NewToken(ctx, store.Token{Purpose: store.TokenSignIn, PersonID: person.ID, ExpiresAt: time.Now().Add(time.Hour)})
	if err != nil {
		return nil, err
	}
	jar, _ := cookiejar.New(nil) // It never fails.
	user := newClient(url)
	user.http.Jar = jar
	_, err = user.do(ctx, "", request{path: "/login/link?token=" + token})
	// A page that leads elsewhere is not the one that is measured.
	user.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return user, err
}

// crockford is the alphabet of IDs.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz")

// idAt returns the beginning of IDs of a time, without the kind: the 50 lower bits of its milliseconds.
func idAt(at time.Time) string {
	return crockford.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())<<14))[:10] + "loc"
}

// fillDay makes n calls of a day, and their postings. One call in 50 has failed.
func (d database) fillDay(ctx context.Context, account, key string, at time.Time, n int) error {
	const tail = `SUBSTR('00000000000000000000000000' || n, 1 + LENGTH(CAST(n AS TEXT)))` // of an ID, 26 characters
	prefix := idAt(at)
	day := at.Unix() / (24 * 60 * 60)
	micros := at.UnixMicro()
	_, err := d.ExecContext(ctx, numbers+`INSERT INTO calls (id, result_id, account_id, key_id, operation, mode, request_id, lease, metered, quote, charge, status, day, created_at, ended_at, duration, error_code, error_message)
		SELECT 'call_' || CAST($3 AS TEXT) || `+tail+`, 'file_' || CAST($3 AS TEXT) || `+tail+`, CAST($2 AS TEXT), CAST($4 AS TEXT),
		CASE n % 3 WHEN 0 THEN 'pdf.create' WHEN 1 THEN 'pdf.merge' ELSE 'images.create' END, 'binary', 'req', '', TRUE, 2000,
		CASE n % 50 WHEN 0 THEN 0 ELSE 2000 END, CASE n % 50 WHEN 0 THEN 'failed' ELSE 'done' END, CAST($5 AS BIGINT), CAST($6 AS BIGINT), CAST($6 AS BIGINT) + 400000, 400000 + n,
		CASE n % 50 WHEN 0 THEN 'render_failed' ELSE '' END, '' FROM numbers`, n, account, prefix, key, day, micros)
	if err == nil {
		_, err = d.ExecContext(ctx, numbers+`INSERT INTO journal (id, account_id, kind, cause, payment, held, balance, created_at)
			SELECT 'jrn_' || CAST($3 AS TEXT) || `+tail+`, CAST($2 AS TEXT), 'hold', 'call_' || CAST($3 AS TEXT) || `+tail+`, -2000, 2000, 0, CAST($4 AS BIGINT) FROM numbers`, n, account, prefix, micros)
	}
	if err == nil {
		_, err = d.ExecContext(ctx, `INSERT INTO usage_days (account_id, day, operation, key_id, calls, amount)
			SELECT account_id, day, operation, key_id, COUNT(*), SUM(charge) FROM calls WHERE account_id = $1 AND day = $2 AND status = 'done' GROUP BY account_id, day, operation, key_id`, account, day)
	}
	return err
}
