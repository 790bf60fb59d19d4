package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/blob"
	"github.com/relaypdf/relaypdf/store/credit"
)

const (
	// chunkSize is the maximum number of records that are settled together.
	chunkSize = 50
	// bulkParallel is the number of records that a job works on at once.
	bulkParallel = 2
	// bulkTurn is the time after which a bulk job settles what it has, and lets another one go first.
	bulkTurn = 10 * time.Second
	// maxRecordTries is how often a record is tried, as long as another try may help.
	maxRecordTries = 3
	// maxRecordMessage is the maximum length of the message of a failed record, in bytes.
	maxRecordMessage = 500
	// maxDocuments is the maximum size of the documents of a job that are stored one by one, in bytes.
	maxDocuments = 2 << 30
	// shownErrors and shownWarnings are the maximum numbers of failed records and of warnings in the status of a job.
	shownErrors, shownWarnings = 100, 50
)

// freeDocuments is the number of documents from which on an account may not begin bulk jobs with onError fail, because
// its failed jobs have made them within freeSpan and were free.
const (
	freeDocuments = 1000
	freeSpan      = 24 * time.Hour
)

// errTurn returns a bulk job to the queue.
var errTurn = errors.New("another job waits")

// recordResult is what became of a record, as it is stored with its chunk.
type recordResult struct {
	Name     string         `json:"n,omitempty"`
	Type     string         `json:"t,omitempty"`
	Size     int64          `json:"s,omitempty"`
	ID       string         `json:"i,omitempty"` // of the file, if the documents are stored one by one
	Warnings []wire.Warning `json:"w,omitempty"`
	Code     string         `json:"c,omitempty"` // of a failed record
	Message  string         `json:"m,omitempty"`

	body   schema.Body
	charge credit.Amount
}

// bulk is a bulk job that runs.
type bulk struct {
	*paidCall

	in      *operation.BulkInput
	calls   operation.BulkCalls
	records []json.RawMessage
	unit    credit.Amount // the price of a document
	size    int64         // of the documents so far
	begun   time.Time
	// chunkTries are the tries of the job at its last chunk.
	chunkTries int
	// files are the rows of the documents, if they are stored one by one. spent are blobs that the result replaces.
	files []store.File
	spent []string
}

// runBulk processes the records of a job that are left, and joins their documents. It can be repeated.
func (c *paidCall) runBulk(ctx context.Context) (err error) {
	in, ok := c.call.Input().(*operation.BulkInput)
	if !ok {
		return fmt.Errorf("bulk job of operation %s", operationName(c))
	}

	b := &bulk{paidCall: c, in: in, begun: c.now()}
	c.bulk = b
	about, err := c.store.Bulk(ctx, c.id)
	if err != nil {
		return err
	}

	if err := c.doWhileBusy(ctx, func() (err error) {
		b.records, err = in.Read(ctx, c.env())
		return err
	}); err != nil {
		return err
	}
	if len(b.records) != about.Total {
		return fmt.Errorf("bulk job of %d records has %d", about.Total, len(b.records))
	}

	if b.calls, err = in.Calls(c.call); err != nil {
		return err
	}
	b.chunkTries = about.Tries
	b.unit = c.quote / credit.Amount(about.Total)
	if err := b.pinTemplate(ctx); err != nil {
		return err
	}

	for at, canceled := about.Processed, about.Canceled; at < about.Total && !canceled; {
		if err := b.turn(ctx); err != nil {
			return err
		}
		var made int
		if made, canceled, err = b.chunk(ctx, at, b.records[at:min(at+chunkSize, about.Total)]); err != nil {
			return err
		}
		at += made
		b.chunkTries = c.job.Tries
		c.reached("chunk")
	}

	return b.finish(ctx)
}

