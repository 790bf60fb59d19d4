package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

const (
	// maxInputs is the size in bytes that all files of one request may have.
	maxInputs = 200 << 20
	// fetchTimeout bounds the fetching of all files of a request, and archiveTimeout
	// the packing of them. How long anything else is worked on follows the kind of
	// work, from when its turn comes: see engine.ReadTime.
	fetchTimeout   = maxTimeout * time.Millisecond
	archiveTimeout = maxTimeout * time.Millisecond
)

// FileSource is the source of a file. Exactly one of its fields is given.
type FileSource struct {
	URL    *string     `json:"url,omitempty" jsonschema:"format=uri,maxLength=8192" jsonschema_extras:"x-filled=true" jsonschema_description:"Source: URL of the file, public http or https, at most 50 MiB. Send exactly one of url, file and fileId."`
	File   schema.File `json:"file,omitzero" jsonschema_description:"Source: the file as Base64 or as a data URI, at most 50 MiB."`
	FileID *string     `json:"fileId,omitempty" jsonschema:"minLength=1,maxLength=255" jsonschema_description:"Source: ID of an upload or an earlier result of this account that has not expired."`
}

// JSONSchemaExtend adds the rule of checkOne to the schema.
func (FileSource) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("url", "file", "fileId"))
}

// FileItem is a FileSource inside an array or its own object.
type FileItem struct {
	FileSource

	Filename string `json:"filename,omitempty" jsonschema:"maxLength=255" jsonschema_description:"Name of the file."`
}

