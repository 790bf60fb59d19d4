package pdfsign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Verdict is the result of the verification of a signature.
type Verdict string

// The verdicts.
const (
	Valid     Verdict = "valid"
	Invalid   Verdict = "invalid"
	Undecided Verdict = "unknown"
)

// Report is about a signature or timestamp of a document.
type Report struct {
	Field   string
	Kind    SignatureKind
	Verdict Verdict
	// Reason is a sentence about the verdict.
	Reason string
	// Intact means that the signature is right, and of the bytes that it covers.
	Intact bool
	// WholeDocument means that it covers all bytes of the document but its own.
	WholeDocument bool
	Level         Level // empty if it does not conform to PAdES
	Certifies     Permission
	Changes       []Change
	Trusted       bool
	Revocation    State
	// Chain is the signer's certificate and those up to the root, as far as they are known.
	Chain []*x509.Certificate
	// Time is the time of the signature; zero if it has none.
	Time       time.Time
	TimeSource TimeSource
	Name       string
	Why        string // the reason for signing, as the signer has stated it
	Location   string
}

// SignatureKind is the kind of a signature.
type SignatureKind string

// The kinds of signatures.
const (
	Approval      SignatureKind = "signature"
	Certification SignatureKind = "certification"
	TimestampKind SignatureKind = "timestamp"
)

// TimeSource is where a time is from.
type TimeSource string

// The sources of times.
const (
	fromTimestamp TimeSource = "timestamp"
	fromSigner    TimeSource = "signer" // unproven
)

// Trust is what verification relies on.
type Trust struct {
	Roots []*x509.Certificate
	// At is the time of the verification; zero is now.
	At time.Time
	// Evidence is in addition to that in the document.
	Evidence ValidationData
	// Words returns the words of a page, from 1, of a version of the document; nil if they do not count.
	Words func(version []byte, page int) ([]Word, error)
}

// Verify reports on all signatures of a document, in the order of the bytes that they cover. The error is Encrypted or
// Unreadable.
func Verify(pdf PDF, trust Trust) ([]Report, error) {
	v, err := verify(pdf, trust)
	if err != nil {
		return nil, err
	}
	return v.reports(), nil
}

// VerifyOnline is Verify that fetches the state of trusted certificates about which the document has no evidence. The
// error may be ErrPending.
func VerifyOnline(ctx context.Context, pdf PDF, trust Trust, network Network) ([]Report, error) {
	v, err := verify(pdf, trust)
	if err != nil {
		return nil, err
	}

	found := ValidationData{}
	err = found.gather(ctx, network, v.trust.At, v.unproven)
	if errors.Is(err, ErrPending) {
		return nil, err
	}

	if len(v.unproven) == 0 {
		return v.reports(), nil
	}
	trust.Evidence.add(found) // Without some of it, their state remains unknown.
	return Verify(pdf, trust)
}

// verify examines all signatures.
func verify(pdf PDF, trust Trust) (*verifier, error) {
	d, err := open(pdf)
	if err != nil {
		return nil, err
	}
	if trust.At.IsZero() {
		trust.At = time.Now()
	}

	v := &verifier{
		editedFile: d, trust: trust, stored: evidenceIn(d.File), readWords: trust.Words, words: map[int][]Word{},
	}
	v.evidence.add(v.stored)
	v.evidence.add(trust.Evidence)
	v.known = parsed(v.evidence.Certificates)

	fields := signedFields(v.File)
	if len(fields) > maxSignatures {
		return nil, fail(Unreadable, "has %d signatures, more than %d", len(fields), maxSignatures)
	}
	for _, f := range fields {
		v.signatures = append(v.signatures, v.examine(f))
	}

	slices.SortStableFunc(v.signatures, func(a, b *examined) int { return cmp.Compare(a.end, b.end) })
	v.prove()
	return v, nil
}

// reports decides on the signatures.
func (v *verifier) reports() []Report {
	reports := make([]Report, len(v.signatures))
	for i, s := range v.signatures {
		v.decide(s)
		reports[i] = s.Report
	}
	return reports
}

func (e *ValidationData) add(more ValidationData) {
	e.Certificates = append(e.Certificates, more.Certificates...)
	e.OCSPs = append(e.OCSPs, more.OCSPs...)
	e.CRLs = append(e.CRLs, more.CRLs...)
}

// maxSignatures is more than a document has. Each is of up to the whole document.
const maxSignatures = 200

// verifier verifies the signatures of a document.
type verifier struct {
	*editedFile

	trust      Trust
	stored     ValidationData      // in the document
	evidence   ValidationData      // with that of the trust
	known      []*x509.Certificate // of the evidence
	signatures []*examined
	unproven   [][]*x509.Certificate // trusted chains whose state is unknown

	readWords func(version []byte, page int) ([]Word, error)
	words     map[int][]Word // by page
}

// examined is a signature on the way to its report.
type examined struct {
	Report
	signatureSpan

	field   *field
	signed  *pdffile.File // the document as it was signed
	message *message
	token   *token   // of a timestamp, or the one of a signature that counts
	tokens  []*token // of a signature
	err     error    // that makes it invalid, unless it is an undecidedError
	doubt   string   // about trust
	moment  time.Time
}

// signatureSpan is the place of a signature.
type signatureSpan struct {
	contents   []byte
	start, end int // of its digits with brackets; and of all bytes that it covers
	after      int // the end of the digits
}

