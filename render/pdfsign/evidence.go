package pdfsign

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// ValidationData is certificates and what is known about their revocation, in DER.
type ValidationData struct {
	Certificates, OCSPs, CRLs [][]byte
}

// Request is a request for the state of a certificate. A body is an OCSP request, to be sent as
// application/ocsp-request; without one, the URL is that of a list of revoked certificates.
type Request struct {
	URL  string
	Body []byte
}

// Network has the requests that signing and verification need. Both functions return the body of the response, and
// bound its size and time.
type Network struct {
	// Timestamp sends a timestamp request, as application/timestamp-query.
	Timestamp func(ctx context.Context, request []byte) ([]byte, error)
	Fetch     func(ctx context.Context, r Request) ([]byte, error)
	// Seed makes the numbers in timestamp requests unpredictable.
	Seed []byte
}

// requests returns the requests for a certificate, in order of preference.
func requests(certificate, issuer *x509.Certificate) (list []Request) {
	for _, url := range certificate.OCSPServer {
		if body, err := ocsp.CreateRequest(certificate, issuer, nil); err == nil {
			list = append(list, Request{url, body})
		}
	}
	for _, url := range certificate.CRLDistributionPoints {
		if strings.HasPrefix(url, "http") {
			list = append(list, Request{URL: url})
		}
	}
	return list
}

// gather fetches the state of the certificates of chains, except that of roots. The error is NoState if the state of a
// certificate is not to be had, and BadKey if it is revoked. All requests are made before ErrPending is returned.
func gather(ctx context.Context, network Network, at time.Time, chains ...[]*x509.Certificate) (e ValidationData, err error) {
	err = e.gather(ctx, network, at, chains)
	return e, err
}

func (e *ValidationData) gather(
	ctx context.Context, network Network, at time.Time, chains [][]*x509.Certificate,
) (failed error) {
	for _, chain := range chains {
		for i, certificate := range chain {
			e.addCertificate(certificate.Raw)
			if isRoot(certificate) {
				continue
			}

			err := error(nil)
			if i+1 == len(chain) {
				err = fail(NoState, "requires the certificate of the issuer of %q, which is unknown",
					certificate.Subject.CommonName)
			} else if e.state(certificate, chain[i+1], at) != Good {
				err = e.fetch(ctx, network, certificate, chain[i+1], at)
			}

			if err != nil && (failed == nil || errors.Is(err, ErrPending)) {
				failed = err
			}
		}
	}
	return failed
}

func isRoot(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }

func (e *ValidationData) addCertificate(raw []byte) {
	if !slices.ContainsFunc(e.Certificates, func(old []byte) bool { return bytes.Equal(old, raw) }) {
		e.Certificates = append(e.Certificates, raw)
	}
}

// fetch adds the state of a certificate.
func (e *ValidationData) fetch(
	ctx context.Context, network Network, certificate, issuer *x509.Certificate, at time.Time,
) error {
	var last error
	for _, r := range requests(certificate, issuer) {
		body, err := network.Fetch(ctx, r)
		if errors.Is(err, ErrPending) {
			return err
		}
		if err != nil {
			last = err
			continue
		}

		found := ValidationData{}
		if r.Body != nil {
			found.OCSPs = [][]byte{body}
		} else {
			found.CRLs = [][]byte{body}
		}

		state := found.state(certificate, issuer, at)
		if state != Unknown {
			e.add(found)
		}
		switch state {
		case Good:
			return nil
		case Revoked:
			return fail(BadKey, "must have no revoked certificate; %q is revoked", certificate.Subject.CommonName)
		}
	}

	if last != nil {
		return fail(NoState, "requires the revocation status of the certificate %q, which could not be fetched: %v",
			certificate.Subject.CommonName, last)
	}
	return fail(NoState, "requires the revocation status of the certificate %q, which no server of its issuer reports",
		certificate.Subject.CommonName)
}

