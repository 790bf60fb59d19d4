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
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"
	"golang.org/x/crypto/argon2"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/officefile"
	"github.com/relaypdf/relaypdf/render/spool"
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

// TestStoredResultsOfProtectedWorkbooks has a workbook that Excel opens without asking for its password.
func TestStoredResultsOfProtectedWorkbooks(t *testing.T) {
	t.Parallel()
	content := withPart(t, calculated(t, "", modern), part{"docProps/random.bin", noise(10_000)})
	content, err := excelize.Encrypt(content, &excelize.Options{Password: "VelvetSweatshop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"", "other"} {
		made, about := convertWith(t, content, Conversion{Name: "a.xlsx", Password: password, To: ToPDF})
		if got := words(t, made); got != modernText {
			t.Errorf("got %s and %v, want %s", got, about.Warnings, modernText)
		}
	}
}

// TestStoredResultsOfDocumentsEncryptedByLibreOffice has LibreOffice encrypt documents as older programs do.
func TestStoredResultsOfDocumentsEncryptedByLibreOffice(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	// This profile writes OpenDocument 1.1, and keeps results of formulas.
	maker := startRaw(t, strings.Replace(string(settings), `</oor:items>`, `<item oor:path="/org.openoffice.Office.Common/Save/ODF"><prop oor:name="DefaultVersion" oor:op="fuse"><value>2</value></prop></item></oor:items>`, 1))
	text := docx(t, labelled("file", wordField("FILENAME", "x"))+labelled("pages", wordField("NUMPAGES", "1")), "")
	table := xlsx(t, `<row r="1"><c r="A1"><v>40</v></c>`+formula("B1", "n", "A1+2", "7")+formula("C1", "n", "ROUND(RAND()*1000000000,0)", "1")+`</row>`)
	for name, c := range map[string]struct {
		content                   []byte
		source, filter, encrypted string
	}{
		"a.doc": {text, "stored.docx", "MS Word 97", ""},
		"a.xls": {table, "a.xlsx", "MS Excel 97", ""},
		"a.odt": {text, "stored.docx", "writer8", "Blowfish"},
		"a.ods": {table, "a.xlsx", "calc8", "Blowfish"},
	} {
		const password = "pässwörd"
		content := maker.make(t, c.content, c.source, rawJob{Store: map[string]any{"FilterName": c.filter, "Password": password}})
		if c.encrypted != "" && !strings.Contains(partOf(t, content, "META-INF/manifest.xml"), c.encrypted) {
			t.Fatalf("%s is not encrypted by %s", name, c.encrypted)
		}

		made, about := convertWith(t, content, Conversion{Name: name, Password: password, To: ToPDF})
		again, _ := convertWith(t, content, Conversion{Name: name, Password: password, To: ToPDF})
		got, want := words(t, made), "file stored.docx pages 1"
		if c.source == "a.xlsx" {
			want = words(t, again)
		}
		if got != want || len(about.Warnings) > 0 {
			t.Errorf("%s: got %q and %v, want %q", name, got, about.Warnings, want)
		}
		for password, want := range map[string]Reason{"": PasswordRequired, "guess": WrongPassword} {
			var failed *Error
			if _, err := convert(t, pool, content, name, password, ToPDF); !errors.As(err, &failed) || failed.Reason != want {
				t.Errorf("%s with password %q: got %v, want %s", name, password, err, want)
			}
		}
	}
}

// TestKeysOfManyParts has OpenDocument files whose keys would take minutes.
func TestKeysOfManyParts(t *testing.T) {
	t.Parallel()
	content := sealedParts(t, opened(t, "text", openedText(`<text:p>text</text:p>`)), "geheim")
	manifest := partOf(t, content, "META-INF/manifest.xml")
	entry := manifest[strings.Index(manifest, `<manifest:file-entry manifest:full-path="content.xml"`):strings.Index(manifest, `</manifest:manifest>`)]
	costly := func(entry string) string { return strings.Replace(entry, `count="1000"`, `count="30000000"`, 1) }
	other := strings.NewReplacer("content.xml", "styles.xml", "salt=\"", "salt=\"AAAA").Replace(entry)
	for name, c := range map[string]struct {
		entries string
		refused bool
	}{
		"same key": {strings.Repeat(entry, 900), false},
		"one":      {strings.Replace(entry, `count="1000"`, `count="99999999999"`, 1), true},
		"sum":      {costly(entry) + costly(other), true},
		"memory":   {strings.NewReplacer("PBKDF2", "urn:x:argon2id", "manifest:iteration-count=\"1000\"", `argon2-iterations="1" argon2-lanes="1" argon2-memory="4000000"`).Replace(entry), true},
	} {
		start := time.Now()
		_, err := convert(t, pool, replacePart(t, content, "META-INF/manifest.xml", entry, c.entries), "a.odt", "geheim", ToPDF)
		var failed *Error
		if refused := errors.As(err, &failed) && failed.Reason == CostlyKey && failed.Max > 0; refused != c.refused || !refused && err != nil {
			t.Errorf("%s: got %v, want refused %v", name, err, c.refused)
		}
		if took := time.Since(start); took > time.Minute/2 {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

// TestUnreadResultsAreWarnedOf has parts in UTF-16, which only LibreOffice reads.
func TestUnreadResultsAreWarnedOf(t *testing.T) {
	t.Parallel()
	wide := func(content []byte, name string) []byte {
		text := partOf(t, content, name)
		out := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(strings.Replace(text, `<?xml version="1.0"?>`, `<?xml version="1.0" encoding="UTF-16"?>`, 1))) {
			out = binary.LittleEndian.AppendUint16(out, unit)
		}
		return replacePart(t, content, name, text, string(out))
	}
	table := xlsx(t, `<row r="1"><c r="A1"><v>40</v></c>`+formula("B1", "n", "A1+2", "7")+formula("C1", "n", "TODAY()", "43831")+`</row>`)
	text := docx(t, labelled("file", wordField("FILENAME", "x"))+labelled("pages", wordField("NUMPAGES", "1")), "")
	open := opened(t, "text", openedText(`<text:p>file <text:file-name text:display="name-and-extension">x</text:file-name></text:p>`))
	grid := opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row><table:table-cell table:formula="of:=TODAY()" office:value-type="float" office:value="7"><text:p>7</text:p></table:table-cell>`+
		`</table:table-row></table:table></office:spreadsheet></office:body>`)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"book.xlsx":  {wide(table, "xl/workbook.xml"), "2"},
		"sheet.xlsx": {wide(table, "xl/worksheets/sheet1.xml"), "2"},
		"a.docx":     {wide(text, "word/document.xml"), "1"},
		"a.odt":      {wide(open, "content.xml"), "1"},
		"a.ods":      {wide(grid, "content.xml"), "1"},
		"plain.docx": {wide(docx(t, paragraph("text")+labelled("pages", wordField("NUMPAGES", "1")), ""), "word/document.xml"), ""},
	} {
		_, about := convertWith(t, c.content, Conversion{Name: name, To: ToPDF})
		want := ""
		if c.want != "" {
			want = "the stored results of the document could not be read; formulas and fields that may show others: " + c.want
		}
		if got := warningText(about); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	// A wish for new results is no loss.
	for _, results := range []Results{{Recalculate: officefile.RecalculateAlways}, {Fields: officefile.FieldsUpdate}} {
		if _, about := convertWith(t, wide(text, "word/document.xml"), Conversion{Name: "a.docx", To: ToPDF, Results: results}); len(about.Warnings) > 0 {
			t.Errorf("%v: got %v", results, about.Warnings)
		}
	}
}
