package pdf

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdfsign"
)

// VerifyArgs are the arguments of VerifyJob, whose result is a Verified.
type VerifyArgs struct {
	RunState

	Input job.Input
	// Roots is the name of a file of trusted certificates in PEM; empty is none.
	Roots string
	// Trust are further trusted certificates in PEM.
	Trust []string
	// Online means that servers are asked for the revocation of certificates.
	Online bool
}

// Verified is a Verification, or the requests that it needs first.
type Verified struct {
	PendingRequests
	Verification
}

// Verification is the result of VerifyJob.
type Verification struct {
	Verdict    string      `json:"verdict" jsonschema:"required,enum=valid,enum=invalid,enum=unknown,enum=unsigned" jsonschema_description:"Worst verdict of all signatures: invalid before unknown before valid. unsigned: the PDF has no signature."`
	Signatures []Signature `json:"signatures" jsonschema:"required" jsonschema_description:"Signatures and timestamps, in the order of signing."`
}

// Signature is the report about one signature.
type Signature struct {
	Field         string            `json:"field" jsonschema:"required" jsonschema_description:"Full name of the signature field."`
	Type          string            `json:"type" jsonschema:"required,enum=signature,enum=certification,enum=timestamp" jsonschema_description:"signature: an approval. certification: limits later changes. timestamp: proves that the PDF existed at a time."`
	Verdict       string            `json:"verdict" jsonschema:"required,enum=valid,enum=invalid,enum=unknown" jsonschema_description:"valid: intact, by a trusted signer, with allowed changes only. invalid: changed, forged or revoked. unknown: undecided for the stated reason."`
	Reason        string            `json:"reason" jsonschema:"required" jsonschema_description:"Reason for the verdict."`
	Intact        bool              `json:"intact" jsonschema:"required" jsonschema_description:"True if the signed bytes are unchanged."`
	Trusted       bool              `json:"trusted" jsonschema:"required" jsonschema_description:"True if the signer's certificate leads to a trusted certificate."`
	Revocation    string            `json:"revocation" jsonschema:"required,enum=good,enum=revoked,enum=unknown" jsonschema_description:"Revocation status of the certificates at the time of signing, from the validation data in the PDF and, if online is true, from the servers of the issuers."`
	WholeDocument bool              `json:"wholeDocument" jsonschema:"required" jsonschema_description:"True if nothing was added to the PDF after this signature."`
	Level         *string           `json:"level" jsonschema:"required,oneof_type=string;null" jsonschema_description:"PAdES level, B-B to B-LTA; null if the signature does not conform to PAdES."`
	Allows        *string           `json:"allows" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Changes that a certification allows: no-changes, form-filling or annotations; null for others."`
	Changes       []SignatureChange `json:"changes" jsonschema:"required" jsonschema_description:"Changes of the PDF after this signature."`
	Signer        *string           `json:"signer" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Subject of the signer's certificate; null if it cannot be read."`
	Chain         []Certificate     `json:"chain" jsonschema:"required" jsonschema_description:"Certificate of the signer and its issuers, as far as they are known."`
	Time          *time.Time        `json:"time" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time of signing; null if the signature has none."`
	TimeSource    *string           `json:"timeSource" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Source of the time: timestamp (by a trusted authority) or signer (unproven); null without a time."`
	SignReason    *string           `json:"signReason" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Reason for signing, as the signer stated it; null if there is none."`
	Location      *string           `json:"location" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Place of signing, as the signer stated it; null if there is none."`
}

// SignatureChange is a change after a signature.
type SignatureChange struct {
	Type string `json:"type" jsonschema:"required,enum=signature,enum=timestamp,enum=validation-data,enum=metadata,enum=form-filling,enum=annotation,enum=covered-content,enum=other" jsonschema_description:"Kind of the change. covered-content: the box of a later signature covers text, fields or a large part of a page."`
	Text string `json:"text" jsonschema:"required" jsonschema_description:"Changed part of the PDF."`
}

// Certificate is one certificate of a chain.
type Certificate struct {
	Subject   string    `json:"subject" jsonschema:"required" jsonschema_description:"Subject."`
	Issuer    string    `json:"issuer" jsonschema:"required" jsonschema_description:"Issuer."`
	Serial    string    `json:"serial" jsonschema:"required" jsonschema_description:"Serial number in hexadecimal digits."`
	NotBefore time.Time `json:"notBefore" jsonschema:"required" jsonschema_description:"Start of the validity."`
	NotAfter  time.Time `json:"notAfter" jsonschema:"required" jsonschema_description:"End of the validity."`
}

// VerifyJob verifies the signatures of a PDF.
var VerifyJob = job.Define("pdf.verify", engine.MakeTime, verify)

// verify verifies the signatures of a document, whose bytes are not repaired first.
func verify(ctx context.Context, w *engine.Work, args VerifyArgs) (Verified, error) {
	content, err := readPDF(ctx, w, args.Input)
	if err != nil {
		return Verified{}, err
	}

	trust := pdfsign.Trust{At: args.At, Words: versionWords(ctx, w, args.Input.Password)}
	if trust.Roots, err = roots(w, args.Roots, args.Trust); err != nil {
		return Verified{}, err
	}

	r := &requester{RunState: args.RunState, w: w}
	var reports []pdfsign.Report
	if args.Online {
		reports, err = pdfsign.VerifyOnline(ctx, content, trust, r.network())
	} else {
		reports, err = pdfsign.Verify(content, trust)
	}
	switch {
	case errors.Is(err, pdfsign.ErrPending):
		return Verified{PendingRequests: PendingRequests{r.requests}}, nil
	case err != nil:
		return Verified{}, signatureError(err)
	}

	v := Verification{Verdict: "unsigned", Signatures: make([]Signature, len(reports))}
	severity := []string{"unsigned", string(pdfsign.Valid), string(pdfsign.Undecided), string(pdfsign.Invalid)}
	worst := 0
	for i, r := range reports {
		v.Signatures[i] = signature(r)
		for rank, verdict := range severity {
			if string(r.Verdict) == verdict {
				worst = max(worst, rank)
			}
		}
	}

	v.Verdict = severity[worst]
	return Verified{Verification: v}, nil
}

