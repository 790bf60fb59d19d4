package email

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// read reads a message whose lines end as in any editor.
func read(t testing.TB, lines ...string) *Message {
	t.Helper()
	m, err := Read(strings.NewReader(strings.Join(lines, "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// page is a message's page, and what it leaves out.
func page(t testing.TB, m *Message) (html string, remote []string) {
	t.Helper()
	html, remote, err := m.Page()
	if err != nil {
		t.Fatal(err)
	}
	return html, remote
}

// parts writes a body of several parts, each with its header.
func parts(boundary string, list ...string) string {
	var b strings.Builder
	for _, part := range list {
		b.WriteString("--" + boundary + "\r\n" + part + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

const (
	someone = "From: a@example.com\r\nSubject: s"
	redPNG  = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	m := read(t, "From - Mon Nov  2 09:30:00 2026", "From: =?utf-8?Q?Zo=C3=AB?= <z@example.com>", "To: =?iso-2022-jp?B?GyRCPz00RhsoQg==?= <a@example.jp>,", " \"Smith, Jo\" <jo@example.com>",
		"Cc: undisclosed recipients:;", "this is no header", "Subject: =?utf-8?B?4oKs?= 12\t\x07now =?utf-8?Q?=E2=80=AEgnp.exe?=", "Date: Mon, 2 Nov 2026 09:30:00 +0100", "Content-Language: de, en", "", "text")
	for name, pair := range map[string][2]string{
		"from": {m.From.String(), "Zoë <z@example.com>"}, "to": {m.To.String(), "申監 <a@example.jp>, Smith, Jo <jo@example.com>"}, "cc": {m.CC.String(), ""},
		"subject": {m.Subject, "€ 12 now gnp.exe"}, "date": {m.Date, "Monday, 2 November 2026, 09:30 +0100"}, "language": {m.Language, "de"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
}

// The text of a part is in the page once, in any encoding.
func TestTexts(t *testing.T) {
	t.Parallel()
	jp := "\x1b$B$3$s$K$A$O\x1b(B"
	for name, tt := range map[string]struct {
		header, body, want string
	}{
		"plain":         {"", "a <b> & c", "a &lt;b&gt; &amp; c"},
		"quoted":        {"Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable", "gr=FC=\r\n=DF", "grüß"},
		"base64":        {"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64", base64.StdEncoding.EncodeToString([]byte("grüß")), "grüß"},
		"broken base64": {"Content-Transfer-Encoding: base64", base64.StdEncoding.EncodeToString([]byte("all that is here")) + "\r\n!!!", "all that is"},
		"japanese":      {"Content-Type: text/plain; charset=ISO-2022-JP", jp, "こんにちは"},
		"windows":       {"", "na\xefve", "naïve"},
		"wrong charset": {"Content-Type: text/plain; charset=utf-8", "na\xefve", "naïve"},
		"meta":          {"Content-Type: text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
		"no charset":    {"Content-Type: text/plain; charset=x-unheard-of", "still here", "still here"},
		"bad type":      {"Content-Type: text/plain; charset", "still here", "still here"},
		"flowed":        {"Content-Type: text/plain; format=flowed", "one \r\ntwo\r\n> three \r\n> four", "one two\n<blockquote dir=\"auto\">three four\n"},
		"links":         {"", "see (https://example.com/?a=1&b=2).", `see (<a href="https://example.com/?a=1&amp;b=2">https://example.com/?a=1&amp;b=2</a>).`},
		"signature":     {"", "text\r\n-- \r\nAda", `<div class="signature">Ada`},
		"quotation":     {"", "> > deep\r\nback", "<blockquote dir=\"auto\"><blockquote dir=\"auto\">deep\n</blockquote></blockquote>back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := []string{someone}
			if tt.header != "" {
				lines = append(lines, tt.header)
			}
			html, _ := page(t, read(t, append(lines, "", tt.body)...))
			if _, body, _ := strings.Cut(html, "</header>"); strings.Count(body, tt.want) != 1 {
				t.Errorf("%q is not there once:\n%s", tt.want, body)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	multi := func(kind, boundary string) string {
		return "Content-Type: multipart/" + kind + "; boundary=" + boundary
	}
	text, rich := "Content-Type: text/plain\r\n\r\nplain words", "Content-Type: text/html\r\n\r\n<p>rich words <img src=cid:pic@x alt=logo></p>"
	picture := "Content-Type: image/png; name=red.png\r\nContent-Id: <pic@x>\r\nContent-Disposition: inline\r\nContent-Transfer-Encoding: base64\r\n\r\n" + redPNG
	file := "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename*=utf-8''%E2%82%AC%20bill.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0="
	alternative := multi("alternative", "b2") + "\r\n\r\n" + parts("b2", text, multi("related", "b3")+"\r\n\r\n"+parts("b3", rich, picture))
	for name, tt := range map[string]struct {
		kind, body, says, lacks string
		files                   []string
		notes                   int
	}{
		"mixed":              {multi("mixed", "b1"), parts("b1", alternative, file), "rich words", "plain words", []string{"€ bill.pdf"}, 0},
		"text after HTML":    {multi("alternative", "b1"), parts("b1", rich, text), "rich words", "plain words", nil, 0},
		"list's footer":      {multi("mixed", "b1"), parts("b1", rich, text), "plain words", "", nil, 0},
		"photograph":         {multi("mixed", "b1"), parts("b1", text, picture), `class="picture" alt="red.png"`, "", []string{"red.png"}, 0},
		"forwarded":          {multi("mixed", "b1"), parts("b1", text, "Content-Type: message/rfc822\r\n\r\nFrom: b@example.com\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= / two\r\n\r\nhi"), "plain words", ">hi", []string{"two.eml"}, 0},
		"digest":             {multi("digest", "b1"), parts("b1", "\r\nFrom: b@example.com\r\nSubject: one\r\n\r\nhi"), "one.eml", "", []string{"one.eml"}, 0},
		"signed":             {multi("signed", "b1") + "; protocol=\"application/pgp-signature\"", parts("b1", text, "Content-Type: application/pgp-signature; name=signature.asc\r\n\r\nx"), "plain words", "", []string{"signature.asc"}, 1},
		"encrypted":          {multi("encrypted", "b1") + "; protocol=\"application/pgp-encrypted\"", parts("b1", "Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1", "Content-Type: application/octet-stream; name=encrypted.asc\r\n\r\nx"), "is encrypted (PGP)", "", []string{"attachment1.asc", "encrypted.asc"}, 1},
		"S/MIME":             {"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", "x", "is encrypted (S/MIME)", "", []string{"smime.p7m"}, 1},
		"opaque signature":   {"Content-Type: application/pkcs7-mime; smime-type=signed-data", "x", "inside its signature", "", []string{"smime.p7m"}, 1},
		"Outlook":            {multi("mixed", "b1"), parts("b1", text, "Content-Type: application/ms-tnef; name=winmail.dat\r\n\r\nx"), "plain words", "", []string{"winmail.dat"}, 1},
		"ends in the middle": {multi("mixed", "b1"), "--b1\r\n" + text + "\r\n--b1\r\nContent-Ty", "plain words", "", nil, 1},
		"one name twice":     {multi("mixed", "b1"), parts("b1", file, file), "", "", []string{"€ bill.pdf", "€ bill (2).pdf"}, 0},
		"names with folders": {multi("mixed", "b1"), parts("b1", "Content-Disposition: attachment; filename=\"..\\\\..\\\\etc/pass\\\"wd\r\n x\"\r\n\r\nx"), "", "etc", []string{`pass"wd x`}, 0},
		"no boundary":        {"Content-Type: multipart/mixed", "still here", "", "", []string{"attachment1.bin"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := read(t, someone, tt.kind, "", tt.body)
			html, _ := page(t, m)
			_, body, _ := strings.Cut(html, "</dl>")
			if !strings.Contains(body, tt.says) || tt.lacks != "" && strings.Contains(body, tt.lacks) {
				t.Errorf("want %q and no %q:\n%s", tt.says, tt.lacks, body)
			}
			var names []string
			for _, f := range m.attached() {
				names = append(names, f.Name)
			}
			if strings.Join(names, "|") != strings.Join(tt.files, "|") {
				t.Errorf("attached are %q, want %q", names, tt.files)
			}
			if len(m.Notes) != tt.notes {
				t.Errorf("notes: %q", m.Notes)
			}
			if strings.Contains(tt.body, "cid:pic@x") && strings.Contains(tt.body, redPNG) && !strings.Contains(html, "data:image/png;base64,"+redPNG) {
				t.Error("the message's own picture is not in the page")
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	deep := "plain"
	for i := range 40 {
		boundary := fmt.Sprintf("b%d", i)
		deep = "Content-Type: multipart/mixed; boundary=" + boundary + "\r\n\r\n" + parts(boundary, deep)
	}
	many := func(part string, n int) string {
		return someone + "\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n"+part+"\r\n", n)
	}
	for name, tt := range map[string]struct{ content, want string }{
		"empty":         {"", "must be an email"},
		"PDF":           {"%PDF-1.7\n1 0 obj\n", "must be an email"},
		"no header":     {"\r\n\r\ntext", "must be an email"},
		"Outlook":       {outlookMagic + "rest", "Save it as .eml"},
		"long header":   {someone + "\r\nX: " + strings.Repeat("x", maxHeader), "has a header of more"},
		"long lines":    {strings.Repeat("x", 8*maxHeader), "has a header of more"},
		"many lines":    {someone + strings.Repeat("\r\n x", maxHeader/4), "has a header of more"},
		"deep":          {someone + "\r\n" + deep, "more than 20 levels deep"},
		"many parts":    {many("\r\nx", maxParts+1), "more than 1000 parts"},
		"many files":    {many("Content-Disposition: attachment\r\n\r\nx", maxFiles+1), "more than 200 attachments"},
		"text too long": {someone + "\r\n\r\n" + strings.Repeat("0123456789abcde\n", maxText/16+1), "has a text of more"},
	} {
		_, err := Read(strings.NewReader(tt.content))
		var refused *Error
		if !errors.As(err, &refused) || !strings.Contains(refused.Text, tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

// Nothing of what a hostile message has may run, be fetched or leave its box.
func TestHostileHTML(t *testing.T) {
	t.Parallel()
	body := `<!doctype html><html onload=x()><head><base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example/refresh">
<link rel=stylesheet href="https://evil.example/sheet.css"><style>@import "https://evil.example/import.css"; p{background:url( 'https://evil.example/bg.png' )} body, html.x{color:red}</style><script>x()</script></head>
<body onload="x()" bgcolor="red;position:fixed" text=blue><p onclick=x()>words</p><a href="javascript:x()">one</a><a href="https://ok.example/">two</a>
<img src="https://evil.example/pixel.gif" width=1 height=1><img src="//evil.example/big.png" alt="<b>Sale" width=300 height=100><img srcset="https://evil.example/set.png 2x" src=data:text/html,x>
<form action="https://evil.example/form"><input name=a value=b formaction=x><button>Send</button></form><iframe src="https://evil.example/frame"></iframe><object data="https://evil.example/o"></object>
<svg><script>x()</script></svg><math><mtext><script>x()</script></mtext></math><template><script>x()</script></template></template></div></div><video poster="https://evil.example/v.png"></video><plaintext>`
	html, remote := page(t, read(t, someone, "Content-Type: text/html", "", body))
	_, shown, _ := strings.Cut(html, "</header>")
	for _, gone := range []string{"evil.example", "x()", "<script", "<meta", "<base", "<link", "<iframe", "<object", "<svg", "<form action", "formaction", "srcset", "position:fixed", "@import", "javascript:", "<plaintext"} {
		if strings.Contains(shown, gone) {
			t.Errorf("%q is in the page:\n%s", gone, shown)
		}
	}
	for _, there := range []string{"words", `href="https://ok.example/"`, "&lt;b&gt;Sale", ".mail-body, .mail-body.x{color:red}", "color:blue"} {
		if !strings.Contains(shown, there) {
			t.Errorf("%q is not in the page:\n%s", there, shown)
		}
	}
	if got := strings.Join(remote, " "); got != "https://evil.example/bg.png https://evil.example/pixel.gif //evil.example/big.png" {
		t.Errorf("left out: %s", got)
	}
	if strings.Count(shown, "</template>") != 1 {
		t.Errorf("the message ends its own box:\n%s", shown)
	}
	deep, _ := page(t, read(t, someone, "Content-Type: text/html", "", strings.Repeat("<div>", 3000)+"deep words"))
	if !strings.Contains(deep, "deep words") {
		t.Error("the words of deeply nested HTML are lost")
	}
}

// Attachments are returned byte for byte, in any encoding of their text; the same part is
// decoded if it is read as text.
func TestFilesAreAsTheyWereSent(t *testing.T) {
	t.Parallel()
	const letter = "<meta charset=iso-8859-1><p>gr\xfc\xdfe"
	kind := "Content-Type: text/html; charset=iso-8859-1; name=letter.html\r\nContent-Transfer-Encoding: "
	encoded := base64.StdEncoding.EncodeToString([]byte(letter))
	m := read(t, someone, "Content-Type: multipart/mixed; boundary=b", "", parts("b", kind+"base64\r\nContent-Disposition: inline\r\n\r\n"+encoded,
		kind+"base64\r\nContent-Disposition: attachment\r\n\r\n"+encoded, kind+"x-strange\r\nContent-Disposition: attachment\r\n\r\n"+letter))
	html, _ := page(t, m)
	if _, body, _ := strings.Cut(html, "</header>"); !strings.Contains(body, "grüße") {
		t.Errorf("the text is\n%s", body)
	}
	files := m.attached()
	for _, f := range files {
		if string(f.Content) != letter {
			t.Errorf("attached is %q", f.Content)
		}
	}
	if len(files) != 2 {
		t.Errorf("attached are %d files, want 2", len(files))
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "x-strange") {
		t.Errorf("notes: %q", m.Notes)
	}
}

// A message's own images are in its page up to a limit, and the images beyond it are
// reported.
func TestPicturesAreBounded(t *testing.T) {
	t.Parallel()
	const half = maxPictures/2 + 1
	picture := func(id string) string {
		return "Content-Type: image/png; name=" + id + ".png\r\nContent-Id: <" + id + ">\r\nContent-Disposition: inline\r\n\r\n" + strings.Repeat("x", half)
	}
	m := read(t, someone, "Content-Type: multipart/related; boundary=b", "", parts("b", "Content-Type: text/html\r\n\r\n<img src=cid:one><img src=cid:two alt=second>", picture("one"), picture("two")))
	html, _ := page(t, m)
	_, body, _ := strings.Cut(html, "</header>")
	if strings.Count(body, "data:image/png") != 1 || !strings.Contains(body, ">second</span>") {
		t.Errorf("got %d pictures, and a page of %d bytes", strings.Count(body, "data:image/png"), len(html))
	}
	if left := m.attached(); len(left) != 1 || left[0].Name != "two.png" || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "more than 20 MB of images") {
		t.Errorf("attached are %d, notes: %q", len(left), m.Notes)
	}
}

// The time to read a long message grows linearly with its length.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	html, _ := page(t, read(t, someone, "Content-Type: text/plain; format=flowed", "", strings.Repeat("a \r\n", many)+"end"))
	if got := strings.Count(html, "a "); got < many || !strings.Contains(html, "a end\n") {
		t.Errorf("%d of %d words are in one line", got, many)
	}
	var pictures strings.Builder
	for i := range many / 8 {
		fmt.Fprintf(&pictures, "<img src=//e.example/%d>", i)
	}
	if _, remote := page(t, read(t, someone, "Content-Type: text/html", "", pictures.String())); len(remote) != many/8 {
		t.Errorf("%d pictures are left out, want %d", len(remote), many/8)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(someone + "\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + parts("b", "Content-Type: text/html\r\n\r\n<p style='background:url(cid:a)'>x</p>", "Content-Id: <a>\r\nContent-Type: image/png\r\n\r\nx"))
	f.Add("From: =?utf-8?Q?=00?= <a@b>\nContent-Type: text/plain; format=flowed; delsp=yes\n\n> a \n>> b\n-- \n")
	f.Add(someone + "\nContent-Type: text/html; charset=utf-16\n\n<style></sty@import;le><template><plaintext>")
	f.Fuzz(func(t *testing.T, content string) {
		m, err := Read(strings.NewReader(content))
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) {
				t.Fatalf("%v is no *Error", err)
			}
			return
		}
		html, _, err := m.Page()
		if err != nil {
			t.Fatal(err)
		}
		document, err := nethtml.Parse(strings.NewReader(html))
		if err != nil {
			t.Fatal(err)
		}
		// Whatever comes, the message's HTML stays in the boxes that the page has for it.
		boxes := 0
		for node := range document.Descendants() {
			switch node.DataAtom {
			case atom.Script, atom.Iframe, atom.Object, atom.Embed, atom.Link, atom.Base, atom.Svg, atom.Math:
				t.Errorf("%q has made <%s>", content, node.Data)
			case atom.Template:
				boxes++
			}
		}
		if maximum := strings.Count(html, `<div class="box">`); boxes > maximum {
			t.Errorf("%q has made %d trees in %d boxes:\n%s", content, boxes, maximum, html)
		}
		for _, f := range m.Files {
			if strings.ContainsAny(f.Name, "/\\\r\n\x00") || f.Name == "" {
				t.Errorf("a file is called %q", f.Name)
			}
		}
	})
}
