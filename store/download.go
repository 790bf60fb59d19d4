package store

import (
	"context"
	"strings"
)

// count is a number of downloads.
type count int64

// Plus returns the sum.
func (n count) Plus(other count) count { return n + other }

// CountDownload adds one to the file's downloads without waiting. The counts are written together, within a second
// or when the store is closed. They affect neither money nor limits, so a killed process may lose the counts of its
// last second.
func (s *Store) CountDownload(id string) { s.downloads.add(id, 1) }

// writeDownloads writes all counts. Counts that fail are written again later.
func (s *Store) writeDownloads(ctx context.Context) error {
	return wrapped("count downloads", s.downloads.write(ctx, s.addDownloads))
}

func (s *Store) addDownloads(ctx context.Context, counts map[string]count) error {
	rows := make([]string, 0, len(counts))
	args := make([]any, 0, 2*len(counts))
	for id, n := range counts {
		rows = append(rows, "(?, ?)")
		args = append(args, id, int64(n))
	}

	query := "WITH counted(id, n) AS (VALUES " + strings.Join(rows, ", ") +
		") UPDATE files SET downloads = downloads + counted.n FROM counted WHERE files.id = counted.id"
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(query, args...).Exec(ctx)
		return err
	})
}