// State is the state of a certificate at a time.
type State string

// The states.
const (
	Good    State = "good"
	Revoked State = "revoked"
	Unknown State = "unknown"
)

// clockSkew is how far clocks of authorities may differ.
const clockSkew = 5 * time.Minute

// state returns the state of a certificate at a time. Evidence from before that time counts until its next update.
func (e *ValidationData) state(certificate, issuer *x509.Certificate, at time.Time) State {
	best := Unknown
	covers := func(from, next time.Time) bool {
		return from.After(at.Add(-clockSkew)) || next.After(at)
	}

	for _, raw := range e.OCSPs {
		response, err := ocsp.ParseResponseForCert(raw, certificate, nil)
		if err != nil || !trustedResponder(response, issuer) {
			continue
		}
		switch {
		case response.Status == ocsp.Revoked && !response.RevokedAt.After(at):
			return Revoked
		case response.Status == ocsp.Revoked,
			response.Status == ocsp.Good && covers(response.ThisUpdate, response.NextUpdate):
			best = Good
		}
	}

	for _, raw := range e.CRLs {
		list, err := x509.ParseRevocationList(raw)
		if err != nil || list.CheckSignatureFrom(issuer) != nil {
			continue
		}

		i := slices.IndexFunc(list.RevokedCertificateEntries, func(entry x509.RevocationListEntry) bool {
			return entry.SerialNumber.Cmp(certificate.SerialNumber) == 0
		})
		switch {
		case i >= 0 && !list.RevokedCertificateEntries[i].RevocationTime.After(at):
			return Revoked
		case i >= 0 || complete(list, certificate) && covers(list.ThisUpdate, list.NextUpdate):
			best = Good
		}
	}

	return best
}

// complete reports whether a list has a certificate if that is revoked: it is neither a list of the latest changes
// only, nor one about other certificates of the same issuer.
func complete(list *x509.RevocationList, certificate *x509.Certificate) bool {
	for _, extension := range list.Extensions {
		var scope struct {
			Point struct {
				Names []asn1.RawValue `asn1:"optional,tag:0"`
			} `asn1:"optional,tag:0"`
			UsersOnly      bool           `asn1:"optional,tag:1"`
			IssuersOnly    bool           `asn1:"optional,tag:2"`
			Reasons        asn1.BitString `asn1:"optional,tag:3"`
			Indirect       bool           `asn1:"optional,tag:4"`
			AttributesOnly bool           `asn1:"optional,tag:5"`
		}

		const uri = 6
		named := func(name asn1.RawValue) bool {
			return name.Tag == uri && slices.Contains(certificate.CRLDistributionPoints, string(name.Bytes))
		}

		switch {
		case !extension.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 28}): // the issuing distribution point
			if extension.Critical {
				return false
			}
		case !unmarshalled(asn1.RawValue{FullBytes: extension.Value}, &scope),
			scope.Reasons.BitLength > 0, scope.Indirect, scope.AttributesOnly,
			scope.UsersOnly && certificate.IsCA, scope.IssuersOnly && !certificate.IsCA,
			len(scope.Point.Names) > 0 && !slices.ContainsFunc(scope.Point.Names, named):
			return false
		}
	}

	return true
}

// trustedResponder checks that a response is from the issuer of the certificate, or from a server that the issuer
// appointed. The package ocsp refuses responses that carry the issuer's own certificate.
func trustedResponder(r *ocsp.Response, issuer *x509.Certificate) bool {
	c := r.Certificate
	if c == nil || c.Equal(issuer) {
		return r.CheckSignatureFrom(issuer) == nil
	}
	return slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) && c.CheckSignatureFrom(issuer) == nil &&
		r.CheckSignatureFrom(c) == nil &&
		!r.ProducedAt.Before(c.NotBefore) && !r.ProducedAt.After(c.NotAfter)
}

