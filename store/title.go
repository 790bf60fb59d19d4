package store

import (
	"context"
	"slices"
	"sync"

	"github.com/uptrace/bun"
)

const (
	// titlesBatch is the number of titles that one statement writes.
	titlesBatch = 500
	// maxTitles bounds the titles that wait to be written. Later ones are dropped.
	maxTitles = 20_000
)

// Title is the title of a completed call: the name of its result, or that of the template that it was made with.
type Title struct {
	CallID, AccountID string
	Filename          string
	TemplateID        string // whose name comes before the file's; empty if there is none
}

type titleRow struct {
	bun.BaseModel `bun:"table:titles"`

	CallID    string `bun:",pk"`
	AccountID string
	Title     string
	CreatedAt int64
}

// titleLog holds titles until they are written.
type titleLog struct {
	mu   sync.Mutex
	list []Title
}

func (l *titleLog) add(titles ...Title) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, titles[:min(len(titles), maxTitles-len(l.list))]...)
}

// take returns the oldest titles, which are the caller's to write from now on.
func (l *titleLog) take(maximum int) []Title {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := slices.Clone(l.list[:min(maximum, len(l.list))])
	l.list = slices.Delete(l.list, 0, len(taken))
	return taken
}

// LogTitle records the title of a call without waiting. Titles are written together, within a second or when the store
// is closed. A killed process loses those of its last second: these calls are called after their operation.
func (s *Store) LogTitle(t Title) { s.titles.add(t) }

// writeTitles writes the titles that wait. Those that fail are written again later.
func (s *Store) writeTitles(ctx context.Context) error {
	for {
		titles := s.titles.take(titlesBatch)
		if len(titles) == 0 {
			return nil
		}
		if err := s.addTitles(ctx, titles); err != nil {
			s.titles.add(titles...)
			return wrapped("write titles", err)
		}
	}
}

func (s *Store) addTitles(ctx context.Context, titles []Title) error {
	var templates []string
	for _, t := range titles {
		if t.TemplateID != "" {
			templates = append(templates, t.TemplateID)
		}
	}

	names := map[string]string{}
	if len(templates) > 0 {
		var found []templateRow
		err := s.read.NewSelect().Model(&found).Column("id", "name").Where("id IN (?)", bun.List(templates)).Scan(ctx)
		if err != nil {
			return err
		}

		for _, row := range found {
			names[row.ID] = row.Name
		}
	}

	rows := make([]titleRow, len(titles))
	for i, t := range titles {
		rows[i] = titleRow{
			CallID:    t.CallID,
			AccountID: t.AccountID,
			Title:     clean(t.Filename, 1000),
			CreatedAt: toMicros(s.now()),
		}
		if name := names[t.TemplateID]; name != "" {
			rows[i].Title = name
		}
	}

	return s.inTx(context.WithValue(ctx, deferSync{}, true), func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (call_id) DO NOTHING").Exec(ctx)
		return err
	})
}

// Titles returns the titles of calls of an account that have one, by the calls' IDs.
func (s *Store) Titles(ctx context.Context, accountID string, calls []string) (map[string]string, error) {
	titles := map[string]string{}
	if len(calls) == 0 {
		return titles, nil
	}

	var rows []titleRow
	err := s.read.NewSelect().Model(&rows).Where("call_id IN (?) AND account_id = ?", bun.List(calls), accountID).
		Scan(ctx)

	for _, row := range rows {
		titles[row.CallID] = row.Title
	}
	return titles, wrapped("read titles", err)
}
