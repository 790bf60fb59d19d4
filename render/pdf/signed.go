package pdf

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdfsign"
)

// signatureBroken is the code of the warning about signatures of a source that its result does not have, or that are
// invalid in it.
const signatureBroken = "signature_broken"

// sourceSignature is a signature of an input of a job.
type sourceSignature struct {
	pdfsign.SignedField

	digest [sha256.Size]byte // of the bytes that it covers
	valid  bool              // later changes do not make it invalid
}

// reportBroken returns a handler that warns about broken signatures: those of inputs that the PDFs of the result do not
// have, or that are invalid in them. It judges the result alone, whatever the handler does.
func reportBroken(jobName string, handler engine.Handler) engine.Handler {
	return func(ctx context.Context, w *engine.Work, args json.RawMessage, body []byte) ([]byte, error) {
		var signatures []sourceSignature
		inputs := inputsIn(args)
		for _, in := range inputs {
			found, err := signaturesOf(ctx, w, in)
			if err != nil {
				return nil, err
			}
			signatures = append(signatures, found...)
		}

		result, err := handler(ctx, w, args, body)
		if err != nil || len(signatures) == 0 {
			return result, err
		}

		broken, err := brokenSignatures(ctx, w, jobName, inputs, signatures)
		if len(broken) > 0 {
			w.Warn(signatureBroken, "Signatures of the source are missing or invalid in the result: "+signerList(broken)+". Sign after all other changes.")
		}
		return result, err
	}
}

// inputsIn returns the inputs among a job's arguments: the objects with the fields of an Input.
func inputsIn(args json.RawMessage) (found []job.Input) {
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			name, named := v["Name"].(string)
			password, protected := v["Password"].(string)
			if in := (job.Input{Name: name, Password: password}); named && protected && !slices.Contains(found, in) {
				found = append(found, in)
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, member := range v {
				walk(member)
			}
		}
	}

	var value any
	if json.Unmarshal(args, &value) == nil {
		walk(value)
	}
	return found
}

// signaturesOf returns the signatures of an input. Only a file with the entry of their byte ranges has any; it is
// never in an object stream or encrypted, because the range is of the file's own bytes.
func signaturesOf(ctx context.Context, w *engine.Work, in job.Input) ([]sourceSignature, error) {
	const mark = "/ByteRange"
	if about, err := os.Lstat(w.Path(in.Name)); err != nil || !about.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // the handler reports it
	}
	if marked, err := job.FileContains(w.Path(in.Name), mark); err != nil || !marked {
		return nil, err
	}
	doc := &job.Document{Work: w, Name: in.Name, Password: in.Password}
	content, err := doc.Content()
	if err != nil {
		return nil, err
	}

	fields, valid := readSignatures(ctx, doc, content)
	list := make([]sourceSignature, len(fields))
	for i, field := range fields {
		if field.End == 0 {
			field.End = len(content) // what it covers is unknown
		}
		list[i] = sourceSignature{field, sha256.Sum256(content[:field.End]), valid[field.Field]}
	}
	return list, ctx.Err()
}

// readSignatures reads the signatures of a document, from a repaired copy if necessary. A document that cannot be
// read has none: its job fails. valid holds the names of the fields whose signatures are not invalid.
func readSignatures(ctx context.Context, doc *job.Document, content []byte) (fields []pdfsign.SignedField, valid map[string]bool) {
	valid = map[string]bool{}
	pdf, err := readPDF(ctx, doc.Work, job.Input{Name: doc.Name, Password: doc.Password})
	if err == nil {
		reports, err := pdfsign.Verify(pdf, pdfsign.Trust{})
		for _, r := range reports {
			valid[r.Field] = err == nil && r.Verdict != pdfsign.Invalid
		}
	}

	f, err := pdffile.Read(content)
	if err == nil {
		return pdfsign.SignedFields(f, content), valid
	}
	copied := &job.Document{Work: doc.Work, Name: doc.Name, Password: doc.Password}
	const repaired = "signed.pdf"
	if copied.WriteTo(ctx, repaired, job.QPDFJob{"decrypt": "", "objectStreams": "disable"}) != nil {
		return nil, valid
	}
	copied.Name = repaired
	copied.Password = ""
	defer func() { _ = os.Remove(doc.Work.Path(repaired)) }()
	if f, err = copied.ReadSelf(); err != nil {
		return nil, valid
	}
	return pdfsign.SignedFields(f, content), valid
}

// brokenSignatures returns the signatures of inputs that no PDF of the result has, or that are invalid in it. Results
// that are not versions of their source have none to lose.
func brokenSignatures(ctx context.Context, w *engine.Work, jobName string, inputs []job.Input, signatures []sourceSignature) (broken []sourceSignature, err error) {
	if jobName == compare.Job.Name {
		return nil, nil
	}
	made := slices.DeleteFunc(w.Outputs(), func(name string) bool { return !strings.HasSuffix(name, ".pdf") })
	if len(made) == 0 && jobName != SplitJob.Name {
		return nil, nil
	}

	broken = signatures
	for _, name := range made {
		content, err := os.ReadFile(w.Path(name))
		if err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
		broken = slices.DeleteFunc(slices.Clone(broken), func(s sourceSignature) bool {
			return s.End <= len(content) && sha256.Sum256(content[:s.End]) == s.digest && !s.invalidated(ctx, w, name, inputs)
		})
	}
	return broken, nil
}

// invalidated reports whether what was added to a document makes the signature invalid.
func (s sourceSignature) invalidated(ctx context.Context, w *engine.Work, name string, inputs []job.Input) bool {
	if !s.valid {
		return false
	}
	for _, in := range inputs {
		pdf, err := readPDF(ctx, w, job.Input{Name: name, Password: in.Password})
		if err != nil {
			continue // the password of another input
		}
		reports, err := pdfsign.Verify(pdf, pdfsign.Trust{})
		return err != nil || !slices.ContainsFunc(reports, func(r pdfsign.Report) bool { return r.Field == s.Field && r.Verdict != pdfsign.Invalid })
	}
	return true
}

// signerList names the signers of signatures, with their fields.
func signerList(signatures []sourceSignature) string {
	const maximum = 20
	var parts []string
	for _, s := range signatures {
		part := map[pdfsign.SignatureKind]string{pdfsign.Certification: "certification by ", pdfsign.TimestampKind: "timestamp by "}[s.Kind]
		if s.Signer == "" {
			part += "an unknown signer"
		} else {
			part += fmt.Sprintf("%.100q", s.Signer)
		}
		if s.Field != "" {
			part += fmt.Sprintf(" (field %.100q)", s.Field)
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}

	if len(parts) > maximum {
		parts = append(parts[:maximum], fmt.Sprintf("%d more", len(parts)-maximum))
	}
	return strings.Join(parts, ", ")
}
