package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfsign"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// signInput is the input of pdf.sign.
type signInput struct {
	schema.Common
	PDFSource

	Key          SigningKey   `json:"key" jsonschema:"required" jsonschema_description:"Key of the signer. A PKCS#12 file in the request is used only for this call. An asynchronous call stores it, encrypted, until the job ends."`
	Level        string       `json:"level,omitempty" jsonschema:"enum=B-B,enum=B-T,enum=B-LT,enum=B-LTA,default=B-B" jsonschema_extras:"x-common=true" jsonschema_description:"PAdES level. B-B: the signature alone. B-T: also a timestamp of the signature. B-LT: also the certificates and their revocation status. B-LTA: also a timestamp of the whole document."`
	TimestampURL string       `json:"timestampUrl,omitempty" jsonschema:"format=uri,maxLength=8192" jsonschema_description:"Public http or https URL of a timestamp authority (RFC 3161). Required for the levels B-T, B-LT and B-LTA, and not allowed for B-B."`
	Reason       string       `json:"reason,omitempty" jsonschema:"maxLength=500" jsonschema_extras:"x-common=true" jsonschema_description:"Reason for signing."`
	Location     string       `json:"location,omitempty" jsonschema:"maxLength=500" jsonschema_extras:"x-advanced=true" jsonschema_description:"Place of signing."`
	Contact      string       `json:"contact,omitempty" jsonschema:"maxLength=500" jsonschema_extras:"x-advanced=true" jsonschema_description:"Contact of the signer, such as an email address."`
	Certify      string       `json:"certify,omitempty" jsonschema:"enum=none,enum=no-changes,enum=form-filling,enum=annotations,default=none" jsonschema_extras:"x-advanced=true" jsonschema_description:"Makes the signature a certification, which limits later changes. none: an ordinary signature. no-changes: only timestamps and validation data. form-filling: also form values, metadata and further signatures. annotations: also annotations. Only the first signature of a PDF can certify it."`
	Field        string       `json:"field,omitempty" jsonschema:"maxLength=1000" jsonschema_extras:"x-advanced=true" jsonschema_description:"Full name of an unsigned signature field of the PDF. Mutually exclusive with visible. Default: a new field."`
	Visible      SignatureBox `json:"visible,omitzero" jsonschema_description:"Box of the visible signature, on a page. It is measured from the top left of the page as displayed. Default: the signature is invisible."`
}

// SigningKey is the key of a signer: exactly one of ID and PKCS12.
type SigningKey struct {
	ID       string  `json:"id,omitempty" jsonschema:"minLength=1,maxLength=64" jsonschema_description:"ID of a signing identity (sig_…). Requires the scope sign. Send exactly one of id and pkcs12."`
	PKCS12   KeyFile `json:"pkcs12,omitzero" jsonschema_description:"PKCS#12 file (.p12, .pfx) with a private key, RSA of 2048 to 4096 bits or ECDSA on P-256 or P-384, and its certificate. Include the certificates of the issuers, so that readers find the chain."`
	Password string  `json:"password,omitempty" jsonschema:"format=password,maxLength=1000" jsonschema_description:"Password of the file."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (SigningKey) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("id", "pkcs12"), schema.Requires("password", "pkcs12"))
}

// StoredKey is the key of a signing identity.
type StoredKey struct {
	PKCS12   []byte `json:"pkcs12"`
	Password string `json:"password"`
}

// KeyFile is the source of a key.
type KeyFile struct {
	File   schema.File `json:"file,omitzero" jsonschema_description:"PKCS#12 file as Base64 or as a data URI, at most 256 KiB. Send exactly one of file and fileId."`
	FileID *string     `json:"fileId,omitempty" jsonschema:"minLength=1,maxLength=255" jsonschema_description:"ID of an uploaded file. Uploads of this account are stored until they expire or are deleted."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (KeyFile) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.ExactlyOne("file", "fileId"))
}

// SignatureBox is the visible part of a signature.
type SignatureBox struct {
	Page   int      `json:"page,omitempty" jsonschema:"minimum=1,default=1" jsonschema_description:"Number of the page, from 1."`
	X      float64  `json:"x" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Left edge in points."`
	Y      float64  `json:"y" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Top edge in points."`
	Width  float64  `json:"width" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Width in points."`
	Height float64  `json:"height" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Height in points."`
	Image  FileItem `json:"image,omitzero" jsonschema_extras:"x-advanced=true" jsonschema_description:"Image in the box: PNG, JPEG, WebP, TIFF or GIF. It is left of the text. Transparent pixels become white."`
	Text   string   `json:"text,omitempty" jsonschema:"maxLength=500" jsonschema_description:"Text in the box, with Western European characters and at most 20 lines, separated by line feeds. PDFs that claim PDF/A accept only an image. Default without an image: the signer's name, the time and the reason."`
}