// The errors of the place of a signature, as reasons of a report.
var (
	errUnsigned   = errors.New("the field is signed with something that is not a signature")
	errRange      = errors.New("the byte range of the signature is not that of its document")
	errOutside    = errors.New("the signature is not part of the bytes that it covers")
	errRevision   = errors.New("the bytes that the signature covers are not a document")
	errEncryption = errors.New("the encryption was changed after signing")
	errNotItself  = errors.New("the signature was replaced after signing")
)

// placeOf finds the place of a signature, and checks that nothing else is in it.
func (d *editedFile) placeOf(f *field) (p signatureSpan, err error) {
	contents, ok := d.Target(f.signature["/Contents"]).(string)
	list, _ := d.Target(f.signature["/ByteRange"]).([]any)
	digits, isString := strings.CutPrefix(contents, "b:")
	if p.contents, err = hex.DecodeString(digits); !ok || !isString || err != nil || len(p.contents) == 0 {
		return p, errUnsigned
	}

	var numbers []int
	for _, item := range list {
		n, ok := item.(float64)
		if !ok || n < 0 || n > float64(len(d.content)) || n != float64(int(n)) {
			return p, errRange
		}
		numbers = append(numbers, int(n))
	}

	const count = 4
	if len(numbers) != count || numbers[0] != 0 || numbers[2] <= numbers[1] || numbers[2]+numbers[3] > len(d.content) {
		return p, errRange
	}

	p.start = numbers[1]
	p.after = numbers[2]
	p.end = numbers[2] + numbers[3]
	gap := d.content[p.start:p.after]
	const brackets = 2
	if len(gap) < brackets || gap[0] != '<' || gap[len(gap)-1] != '>' ||
		!strings.EqualFold(string(gap[1:len(gap)-1]), digits) {
		return p, errRange
	}
	return p, nil
}

// examine reads a signature, and verifies that it is of the bytes that it covers.
func (v *verifier) examine(f *field) *examined {
	s := &examined{field: f}
	s.Field = f.name
	s.Kind = kindOf(v.File, f.signature)
	s.Revocation = Unknown
	s.Certifies = permission(v.File, f.signature)

	format, _ := v.Target(f.signature["/SubFilter"]).(string)
	text := func(key string) string { return pdffile.Text(v.Target(f.signature[key])) }
	s.Name = text("/Name")
	s.Why = text("/Reason")
	s.Location = text("/Location")
	if s.signatureSpan, s.err = v.placeOf(f); s.err != nil {
		return s
	}

	s.WholeDocument = len(bytes.TrimLeft(v.content[s.end:], "\r\n")) == 0
	switch format {
	case subFilterPAdES, subFilterTimestamp, subFilterPKCS7:
	default:
		s.err = undecided("the signature has an unsupported format: %q", strings.TrimPrefix(format, "/"))
		return s
	}

	if s.err = v.checkRevision(s); s.err != nil {
		return s
	}
	s.err = v.checkMessage(s, format)
	s.Intact = s.err == nil
	return s
}

// checkRevision reads the document as it was signed, which must have the signature.
func (v *verifier) checkRevision(s *examined) error {
	signed := v.content[:s.end:s.end]
	if !bytes.HasSuffix(bytes.TrimRight(signed, "\r\n "), []byte("%%EOF")) {
		return errRevision
	}

	d, err := open(PDF{signed, v.key})
	if err == nil && !d.SameEncryption(v.File) {
		return errEncryption
	}
	if err != nil {
		return errRevision
	}

	s.signed = d.File
	i := slices.IndexFunc(signatureFields(d.File),
		func(f *field) bool { return f.ref == s.field.ref && f.value == s.field.value && f.name == s.Field })
	if i < 0 {
		return errOutside
	}

	object := s.field.value
	if object == "" {
		object = s.field.ref
	}
	start, end, ok := s.signed.Span(object)
	if !ok || start >= s.start || end < s.after {
		return errOutside
	}

	if nowStart, nowEnd, ok := v.Span(object); !ok || nowStart != start || nowEnd != end {
		return errNotItself
	}
	return nil
}

// checkMessage verifies the CMS or the token of a signature.
func (v *verifier) checkMessage(s *examined, format string) (err error) {
	before := v.content[:s.start]
	after := v.content[s.after:s.end]
	if format == subFilterTimestamp {
		if s.token, err = readToken(s.contents, v.known...); err != nil {
			return err
		}
		s.message = s.token.message
		return s.token.ofBytes(before, after)
	}

	if s.message, err = readMessage(s.contents, v.known...); err != nil {
		return err
	}
	if err := s.message.verify(digest(s.message.hash, before, after)); err != nil {
		return err
	}

	switch {
	case !s.message.contentType.Equal(oidData):
		return errContentType
	case s.message.content != nil:
		return errContent
	}

	for _, raw := range s.message.tokens() {
		t, err := readToken(raw, v.known...)
		if err == nil {
			err = t.ofBytes(s.message.info.Signature)
		}
		switch {
		case err == nil:
			s.tokens = append(s.tokens, t)
		case isUndecided(err):
			s.doubt = "its timestamp cannot be verified: " + err.Error()
		default:
			s.doubt = "its timestamp is invalid: " + err.Error()
		}
	}
	return nil
}
