package office

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestMain makes this program its own engine.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := engine.Serve(os.Stdin, os.Stdout, Handlers()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == noisyEngine {
		serveNoise(os.Args[2])
	}
	os.Exit(testMain(m))
}

// pool is the LibreOffice processes of most tests: they take a second to start. engines are those of the other
// jobs.
var (
	pool    *Pool
	engines *engine.Pool
)

func testMain(m *testing.M) int {
	pool = New(Config{})
	defer pool.Close()
	var err error
	if engines, err = engine.Start(engine.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer engines.Close()
	return m.Run()
}

// convert converts a document and returns what it became.
func convert(t testing.TB, p *Pool, content []byte, name, password string, to Target) ([]byte, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an office")
	}
	source, err := Sniff(strings.NewReader(string(content)), name)
	if err != nil {
		return nil, err
	}
	c := Conversion{Content: spool.FromBytes(content), Source: source, To: to, Password: password, MaxPages: 2000, MaxBytes: 200 << 20}
	file, made, err := p.Convert(t.Context(), c)
	if err == nil && len(made.Missing) > 0 { // linked images, none of which can be had
		c.Linked = map[string]string{}
		for _, reference := range made.Missing {
			c.Linked[reference.Address] = ""
		}
		file, _, err = p.Convert(t.Context(), c)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file.Open())
}

func TestPasswords(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	maker := startRaw(t, "")
	sealed := map[string]any{"OOXPassword": "geheim", "CryptoType": "Standard"}
	csv := map[string]any{"FilterName": importFilters[FormatCSV], "FilterOptions": "44,34,76,1"}
	for name, content := range map[string][]byte{
		"text.odt":   maker.make(t, []byte("secret"), "a.txt", rawJob{Store: map[string]any{"FilterName": "writer8", "Password": "geheim"}}),
		"sheet.ods":  maker.make(t, []byte("secret"), "a.csv", rawJob{Load: csv, Store: map[string]any{"FilterName": "calc8", "Password": "geheim"}}),
		"text.docx":  maker.make(t, []byte("secret"), "a.txt", rawJob{Store: map[string]any{"FilterName": "MS Word 2007 XML", "EncryptionData": sealed}}),
		"sheet.xlsx": maker.make(t, []byte("secret"), "a.csv", rawJob{Load: csv, Store: map[string]any{"FilterName": "Calc MS Excel 2007 XML", "EncryptionData": sealed}}),
	} {
		for password, want := range map[string]Reason{"": PasswordRequired, "guess": WrongPassword, "geheim": ""} {
			made, err := convert(t, pool, content, name, password, ToPDF)
			var failed *Error
			switch {
			case want == "" && err != nil:
				t.Errorf("%s with its password: %v", name, err)
			case want == "":
				if got := textOf(t, made); !strings.Contains(got, "secret") {
					t.Errorf("%s: got %q", name, got)
				}
			case !errors.As(err, &failed) || failed.Reason != want:
				t.Errorf("%s with password %q: got %v, want %s", name, password, err, want)
			}
		}
	}
}