// versionWords returns a function that reads the words of a page of a version of a document.
func versionWords(ctx context.Context, w *engine.Work, password string) func(version []byte, page int) ([]pdfsign.Word, error) {
	versions := map[int]*compare.Side{} // by their number of bytes
	return func(version []byte, page int) (list []pdfsign.Word, err error) {
		f := versions[len(version)]
		if f == nil {
			name := fmt.Sprintf("version-%d.pdf", len(version))
			if err := os.WriteFile(w.Path(name), version, 0o600); err != nil {
				return nil, fmt.Errorf("version: %w", err)
			}

			doc, err := job.Open(ctx, w, 0, job.Input{Name: name, Password: password})
			if err != nil {
				return nil, err
			}
			if _, err := job.Decrypt(ctx, doc); err != nil {
				return nil, err
			}

			f = &compare.Side{Document: doc}
			versions[len(version)] = f
		}

		words, err := f.Words(ctx, page, nil)
		for _, word := range words {
			list = append(list, pdfsign.NewWord(word.Text, word.Area.X, word.Area.Y, word.Area.Width, word.Area.Height))
		}
		return list, err
	}
}

// readPDF reads a document whose bytes are not repaired first, and finds the key of its encryption.
func readPDF(ctx context.Context, w *engine.Work, in job.Input) (read pdfsign.PDF, err error) {
	d := &job.Document{Work: w, Name: in.Name, Password: in.Password}
	if read.Content, err = d.Content(); err != nil {
		return read, err
	}
	if !bytes.Contains(read.Content[:min(len(read.Content), pdffile.HeaderWithin)], []byte("%PDF-")) {
		return read, d.Fail(job.NotPDF, nil)
	}

	f, err := pdffile.ReadTable(read.Content)
	if err != nil || f.Trailer("/Encrypt") == nil {
		return read, nil //nolint:nilerr // pdfsign has more to say about the structure
	}

	if err := d.CheckPassword(ctx); err != nil {
		return read, err
	}
	read.Key, err = encryptionKey(ctx, d)
	return read, err
}

// roots returns the certificates of a file, if it is named, and of texts.
func roots(w *engine.Work, file string, texts []string) (list []*x509.Certificate, err error) {
	if file != "" {
		raw, err := os.ReadFile(w.Path(file))
		if err != nil {
			return nil, fmt.Errorf("roots: %w", err)
		}
		list = certificates(raw)
	}

	for i, text := range texts {
		found := certificates([]byte(text))
		if len(found) == 0 {
			return nil, &job.Error{Kind: job.NoCertificate, Pages: i, Text: "must be a certificate in PEM"}
		}
		list = append(list, found...)
	}
	return list, nil
}

// certificates returns the certificates of a text in PEM.
func certificates(text []byte) (list []*x509.Certificate) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return list
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			list = append(list, c)
		}
		text = rest
	}
}

// signatureError returns the error of a document that cannot be signed or verified.
func signatureError(err error) error {
	var failed *pdfsign.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Kind {
	case pdfsign.Encrypted, pdfsign.Unreadable, pdfsign.NotAllowed:
		return &job.Error{Kind: job.Unverified, Text: failed.Text, Cause: err}
	}
	return &job.Error{Kind: job.Unsigned, About: failed.Kind, Text: failed.Text, Cause: err}
}

func certificateOf(c *x509.Certificate) Certificate {
	return Certificate{c.Subject.String(), c.Issuer.String(), c.SerialNumber.Text(16), c.NotBefore.UTC(), c.NotAfter.UTC()}
}

func signature(r pdfsign.Report) Signature {
	s := Signature{
		Field: r.Field, Type: string(r.Kind), Verdict: string(r.Verdict), Reason: r.Reason, Intact: r.Intact, Trusted: r.Trusted, Revocation: string(r.Revocation),
		WholeDocument: r.WholeDocument, Level: optional(string(r.Level)), Changes: []SignatureChange{}, Chain: []Certificate{},
		TimeSource: optional(string(r.TimeSource)), SignReason: optional(r.Why), Location: optional(r.Location),
	}
	names := map[pdfsign.Permission]string{pdfsign.NoChanges: "no-changes", pdfsign.FormFilling: "form-filling", pdfsign.Annotations: "annotations"}
	s.Allows = optional(names[r.Certifies])

	for _, c := range r.Changes {
		s.Changes = append(s.Changes, SignatureChange{string(c.Kind), c.Text})
	}
	for _, c := range r.Chain {
		s.Chain = append(s.Chain, certificateOf(c))
	}

	if len(r.Chain) > 0 {
		s.Signer = &s.Chain[0].Subject
	}
	if !r.Time.IsZero() {
		at := r.Time.UTC()
		s.Time = &at
	}
	return s
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
