package pdfsign

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Options describe a signature.
type Options struct {
	// Field is the full name of an existing field; empty is a new one.
	Field                           string
	Name, Reason, Location, Contact string
	Time                            time.Time
	// Certify makes the signature a certification.
	Certify Permission
	// Visible is the box of a new field; nil is none.
	Visible *Visible
	// Size is the number of bytes for the CMS; see Size.
	Size int
}

// size returns enough bytes for the CMS of a signer with a chain of certificates, and a timestamp if there is to be
// one.
func size(chain int, timestamp bool) int {
	const rest, token = 3 << 10, 16 << 10
	if timestamp {
		return chain + rest + token
	}
	return chain + rest
}

// Prepared is a document with the place of a signature, which is still empty.
type Prepared struct {
	content    []byte
	start, end int // of the place, with its brackets
}

// The flags of a form with signatures, and of the widget of one.
const (
	signaturesExist = 1 << 0
	appendOnly      = 1 << 1
	flagLocked      = 1 << 7
)

// maxOffset is a placeholder for an offset, with the most digits.
const maxOffset = 9_999_999_999

// PDF is a document that is signed or verified.
type PDF struct {
	Content []byte
	// Key is the key of its encryption; nil if it is not encrypted.
	Key []byte
}

// prepare appends the signature without its CMS to a document, as an incremental update.
func prepare(pdf PDF, o Options) (*Prepared, error) {
	d, err := open(pdf)
	if err != nil {
		return nil, err
	}

	value := pdffile.Dict{"/Type": "/Sig", "/Filter": "/Adobe.PPKLite", "/SubFilter": subFilterPAdES}
	for key, text := range map[string]string{
		"/Name": o.Name, "/Reason": o.Reason, "/Location": o.Location, "/ContactInfo": o.Contact,
	} {
		if text != "" {
			value[key] = "u:" + text
		}
	}

	if !o.Time.IsZero() {
		value["/M"] = dateString(o.Time)
	}
	return d.prepare(value, o)
}

// prepareTimestamp appends a timestamp of the whole document without its token.
func prepareTimestamp(pdf PDF) (*Prepared, error) {
	d, err := open(pdf)
	if err != nil {
		return nil, err
	}
	return d.prepare(pdffile.Dict{
		"/Type": "/DocTimeStamp", "/Filter": "/Adobe.PPKLite", "/SubFilter": subFilterTimestamp,
	}, Options{Size: size(0, true)})
}

// The formats of signatures.
const (
	subFilterPAdES     = "/ETSI.CAdES.detached"
	subFilterTimestamp = "/ETSI.RFC3161"
	subFilterPKCS7     = "/adbe.pkcs7.detached"
)

// dateString returns a date as PDF has it, as a string of bytes.
func dateString(t time.Time) string {
	return "b:" + hex.EncodeToString([]byte(t.UTC().Format("D:20060102150405Z")))
}

// editedFile is a document that can be changed.
type editedFile struct {
	*pdffile.File
	*pdffile.Update

	content, key []byte
}

func open(pdf PDF) (*editedFile, error) {
	f, err := pdffile.ReadTable(pdf.Content)
	if err == nil && f.Trailer("/Encrypt") != nil && f.Decrypt(pdf.Key) != nil {
		return nil, fail(Encrypted, "has an unsupported encryption, so its signatures cannot be read or added")
	}
	if err != nil || !f.Sound() {
		return nil, fail(Unreadable, "has a damaged or unusual structure, so its signatures cannot be read or added")
	}
	return &editedFile{f, f.NewUpdate(), pdf.Content, pdf.Key}, nil
}

func (d *editedFile) prepare(value pdffile.Dict, o Options) (*Prepared, error) {
	earlier := signatureFields(d.File)
	if err := d.checkAllowed(earlier, value, o); err != nil {
		return nil, err
	}

	ref := d.Reserve() // before all other new objects, so that the place is found
	value["/ByteRange"] = []any{0, maxOffset, maxOffset, maxOffset}
	value["/Contents"] = "b:" + strings.Repeat("00", o.Size)
	if o.Certify != NotCertified {
		value["/Reference"] = []any{transform("/DocMDP", pdffile.Dict{"/P": int(o.Certify)})}
	}

	var err error
	if o.Field != "" {
		err = d.useField(earlier, o.Field, ref, value)
	} else {
		err = d.addField(ref, o)
	}
	if err != nil {
		return nil, err
	}

	if o.Certify != NotCertified {
		catalog := d.catalog()
		permissions := maps.Clone(d.Entry(catalog["/Perms"]))
		if permissions == nil {
			permissions = pdffile.Dict{}
		}
		permissions["/DocMDP"] = ref
		catalog["/Perms"] = permissions
		d.Set(d.Root(), catalog)
	}

	d.Set(ref, value)
	return d.finish(ref)
}

