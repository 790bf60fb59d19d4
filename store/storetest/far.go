package storetest

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"testing"
	"time"
)

// FarPostgres returns an empty PostgreSQL database that is a round trip away.
func FarPostgres(t testing.TB, rtt time.Duration) DB {
	t.Helper()
	db := Postgres(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	far, err := NewFar(ctx, db.URL, rtt)
	if err != nil {
		cancel()
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cancel()
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	})

	db.URL = far.URL
	return db
}

// Far is a remote database: data arrives half a round trip later, in either direction.
type Far struct {
	*Link

	URL string // of the database by way of the link
}

// NewFar makes a database far, until ctx ends or it is closed.
func NewFar(ctx context.Context, database string, rtt time.Duration) (*Far, error) {
	address, err := url.Parse(database)
	if err != nil {
		return nil, err
	}

	to := [2]string{"tcp", address.Host}
	query := address.Query()
	if host := query.Get("host"); strings.HasPrefix(host, "/") {
		to = [2]string{"unix", host + "/.s.PGSQL." + cmp.Or(query.Get("port"), "5432")}
	}

	link, err := NewLink(ctx, to[0], to[1], rtt/2)
	if err != nil {
		return nil, err
	}

	query.Del("host")
	query.Del("port")
	address.Host = link.Address
	address.RawQuery = query.Encode()
	return &Far{link, address.String()}, nil
}