// PDFSource holds the source of an operation on one PDF.
type PDFSource struct {
	FileSource

	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"User or owner password that opens the PDF, if it is encrypted."`
}

// check faults a source that is not exactly one, or a file without content. at is the
// path before its fields: empty, or such as "files[2].".
func (s *FileSource) check(faults *schema.FieldErrors, at string) {
	s.checkOne(faults, at)
	checkContent(faults, at+"file", s.File)
}

// checkContent faults a file without content.
func checkContent(faults *schema.FieldErrors, field string, file schema.File) {
	if file.Inline != nil && file.Size() == 0 {
		faults.Add(field, "must not be empty")
	}
}

// checkOne faults a source that is not exactly one.
func (s *FileSource) checkOne(faults *schema.FieldErrors, at string) {
	const names = "url, file, fileId"
	var given []string

	for _, field := range []struct {
		name  string
		there bool
	}{{"url", s.URL != nil}, {"file", s.File.Inline != nil}, {"fileId", s.FileID != nil}} {
		if field.there {
			given = append(given, field.name)
		}
	}

	if s.URL != nil && *s.URL == "" {
		faults.Add(at+"url", "must not be empty")
	}

	switch {
	case len(given) == 0:
		sentence := "No source given. Send exactly one of " + names
		if at != "" {
			sentence = "No source given for " + strings.TrimSuffix(at, ".") + ". Send exactly one of " + names
		}
		faults.AddSentence(
			sentence, at+"file", "is required unless another source is given. Send exactly one of "+names,
		)
	case len(given) > 1:
		for _, name := range given[1:] {
			addExclusive(faults, at+given[0], at+name, names)
		}
	}
}

// field returns the path of the field that is given.
func (s *FileSource) field(at string) string {
	switch {
	case s.URL != nil:
		return at + "url"
	case s.FileID != nil:
		if _, ok := schema.StepOf(*s.FileID); ok {
			return at + "step"
		}
		return at + "fileId"
	}
	return at + "file"
}

// openFile is the content of a source, with the path of its field for errors.
type openFile struct {
	schema.Body
	field string
}

// stagedFile is a source and the path before its fields.
type stagedFile struct {
	*FileSource
	at string
}

// placeFiles returns the sources of the n items of the field files.
func placeFiles(n int, source func(i int) *FileSource) []stagedFile {
	sources := make([]stagedFile, n)
	for i := range sources {
		sources[i] = stagedFile{source(i), fileAt(i)}
	}
	return sources
}

// fileAt is the path before the fields of an item of files.
func fileAt(i int) string { return fmt.Sprintf("files[%d].", i) }

// openSources fetches the contents of several sources in parallel and returns them in order. The caller closes them.
// Each error names the field of its source.
func (deps *Deps) openSources(ctx context.Context, sources []stagedFile) (_ []openFile, err error) {
	files := make([]openFile, len(sources))
	defer func() {
		if err != nil {
			closeFiles(files)
		}
	}()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, len(sources))
	var group sync.WaitGroup

	for i, source := range sources {
		group.Go(func() {
			err := guard.Try(func() error {
				body, err := deps.openSource(ctx, source)
				files[i] = openFile{Body: body, field: source.field(source.at)}
				return err
			})
			if failures[i] = err; err != nil && !errors.As(err, new(schema.FieldErrors)) {
				cancel()
			}
		})
	}

	group.Wait()
	if err := worst(failures); err != nil {
		return nil, err
	}

	var total int64
	for _, file := range files {
		total += file.Size()
	}
	if total > maxInputs {
		return nil, &schema.SizeError{Field: sources[0].container(), Limit: maxInputs}
	}
	return files, nil
}

// worst returns all validation errors of the sources if there are some, and otherwise the first failure that was
// not caused by another.
func worst(failures []error) error {
	var faults, more schema.FieldErrors
	var first error

	for _, err := range failures {
		switch {
		case errors.As(err, &more):
			faults.AddAll(more...)
		case err != nil && (first == nil || errors.Is(first, context.Canceled)):
			first = err
		}
	}

	if len(faults) > 0 {
		return faults
	}
	return first
}

// container returns the path of the object with a source's fields.
func (s stagedFile) container() string {
	if s.at == "" {
		return s.field("")
	}
	list, _, _ := strings.Cut(s.at, "[")
	return list
}

// openSource gets the content of one source.
func (deps *Deps) openSource(ctx context.Context, s stagedFile) (schema.Body, error) {
	switch {
	case s.URL != nil:
		return deps.fetch(ctx, s.at+"url", *s.URL)
	case s.FileID != nil:
		return deps.openStored(ctx, s.at+"fileId", *s.FileID)
	}
	// The call owns a file that came with it.
	return borrowedBody{s.File}, nil
}

// borrowedBody is a Body that another owner closes.
type borrowedBody struct{ schema.Body }

// Close does nothing.
func (borrowedBody) Close() error { return nil }

// closeFiles closes the contents of sources. An error leaves only a descriptor open, since their files have no name.
func closeFiles(files []openFile) {
	for _, file := range files {
		if file.Body != nil {
			_ = file.Close()
		}
	}
}

// fetch gets a file from its address.
func (deps *Deps) fetch(ctx context.Context, field, address string) (schema.Body, error) {
	file, err := deps.Render.Fetch(ctx, address, deps.MaxFile)
	var failed *render.FetchError
	switch {
	case err == nil && file.Size() == 0 && !deps.takesEmpty:
		return nil, errors.Join(schema.FieldErrors{{Field: field, Message: "returned an empty file"}}, file.Close())
	case err == nil:
		return file, nil
	case errors.Is(err, egress.ErrRefused):
		return nil, RefuseURL(field, RefusedText(address, FileURL), err)
	case errors.Is(err, spool.ErrTooLarge):
		return nil, &schema.SizeError{Field: field, Limit: deps.MaxFile}
	case errors.As(err, &failed):
		return nil, &fetchError{field: field, cause: failed}
	}
	return nil, err
}

// Unreadable is the message for the field of a stored file. It does not reveal whether the ID belongs to another
// account, has expired or never existed.
const Unreadable = "is not the ID of a stored file of this account. Files expire, after 24 hours by default"

// openStored opens an upload or an earlier result of the account.
func (deps *Deps) openStored(ctx context.Context, field, id string) (schema.Body, error) {
	if step, ok := schema.StepOf(id); ok {
		if result, ok := deps.Results[step]; ok {
			return borrowedBody{result.Body}, nil // The flow owns it.
		}
		return nil, schema.FieldErrors{{Field: field, Message: Unreadable}}
	}
	body, err := deps.Stored(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, schema.FieldErrors{{Field: field, Message: Unreadable}}
	}
	return body, err
}

// fetchError is a file that could not be fetched.
type fetchError struct {
	field string
	cause *render.FetchError
}

func (e *fetchError) Error() string { return e.field + ": " + e.cause.Error() }
func (e *fetchError) Unwrap() error { return e.cause }

// fileError words the failures of operations on files for the customer. A file
// that cannot be fetched is a 502, as is a page that does not load: the same
// request may work later.
func fileError(err error) *wire.Error {
	var fetch *fetchError
	if errors.As(err, &fetch) {
		return &wire.Error{
			Code: wire.ProcessingFailed, Message: fmt.Sprintf("The file in %s could not be fetched: %s.", fetch.field, fetch.cause),
			Details: []wire.Detail{{Field: fetch.field, Message: "could not be fetched: " + fetch.cause.Error()}},
		}
	}
	return toolError(err)
}