func TestTablesOfText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{"a.csv", "name,total\nAda,12.50\nBo,12.00\n", "name total Ada 12.50 Bo 12.00"},
		{"grouped.csv", "total,rate\n\"1,234.50\",0.100\n-12.00,0.250\n", "total rate 1,234.50 0.100 -12.00 0.250"},
		{"mixed.csv", "total\n1.5\n2\n", "total 1.5 2"},
		{"zeros.csv", "total,rate\n12.00,0.10\n3.5,7\n7,n/a\n1.230,0.0\n", "total rate 12.00 0.10 3.5 7 7 n/a 1.230 0.0"},
		{"groups.csv", "total\n\"1,234.50\"\n1234.5\n\"12,345\"\n-5\n12345\n", "total 1,234.50 1234.5 12,345 -5 12345"},
		{"millions.csv", "total\n\"1,234,567\"\n2.5\n\"-1,234,567.0\"\n", "total 1,234,567 2.5 -1,234,567.0"},
		{"german.csv", "total;rate\n1.234,50;1,0\n7;1.234.567\n2,5;0,10\n", "total rate 1.234,50 1,0 7 1.234.567 2,5 0,10"},
		{"lines.csv", "note,total\n\"two\nlines\",12.00\n\n\nBo,3.5\nCy,7.0\n", "note total two lines 12.00 Bo 3.5 Cy 7.0"},
		{"precise.csv", "total\n0.1234567890123\n2\n", "total 0.1234567890123 2"},
		{"written.csv", "total,b\n+5,1e5\n.5,5.\n-0,12%\n-0.0,1E-7\n", "total b +5 1e5 .5 5. -0 12% -0.0 1E-7"},
		{"digits.csv", "total\n0.1234567890123456789\n1234567890123.4567\n\"1,234,567,890,123,456\"\n", "total 0.1234567890123456789 1234567890123.4567 1,234,567,890,123,456"},
		{"other.csv", "a\n1/2\n3/4/2024\n12:30\n10-12\n5-\n1 234\n$5.00\n(5)\n0x10\n1.2.3\n2024-13-45\n12 %\n1e\n+49 30 12\nTRUE\n--5\n", "a 1/2 3/4/2024 12:30 10-12 5- 1 234 $5.00 (5) 0x10 1.2.3 2024-13-45 12 % 1e +49 30 12 TRUE --5"},
		{"dated.csv", "total\n2024-01-02\n3.00\n", "total 2024-01-02 3.00"},
		{"dates.csv", "day,total\n2024-01-02,3.00\n", "day total 2024-01-02 3.00"},
		{"semicolon.csv", "name;total\n\"Lovelace; Ada\";1.234,50\n", "name total Lovelace; Ada 1.234,50"},
		{"tab.tsv", "name\ttotal\nAda\t1\n", "name total Ada 1"},
		{"declared.csv", "sep=|\r\na,b|c\r\n", "a,b c"},
		{"leading.csv", "number\n007\n", "number 007"},
		{"long.csv", "number\n12345678901234567890\n", "number 12345678901234567890"},
		{"formula.csv", "a\n=1+1\n", "a =1+1"},
		{"windows.csv", "caf\xe9;M\xfcller\n", "café Müller"},
		{"wide.csv", "\xff\xfea\x00,\x00\x42\x04\n\x00", "a т"},
	} {
		made, err := convert(t, pool, []byte(test.content), test.name, "", ToPDF)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := strings.Join(strings.Fields(textOf(t, made)), " ")
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestNumbersOfTablesInXLSX has numbers in several forms, which remain numbers.
func TestNumbersOfTablesInXLSX(t *testing.T) {
	t.Parallel()
	made, _ := convertWith(t, []byte("total\n12.00\n3.5\n\"1,234\"\n1e5\n+7\n"), Conversion{Name: "a.csv", To: ToXLSX})
	wantCells(t, made, map[string][2]string{"A2": {"", "12"}, "A3": {"", "3.5"}, "A4": {"", "1234"}, "A5": {"", "100000"}, "A6": {"", "7"}})
}

func TestTextsKeepTheirLetters(t *testing.T) {
	t.Parallel()
	const want = "Zażółć Ελληνικά 日本語 😀"
	for name, content := range map[string]string{
		"a.txt": want, "marked.txt": "\ufeff" + want, "a.html": "<p>" + want, "lying.html": `<meta charset="iso-8859-1"><p>` + want,
		"utf16.txt": "\xff\xfe" + utf16le(want),
	} {
		made, err := convert(t, pool, []byte(content), name, "", ToPDF)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := textOf(t, made); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestDocumentsThatCannotBeConverted(t *testing.T) {
	t.Parallel()
	damaged := docx(t, paragraph("x"), "")
	damaged = append(damaged[:len(damaged)/3], damaged[len(damaged)/2:]...)
	compound := []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 2000))
	for name, test := range map[string]struct {
		content []byte
		want    Reason
	}{
		"damaged.docx": {damaged, Damaged},
		"compound.doc": {compound, Damaged},
		"program":      {[]byte("\x7fELF\x02\x01\x01\x00\x00"), Unknown},
		"archive.zip":  {archiveOf(t, part{"a.txt", "x"}), Unknown},
	} {
		_, err := convert(t, pool, test.content, name, "", ToPDF)
		var failed *Error
		if !errors.As(err, &failed) || failed.Reason != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	old := startRaw(t, "").make(t, []byte("a,b"), "a.csv", rawJob{
		Load: map[string]any{"FilterName": importFilters[FormatCSV], "FilterOptions": "44,34,76,1"}, Store: map[string]any{"FilterName": "MS Excel 97"},
	})
	var pair *PairError
	if _, err := convert(t, pool, old, "old.xls", "", ToDOCX); !errors.As(err, &pair) || pair.Kind != KindSheet {
		t.Errorf("xls to docx: got %v, want a *PairError of a spreadsheet", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts an office")
	}
	content := []byte(strings.Repeat("line\n", 400))
	c := Conversion{Content: spool.FromBytes(content), Source: Source{KindText, FormatText}, To: ToPDF, MaxPages: 2, MaxBytes: 1 << 20}
	var failed *Error
	if _, _, err := pool.Convert(t.Context(), c); !errors.As(err, &failed) || failed.Reason != TooManyPages || failed.Max != 2 {
		t.Errorf("got %v, want too many pages", err)
	}
	c.MaxPages, c.MaxBytes = 2000, 1000
	if _, _, err := pool.Convert(t.Context(), c); !errors.Is(err, engine.ErrOutputTooLarge) {
		t.Errorf("got %v, want ErrOutputTooLarge", err)
	}
	c.MaxBytes = 1 << 20
	file, made, err := pool.Convert(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file.Open())
	if err != nil {
		t.Fatal(err)
	}
	if pages := strings.Count(textOf(t, text), "\f") + 1; made.Pages != pages || pages < 3 {
		t.Errorf("%d pages were counted, there are %d", made.Pages, pages)
	}
}

// TestHTMLIsOneFile converts documents with an embedded image and a linked one.
func TestHTMLIsOneFile(t *testing.T) {
	t.Parallel()
	const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cch\x00\x00\x00\x82\x00\x81w\xcdr\xb6\x00\x00\x00\x00IEND\xaeB`\x82"
	const frames = `<draw:frame svg:width="1cm" svg:height="1cm"><draw:image xlink:href="Pictures/a.png"/></draw:frame>` +
		`<draw:frame svg:width="1cm" svg:height="1cm"><draw:image xlink:href="http://127.0.0.1:1/elsewhere.png"/></draw:frame>`
	for name, content := range map[string][]byte{
		"text.odt": opened(t, "text", openedText(`<text:p>words`+frames+`</text:p>`), part{"Pictures/a.png", pixel}),
		"sheet.ods": opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-row><table:table-cell>`+
			`<text:p>words</text:p>`+frames+`</table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>`, part{"Pictures/a.png", pixel}),
	} {
		made, err := convert(t, pool, content, name, "", ToHTML)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := string(made)
		if !strings.Contains(text, "words") || !strings.Contains(text, `src="data:image/`) || strings.Contains(text, "elsewhere.png\"") {
			t.Errorf("%s: not one file: %.2000s", name, text)
		}
	}
}

// BenchmarkConvert converts a small document to PDF: in a warm pool, by one and by several at once, and with
// LibreOffice alone.
func BenchmarkConvert(b *testing.B) {
	document := docx(b, strings.Repeat(paragraph("A paragraph of some words."), 20), "")
	c := Conversion{Content: spool.FromBytes(document), Source: Source{KindDocument, FormatOOXML}, To: ToPDF, MaxPages: 2000, MaxBytes: 200 << 20}
	run := func(b *testing.B) {
		b.Helper()
		file, _, err := pool.Convert(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for range 10 {
		run(b)
	}
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			run(b)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				run(b)
			}
		})
	})
	b.Run("raw", func(b *testing.B) {
		office := startRaw(b, "")
		job := rawJob{Store: map[string]any{"FilterName": "writer_pdf_Export"}}
		office.make(b, document, "a.docx", job)
		job.Input, job.Output = office.dir+"/a.docx", office.dir+"/a.pdf"
		for b.Loop() {
			if _, err := office.do(job); err != nil {
				b.Fatal(err)
			}
		}
	})
}
