package render

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfsign"
	"github.com/relaypdf/relaypdf/render/spool"
)

// systemRoots are the files in which operating systems have their trusted certificates.
func systemRoots() []string {
	return []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}
}

// rootsName is the file name of the trusted certificates of a job.
const rootsName = "roots.pem"

// trusted returns a job's files with the certificates of the operating system, and the name of these; empty if it has
// none.
func trusted(files []engine.File) ([]engine.File, string) {
	for _, path := range systemRoots() {
		if raw, err := os.ReadFile(path); err == nil {
			return append(files, engine.File{Name: rootsName, Content: spool.FromBytes(raw)}), rootsName
		}
	}
	return files, ""
}

// VerifyPDF verifies the signatures of a PDF. It trusts certificates in PEM; without any, those of the operating
// system. If online is true, it asks the servers of issuers for the revocation of certificates.
func (e *Engines) VerifyPDF(ctx context.Context, file PDFFile, trust []string, online bool) (pdf.Verification, error) {
	var report pdf.Verified
	args := pdf.VerifyArgs{Input: file.Input(), Trust: trust, Online: online}
	files := []engine.File{file.File()}
	if len(trust) == 0 {
		files, args.Roots = trusted(files)
	}

	d := &remoteRequests{tools: e}
	result, err := d.run(ctx, func(state pdf.RunState) engine.Job {
		args.RunState = state
		return pdf.VerifyJob.With(args, files)
	})

	if err == nil {
		err = json.Unmarshal(result.Body, &report)
	}
	return report.Verification, err
}

// Signing is a signature to be made. The key is used by processes without a network that read no document.
type Signing struct {
	PKCS12   engine.Content
	Password string
	Level    pdfsign.Level
	Options  pdfsign.Options
	// TimestampURL is the URL of the timestamp authority, for levels above B-B.
	TimestampURL string
	// Image is the image of the visible signature; nil is none.
	Image engine.Content
	// TestMark draws the test mark above a visible signature. The PDF has the mark already.
	TestMark bool
}

// SignPDF signs a PDF. A *TimestampError is about the timestamp authority, and a *job.Error of the kind Unsigned
// about the part of the request that it names.
func (e *Engines) SignPDF(ctx context.Context, file PDFFile, s Signing) (_ *spool.File, err error) {
	raw, err := io.ReadAll(s.PKCS12.Open())
	if err != nil {
		return nil, err
	}
	defer clear(raw)

	files := []engine.File{file.File()}
	args := pdf.SignArgs{
		SealArgs: pdf.SealArgs{Input: file.Input()},
		Level:    s.Level,
		Options:  s.Options,
		TestMark: s.TestMark,
	}
	key := pdf.KeyArgs{PKCS12: raw, Password: s.Password}
	args.Key, err = runKey(ctx, e, pdf.SignKeyJob, key)
	if err != nil {
		return nil, err
	}

	if s.Level == pdfsign.LevelLT || s.Level == pdfsign.LevelLTA { // which contain the whole chain
		files, args.Roots = trusted(files)
	}
	if s.Image != nil {
		args.Image = "image"
		files = append(files, engine.File{Name: args.Image, Content: s.Image})
	}
	d := &remoteRequests{
		tools:        e,
		timestampURL: s.TimestampURL,
		sign: func(ctx context.Context, digest []byte) ([]byte, error) {
			key.Digest = digest
			cms, err := runKey(ctx, e, pdf.SignDigestJob, key)
			return cms.Content, err
		},
	}

	result, err := d.run(ctx, func(state pdf.RunState) engine.Job {
		args.RunState = state
		args.Options.Time = state.At
		return pdf.SignJob.With(args, files)
	})

	if err != nil {
		return nil, err
	}
	return result.Output(0), nil
}

// ReadKey returns the certificate of the key in a PKCS#12 file. A *job.Error of the kind Unsigned is about the file
// or its password.
func (e *Engines) ReadKey(ctx context.Context, pkcs12 []byte, password string) (pdf.Certificate, error) {
	key, err := runKey(ctx, e, pdf.SignKeyJob, pdf.KeyArgs{PKCS12: pkcs12, Password: password})
	return key.Certificate, err
}

// runKey runs a job that has the key.
func runKey[Result any](
	ctx context.Context, t *Engines, task job.Job[pdf.KeyArgs, Result], key pdf.KeyArgs,
) (Result, error) {
	result, err := RunValue(ctx, t, task, key)
	var late *engine.TimeoutError
	var failed *job.Error
	if ctx.Err() == nil && errors.As(err, &late) || errors.As(err, &failed) && failed.Kind == job.Exhausted {
		const text = "must be a PKCS#12 file that opens within 10 seconds; its key derivation has too many iterations. " +
			"Export the key again with fewer"
		return result, &job.Error{Kind: job.Unsigned, About: pdfsign.BadKey, Text: text}
	}
	return result, err
}

// SealPDF adds a timestamp to a PDF, and what is known about the certificates of its signatures.
func (e *Engines) SealPDF(ctx context.Context, file PDFFile, timestampURL string) (*spool.File, error) {
	args := pdf.SealArgs{Input: file.Input()}
	var files []engine.File
	files, args.Roots = trusted([]engine.File{file.File()})
	d := &remoteRequests{tools: e, timestampURL: timestampURL}
	result, err := d.run(ctx, func(state pdf.RunState) engine.Job {
		args.RunState = state
		return pdf.SealJob.With(args, files)
	})
	if err != nil {
		return nil, err
	}
	return result.Output(0), nil
}