// transform returns an entry of a signature's references.
func transform(method string, parameters pdffile.Dict) pdffile.Dict {
	parameters["/Type"] = "/TransformParams"
	parameters["/V"] = "/1.2"
	return pdffile.Dict{"/Type": "/SigRef", "/TransformMethod": method, "/TransformParams": parameters}
}

// checkAllowed checks that the signatures of the document permit another.
func (d *editedFile) checkAllowed(earlier []*field, value pdffile.Dict, o Options) error {
	isTimestamp := value["/SubFilter"] == subFilterTimestamp
	for _, f := range earlier {
		if f.signature == nil {
			continue
		}

		if o.Certify != NotCertified {
			return fail(NotAllowed, "is signed already, and only the first signature of a PDF can certify it")
		}
		if permission(d.File, f.signature) == NoChanges && !isTimestamp {
			return fail(NotAllowed, "has a certification that forbids further signatures")
		}
	}
	return nil
}

// catalog returns a copy of the catalog as it will be.
func (d *editedFile) catalog() pdffile.Dict {
	entries, _ := d.Value(d.Root()).(pdffile.Dict)
	return maps.Clone(entries)
}

// finish writes the update, and fills in the byte range.
func (d *editedFile) finish(ref string) (*Prepared, error) {
	content, err := d.appended()
	if err != nil {
		return nil, err
	}

	at := len(d.content)
	number, _, _ := strings.Cut(ref, " ")
	object := at + bytes.Index(content[at:], []byte("\n"+number+" 0 obj\n"))
	placeholder := []byte(fmt.Sprintf("/ByteRange [0 %d %d %d ]", maxOffset, maxOffset, maxOffset))
	rangeAt := object + bytes.Index(content[object:], placeholder)
	start := object + bytes.Index(content[object:], []byte("/Contents <")) + len("/Contents ")
	if rangeAt < object || start < object {
		return nil, fail(Unreadable, "has a structure to which no signature can be added")
	}

	end := start + bytes.IndexByte(content[start:], '>') + 1
	written := fmt.Sprintf("/ByteRange [0 %d %d %d]", start, end, len(content)-end)
	copy(content[rangeAt:], written+strings.Repeat(" ", len(placeholder)-len(written)))
	return &Prepared{content, start, end}, nil
}

// appended returns the document with the update after it.
func (d *editedFile) appended() ([]byte, error) {
	if err := d.identify(); err != nil {
		return nil, err
	}
	tail, err := d.Append()
	if err != nil {
		return nil, err
	}
	return slices.Concat(d.content, tail), nil
}

// identify changes the second of the strings that name the file, if it has them.
func (d *editedFile) identify() error {
	old, _ := d.Trailer("/ID").([]any)
	if len(old) != 2 {
		return nil
	}
	first, ok := old[0].(string)
	if !ok {
		return fail(Unreadable, "has a damaged identifier")
	}
	const length = 16
	sum := digest(crypto.SHA256, d.content, []byte(strconv.Itoa(len(d.content))))
	d.SetID(first, "b:"+hex.EncodeToString(sum[:length]))
	return nil
}

// digest returns the digest of all bytes outside of the place of the signature.
func (p *Prepared) digest(hash crypto.Hash) []byte {
	return digest(hash, p.content[:p.start], p.content[p.end:])
}

// complete returns the document with the signature, in the bytes of p. The error is BadResponse if it does not fit,
// which is due to a large timestamp.
func (p *Prepared) complete(cms []byte) ([]byte, error) {
	const brackets = 2
	if 2*len(cms) > p.end-p.start-brackets {
		return nil, fail(BadResponse,
			"returned a timestamp that is too large: the signature has %d bytes, more than %d",
			len(cms), (p.end-p.start-brackets)/2)
	}
	hex.Encode(p.content[p.start+1:], cms)
	return p.content, nil
}

// signature returns the signature of a CMS, which a timestamp is of.
func signature(cms []byte) ([]byte, error) {
	data, err := unwrap(cms)
	if err != nil {
		return nil, err
	}
	return data.Signers[0].Signature, nil
}

// contents returns the bytes of the signature's place, as the PDF has them.
func (p *Prepared) contents() []byte {
	raw := make([]byte, (p.end-p.start)/2-1)
	_, _ = hex.Decode(raw, p.content[p.start+1:p.end-1]) // These are our own digits.
	return raw
}
