package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"

	"relaypdf/internal/guard"
	"relaypdf/store/blob"
)

// A month of a table is a gzipped file of comma-separated values as PostgreSQL's
// COPY writes and reads them, with the columns' names in its first line, and a
// manifest beside it. Both have the hash of the text in their keys, so that a key
// is of one content and repeating an export changes nothing.
const (
	archivePrefix   = "archive-"
	archiveFile     = ".csv.gz"
	archiveManifest = ".json"
	archiveFormat   = 1
)

// manifestOfArchive is what stands beside a file.
type manifestOfArchive struct {
	Format int `json:"format"`
	Archived
}

// export is a text that a part is written as.
type export struct {
	name string // of the table
	rows string // the query of its rows, in an order of their own
	// remove is the statement that removes the rows where they do not go with
	// the part; empty where they do.
	remove string
}

// exports are the texts of a part: deliveries have their attempts beside them,
// which are in no partition.
func (p partition) exports() []export {
	all := []export{{name: p.table, rows: "SELECT * FROM " + p.name() + " ORDER BY id"}}
	if p.table == "deliveries" {
		which := fmt.Sprintf("FROM delivery_attempts WHERE delivery_id >= '%s' AND delivery_id < '%s'", p.month.firstID(p.kind), (p.month + 1).firstID(p.kind))
		all = append(all, export{name: "delivery_attempts", rows: "SELECT * " + which + " ORDER BY delivery_id, at", remove: "DELETE " + which})
	}
	return all
}

// exportAll brings the texts of a part into files.
func (s *Store) exportAll(ctx context.Context, p oldPart) ([]Archived, error) {
	var all []Archived
	for _, of := range p.exports() {
		a, err := s.export(ctx, p.month, of)
		if err != nil {
			return nil, fmt.Errorf("export %s of %s: %w", of.name, p.month, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// exportTries is how often a text is written that differs from what was read of it a
// moment before: its rows have changed in between, or the file is damaged.
const exportTries = 3

// export brings a text into a file, unless it is there, and reads that back. One
// without rows has no file.
func (s *Store) export(ctx context.Context, m month, of export) (Archived, error) {
	for try := 1; ; try++ {
		a, err := s.exportOnce(ctx, m, of)
		if try == exportTries || !errors.Is(err, blob.ErrDamaged) {
			return a, err
		}
		if err := s.archives().Delete(ctx, a.Key); err != nil {
			return a, err
		}
	}
}

func (s *Store) exportOnce(ctx context.Context, m month, of export) (Archived, error) {
	a := Archived{Month: m.String(), Table: of.name}
	sum := sha256.New()
	var err error
	if a.Rows, err = s.copyRows(ctx, sum, of.rows); err != nil || a.Rows == 0 {
		return a, err
	}
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
	a.Key = archivePrefix + a.Month + "-" + strings.ReplaceAll(of.name, "_", "-") + "-" + a.SHA256[:32] + archiveFile
	if a.Bytes, err = s.readExport(ctx, a); err == nil {
		return a, s.describe(ctx, a)
	}
	packed, unpacked := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		unpacked.CloseWithError(guard.Try(func() error {
			zip := gzip.NewWriter(unpacked)
			_, err := s.copyRows(ctx, zip, of.rows)
			return errors.Join(err, zip.Close())
		}))
	}()
	_, err = s.archives().Put(ctx, a.Key, packed)
	packed.CloseWithError(errors.Join(errors.New("the file was not taken"), err)) // Whoever still writes to it ends.
	<-written
	if err == nil {
		a.Bytes, err = s.readExport(ctx, a)
	}
	if err == nil {
		err = s.describe(ctx, a)
	}
	return a, err
}

// archives is where the files go and are read back from: no copy on this machine's
// disk stands for them.
func (s *Store) archives() blob.Store {
	return s.blobs
}

// copyRows writes the rows of a query to w, and returns how many they are.
func (s *Store) copyRows(ctx context.Context, w io.Writer, rows string) (n int64, err error) {
	conn, err := s.reports.DB.Conn(ctx)
	if err != nil {
		return 0, err
	}
	err = conn.Raw(func(driver any) error {
		own, ok := driver.(*stdlib.Conn)
		if !ok {
			return ErrOnlyPostgres
		}
		tag, err := own.Conn().PgConn().CopyTo(ctx, w, "COPY ("+rows+") TO STDOUT (FORMAT csv, HEADER)")
		n = tag.RowsAffected()
		return err
	})
	return n, errors.Join(err, conn.Close())
}

// readExport reads a file, and returns its size, or an error where it is not there
// or does not have what was written.
func (s *Store) readExport(ctx context.Context, a Archived) (size int64, err error) {
	content, size, err := s.archives().Open(ctx, a.Key)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	text, err := gzip.NewReader(content)
	if err != nil {
		return 0, err
	}
	sum := sha256.New()
	lines := csv.NewReader(io.TeeReader(text, sum))
	lines.ReuseRecord = true
	rows := int64(-1) // for the names of the columns
	for {
		if _, err := lines.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		rows++
	}
	if got := hex.EncodeToString(sum.Sum(nil)); rows != a.Rows || got != a.SHA256 {
		return 0, fmt.Errorf("%s has %d rows and the hash %s, want %d and %s: %w", a.Key, rows, got, a.Rows, a.SHA256, blob.ErrDamaged)
	}
	return size, nil
}

// describe puts the manifest beside a file, and reads it back.
func (s *Store) describe(ctx context.Context, a Archived) error {
	text, err := json.Marshal(manifestOfArchive{archiveFormat, a})
	if err != nil {
		return err
	}
	key := a.manifest()
	if _, err := s.archives().Put(ctx, key, bytes.NewReader(text)); err != nil {
		return err
	}
	content, _, err := s.archives().Open(ctx, key)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(io.LimitReader(content, int64(len(text))+1))
	if err == nil && !bytes.Equal(got, text) {
		err = fmt.Errorf("%s: %w", key, blob.ErrDamaged)
	}
	return errors.Join(err, content.Close())
}

// manifest is the key of what stands beside a file.
func (a Archived) manifest() string { return strings.TrimSuffix(a.Key, archiveFile) + archiveManifest }

// forgetExport deletes a file that is of no month any more.
func (s *Store) forgetExport(ctx context.Context, a Archived) error {
	return errors.Join(s.archives().Delete(ctx, a.manifest()), s.archives().Delete(ctx, a.Key))
}
