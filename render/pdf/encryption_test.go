package pdf

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
)

// TestLengthOfKeyIsMissing: documents whose encryption dictionary does not say how long the key of AES is, or says
// something else, are read right, and their results open with the same password.
func TestLengthOfKeyIsMissing(t *testing.T) {
	t.Parallel()
	plain := craft("BT /F1 12 Tf 20 20 Td (Readable) Tj ET", "BT /F1 12 Tf 20 20 Td (Falkenberg) Tj ET BT /F1 12 Tf 20 90 Td (Readable) Tj ET").write()
	cleared := func(pattern, replacement string, document []byte) []byte {
		t.Helper()
		made := regexp.MustCompile(pattern).ReplaceAllFunc(document, func(found []byte) []byte {
			return append([]byte(replacement), bytes.Repeat([]byte(" "), len(found)-len(replacement))...)
		})
		if bytes.Equal(made, document) {
			t.Fatalf("%s is not in the document", pattern)
		}
		return made
	}
	for _, user := range []string{"", "u"} {
		sealed := pdftest.Transform(t, plain, "--object-streams=disable", "--encrypt", user, "o", "128", "--use-aes=y", "--")
		packed := pdftest.Transform(t, plain, "--object-streams=generate", "--encrypt", user, "o", "128", "--use-aes=y", "--")
		for name, document := range map[string][]byte{
			"none": cleared(`/Length (128|16)\b`, "", sealed), "none of the file": cleared(`/Length 128`, "", sealed),
			"none of the filter": cleared(`/Length 16\b`, "", sealed), "another": cleared(`/Length 128`, "/Length 40", sealed), "in streams": cleared(`/Length 128`, "", packed),
		} {
			for job, args := range map[string]any{
				UnlockJob.Name: input(user), ExtractJob.Name: Selection{Input: input(user), Pages: "1-2"}, RotateJob.Name: RotateArgs{Selection{Input: input(user)}, 90},
				CompressJob.Name: input(user), RepairJob.Name: input(user), TestMarkJob.Name: input(user),
				redact.Job.Name: redact.Args{Input: input(user), Terms: []string{"Falkenberg"}},
			} {
				got := makeOne(t, job, args, document)
				out := pdftest.Tool(t, "pdftotext", "-upw", user, pdftest.Save(t, got), "-")
				if strings.Count(out, "Readable") != 2 {
					t.Errorf("%s, password %q, %s: the text is %q", name, user, job, out)
				}
				sound(t, got, user, 2)
			}
			result, err := runJob(t, TextJob.Name, TextArgs{Input: input(user)}, document)
			if err != nil || !strings.Contains(string(content(t, result)), "Readable") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
