package office

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"golang.org/x/crypto/argon2"

	"relaypdf/render/spool"
)

// sealedPackage encrypts an OpenDocument file as LibreOffice 24.2 and later do: all of it in one part.
func sealedPackage(t testing.TB, content []byte, password string) []byte {
	t.Helper()
	salt, nonce, start := bytes.Repeat([]byte{7}, 16), bytes.Repeat([]byte{9}, 12), sha256.Sum256([]byte(password))
	block, err := aes.NewCipher(argon2.IDKey(start[:], salt, 3, 1024, 1, 32))
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	sealed := gcm.Seal(bytes.Clone(nonce), nonce, deflated(t, content), nil)
	return archiveOf(t, part{"mimetype", partOf(t, content, "mimetype")}, part{"encrypted-package", string(sealed)}, part{"META-INF/manifest.xml", `<?xml version="1.0"?>` +
		`<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0" manifest:version="1.4">` +
		fmt.Sprintf(`<manifest:file-entry manifest:full-path="encrypted-package" manifest:media-type=%q manifest:size="%d"><manifest:encryption-data>`, partOf(t, content, "mimetype"), len(content)) +
		`<manifest:algorithm manifest:algorithm-name="http://www.w3.org/2009/xmlenc11#aes256-gcm" manifest:initialisation-vector="` + base64.StdEncoding.EncodeToString(nonce) + `"/>` +
		`<manifest:start-key-generation manifest:start-key-generation-name="http://www.w3.org/2001/04/xmlenc#sha256" manifest:key-size="32"/>` +
		`<manifest:key-derivation manifest:key-derivation-name="urn:org:documentfoundation:names:experimental:office:manifest:argon2id" loext:argon2-iterations="3" loext:argon2-memory="1024" loext:argon2-lanes="1" manifest:salt="` +
		base64.StdEncoding.EncodeToString(salt) + `" manifest:key-size="32"/></manifest:encryption-data></manifest:file-entry></manifest:manifest>`})
}

// sealedParts encrypts the content of an OpenDocument file as older programs do: each part by itself.
func sealedParts(t testing.TB, content []byte, password string) []byte {
	t.Helper()
	salt, iv, start := bytes.Repeat([]byte{7}, 16), bytes.Repeat([]byte{9}, 16), sha256.Sum256([]byte(password))
	key, err := pbkdf2.Key(sha1.New, string(start[:]), salt, 1000, 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(partOf(t, content, "content.xml"))
	packed := deflated(t, text)
	sum := sha256.Sum256(packed[:min(len(packed), 1024)])
	filled := aes.BlockSize - len(packed)%aes.BlockSize
	sealed := slices.Concat(packed, bytes.Repeat([]byte{byte(filled)}, filled))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, sealed)

	const entry = `manifest:full-path="content.xml" manifest:media-type="text/xml"`
	manifest := strings.Replace(partOf(t, content, "META-INF/manifest.xml"), entry+`/>`, entry+fmt.Sprintf(` manifest:size="%d"><manifest:encryption-data`, len(text))+
		` manifest:checksum-type="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha256-1k" manifest:checksum="`+base64.StdEncoding.EncodeToString(sum[:])+`">`+
		`<manifest:algorithm manifest:algorithm-name="http://www.w3.org/2001/04/xmlenc#aes256-cbc" manifest:initialisation-vector="`+base64.StdEncoding.EncodeToString(iv)+`"/>`+
		`<manifest:start-key-generation manifest:start-key-generation-name="http://www.w3.org/2000/09/xmldsig#sha256" manifest:key-size="32"/>`+
		`<manifest:key-derivation manifest:key-derivation-name="PBKDF2" manifest:key-size="32" manifest:iteration-count="1000" manifest:salt="`+
		base64.StdEncoding.EncodeToString(salt)+`"/></manifest:encryption-data></manifest:file-entry>`, 1)
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, p := range []part{{"mimetype", partOf(t, content, "mimetype")}, {"content.xml", string(sealed)}, {"META-INF/manifest.xml", manifest}} {
		if err := storePart(z, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// noise is a text that cannot be compressed.
func noise(size int) string {
	out := make([]byte, size)
	_, _ = rand.Read(out)
	return string(out)
}

func deflated(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestStoredResultsOfEncryptedDocuments has a password for a document and a workbook with results that an update would
// not return.
func TestStoredResultsOfEncryptedDocuments(t *testing.T) {
	t.Parallel()
	text := docx(t, labelled("day", wordField(`DATE \@ "d MMMM yyyy"`, "1 January 2020"))+labelled("file", wordField("FILENAME", "contract.docx"))+labelled("ref", wordField("REF gone", "ref")), "")
	open := opened(t, "text", openedText(`<text:p>day <text:date text:date-value="2020-01-01">1 January 2020</text:date></text:p>`))
	table := opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row><table:table-cell table:formula="of:=20*2" office:value-type="float" office:value="7"><text:p>7</text:p></table:table-cell>`+
		`</table:table-row></table:table></office:spreadsheet></office:body>`)
	sealed := func(content []byte) []byte {
		// excelize encrypts no small files.
		content = withPart(t, content, part{"docProps/random.bin", noise(10_000)})
		out, err := excelize.Encrypt(content, &excelize.Options{Password: "geheim"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	linked := docx(t, paragraph("text"), `<Relationship Id="image" Type="`+officeRelations+`/image" Target="https://a.example/b.png" TargetMode="External"/>`)
	source, err := Sniff(bytes.NewReader(sealed(linked)), "a.docx")
	if err != nil {
		t.Fatal(err)
	}
	_, made, err := pool.Convert(t.Context(), Conversion{Content: spool.FromBytes(sealed(linked)), Source: source, Password: "geheim", To: ToPDF, MaxPages: 9, MaxBytes: 9 << 20})
	if err != nil || len(made.Missing) != 1 {
		t.Errorf("a linked image: %v, %v", made, err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a.docx":    {sealed(text), "day 1 January 2020 file contract.docx ref ref"},
		"a.xlsx":    {sealed(calculated(t, "", modern)), modernText},
		"new.odt":   {sealedPackage(t, open, "geheim"), "day 1 January 2020"},
		"old.odt":   {sealedParts(t, open, "geheim"), "day 1 January 2020"},
		"sheet.ods": {sealedParts(t, table, "geheim"), "s 7 Page 1"},
	} {
		made, _ := convertWith(t, c.content, Conversion{Name: name, Password: "geheim", To: ToPDF})
		if got := words(t, made); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
		for password, want := range map[string]Reason{"": PasswordRequired, "guess": WrongPassword} {
			var failed *Error
			if _, err := convert(t, pool, c.content, name, password, ToPDF); !errors.As(err, &failed) || failed.Reason != want {
				t.Errorf("%s with password %q: got %v, want %s", name, password, err, want)
			}
		}
	}
}
