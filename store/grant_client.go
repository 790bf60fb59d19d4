package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// maxIdleClients limits the registered applications without a grant: new ones replace the oldest.
const maxIdleClients = 10_000

// OAuthClient is a client that asks users to let it act for them.
type OAuthClient struct {
	ID   string
	Name string
	// Redirects are the addresses that users may be sent back to.
	Redirects []string
	CreatedAt time.Time
}

type clientRow struct {
	bun.BaseModel `bun:"table:oauth_clients,alias:c"`

	ID        string `bun:",pk"`
	Name      string
	Redirects string // separated by spaces, which no address has
	Address   string
	CreatedAt int64
	UsedAt    *int64
}

func (r *clientRow) client() OAuthClient {
	return OAuthClient{r.ID, r.Name, strings.Fields(r.Redirects), fromMicros(r.CreatedAt)}
}

// RegisterClient stores a client that registers itself from an address of the network.
func (s *Store) RegisterClient(ctx context.Context, c OAuthClient, address string) (OAuthClient, error) {
	for _, redirect := range c.Redirects {
		if redirect == "" || strings.ContainsAny(redirect, " \t\r\n") {
			return OAuthClient{}, errors.New("register client: an address to go back to is empty or has spaces")
		}
	}

	row := clientRow{
		ID:        s.NewID("client"),
		Name:      clean(c.Name, 100),
		Redirects: strings.Join(c.Redirects, " "),
		Address:   clean(address, 64),
		CreatedAt: toMicros(s.now()),
	}

	err := s.update(ctx, "register client", func(ctx context.Context, tx txn) error {
		idle, err := tx.NewSelect().Model((*clientRow)(nil)).Where("used_at IS NULL").Count(ctx)
		if err != nil {
			return err
		}

		if idle >= maxIdleClients {
			oldest := tx.NewSelect().Model((*clientRow)(nil)).Column("id").Where("used_at IS NULL").Order("created_at").
				Limit(idle - maxIdleClients + 1)
			if _, err := tx.NewDelete().Model((*clientRow)(nil)).Where("id IN (?)", oldest).Exec(ctx); err != nil {
				return err
			}
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	return row.client(), err
}

// OAuthClient returns a client that has registered itself, or ErrNotFound.
func (s *Store) OAuthClient(ctx context.Context, id string) (OAuthClient, error) {
	var row clientRow
	err := notFound(s.read.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx))
	return row.client(), wrapped("read client", err)
}
