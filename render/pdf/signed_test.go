package pdf

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdfsign"
	"github.com/relaypdf/relaypdf/render/spool"
)

// brokenIn returns the warnings of a result about broken signatures.
func brokenIn(result engine.Result) (texts []string) {
	for _, w := range result.Warnings {
		if w.Code == signatureBroken {
			texts = append(texts, w.Message)
		}
	}
	return texts
}

// TestBrokenSignaturesAreReported does every job on a signed document: a PDF without the signature has a warning that names
// the signer, and no other result has one.
func TestBrokenSignaturesAreReported(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	document, _ := signed(t, linked().Write())
	formEntries, _ := signed(t, pdftest.Load(t, "testdata/form.pdf"))
	for name, args := range jobsOnOne() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := [][]byte{document}
			switch name {
			case form.FillJob.Name:
				args = form.FillArgs{Input: input(""), Values: map[string]any{"name": "x"}, Flatten: true}
				files[0] = formEntries
			case InvoiceJob.Name:
				files = append(files, []byte(smallInvoice))
			case NUpJob.Name, BookletJob.Name, StandardsJob.Name, SealJob.Name:
				plain := map[string][]byte{StandardsJob.Name: tagged()}[name]
				if plain == nil {
					plain = numbered(4)
				}
				files[0], _ = signed(t, plain)
			case DetachJob.Name, RemoveAttachmentsJob.Name:
				attached := makeOne(t, AttachJob.Name, AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(1), Filename: "a.txt"}}}, three().Write(), []byte("a"))
				files[0], _ = signed(t, attached)
			case ExtractImagesJob.Name, InvoiceReadJob.Name, archive.ClaimJob.Name:
				return // nothing to find in the document
			}
			result, err := runJob(t, name, args, files...)
			if err != nil {
				t.Fatal(err)
			}

			texts := brokenIn(result)
			breaks := !slices.Contains(readingJobs(), name) || name == SplitJob.Name
			if breaks != (len(texts) == 1) || breaks && !strings.Contains(texts[0], `"Ada" (field "Signature1")`) {
				t.Errorf("warnings %q", texts)
			}
		})
	}
}

// TestKeptSignaturesAreNotReported signs, seals and returns signed documents.
func TestKeptSignaturesAreNotReported(t *testing.T) {
	t.Parallel()
	document, _ := signed(t, three().Write())
	signer := newSigner(t)
	args := signArgs(t, signer)
	wanted := unmarshal[PendingRequests](t, result(t, SignJob.Name, args, document))
	cms, err := signer.Sign(wanted.Requests[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	args.Responses = []Response{{RemoteRequest: wanted.Requests[0], File: inputName(1)}}
	twice, err := runJob(t, SignJob.Name, args, document, cms)
	if err != nil || len(twice.Warnings) > 0 {
		t.Errorf("signed twice: %v, %+v", err, twice.Warnings)
	}

	small := makeOne(t, CompressJob.Name, input(""), linked().Write())
	signedSmall, _ := signed(t, small)
	same, err := runJob(t, CompressJob.Name, input(""), signedSmall)
	if err != nil || bytes.Equal(read(t, same), signedSmall) != (len(same.Warnings) == 0) {
		t.Errorf("compressed: %v, %+v", err, same.Warnings)
	}

	for name, content := range map[string][]byte{
		"unsigned": three().Write(),
		"the word": pdftest.Source{Pages: []string{"/ByteRange"}}.Write(),
		"an empty field": func() []byte {
			s := three()
			s.Catalog = "/AcroForm << /SigFlags 3 /Fields [100 0 R] >>"
			s.Objects = []string{"<< /FT /Sig /T (Signature1) /Type /Annot /Subtype /Widget /Rect [0 0 9 9] >> % /ByteRange"}
			return s.Write()
		}(),
	} {
		result, err := runJob(t, RotateJob.Name, RotateArgs{Selection{Input: input("")}, 90}, content)
		if err != nil || len(result.Warnings) > 0 {
			t.Errorf("%s: %v, %+v", name, err, result.Warnings)
		}
	}
}

// TestSignersOfAllSources joins signed documents: one of two signers, one certified, one encrypted, one damaged, and one
// whose certificate cannot be read.
func TestSignersOfAllSources(t *testing.T) {
	t.Parallel()
	sign := func(content []byte, options pdfsign.Options) []byte {
		signer := newSigner(t)
		options.Time = time.Now()
		made, err := pdfsign.Sign(t.Context(), pdfsign.PDF{Content: content}, pdfsign.Job{Options: options, Level: pdfsign.LevelB, Key: signer, Chain: signer.Chain, Hash: signer.Hash})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	once := sign(three().Write(), pdfsign.Options{})
	twice := sign(once, pdfsign.Options{})
	certified := sign(three().Write(), pdfsign.Options{Certify: pdfsign.NoChanges})
	sealed := pdftest.Transform(t, once, "--encrypt", "u", "o", "256", "--")
	damaged := bytes.Replace(once, []byte("startxref"), []byte("startxxxx"), 1)
	damaged = append(damaged, []byte("startxref\n7\n%%EOF\n")...)
	named := pdftest.Source{Pages: []string{"x"}}
	named.Catalog = "/AcroForm << /SigFlags 3 /Fields [100 0 R] >>"
	named.Objects = []string{
		"<< /FT /Sig /T (S) /Type /Annot /Subtype /Widget /Rect [0 0 9 9] /V 101 0 R >>",
		"<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /Name (Grace) /ByteRange [0 1 2 3] /Contents <3003> >>",
	}
	for name, test := range map[string]struct {
		content  []byte
		password string
		want     string
	}{
		"two signers":         {twice, "", `"Ada" (field "Signature1"), "Ada" (field "Signature2")`},
		"certified":           {certified, "", `certification by "Ada" (field "Signature1")`},
		"encrypted":           {sealed, "u", `"Ada" (field "Signature1")`},
		"damaged":             {damaged, "", `"Ada" (field "Signature1")`},
		"without certificate": {named.Write(), "", `"Grace" (field "S")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := MergeArgs{Inputs: []MergeInput{{Input: job.Input{Name: inputName(0)}}, {Input: job.Input{Name: inputName(1), Password: test.password}}}}
			jobValue := engine.Job{Name: MergeJob.Name, Args: args, MaxOutput: job.MaxBytes, Files: []engine.File{
				{Name: inputName(0), Content: spool.FromBytes(three().Write())}, {Name: inputName(1), Content: spool.FromBytes(test.content)},
			}}
			result, err := pool.Run(t.Context(), jobValue)
			if err != nil {
				t.Fatal(err)
			}
			defer result.Close()
			if texts := brokenIn(result); len(texts) != 1 || !strings.Contains(texts[0], "result: "+test.want+".") {
				t.Errorf("warnings %q", texts)
			}
		})
	}
}