// limitFree refuses a bulk job that would be free after a failed record, if many such jobs of the account have failed.
func (c *paidCall) limitFree(ctx context.Context) error {
	in, ok := c.call.Input().(*operation.BulkInput)
	if !ok || in.Quote || in.OnError != operation.BulkFail || !c.rateLimits {
		return nil
	}

	made, err := c.store.FreeDocuments(ctx, c.Caller.Account.ID, c.now().Add(-freeSpan))
	if err != nil || made < freeDocuments {
		return err
	}

	return &wire.Error{
		Code: wire.RateLimited, RetryAfter: wire.Seconds(time.Hour),
		Message: fmt.Sprintf("Limit of free documents reached: bulk jobs with onError fail made %d documents in 24 "+
			"hours before they failed. Send onError continue, or retry later.", made),
	}
}

// pinTemplate reads the template once for all records.
func (b *bulk) pinTemplate(ctx context.Context) error {
	if b.in.TemplateID == nil {
		return nil
	}

	b.env() // creates templates
	found, err := b.templates.Pinned(ctx, *b.in.TemplateID, b.in.TemplateVersion)
	if errors.Is(err, store.ErrNotFound) {
		return &wire.Error{Code: wire.NotFound, Message: "The template of this job was deleted."}
	}

	if err == nil {
		b.templates.found = &found
	}
	return err
}

// turn returns errTurn if other jobs have waited for long enough.
func (b *bulk) turn(ctx context.Context) error {
	if b.now().Sub(b.begun) < bulkTurn {
		return ctx.Err()
	}
	waiting, err := b.store.JobsWait(ctx, b.kinds()...)
	if err == nil && waiting {
		err = errTurn
	}
	return err
}

// chunk prints records, the first of which has the index from, and settles them. It returns how many it has settled,
// and reports whether the job was cancelled.
func (b *bulk) chunk(ctx context.Context, from int, records []json.RawMessage) (made int, canceled bool, err error) {
	results, err := b.printRecords(ctx, from, records)
	defer func() {
		for _, result := range results {
			if result.body != nil {
				b.Free(ctx, result.body)
			}
		}
	}()
	if err != nil {
		return 0, false, err
	}

	chunk := store.Chunk{First: from, Records: len(results)}
	for _, result := range results {
		if result.Code != "" {
			chunk.Failed++
		}
		chunk.Charge += result.charge
	}

	if err := b.keep(ctx, from, results); err != nil {
		return 0, false, err
	}
	text, err := json.Marshal(results)
	if err != nil {
		return 0, false, err
	}
	chunk.Results = string(text)

	certain, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	b.reached("kept")
	canceled, err = b.store.SettleChunk(certain, *b.job, chunk)
	return len(results), canceled, err
}

// printRecords makes the documents of records, the first of which has the index from. After bulkTurn it begins no more
// of them. The results are those of the records that were begun, in their order, also with an error.
func (b *bulk) printRecords(ctx context.Context, from int, records []json.RawMessage) ([]recordResult, error) {
	results := make([]recordResult, len(records))
	begin := b.now()
	begun := 0
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(bulkParallel)

	for i := range results {
		if i > 0 && b.now().Sub(begin) >= bulkTurn {
			break
		}
		begun++
		group.Go(func() (err error) {
			results[i], err = b.record(groupCtx, from+i)
			return err
		})
	}

	err := group.Wait()
	if err != nil {
		err = errors.Join(err, ctx.Err())
	}
	return results[:begun], err
}

// record makes the document of a record. Its error is not the record's.
func (b *bulk) record(ctx context.Context, index int) (recordResult, error) {
	var result schema.Result
	var err error
	for range maxRecordTries {
		if result, err = b.document(ctx, index); !operation.Passing(err) {
			break
		}
	}

	var name string
	if err == nil {
		err = b.doWhileBusy(ctx, func() (err error) {
			name, err = b.in.Name(ctx, b.env(), b.records[index], index, len(b.records), result.Extension)
			return err
		})
		if err != nil {
			err = errors.Join(err, result.Body.Close())
		}
	}

	charge := credit.Amount(0)
	if err == nil && !b.test() {
		if charge, err = chargeFor(operationName(b.paidCall), b.unit, result); err != nil {
			err = errors.Join(err, result.Body.Close())
		}
	}

	switch {
	case err == nil:
		return recordResult{
			Name: name, Type: result.ContentType, Size: result.Body.Size(), Warnings: result.Warnings,
			body: result.Body, charge: charge,
		}, nil
	case ctx.Err() != nil:
		return recordResult{}, ctx.Err()
	case notStored(err):
		return recordResult{}, err
	}

	failure := APIError(err)
	if failure.Code == wire.InternalError {
		b.log.LogAttrs(ctx, slog.LevelError, "record of bulk job failed", slog.String("call", b.id),
			slog.Int("index", index), slog.Any("error", err))
	}

	text := b.calls.Renamed(failure.Error(), index)
	if b.in.OnError == operation.BulkFail {
		return recordResult{}, &wire.Error{Code: failure.Code, Message: recordText(index, text), Cause: err}
	}
	return recordResult{
		Code: string(failure.Code), Message: strings.ToValidUTF8(text[:min(len(text), maxRecordMessage)], ""),
	}, nil
}

