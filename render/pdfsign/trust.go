package pdfsign

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// prove establishes the times of the signatures, the latest first: a timestamp proves that all that it covers existed
// then, even if the certificates of that have expired since.
func (v *verifier) prove() {
	proof := v.trust.At
	for i := len(v.signatures) - 1; i >= 0; i-- {
		s := v.signatures[i]
		if !s.Intact {
			continue
		}

		s.moment = proof
		if s.Kind == TimestampKind {
			s.Time = s.token.at
			s.TimeSource = fromTimestamp
			v.checkTrust(s, s.message, x509.ExtKeyUsageTimeStamping)
			if s.Trusted && s.Revocation != Revoked && !s.Time.After(proof.Add(clockSkew)) {
				proof = s.Time
			}
			continue
		}

		v.date(s, proof)
		v.checkTrust(s, s.message, x509.ExtKeyUsageAny)
	}
}

// date establishes the time of a signature, which is proven by its timestamp or claimed by the signer.
func (v *verifier) date(s *examined, proof time.Time) {
	for i, t := range s.tokens {
		stamped := &examined{moment: proof}
		v.checkTrust(stamped, t.message, x509.ExtKeyUsageTimeStamping)
		if stamped.Trusted && stamped.Revocation != Revoked {
			s.token = t
			s.moment = t.at
			s.doubt = ""
			s.Time = t.at
			s.TimeSource = fromTimestamp
			return
		}
		if i > 0 {
			continue
		}

		s.token = t
		s.Time = t.at
		s.TimeSource = fromSigner
		if s.doubt = "its timestamp is not trusted: " + stamped.doubt; stamped.Trusted {
			s.doubt = "its timestamp is not trusted: the certificate of its authority was revoked"
		}
	}

	if s.token != nil {
		return
	}

	s.Time = s.message.claimedTime()
	s.TimeSource = fromSigner
	if at, ok := parseDate(pdffile.Text(v.Target(s.field.signature["/M"]))); ok {
		s.Time = at
	}
	if s.Time.IsZero() {
		s.TimeSource = ""
	}
}

// parseDate reads a date of PDF.
func parseDate(text string) (time.Time, bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "D:"), "'", "")
	for _, layout := range []string{"20060102150405Z0700", "20060102150405", "20060102"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// checkTrust finds the chain of a signer at the moment of the signature, and the state of its certificates.
func (v *verifier) checkTrust(s *examined, m *message, usage x509.ExtKeyUsage) {
	roots := x509.NewCertPool()
	for _, c := range v.trust.Roots {
		roots.AddCert(c)
	}

	others := slices.Clone(m.certificates)
	for _, other := range v.signatures { // a timestamp may lack the issuers that the signature has
		if other.message != nil {
			others = append(others, other.message.certificates...)
		}
	}
	others = append(others, v.known...)

	owner := "the signer"
	if usage == x509.ExtKeyUsageTimeStamping {
		owner = "the timestamp authority"
	}

	if m.defect != nil {
		s.doubt = "the certificate of " + owner + " is not well-formed: " + m.defect.Error()
		s.Chain = []*x509.Certificate{m.signer}
		return
	}

	signer := *m.signer
	signer.UnhandledCriticalExtensions = nil // such as those of qualified certificates, which change no signature
	find := func() ([][]*x509.Certificate, error) {
		intermediates := x509.NewCertPool()
		for _, c := range others {
			intermediates.AddCert(c)
		}
		return signer.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: intermediates, CurrentTime: s.moment, KeyUsages: []x509.ExtKeyUsage{usage},
		})
	}

	chains, err := find()
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		names := namesOf(append(slices.Clone(others), v.trust.Roots...))
		signer = *names.renamed(&signer)
		for i, c := range others {
			others[i] = names.renamed(c)
		}
		chains, err = find()
	}

	if err != nil {
		s.doubt = distrust(err, owner, m.signer, s.moment)
		s.Chain = completed([]*x509.Certificate{m.signer}, append(others, v.trust.Roots...))
		return
	}

	allowed := m.signer.KeyUsage
	if allowed != 0 && allowed&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		s.doubt = "the certificate of " + owner + " is not for signatures"
		return
	}
	if usage == x509.ExtKeyUsageAny && !forDocuments(m.signer) {
		s.doubt = "the certificate of the signer is for servers or software, and not for documents"
		return
	}

	s.Trusted = true
	s.Chain = chains[0]
	s.Revocation = v.evidence.chainState(s.Chain, s.moment)
	if s.Revocation == Unknown {
		v.unproven = append(v.unproven, s.Chain)
	}
}

// subjects are the names of certificates, by their text. The package x509 compares names by their bytes.
type subjects map[string][]byte

func namesOf(certificates []*x509.Certificate) subjects {
	names := subjects{}
	for _, c := range certificates {
		if name, ok := canonicalName(c.RawSubject); ok {
			names[name] = c.RawSubject
		}
	}
	return names
}

