package pdfsign

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"slices"
	"time"
)

// Key signs the digest of a document and returns the CMS. It is a Signer, or a process that has one.
type Key interface {
	Sign(documentDigest []byte) (cms []byte, err error)
}

// Job is a signature to be made.
type Job struct {
	Options

	Level Level
	Key   Key
	Chain []*x509.Certificate // of the key
	Hash  crypto.Hash         // of the document
	// Trust are the roots and further certificates that complete the chains of the evidence.
	Trust   []*x509.Certificate
	Network Network
	// At is the time for which the evidence counts.
	At time.Time
}

// Sign signs a document at a level. The bytes of the document stay, and others follow.
func Sign(ctx context.Context, pdf PDF, job Job) ([]byte, error) {
	length := 0
	for _, c := range job.Chain {
		length += len(c.Raw)
	}
	if job.At.IsZero() {
		job.At = time.Now()
	}
	job.Size = size(length, job.Level != LevelB)

	prepared, err := prepare(pdf, job.Options)
	if err != nil {
		return nil, err
	}
	cms, err := job.Key.Sign(prepared.digest(job.Hash))
	if err != nil {
		return nil, err
	}

	var token []byte
	if job.Level != LevelB {
		signature, err := signature(cms)
		if err != nil {
			return nil, err
		}
		if token, err = stamp(ctx, job.Network, digest(crypto.SHA256, signature)); err != nil {
			return nil, err
		}
		if cms, err = addTimestamp(cms, token); err != nil {
			return nil, err
		}
	}

	signed, err := prepared.complete(cms)
	if err != nil || job.Level == LevelB || job.Level == LevelT {
		return signed, err
	}

	evidence, err := gather(ctx, job.Network, job.At, completed(job.Chain, job.Trust), tokenChain(token, job.Trust))
	if err != nil {
		return nil, err
	}
	signed, err = appendValidationData(PDF{signed, pdf.Key}, prepared.contents(), evidence)
	if err != nil || job.Level == LevelLT {
		return signed, err
	}
	return timestamp(ctx, PDF{signed, pdf.Key}, job.Network)
}

// timestamp adds a timestamp of the whole document.
func timestamp(ctx context.Context, pdf PDF, network Network) ([]byte, error) {
	prepared, err := prepareTimestamp(pdf)
	if err != nil {
		return nil, err
	}
	token, err := stamp(ctx, network, prepared.digest(crypto.SHA256))
	if err != nil {
		return nil, err
	}
	return prepared.complete(token)
}

// Seal adds evidence about the certificates of a document at a time, and a timestamp of all of it. The document then
// remains valid while the certificate of that timestamp is. The evidence is about the latest timestamp, and about all
// signatures of a document without evidence.
func Seal(ctx context.Context, pdf PDF, at time.Time, trust []*x509.Certificate, network Network) ([]byte, error) {
	d, err := open(pdf)
	if err != nil {
		return nil, err
	}

	latest, chains := d.unproven(trust)
	if len(chains) > 0 {
		evidence, err := gather(ctx, network, at, chains...)
		if err != nil {
			return nil, err
		}
		if pdf.Content, err = appendValidationData(pdf, latest, evidence); err != nil {
			return nil, err
		}
	}

	return timestamp(ctx, pdf, network)
}

// unproven returns the chains whose state a new timestamp is to prove, and the contents of the latest signature that
// they belong to.
func (d *editedFile) unproven(trust []*x509.Certificate) (latest []byte, chains [][]*x509.Certificate) {
	end := -1
	proven := hasEvidence(d.File)
	var timestamps [][]*x509.Certificate

	for _, f := range signatureFields(d.File) {
		place, err := d.placeOf(f)
		if err != nil {
			continue
		}

		isTimestamp := d.Target(f.signature["/SubFilter"]) == subFilterTimestamp
		if place.end > end && (isTimestamp || !proven) {
			latest = place.contents
			end = place.end
		}
		switch {
		case isTimestamp && place.end == end:
			timestamps = [][]*x509.Certificate{tokenChain(place.contents, trust)}
		case !isTimestamp && !proven:
			chains = append(chains, signatureChains(place.contents, trust)...)
		}
	}

	chains = slices.DeleteFunc(append(chains, timestamps...),
		func(chain []*x509.Certificate) bool { return len(chain) == 0 })
	return latest, chains
}

// signatureChains returns the chains of a signature and its timestamp, as far as they can be read.
func signatureChains(contents []byte, trust []*x509.Certificate) (chains [][]*x509.Certificate) {
	m, err := readMessage(contents)
	if err != nil {
		return nil
	}
	chains = append(chains, completed([]*x509.Certificate{m.signer}, slices.Concat(m.certificates, trust)))
	for _, raw := range m.tokens() {
		chains = append(chains, tokenChain(raw, trust))
	}
	return chains
}

func stamp(ctx context.Context, network Network, of []byte) ([]byte, error) {
	request, err := TimestampRequest(crypto.SHA256, of, network.Seed)
	if err != nil {
		return nil, err
	}
	response, err := network.Timestamp(ctx, request)
	if errors.Is(err, ErrPending) {
		return nil, err
	}
	if err != nil {
		return nil, fail(BadResponse, "cannot be reached: %v", err)
	}
	return timestampToken(request, response)
}

// tokenChain returns the chain of a timestamp's certificate.
func tokenChain(raw []byte, more []*x509.Certificate) []*x509.Certificate {
	t, err := readToken(raw)
	if err != nil {
		return nil
	}
	return completed([]*x509.Certificate{t.signer}, append(t.certificates, more...))
}

// completed returns a chain with the issuers that are among other certificates, up to a root.
func completed(chain, others []*x509.Certificate) []*x509.Certificate {
	const longest = 10
	if len(chain) == 0 {
		return nil
	}

	others = append(others, chain[1:]...)
	list := chain[:1:1]
	for len(list) < longest && !isRoot(list[len(list)-1]) {
		next := issuerAmong(list[len(list)-1], others)
		if next == nil {
			break
		}
		list = append(list, next)
	}

	return list
}

func issuerAmong(c *x509.Certificate, others []*x509.Certificate) *x509.Certificate {
	for _, other := range others {
		if c.CheckSignatureFrom(other) == nil {
			return other
		}
	}
	return nil
}