// TimestampError means that the timestamp authority could not be reached.
type TimestampError struct{ cause error }

func (e *TimestampError) Error() string { return "timestamp authority: " + e.cause.Error() }

// Unwrap returns egress.ErrRefused or a *FetchError.
func (e *TimestampError) Unwrap() error { return e.cause }

// Limits of remote requests. A certificate has an OCSP server and a list of revoked certificates, and a chain few
// certificates.
const (
	maxTurns          = 12
	maxRemoteRequests = 60
	maxResponse       = 1 << 20
	maxRevocationList = 16 << 20
	maxResponses      = 64 << 20 // in all
	maxAtOnce         = 8
	responseTimeout   = 15 * time.Second
	requestsTimeout   = time.Minute
)

// remoteRequests runs a job until it has no more requests.
type remoteRequests struct {
	tools        *Engines
	timestampURL string
	sign         func(ctx context.Context, digest []byte) ([]byte, error)

	state  pdf.RunState
	files  []engine.File
	spools []*spool.File // of them; nil for a failure
	size   int64         // of them, in bytes
}

// close deletes the responses.
func (d *remoteRequests) close() (err error) {
	for _, file := range d.spools {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// run returns the last result of a job, which the caller closes.
func (d *remoteRequests) run(ctx context.Context, task func(pdf.RunState) engine.Job) (_ engine.Result, err error) {
	defer func() { err = errors.Join(err, d.close()) }()
	d.state = pdf.RunState{At: time.Now().UTC().Truncate(time.Second), Seed: []byte(rand.Text())}

	bounded, cancel := context.WithTimeout(ctx, requestsTimeout)
	defer cancel()

	for range maxTurns {
		next := task(d.state)
		next.Files = slices.Concat(next.Files, d.files)
		result, err := d.tools.runEngine(ctx, next)
		if err != nil {
			return engine.Result{}, err
		}

		var pending pdf.PendingRequests
		if err := json.Unmarshal(result.Body, &pending); err != nil {
			return engine.Result{}, errors.Join(err, result.Close())
		}

		if len(pending.Requests) == 0 {
			return result, nil
		}
		if len(d.state.Responses)+len(pending.Requests) > maxRemoteRequests {
			return engine.Result{}, &job.Error{Kind: job.Unverified, Text: "has too many certificates"}
		}
		if err := d.answer(ctx, bounded, pending.Requests); err != nil {
			return engine.Result{}, err
		}
	}
	return engine.Result{}, &job.Error{
		Kind: job.Unverified,
		Text: "has certificates whose issuers refer to too many servers",
	}
}

// answer gets the responses for requests, concurrently.
func (d *remoteRequests) answer(ctx, bounded context.Context, requests []pdf.RemoteRequest) error {
	contents := make([]*spool.File, len(requests))
	failures := make([]error, len(requests))
	var group sync.WaitGroup
	var size atomic.Int64
	free := make(chan struct{}, maxAtOnce)

	for i, request := range requests {
		free <- struct{}{}
		if d.size+size.Load() > maxResponses {
			break
		}
		group.Go(func() {
			failures[i] = guard.Try(func() (err error) {
				if contents[i], err = d.get(ctx, bounded, request); err == nil {
					size.Add(contents[i].Size())
				}
				return err
			})
			<-free
		})
	}
	group.Wait()
	d.spools = append(d.spools, contents...)
	d.size += size.Load()

	if d.size > maxResponses {
		return &job.Error{
			Kind: job.Unverified,
			Text: "has certificates whose servers return responses that are too large",
		}
	}

	for i, request := range requests {
		response := pdf.Response{RemoteRequest: request}
		var failed *FetchError
		switch err := failures[i]; {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			response.File = fmt.Sprintf("response%d", len(d.state.Responses))
			d.files = append(d.files, engine.File{Name: response.File, Content: contents[i]})
		case request.Kind == pdf.RequestTimestamp && (errors.As(err, &failed) || errors.Is(err, egress.ErrRefused)):
			return &TimestampError{err}
		case request.Kind != pdf.RequestStatus:
			return err
		case errors.As(err, &failed):
			response.Error = failed.Error()
		case errors.Is(err, egress.ErrRefused):
			response.Error = "its URL is not that of a public host"
		default:
			response.Error = "its response cannot be read"
		}
		d.state.Responses = append(d.state.Responses, response)
	}
	return nil
}

// get gets the response for one request.
func (d *remoteRequests) get(ctx, bounded context.Context, request pdf.RemoteRequest) (*spool.File, error) {
	q := fetchRequest{address: request.URL, body: request.Body}
	limit := int64(maxResponse)
	switch {
	case request.Kind == pdf.RequestSignature:
		cms, err := d.sign(ctx, request.Body)
		return spool.FromBytes(cms), err
	case request.Kind == pdf.RequestTimestamp:
		q.address = d.timestampURL
		q.contentType = "application/timestamp-query"
	case len(request.Body) > 0:
		q.contentType = "application/ocsp-request"
	default:
		q.body = nil
		limit = maxRevocationList
	}

	late, cancel := context.WithTimeout(bounded, responseTimeout)
	defer cancel()
	file, err := d.tools.exchange(late, q, limit)

	if err != nil && ctx.Err() == nil && late.Err() != nil {
		return nil, &FetchError{Reason: fmt.Sprintf("did not respond within %v", responseTimeout), cause: err}
	}
	if errors.Is(err, spool.ErrTooLarge) {
		return nil, &FetchError{Reason: "returned a response that is too large", cause: err}
	}
	return file.File, err
}