// The largest key, in bytes, and the most lines in a box.
const (
	maxKeyFile       = 256 << 10
	maxSignatureText = 20
)

// Fields of the input in errors.
const (
	keyAt          = "key.pkcs12."
	imageAt        = "visible.image."
	timestampField = "timestampUrl"
)

// HoldsKey reports that the input has a secret of which no copy may be kept.
func (in *signInput) HoldsKey() bool { return in.Key.ID == "" }

// SigningIdentity returns the ID of the stored identity that signs, or an empty string.
func (in *signInput) SigningIdentity() string { return in.Key.ID }

// JSONSchemaExtend adds rules of several members to the schema.
func (in signInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.Exclusive("field", "visible"))
}

// Validate checks the rules that the schema cannot express.
func (in *signInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)

	file := FileSource{File: in.Key.PKCS12.File, FileID: in.Key.PKCS12.FileID}
	switch given := file.File.Inline != nil; {
	case in.Key.ID != "" && (given || file.FileID != nil):
		addExclusive(&faults, "key.id", "key.pkcs12", "id, pkcs12")
	case in.Key.ID != "" && in.Key.Password != "":
		faults.Add("key.password", "requires key.pkcs12")
	case in.Key.ID != "":
	case given && file.FileID != nil:
		addExclusive(&faults, keyAt+"file", keyAt+"fileId", "file, fileId")
	case !given && file.FileID == nil:
		faults.AddSentence(
			"No key given. Send exactly one of key.id, key.pkcs12.file, key.pkcs12.fileId",
			keyAt+"file", "is required without key.id and fileId. Send exactly one of them",
		)
	default:
		checkContent(&faults, keyAt+"file", file.File)
	}

	basic := in.Level == "" || in.Level == string(pdfsign.LevelB)
	switch {
	case !basic && in.TimestampURL == "":
		faults.Add(timestampField, "is required for level %s", in.Level)
	case basic && in.TimestampURL != "":
		faults.Add(timestampField, "requires level B-T, B-LT or B-LTA")
	}

	if in.Visible.given() {
		if in.Field != "" {
			faults.Add("visible", "is mutually exclusive with field, which has a box of its own")
		}
		if in.Visible.hasImage() {
			in.Visible.Image.check(&faults, imageAt)
		}
		if n := strings.Count(in.Visible.Text, "\n") + 1; n > maxSignatureText {
			faults.Add("visible.text", "must have at most %d lines; got %d", maxSignatureText, n)
		}
	}

	return failures(faults)
}

// given reports whether the signature is visible: the width of a box is required.
func (b *SignatureBox) given() bool { return b.Width > 0 }

func (b *SignatureBox) hasImage() bool {
	return b.Image.URL != nil || b.Image.File.Inline != nil || b.Image.FileID != nil
}

// box returns the box in the renderer's type.
func (b *SignatureBox) box() *pdfsign.Visible {
	if !b.given() {
		return nil
	}
	v := &pdfsign.Visible{Page: max(b.Page, 1), X: b.X, Y: b.Y, Width: b.Width, Height: b.Height}
	if strings.TrimSpace(b.Text) != "" {
		v.Lines = strings.Split(b.Text, "\n")
	}
	return v
}

// permissions are the certifications by name.
var permissions = map[string]pdfsign.Permission{
	"no-changes": pdfsign.NoChanges, "form-filling": pdfsign.FormFilling, "annotations": pdfsign.Annotations,
}

func runSign(ctx context.Context, deps *Deps, in *signInput) (schema.Result, error) {
	key := FileSource{File: in.Key.PKCS12.File, FileID: in.Key.PKCS12.FileID}
	sources := []stagedFile{{&in.FileSource, ""}}
	if in.Key.ID == "" {
		sources = append(sources, stagedFile{&key, keyAt})
	}

	image := len(sources)
	if in.Visible.given() && in.Visible.hasImage() {
		sources = append(sources, stagedFile{&in.Visible.Image.FileSource, imageAt})
	}

	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		s := render.Signing{
			Password:     in.Key.Password,
			Level:        pdfsign.Level(in.Level),
			TimestampURL: in.TimestampURL,
			TestMark:     deps.Test,
		}
		if in.Key.ID != "" {
			stored, err := deps.SigningKey(ctx, in.Key.ID)
			if err != nil {
				return schema.Result{}, identityFailure(err)
			}
			defer clear(stored.PKCS12)
			s.PKCS12 = spool.FromBytes(stored.PKCS12)
			s.Password = stored.Password
		} else if s.PKCS12 = files[1]; files[1].Size() > maxKeyFile {
			return schema.Result{}, schema.FieldErrors{{Field: files[1].field, Message: fmt.Sprintf("must be at most %d KiB", maxKeyFile>>10)}}
		}

		if in.Level == "" {
			s.Level = pdfsign.LevelB
		}

		s.Options = pdfsign.Options{
			Field: in.Field, Reason: in.Reason, Location: in.Location, Contact: in.Contact, Certify: permissions[in.Certify], Visible: in.Visible.box(),
		}

		if len(files) > image {
			s.Image = files[image]
		}

		file := render.PDFFile{Content: files[0], Password: in.Password}
		result, err := signed(
			ctx, deps, "signed", file,
			func(file render.PDFFile) (*spool.File, error) { return deps.Render.SignPDF(ctx, file, s) },
		)

		var failed *job.Error
		if errors.As(err, &failed) && failed.Input == 1 { // the image, which is the second document of its job
			failed.Input = image
		}

		return result, signFailure(err, "signed", in.Key.field(), in.TimestampURL)
	})
}

