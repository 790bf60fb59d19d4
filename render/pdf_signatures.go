package render

import (
	"context"
	"encoding/json"
	"os"

	"relaypdf/render/engine"
	"relaypdf/render/pdf"
	"relaypdf/render/spool"
)

// systemRoots are the files in which operating systems have their trusted certificates.
func systemRoots() []string {
	return []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}
}

// VerifyPDF verifies the signatures of a PDF. It trusts certificates in PEM; without any, those of the operating system.
func (t *Tools) VerifyPDF(ctx context.Context, content engine.Content, trust []string) (pdf.Verification, error) {
	var report pdf.Verification
	args := pdf.VerifyArgs{Name: inputName, Trust: trust}
	files := []engine.File{{Name: inputName, Content: content}}
	if len(trust) == 0 {
		for _, path := range systemRoots() {
			raw, err := os.ReadFile(path)
			if err != nil {
				continue // another system has it
			}
			args.Roots = "roots.pem"
			files = append(files, engine.File{Name: args.Roots, Content: spool.FromBytes(raw)})
			break
		}
	}
	result, err := t.runTool(ctx, engine.Job{Name: pdf.VerifyJob, Args: args, Files: files})
	if err != nil {
		return report, err
	}
	err = json.Unmarshal(result.Body, &report)
	return report, err
}
