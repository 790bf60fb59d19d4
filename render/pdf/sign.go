package pdf

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdfsign"
)

// KeyArgs are the arguments of SignKeyJob, whose result is a Key, and of SignDigestJob, whose result is a CMS. They
// never become a file.
type KeyArgs struct {
	PKCS12   []byte
	Password string
	Digest   []byte // of the prepared document; only for SignDigestJob
}

// Key is what is public about a key.
type Key struct {
	Hash        crypto.Hash // of the documents that it signs
	Chain       [][]byte    // of its certificate, in DER
	Certificate Certificate // the first of the chain
}

// CMS is a signature in DER.
type CMS struct{ Content []byte }

// withKey runs do with the signer of a key, which is overwritten afterwards.
func withKey[T any](args KeyArgs, do func(*pdfsign.Signer) (T, error)) (result T, err error) {
	defer clear(args.PKCS12)
	signer, err := pdfsign.ReadPKCS12(args.PKCS12, args.Password)
	if err == nil {
		defer signer.Forget()
		result, err = do(signer)
	}
	if err != nil {
		return result, signatureError(err)
	}
	return result, nil
}

// SignKeyJob returns the certificates of a key. It has the key, and reads no document.
var SignKeyJob = job.Define("pdf.sign.key", engine.ReadTime, readKey)

// readKey returns the certificates of a key.
func readKey(_ context.Context, _ *engine.Work, args KeyArgs) (Key, error) {
	return withKey(args, func(s *pdfsign.Signer) (Key, error) {
		key := Key{Hash: s.Hash, Certificate: certificateOf(s.Chain[0])}
		for _, c := range s.Chain {
			key.Chain = append(key.Chain, c.Raw)
		}
		return key, nil
	})
}

// SignDigestJob signs a digest. It has the key, and reads no document.
var SignDigestJob = job.Define("pdf.sign.digest", engine.ReadTime, signDigest)

// signDigest signs the digest of a document.
func signDigest(_ context.Context, _ *engine.Work, args KeyArgs) (CMS, error) {
	return withKey(args, func(s *pdfsign.Signer) (CMS, error) {
		content, err := s.Sign(args.Digest)
		return CMS{content}, err
	})
}

// A job that reads a document and needs responses of a key or of servers, such as SignJob, ends with its PendingRequests
// and is done again with the Responses, until there are no more requests.

// RequestKind is the kind of a RemoteRequest.
type RequestKind string

// The kinds of requests, with their responses.
const (
	RequestSignature RequestKind = "signature" // a CMS of a digest
	RequestTimestamp RequestKind = "timestamp" // a response to a request of RFC 3161
	RequestStatus    RequestKind = "state"     // a response to an OCSP request; a list of revoked certificates without a body
)

// RemoteRequest is a request of a job to a key or a server outside of its process.
type RemoteRequest struct {
	Kind RequestKind
	URL  string // of a RequestStatus
	Body []byte
}

func (r RemoteRequest) equal(other RemoteRequest) bool {
	return r.Kind == other.Kind && r.URL == other.URL && bytes.Equal(r.Body, other.Body)
}

// PendingRequests is the result of a job that needs responses. Without any, the job is done.
type PendingRequests struct{ Requests []RemoteRequest }

// Response is the response to a RemoteRequest: a file of the job, or the reason why there is none.
type Response struct {
	RemoteRequest

	File  string
	Error string
}

// RunState is the same for all runs of a job: its time, the seed of its timestamp requests, and the responses.
type RunState struct {
	At        time.Time
	Seed      []byte
	Responses []Response
}

// requester answers from the responses, and collects the other requests.
type requester struct {
	RunState

	w        *engine.Work
	requests []RemoteRequest
}

func (r *requester) get(request RemoteRequest) ([]byte, error) {
	for _, known := range r.Responses {
		switch {
		case !known.equal(request):
		case known.Error != "":
			return nil, errors.New(known.Error)
		default:
			return os.ReadFile(r.w.Path(known.File))
		}
	}
	r.requests = append(r.requests, request)
	return nil, pdfsign.ErrPending
}

// Sign is that of a pdfsign.Key.
func (r *requester) Sign(digest []byte) ([]byte, error) {
	return r.get(RemoteRequest{Kind: RequestSignature, Body: digest})
}

func (r *requester) network() pdfsign.Network {
	return pdfsign.Network{
		Seed: r.Seed,
		Timestamp: func(_ context.Context, request []byte) ([]byte, error) {
			return r.get(RemoteRequest{Kind: RequestTimestamp, Body: request})
		},
		Fetch: func(_ context.Context, request pdfsign.Request) ([]byte, error) {
			return r.get(RemoteRequest{RequestStatus, request.URL, request.Body})
		},
	}
}

// finish writes the document, unless responses are missing.
func (r *requester) finish(content []byte, err error) (PendingRequests, error) {
	if errors.Is(err, pdfsign.ErrPending) {
		return PendingRequests{r.requests}, nil
	}
	if err != nil {
		return PendingRequests{}, signatureError(err)
	}
	if err := os.WriteFile(r.w.Path(job.Output), content, 0o600); err != nil {
		return PendingRequests{}, fmt.Errorf("write output: %w", err)
	}
	r.w.Output(job.Output)
	return PendingRequests{}, nil
}