// field is the field that errors of the key name.
func (k SigningKey) field() string {
	if k.ID != "" {
		return "key.id"
	}
	return "key.pkcs12"
}

// signed returns the result of signing or sealing a PDF. That of a call with a test key gets its test mark before,
// since each later change breaks the signature.
func signed(
	ctx context.Context, deps *Deps, stem string, file render.PDFFile,
	sign func(render.PDFFile) (*spool.File, error),
) (result schema.Result, err error) {
	if deps.Test {
		marked, markErr := deps.Render.MarkPDF(ctx, file)
		if markErr != nil {
			return result, markErr
		}
		defer func() { err = errors.Join(err, marked.Close()) }()
		file.Content = marked
	}
	result, err = pdfResult(stem)(sign(file))
	result.Marked = deps.Test
	return result, err
}

// identityFailure is the error of a signing identity that was deleted after the call was accepted.
func identityFailure(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return schema.FieldErrors{{
			Field:   "key.id",
			Message: "must be the ID of a signing identity of this account. It was deleted meanwhile",
		}}
	}
	return err
}

// signFailure names the field of the request that prevents a signature. Done is "signed" or "sealed", key the field
// of the key, authority the URL of the timestamp authority.
func signFailure(err error, done, key, authority string) error {
	var unreachable *render.TimestampError
	var failed *job.Error
	switch {
	case errors.As(err, &unreachable) && errors.Is(err, egress.ErrRefused):
		return RefuseURL(timestampField, RefusedText(authority, TimestampURL), err)
	case errors.As(err, &unreachable):
		return remoteFailure(done, timestampField, "failed: "+unreachable.Unwrap().Error())
	case !errors.As(err, &failed) || failed.Kind != job.Unsigned:
		return err
	}

	switch failed.About {
	case pdfsign.BadResponse:
		return remoteFailure(done, timestampField, failed.Text)
	case pdfsign.NoState:
		return remoteFailure(done, "level", failed.Text+". Send level B-B or B-T, or retry later")
	}

	field := map[pdfsign.Kind]string{
		pdfsign.BadField: "field", pdfsign.BadPage: "visible", pdfsign.BadText: "visible.text", pdfsign.BadKey: key, pdfsign.BadPassword: "key.password",
	}[failed.About]
	return schema.FieldErrors{{Field: field, Message: failed.Text}}
}

// remoteFailure is the error of a call for which another server did not do its part. The same call may succeed later.
func remoteFailure(done, field, text string) error {
	return &wire.Error{
		Code: wire.ProcessingFailed, Message: "The PDF could not be " + done + ": " + field + " " + text + ".", Details: []wire.Detail{{Field: field, Message: text}},
	}
}

// sealInput is the input of pdf.seal.
type sealInput struct {
	schema.Common
	PDFSource

	TimestampURL string `json:"timestampUrl" jsonschema:"required,format=uri,minLength=1,maxLength=8192" jsonschema_description:"Public http or https URL of a timestamp authority (RFC 3161)."`
}

// Validate checks the rules that the schema cannot express.
func (in *sealInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	return failures(faults)
}

func runSeal(ctx context.Context, deps *Deps, in *sealInput) (schema.Result, error) {
	return withFiles(ctx, deps, []stagedFile{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
		file := render.PDFFile{Content: files[0], Password: in.Password}
		result, err := signed(ctx, deps, "sealed", file, func(file render.PDFFile) (*spool.File, error) {
			return deps.Render.SealPDF(ctx, file, in.TimestampURL)
		})
		var failed *job.Error
		if errors.As(err, &failed) && failed.Kind == job.Unsigned && failed.About != pdfsign.BadResponse {
			return result, remoteFailure("sealed", files[0].field, failed.Text)
		}
		return result, signFailure(err, "sealed", "", in.TimestampURL)
	})
}