// appendValidationData returns a document with the evidence about a signature, as an incremental update. The contents are
// those of the signature's place.
func appendValidationData(pdf PDF, contents []byte, e ValidationData) ([]byte, error) {
	d, err := open(pdf)
	if err != nil {
		return nil, err
	}

	catalog := d.catalog()
	store := maps.Clone(d.Entry(catalog["/DSS"]))
	if store == nil {
		store = pdffile.Dict{"/Type": "/DSS"}
	}

	about := pdffile.Dict{"/Type": "/VRI"}
	for _, kind := range []struct {
		list, single string
		items        [][]byte
	}{{"/Certs", "/Cert", e.Certificates}, {"/OCSPs", "/OCSP", e.OCSPs}, {"/CRLs", "/CRL", e.CRLs}} {
		refs := d.addStreams(store, kind.list, kind.items)
		if len(refs) > 0 {
			about[kind.single] = refs
		}
	}

	all := maps.Clone(d.Entry(store["/VRI"]))
	if all == nil {
		all = pdffile.Dict{}
	}
	sum := sha1.Sum(contents)
	all["/"+strings.ToUpper(hex.EncodeToString(sum[:]))] = about
	store["/VRI"] = all

	ref := pdffile.Reference(catalog["/DSS"])
	if ref == "" {
		ref = d.Reserve()
		catalog["/DSS"] = ref
		d.Set(d.Root(), catalog)
	}
	d.Set(ref, store)
	return d.appended()
}

// addStreams adds streams to a list of the store, unless it has them, and returns their references.
func (d *editedFile) addStreams(store pdffile.Dict, list string, items [][]byte) (refs []any) {
	old, _ := d.Target(store[list]).([]any)
	known := map[string]any{}
	for _, ref := range old {
		if raw, ok := plainStream(d.File, ref); ok {
			known[string(raw)] = ref
		}
	}

	all := slices.Clone(old)
	for _, item := range items {
		ref, ok := known[string(item)]
		if !ok {
			added := d.Reserve()
			d.Set(added, pdffile.Deflated(pdffile.Dict{}, item))
			ref = added
			all = append(all, ref)
			known[string(item)] = ref
		}
		refs = append(refs, ref)
	}

	if len(all) > 0 {
		store[list] = all
	}
	return refs
}

func plainStream(f *pdffile.File, ref any) ([]byte, bool) {
	s, ok := f.Stream(pdffile.Reference(ref))
	if !ok {
		return nil, false
	}
	raw, err := f.Plain(s)
	return raw, err == nil
}

const (
	// maxEvidence bounds the streams of a kind that are read from a document.
	maxEvidence = 1000
	// maxEvidenceBytes bounds all of them. Lists of revoked certificates are the largest.
	maxEvidenceBytes = 64 << 20
)

// evidenceIn returns the evidence in a document.
func evidenceIn(f *pdffile.File) (e ValidationData) {
	store := f.Entry(f.Catalog()["/DSS"])
	left := maxEvidenceBytes

	for key, into := range map[string]*[][]byte{"/Certs": &e.Certificates, "/OCSPs": &e.OCSPs, "/CRLs": &e.CRLs} {
		refs, _ := f.Target(store[key]).([]any)
		for _, ref := range refs[:min(len(refs), maxEvidence)] {
			if left < 0 {
				break
			}
			if raw, ok := plainStream(f, ref); ok {
				*into = append(*into, raw)
				left -= len(raw)
			}
		}
	}

	return e
}

// hasEvidence reports whether a document has evidence.
func hasEvidence(f *pdffile.File) bool {
	certificates, _ := f.Target(f.Entry(f.Catalog()["/DSS"])["/Certs"]).([]any)
	return len(certificates) > 0
}

// parsed returns the certificates that can be read.
func parsed(list [][]byte) (certificates []*x509.Certificate) {
	for _, raw := range list {
		if c, err := x509.ParseCertificate(raw); err == nil {
			certificates = append(certificates, c)
		}
	}
	return certificates
}
