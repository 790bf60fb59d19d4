package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"relaypdf/api/apierror"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/internal/guard"
	"relaypdf/render/chrome"
	"relaypdf/store/credit"
)

// printRecords makes the documents of records, the first of which has the index from. After bulkTurn it begins no more of
// them. The results are those of the records that were begun, in their order, also with an error.
func (b *bulk) printRecords(ctx context.Context, from int, records []json.RawMessage) ([]recordResult, error) {
	results := make([]recordResult, len(records))
	begin, begun := b.now(), 0
	printed, err := b.printTogether(ctx, from, len(records))
	if err != nil {
		return nil, err
	}
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(bulkParallel)
	for i := range results {
		if i > 0 && printed[i] == nil && b.now().Sub(begin) >= bulkTurn {
			break
		}
		begun++
		group.Go(func() (err error) {
			results[i], err = b.record(groupCtx, from+i, printed[i])
			return err
		})
	}
	err = group.Wait()
	if err != nil {
		err = errors.Join(err, ctx.Err())
	}
	return results[:begun], errors.Join(err, closePrinted(printed))
}

// record makes the document of a record, unless it has been printed. Its error is not the record's.
func (b *bulk) record(ctx context.Context, index int, printed *chrome.Document) (recordResult, error) {
	var result schema.Result
	var err error
	for range maxUnstarted {
		if printed != nil && b.batch.Final {
			result = operation.RecordResult(printed)
			break
		}
		if result, err = b.document(ctx, index, printed); !operation.Unstarted(err) {
			break
		}
	}
	var name string
	if err == nil {
		err = b.whenFree(ctx, func() (err error) {
			name, err = b.in.Name(ctx, b.env(), b.records[index], index, len(b.records), result.Extension)
			return err
		})
	}
	charge := credit.Amount(0)
	if err == nil && !b.test() {
		charge, err = chargeFor(operationName(b.paidCall), b.unit, result)
	}
	if err == nil {
		made := recordResult{Name: name, Type: result.ContentType, Warnings: result.Warnings, body: result.Body, charge: charge}
		if made.body != nil {
			made.Size = made.body.Size()
		}
		return made, nil
	}
	if result.Body != nil {
		err = errors.Join(err, result.Body.Close())
	}
	return b.failed(ctx, index, err)
}

// failed returns the result of a record that failed, or the error if it is not the record's.
func (b *bulk) failed(ctx context.Context, index int, err error) (recordResult, error) {
	switch {
	case ctx.Err() != nil:
		return recordResult{}, ctx.Err()
	case notStored(err):
		return recordResult{}, err
	}
	failure := Fault(err)
	if failure.Code == apierror.InternalError {
		b.log.LogAttrs(ctx, slog.LevelError, "record of bulk job failed", slog.String("call", b.id), slog.Int("index", index), slog.Any("error", err))
	}
	text := b.calls.Renamed(failure.Error(), index)
	if b.in.OnError == operation.BulkFail {
		return recordResult{}, &apierror.Error{Code: failure.Code, Message: recordText(index, text), Cause: err}
	}
	return recordResult{Code: string(failure.Code), Message: strings.ToValidUTF8(text[:min(len(text), maxRecordMessage)], "")}, nil
}

// recordText names the record of a text that does not.
func recordText(index int, text string) string {
	if strings.HasPrefix(text, "records[") {
		return text
	}
	return fmt.Sprintf("Record %d: %s", index, text)
}

// bind returns the call of a record, which the caller frees.
func (b *bulk) bind(ctx context.Context, index int) (*operation.Call, error) {
	return b.table.Lookup(b.in.Each()).Bind(ctx, bytes.NewReader(b.calls.Of(b.records[index])), b.paidCall.files)
}

// document runs the call of a record, without its print if that has been made.
func (b *bulk) document(ctx context.Context, index int, printed *chrome.Document) (schema.Result, error) {
	call, err := b.bind(ctx, index)
	if err != nil {
		return schema.Result{}, err
	}
	defer b.Free(ctx, call)
	deps := b.env()
	deps.Held, deps.Made = b.unit, printed
	result, err := operation.Run(ctx, deps, call, b.patiently)
	if err != nil {
		return schema.Result{}, err
	}
	return result, giveBody(&result)
}

// prepareBatch prepares the batch that prints the job's documents together, if these are prints.
func (b *bulk) prepareBatch(ctx context.Context) error {
	if len(b.records) == 1 {
		return nil
	}
	call, err := b.bind(ctx, 0)
	if err != nil {
		return ctx.Err() // The record fails with it.
	}
	b.batch = b.in.NewBatch(b.env(), call)
	b.Free(ctx, call)
	return nil
}

// printTogether prints the documents of count records, the first of which has the index from, as far as these can be
// printed together. The others, and those that fail, have no result.
func (b *bulk) printTogether(ctx context.Context, from, count int) ([]*chrome.Document, error) {
	printed := make([]*chrome.Document, count)
	if b.batch == nil || b.batch.Single() {
		return printed, nil
	}
	filled := make([]string, count)
	begin := b.now()
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(bulkParallel)
	for i := range filled {
		if b.now().Sub(begin) >= bulkTurn {
			break
		}
		group.Go(func() error {
			filled[i] = b.fill(groupCtx, from+i)
			return groupCtx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	err := b.whenFree(ctx, func() (err error) {
		printed, err = b.batch.Print(ctx, filled)
		return err
	})
	return printed, err
}

// fill returns the HTML of a record; nothing if it fails, as the record does afterwards.
func (b *bulk) fill(ctx context.Context, index int) (html string) {
	call, err := b.bind(ctx, index)
	if err != nil {
		return ""
	}
	defer b.Free(ctx, call)
	deps := b.env()
	err = b.whenFree(ctx, func() (err error) {
		html, err = operation.FillRecord(ctx, deps, call)
		return err
	})
	if err != nil {
		return ""
	}
	return html
}

// closePrinted closes the documents that no record has taken.
func closePrinted(printed []*chrome.Document) (err error) {
	for _, doc := range printed {
		if doc != nil && doc.Body != nil {
			err = errors.Join(err, doc.Body.Close())
		}
	}
	return err
}