// recordText names the record of a text that does not.
func recordText(index int, text string) string {
	if strings.HasPrefix(text, "records[") {
		return text
	}
	return fmt.Sprintf("Record %d: %s", index, text)
}

// document runs the call of a record.
func (b *bulk) document(ctx context.Context, index int) (schema.Result, error) {
	if err := operation.RecordFault(b.records[index], index); err != nil {
		return schema.Result{}, err
	}

	row := b.table.Lookup(b.in.Each())
	call, err := row.Bind(ctx, bytes.NewReader(b.calls.Of(b.records[index])), b.paidCall.files)
	if err != nil {
		return schema.Result{}, err
	}
	defer b.Free(ctx, call)

	deps := b.env()
	deps.Held = b.unit
	result, err := operation.Run(ctx, deps, call, b.retryWhileBusy)
	if err != nil {
		return schema.Result{}, err
	}
	err = setJSONBody(&result)
	return result, err
}

// keep stores the documents of a chunk: each of them, or all in one blob.
func (b *bulk) keep(ctx context.Context, first int, results []recordResult) error {
	if b.in.Output == operation.BulkFiles {
		for i := range results {
			if results[i].body == nil {
				continue
			}
			results[i].ID = b.store.NewID("file")
			if err := b.put(ctx, first+i, results[i].body.Open()); err != nil {
				return err
			}
		}
		return nil
	}

	if b.in.Output == operation.BulkMerged {
		return b.storeMerged(ctx, first, results)
	}

	var readers []io.Reader
	for _, result := range results {
		if result.body != nil {
			readers = append(readers, result.body.Open())
		}
	}

	if len(readers) == 0 {
		return nil
	}
	return b.put(ctx, first, io.MultiReader(readers...))
}

// storeMerged stores the documents of a chunk as one PDF. Warnings of the merge are those of its last record.
func (b *bulk) storeMerged(ctx context.Context, first int, results []recordResult) error {
	var parts []render.ZipEntry
	var last *recordResult
	for i := range results {
		if results[i].body != nil {
			last = &results[i]
			parts = append(parts, render.ZipEntry{Content: last.body})
		}
	}

	switch len(parts) {
	case 0:
		return nil
	case 1:
		return b.put(ctx, first, parts[0].Content.Open())
	}

	merged, err := b.join(ctx, parts, nil)
	if err != nil {
		return err
	}
	defer b.Free(ctx, merged.Body)
	last.Warnings = append(slices.Clip(last.Warnings), merged.Warnings...)
	return b.put(ctx, first, merged.Body.Open())
}

// join joins documents.
func (b *bulk) join(
	ctx context.Context, parts []render.ZipEntry, failed []wire.RecordError,
) (result schema.Result, err error) {
	err = b.doWhileBusy(ctx, func() (err error) {
		result, err = operation.JoinBulk(ctx, b.env(), b.in.Output, parts, failed)
		return err
	})
	return result, err
}