// SealArgs are the arguments of SealJob, whose result is a PendingRequests, and whose output is the document with a timestamp.
type SealArgs struct {
	RunState

	Input job.Input
	// Roots is the name of a file of certificates in PEM, which complete chains; empty is none.
	Roots string
}

// SignArgs are the arguments of SignJob, whose result is a PendingRequests, and whose output is the signed document.
type SignArgs struct {
	SealArgs

	Key     Key
	Level   pdfsign.Level
	Options pdfsign.Options
	// Image is the name of the image of the visible signature; empty is none.
	Image string
	// TestMark draws the test mark above a visible signature, as on the page.
	TestMark bool
}

func (a SealArgs) read(ctx context.Context, w *engine.Work) (content pdfsign.PDF, trust []*x509.Certificate, err error) {
	if content, err = readPDF(ctx, w, a.Input); err != nil {
		return content, nil, err
	}
	trust, err = roots(w, a.Roots, nil)
	return content, trust, err
}

// SealJob adds a timestamp to a document, and the validation data of its signatures.
var SealJob = job.Define("pdf.seal", engine.ChangeTime, seal)

// seal adds a timestamp to a document.
func seal(ctx context.Context, w *engine.Work, args SealArgs) (PendingRequests, error) {
	content, trust, err := args.read(ctx, w)
	if err != nil {
		return PendingRequests{}, err
	}
	r := &requester{RunState: args.RunState, w: w}
	return r.finish(pdfsign.Seal(ctx, content, args.At, trust, r.network()))
}

// SignJob signs a document, without the key: it requests the signature.
var SignJob = job.Define("pdf.sign", engine.ChangeTime, sign)

// sign signs a document.
func sign(ctx context.Context, w *engine.Work, args SignArgs) (PendingRequests, error) {
	content, trust, err := args.read(ctx, w)
	if err != nil {
		return PendingRequests{}, err
	}

	r := &requester{RunState: args.RunState, w: w}
	jobValue := pdfsign.Job{Options: args.Options, Level: args.Level, Key: r, Hash: args.Key.Hash, Trust: trust, Network: r.network(), At: args.At}
	for _, raw := range args.Key.Chain {
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			return PendingRequests{}, fmt.Errorf("certificate of the key: %w", err)
		}
		jobValue.Chain = append(jobValue.Chain, c)
	}

	if len(jobValue.Chain) == 0 || !jobValue.Hash.Available() {
		return PendingRequests{}, errors.New("the key has no certificate, or an unknown hash")
	}

	if jobValue.Visible != nil {
		if err := args.fillBox(w, jobValue.Chain[0], jobValue.Visible); err != nil {
			return PendingRequests{}, err
		}
		if args.TestMark {
			jobValue.Visible.Over = markOfPage
		}
	}

	return r.finish(pdfsign.Sign(ctx, content, jobValue))
}

// markOfPage returns the test mark of a page that is signed.
func markOfPage(f *pdffile.File, page pdffile.Page) string {
	mark, _ := pageMark((&job.Structure{File: f}).Paper(page.Entries))
	return mark
}

// fillBox adds the image to a visible signature, or the usual text if it has neither.
func (a SignArgs) fillBox(w *engine.Work, signer *x509.Certificate, box *pdfsign.Visible) error {
	if a.Image == "" {
		if len(box.Lines) == 0 {
			box.Lines = []string{"Signed by " + strings.Join(strings.Fields(cmp.Or(signer.Subject.CommonName, signer.Subject.String())), " "), a.At.UTC().Format("2006-01-02 15:04 UTC")}
			if a.Options.Reason != "" {
				box.Lines = append(box.Lines, a.Options.Reason)
			}
		}
		return nil
	}

	decoded, _, err := images.UprightImage(w.Path(a.Image))
	if err != nil {
		return images.Blame(1, err)
	}
	const maximum, opaque = 1200, 255 // pixels, 300 for each inch of a box of 288 points
	width := decoded.Rect.Dx()
	height := decoded.Rect.Dy()
	if longest := max(width, height); longest > maximum {
		width, height = max(1, width*maximum/longest), max(1, height*maximum/longest)
		decoded = images.Scale(decoded, width, height)
	}

	box.Image = &pdfsign.Image{Width: width, Height: height, RGB: make([]byte, 0, 3*width*height)} // bytes of a pixel
	for y := range height {
		for x := range width {
			c := decoded.NRGBAAt(decoded.Rect.Min.X+x, decoded.Rect.Min.Y+y)
			alpha := int(c.A)
			for _, value := range []uint8{c.R, c.G, c.B} { // on white
				box.Image.RGB = append(box.Image.RGB, uint8((int(value)*alpha+opaque*(opaque-alpha))/opaque))
			}
		}
	}
	return nil
}
