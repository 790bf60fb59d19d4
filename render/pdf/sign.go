package pdf

import (
	"context"
	"crypto"
	"fmt"
	"os"

	"relaypdf/render/engine"
	"relaypdf/render/pdfsign"
)

// KeyArgs are the arguments of SignKeyJob, whose result is a Key, and of SignDigestJob, whose result is a CMS. They never
// become a file.
type KeyArgs struct {
	PKCS12   []byte
	Password string
	Digest   []byte // of the prepared document; only for SignDigestJob
}

// Key is what is public about a key.
type Key struct {
	Hash  crypto.Hash // of the documents that it signs
	Chain [][]byte    // of its certificate, in DER
}

// CMS is a signature in DER.
type CMS struct{ Content []byte }

// PrepareArgs are the arguments of SignPrepareJob, whose result is a PreparedSignature and the file PreparedName.
type PrepareArgs struct {
	Name    string // of the document
	Options pdfsign.Options
	Hash    crypto.Hash
}

// PreparedName is the file of a document with the empty place of a signature.
const PreparedName = "prepared"

// PreparedSignature is what the other steps need about a prepared document.
type PreparedSignature struct {
	Place  pdfsign.Place
	Digest []byte
}

// CompleteArgs are the arguments of SignCompleteJob, whose output is the signed document.
type CompleteArgs struct {
	Name  string // of the prepared document
	Place pdfsign.Place
	CMS   []byte
}

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

// readKey returns the certificates of a key.
func readKey(_ context.Context, _ *engine.Work, args KeyArgs) (Key, error) {
	return withKey(args, func(s *pdfsign.Signer) (Key, error) {
		key := Key{Hash: s.Hash}
		for _, c := range s.Chain {
			key.Chain = append(key.Chain, c.Raw)
		}
		return key, nil
	})
}

// signDigest signs the digest of a document.
func signDigest(_ context.Context, _ *engine.Work, args KeyArgs) (CMS, error) {
	return withKey(args, func(s *pdfsign.Signer) (CMS, error) {
		content, err := s.Sign(args.Digest)
		return CMS{content}, err
	})
}

// prepareSignature adds the place of a signature to a document.
func prepareSignature(_ context.Context, w *engine.Work, args PrepareArgs) (PreparedSignature, error) {
	content, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return PreparedSignature{}, fmt.Errorf("open input: %w", err)
	}
	if !args.Hash.Available() {
		return PreparedSignature{}, &Error{Kind: NoKey, Text: "the hash of the key is unknown"}
	}
	p, err := pdfsign.Prepare(content, args.Options)
	if err != nil {
		return PreparedSignature{}, signatureError(err)
	}
	if err := os.WriteFile(w.Path(PreparedName), p.Content(), 0o600); err != nil { //nolint:gosec // The names are constants.
		return PreparedSignature{}, fmt.Errorf("write output: %w", err)
	}
	w.Output(PreparedName)
	return PreparedSignature{p.Place(), p.Digest(args.Hash)}, nil
}

// completeSignature writes the signature into its place.
func completeSignature(_ context.Context, w *engine.Work, args CompleteArgs) ([]byte, error) {
	content, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	p, err := pdfsign.Resume(content, args.Place)
	if err == nil {
		content, err = p.Complete(args.CMS)
	}
	if err != nil {
		return nil, signatureError(err)
	}
	if err := os.WriteFile(w.Path(output), content, 0o600); err != nil { //nolint:gosec // The names are constants.
		return nil, fmt.Errorf("write output: %w", err)
	}
	w.Output(output)
	return nil, nil
}