// put stores documents from a record on.
func (b *bulk) put(ctx context.Context, record int, content io.Reader) error {
	size, err := b.Files.blobs.Put(ctx, store.ChunkKey(b.id, b.job.Tries, record), content)
	if err != nil {
		return &wire.Error{Code: wire.StorageUnavailable, Cause: err}
	}

	limit := int64(render.MaxBytes)
	remedy := `Send output "files", or fewer records.`
	if b.in.Output == operation.BulkFiles {
		limit = maxDocuments
		remedy = "Send fewer records."
	}
	b.size += size
	if b.size > limit {
		return &wire.Error{
			Code:    wire.ProcessingFailed,
			Message: fmt.Sprintf("The documents exceed the limit of %d bytes at record %d. %s", limit, record, remedy),
		}
	}

	return nil
}

// finish makes the result of the job: of what its chunks have made.
func (b *bulk) finish(ctx context.Context) error {
	about, err := b.store.Bulk(ctx, b.id)
	if err != nil {
		return err
	}
	chunks, err := b.store.Chunks(ctx, b.id)
	if err != nil {
		return err
	}

	j := &bulkJoin{bulk: b}
	defer j.free(ctx)
	for _, chunk := range chunks {
		if err := j.add(ctx, chunk); err != nil {
			return err
		}
	}

	if len(j.failed) == about.Processed {
		return &wire.Error{
			Code: wire.ProcessingFailed,
			Message: fmt.Sprintf("All %d records failed. %s", about.Processed,
				recordText(j.failed[0].Index, j.failed[0].Message)),
		}
	}

	var result schema.Result
	switch {
	case b.in.Output == operation.BulkFiles:
		result, err = operation.ListBulk(operation.BulkReport{Documents: j.documents, Errors: j.failed})
	case b.in.Output == operation.BulkMerged && len(j.parts) == 1:
		result = schema.Result{
			Stem: "documents", Extension: ".pdf", ContentType: "application/pdf", Body: j.take(),
		}
	default:
		result, err = b.join(ctx, j.parts, j.failed)
	}
	if err != nil {
		return err
	}

	b.files = j.files
	b.spent = j.spent
	warnings := slices.Concat(result.Warnings, j.warnings)
	b.outcome = &Outcome{
		CallID: b.id, ResultID: b.result, Mode: schema.Async, Charged: about.Charged,
		Filename:    operation.Filename(b.call.Filename, result.Stem, result.Extension),
		ContentType: result.ContentType, Body: result.Body, Warnings: warnings[:min(len(warnings), shownWarnings)],
		try: b.try(),
	}
	return nil
}

// bulkJoin collects what the chunks of a job have made.
type bulkJoin struct {
	*bulk

	open      []*spool.File
	parts     []render.ZipEntry
	documents []operation.BulkDocument
	files     []store.File
	failed    []wire.RecordError
	warnings  []wire.Warning
	spent     []string
}

func (j *bulkJoin) free(ctx context.Context) {
	for _, file := range j.open {
		j.Free(ctx, file)
	}
}

// take returns the only part, which is not freed then.
func (j *bulkJoin) take() *spool.File {
	file := j.open[0]
	j.open = nil
	return file
}

// add adds a chunk.
func (j *bulkJoin) add(ctx context.Context, chunk store.Chunk) error {
	results, err := resultsOf(chunk)
	if err != nil {
		return err
	}

	made := false
	for i, result := range results {
		index := chunk.First + i
		if result.Code != "" {
			j.failed = append(j.failed, wire.RecordError{Index: index, Code: result.Code, Message: result.Message})
			continue
		}
		made = true
		for _, warning := range result.Warnings {
			if len(j.warnings) < shownWarnings {
				warning.Message = recordText(index, warning.Message)
				j.warnings = append(j.warnings, warning)
			}
		}
		if result.ID != "" {
			if err := j.addFile(ctx, chunk, index, result); err != nil {
				return err
			}
		}
	}

	if !made || j.in.Output == operation.BulkFiles {
		return nil
	}

	key := store.ChunkKey(j.id, chunk.Tries, chunk.First)
	j.spent = append(j.spent, key)
	content, err := j.Files.Open(ctx, key)
	if err != nil {
		return err
	}
	defer j.Free(ctx, content)

	file := render.NewFile()
	j.open = append(j.open, file)
	if _, err := io.Copy(file, content.Open()); err != nil {
		return err
	}

	if j.in.Output == operation.BulkMerged {
		j.parts = append(j.parts, render.ZipEntry{Content: file})
		return nil
	}

	var at int64
	for _, result := range results {
		if result.Code == "" {
			j.parts = append(j.parts, render.ZipEntry{
				Name: result.Name, Content: &section{file: file, from: at, size: result.Size},
			})
			at += result.Size
		}
	}
	return nil
}