// renamed returns a certificate with the name of its issuer as the issuer has it.
func (s subjects) renamed(c *x509.Certificate) *x509.Certificate {
	name, _ := canonicalName(c.RawIssuer)
	subject, known := s[name]
	if !known || bytes.Equal(subject, c.RawIssuer) {
		return c
	}
	copied := *c
	copied.RawIssuer = subject
	return &copied
}

// forDocuments reports whether the purposes of a certificate allow signatures of documents. All owners of a domain have
// a certificate for their server, which the roots of operating systems are for.
func forDocuments(c *x509.Certificate) bool {
	documents := []asn1.ObjectIdentifier{
		{1, 3, 6, 1, 5, 5, 7, 3, 36}, {1, 2, 840, 113583, 1, 1, 5}, {1, 3, 6, 1, 4, 1, 311, 10, 3, 12},
	}

	forThem := func(own asn1.ObjectIdentifier) bool { return slices.ContainsFunc(documents, own.Equal) }
	if slices.ContainsFunc(c.UnknownExtKeyUsage, forThem) {
		return true
	}

	other := false
	for _, usage := range c.ExtKeyUsage {
		switch usage {
		case x509.ExtKeyUsageAny, x509.ExtKeyUsageEmailProtection:
			return true
		case x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageCodeSigning,
			x509.ExtKeyUsageTimeStamping, x509.ExtKeyUsageOCSPSigning:
			other = true
		}
	}
	return !other
}

// chainState returns the state of the certificates of a chain without its root.
func (e *ValidationData) chainState(chain []*x509.Certificate, at time.Time) State {
	state := Good
	for i := range len(chain) - 1 {
		switch e.state(chain[i], chain[i+1], at) {
		case Revoked:
			return Revoked
		case Unknown:
			state = Unknown
		}
	}
	return state
}

// distrust returns the reason why the certificate of its owner is not trusted.
func distrust(err error, owner string, c *x509.Certificate, at time.Time) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError

	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if at.Before(c.NotBefore) {
			return "the certificate of " + owner + " was not valid yet"
		}
		return fmt.Sprintf("the certificate of %s or one of its issuers was not valid at "+
			"%s, and no trusted timestamp proves an earlier time", owner, at.UTC().Format(time.RFC3339))
	case errors.As(err, &unknown):
		return "the certificate of " + owner +
			" does not lead to a trusted certificate. Send the root certificate of its issuer in trust"
	}

	return "the certificate of " + owner + " is not acceptable: " + err.Error()
}

// decide decides on a signature.
func (v *verifier) decide(s *examined) {
	decide := func(verdict Verdict, reason string) {
		s.Verdict = verdict
		s.Reason = reason
	}

	switch {
	case isUndecided(s.err):
		decide(Undecided, sentence(s.err.Error()))
		return
	case s.err != nil:
		decide(Invalid, sentence(s.err.Error()))
		return
	}

	s.Level = v.level(s)
	s.Changes = v.changes(s)
	allowed := v.allowed(s)
	verdict, reason := judgeChanges(s.Changes, allowed)

	switch {
	case verdict == Invalid:
		decide(Invalid, reason)
	case s.Revocation == Revoked:
		decide(Invalid, "The certificate of the signer was revoked before the signature.")
	case !s.Trusted:
		decide(Undecided, sentence(s.doubt))
	case verdict == Undecided:
		decide(Undecided, reason)
	case s.doubt != "":
		decide(Valid, "The signature is valid, but "+s.doubt+".")
	case s.Revocation == Unknown:
		decide(Valid, "The signature is valid. Nothing is known about the revocation of its certificates.")
	default:
		decide(Valid, "The signature is valid.")
	}
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// allowed returns what may change after a signature: the least of the certifications of the document as it was signed.
func (v *verifier) allowed(s *examined) Permission {
	minimum := NotCertified
	for _, other := range v.signatures {
		p := other.Certifies
		if p == NotCertified || other.end > s.end || !other.Intact && p != NoChanges {
			continue
		}
		if minimum == NotCertified || p < minimum {
			minimum = p
		}
	}
	return minimum
}

// level returns the level of PAdES that a signature reaches.
func (v *verifier) level(s *examined) Level {
	if s.Kind == TimestampKind || v.Target(s.field.signature["/SubFilter"]) != subFilterPAdES {
		return ""
	}
	if _, ok := s.message.signed[oidESSv2.String()]; !ok {
		return ""
	}

	if s.token == nil {
		return LevelB
	}
	if len(s.Chain) == 0 || s.Trusted && v.stored.chainState(s.Chain, s.moment) != Good || !hasEvidence(v.File) {
		return LevelT
	}

	for _, other := range v.signatures {
		if other.Kind == TimestampKind && other.Intact && other.end > s.end && hasEvidence(other.signed) {
			return LevelLTA
		}
	}
	return LevelLT
}
