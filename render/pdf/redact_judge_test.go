package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// judge returns where a secret can still be found in a document, by programs and means that
// the redaction does not use: everything that qpdf unpacks in all spellings, what is shown
// joined to one text, and the images by their pixels.
func judge(t *testing.T, content []byte, password, secret string, images map[string]bool) (found []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plain.pdf")
	path := pdftest.Save(t, content)
	pdftest.Tool(t, "qpdf", "--check", "--password="+password, path)
	pdftest.Tool(t, "qpdf", "--password="+password, "--decrypt", "--qdf", "--object-streams=disable", "--decode-level=all", path, out)
	plain := pdftest.Load(t, out)
	secret = strings.ToLower(secret)
	for name, file := range map[string][]byte{"file": content, "unpacked": plain} {
		for spelling, text := range spellings(file) {
			if strings.Contains(text, secret) {
				found = append(found, name+", "+spelling)
			}
		}
	}
	if bytes.Contains(plain, []byte(secretPixels())) {
		found = append(found, "pixels, unpacked")
	}
	for _, program := range [][]string{{"pdftotext", "-upw", password, path, "-"}, {"pdftotext", "-raw", "-upw", password, path, "-"}, {"mutool", "draw", "-p", password, "-q", "-F", "text", path}} {
		text := strings.ToLower(strings.Join(strings.Fields(pdftest.Tool(t, program[0], program[1:]...)), ""))
		if strings.Contains(strings.NewReplacer("-", "", "\u00ad", "", "ﬁ", "fi").Replace(text), secret) {
			found = append(found, "text of "+program[0])
		}
	}
	for hash := range imageHashes(t, path, password) {
		if images[hash] {
			found = append(found, "an image")
		}
	}
	return found
}

var (
	octals    = regexp.MustCompile(`\\[0-3][0-7]{2}`)
	codes     = regexp.MustCompile(`[#%][0-9a-fA-F]{2}`)
	shown     = regexp.MustCompile(`\((?:[^()\\]|\\.)*\)|<[0-9a-fA-F\s]+>`)
	bodies    = regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`)
	unicodes  = regexp.MustCompile(`<([0-9a-fA-F]{2}|[0-9a-fA-F]{4})>\s*<((?:[0-9a-fA-F]{4})+)>`)
	linesEnds = regexp.MustCompile(`\\\r?\n`)
)

// spellings are a file in the ways that a secret may be written in it, in small letters.
func spellings(file []byte) map[string]string {
	unescaped := octals.ReplaceAllFunc(linesEnds.ReplaceAll(file, nil), func(code []byte) []byte {
		n, _ := strconv.ParseUint(string(code[1:]), 8, 8)
		return []byte{byte(n)}
	})
	uncoded := codes.ReplaceAllFunc(unescaped, func(code []byte) []byte {
		b, _ := hex.DecodeString(string(code[1:]))
		return b
	})
	twice, err := url.PathUnescape(string(uncoded))
	if err != nil {
		twice = ""
	}
	meanings := map[string]string{}
	for _, m := range unicodes.FindAllSubmatch(file, -1) {
		meanings[strings.ToLower(string(m[1]))] = wide(string(m[2]))
	}
	var joined, read, wides strings.Builder
	for _, body := range bodies.FindAllSubmatch(file, -1) {
		for _, text := range shown.FindAll(body[1], -1) {
			raw := rawString(string(text))
			joined.WriteString(raw)
			wides.WriteString(wide(hex.EncodeToString([]byte(raw))))
			for i := range len(raw) {
				read.WriteString(meanings[hex.EncodeToString([]byte{raw[i]})])
			}
		}
		joined.WriteByte('\n')
	}
	for _, text := range shown.FindAll(file, -1) {
		joined.WriteString("\n" + rawString(string(text)))
		wides.WriteString("\n" + wide(hex.EncodeToString([]byte(rawString(string(text))))))
	}
	all := map[string]string{
		"as it is": string(file), "octal": string(unescaped), "percent or name": string(uncoded), "percent twice": twice,
		"wide": strings.ReplaceAll(string(unescaped), "\x00", ""), "joined": joined.String(), "by ToUnicode": read.String(), "joined and wide": wides.String(),
	}
	for name, text := range all {
		all[name] = strings.ToLower(text)
	}
	return all
}

// rawString is the bytes of a string as a PDF has it.
func rawString(text string) string {
	if text[0] == '<' {
		digits := strings.Join(strings.Fields(text[1:len(text)-1]), "")
		raw, _ := hex.DecodeString(digits + strings.Repeat("0", len(digits)%2))
		return string(raw)
	}
	return strings.NewReplacer(`\(`, "(", `\)`, ")", `\\`, `\`).Replace(string(octals.ReplaceAllFunc([]byte(text[1:len(text)-1]), func(code []byte) []byte {
		n, _ := strconv.ParseUint(string(code[1:]), 8, 8)
		return []byte{byte(n)}
	})))
}

// wide reads UTF-16 of hexadecimal digits.
func wide(digits string) string {
	raw, _ := hex.DecodeString(digits)
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
	}
	return string(utf16.Decode(units))
}

// imageHashes are the hashes of the pixels of the images on a document's pages, but those of
// a few pixels.
func imageHashes(t *testing.T, path, password string) map[string]bool {
	t.Helper()
	base := filepath.Join(t.TempDir(), "image")
	_ = exec.CommandContext(t.Context(), "pdfimages", "-png", "-upw", password, path, base).Run() // as far as it goes
	names, _ := filepath.Glob(base + "*")
	hashes := map[string]bool{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(content))
		if err != nil || img.Bounds().Dx() < 20 {
			continue
		}
		h := sha256.New()
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				fmt.Fprint(h, r>>8, g>>8, b>>8, " ")
			}
		}
		hashes[hex.EncodeToString(h.Sum(nil))] = true
	}
	return hashes
}