// addFile adds a document that is stored by itself.
func (j *bulkJoin) addFile(ctx context.Context, chunk store.Chunk, index int, result recordResult) error {
	now := j.now()
	file := store.File{
		ID: result.ID, CallID: j.id, Filename: result.Name, ContentType: result.Type, Size: result.Size,
		BlobKey: store.ChunkKey(j.id, chunk.Tries, index), CreatedAt: now, ExpiresAt: now.Add(FileLifetime),
	}
	if err := j.link(ctx, &file); err != nil {
		return err
	}

	j.files = append(j.files, file)
	j.documents = append(j.documents, operation.BulkDocument{
		Index: index, Filename: result.Name, ID: result.ID, URL: j.Links.File(&file).URL, SizeBytes: result.Size,
	})
	return nil
}

func resultsOf(chunk store.Chunk) (results []recordResult, err error) {
	err = json.Unmarshal([]byte(chunk.Results), &results)
	return results, err
}

// section is a part of a file.
type section struct {
	file       io.ReaderAt
	from, size int64
}

func (s *section) Size() int64 { return s.size }

func (s *section) Open() io.ReadSeeker { return io.NewSectionReader(s.file, s.from, s.size) }

// dropSpentChunks deletes the blobs that the result has replaced. The sweep of orphans handles any failure.
func (b *bulk) dropSpentChunks(ctx context.Context) {
	_, failed := blob.DeleteAll(ctx, b.Files.blobs, b.spent)
	for key, err := range failed {
		b.log.LogAttrs(ctx, slog.LevelWarn, "delete chunks failed", slog.Int("blobs", len(failed)),
			slog.String("example", key), slog.Any("error", err))
		return
	}
}

// AddProgress adds the progress of a bulk job to the status of a call. It reads from the given store: pages have their
// own connections.
func (r *Runner) AddProgress(ctx context.Context, from *store.Store, of store.Call, status *wire.JobStatus) error {
	row := r.table.Lookup(of.Operation)
	if row == nil || !row.Bulk {
		return nil
	}

	about, err := from.Bulk(ctx, of.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted with the age of the job
	}
	if err != nil {
		return err
	}

	status.BulkStatus = &wire.BulkStatus{
		Total: about.Total, Processed: about.Processed, Failed: about.Failed, Canceled: about.Canceled,
	}
	if about.StartedAt != nil && about.Processed > 0 && status.Status == wire.JobProcessing {
		each := r.now().Sub(*about.StartedAt) / time.Duration(about.Processed)
		status.ETASeconds = new(int((each*time.Duration(about.Total-about.Processed) + time.Second - 1) / time.Second))
	}
	if about.Failed == 0 {
		return nil
	}

	chunks, err := from.Chunks(ctx, of.ID)
	for _, chunk := range chunks {
		results, err := resultsOf(chunk)
		if err != nil {
			return err
		}
		for i, result := range results {
			if result.Code != "" && len(status.Errors) < shownErrors {
				status.Errors = append(status.Errors, wire.RecordError{
					Index: chunk.First + i, Code: result.Code, Message: result.Message,
				})
			}
		}
	}

	return err
}

// canceled is the failure of a job that was cancelled before it had a result.
var canceled = store.Failure{Code: string(wire.Canceled), Message: wire.Canceled.Text()}

// Cancel cancels a job: see store.CancelJob.
func (r *Runner) Cancel(ctx context.Context, job store.Call) error {
	return r.store.CancelJob(ctx, job, canceled, outbox(job, r.Links.Failed(job, canceled)))
}
