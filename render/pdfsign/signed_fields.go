package pdfsign

import (
	"cmp"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// SignedField is a signature of a document.
type SignedField struct {
	Field string // full name; empty for a certification without a field
	Kind  SignatureKind
	// Signer is the name in the certificate, or else in the document; empty if there is none.
	Signer string
	// End is the end of the bytes that the signature covers; 0 if they cannot be found.
	End int
}

// SignedFields lists the signatures of a document without their verification. The file must be that of the content, if
// ends are to be found; signers are also found in a repaired or decrypted copy of it.
func SignedFields(f *pdffile.File, content []byte) (list []SignedField) {
	d := &editedFile{File: f, content: content}
	for _, field := range signedFields(f) {
		s := SignedField{Field: field.name, Kind: kindOf(f, field.signature)}
		p, err := d.placeOf(field)
		if len(p.contents) == 0 {
			continue // It is reserved for a signature.
		}
		if err == nil {
			s.End = p.end
		}

		s.Signer = cmp.Or(signerName(p.contents), pdffile.Text(f.Target(field.signature["/Name"])))
		list = append(list, s)
	}
	return list
}

// signerName returns the name in the certificate of a signature, a CMS or a token; empty if it cannot be read.
func signerName(contents []byte) string {
	m, err := readMessage(contents)
	if err != nil {
		return ""
	}
	return cmp.Or(m.signer.Subject.CommonName, m.signer.Subject.String())
}

// kindOf returns the kind of a signature.
func kindOf(f *pdffile.File, signature pdffile.Dict) SignatureKind {
	switch format, _ := f.Target(signature["/SubFilter"]).(string); {
	case permission(f, signature) != NotCertified:
		return Certification
	case format == subFilterTimestamp:
		return TimestampKind
	}
	return Approval
}

// signedFields returns the signed fields of a document, and a certification that is not in a field.
func signedFields(f *pdffile.File) (list []*field) {
	certification := f.Entry(f.Catalog()["/Perms"])["/DocMDP"]

	for _, field := range signatureFields(f) {
		if field.entries["/V"] != nil {
			list = append(list, field)
		}
		if certification != nil && field.entries["/V"] == certification {
			certification = nil
		}
	}

	if certification != nil {
		list = append(list,
			&field{name: "", value: pdffile.Reference(certification), signature: f.Entry(certification)})
	}
	return list
}
