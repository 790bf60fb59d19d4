package render

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/spool"
)

// mails are emails as programs send them; looked at, too: EMAILS=folder keeps their PDFs.
var mails = map[string]string{
	"letter": `From: =?utf-8?Q?Zo=C3=AB_Keller?= <zoe@keller.example>
To: Bob Miller <bob@example.com>, "Smith, Jo" <jo@example.com>
Cc: accounts@example.com
Date: Mon, 2 Nov 2026 09:30:00 +0100
Subject: Re: Offer for the garden house
Content-Type: text/plain; charset=utf-8; format=flowed

Dear Bob,

thank you for the drawings. We have gone through them with the joiner, who 
says that the roof can be done in larch without a change of the price, and 
that the windows take three weeks from the day of the order.

See https://keller.example/offers/2026-118?v=2 for the rest.

> Could you ask him about the roof?
>> The windows matter more to me.
> I agree.

Kind regards
Zoë

-- 
Keller Holzbau · Seestrasse 12 · Zürich
`,
	"news": `From: Fresh Greens <news@greens.example>
To: ada@example.com
Date: Tue, 3 Nov 2026 18:00:00 -0500
Subject: This week: pumpkins, kale and a pie
MIME-Version: 1.0
Content-Type: multipart/related; boundary=r

--r
Content-Type: multipart/alternative; boundary=a

--a
Content-Type: text/plain

plain words
--a
Content-Type: text/html; charset=utf-8

<!doctype html><html><head><style>body{margin:0;background:#eef3ea;font-family:Georgia,serif} h1{color:#2f6b2f;font-size:30px} header{display:none} .b{background:#2f6b2f;color:#fff;padding:10px 22px;border-radius:6px;text-decoration:none}
@import url(https://evil.example/a.css);</style></head><body><table width="600" align="center" cellpadding="24" bgcolor="#ffffff"><tr><td><img src="cid:logo@greens" width="40" height="40" alt=""><h1>Pumpkins are here</h1>
<p>Hokkaido, butternut and the blue ones. <a class="b" href="https://greens.example/pumpkins">See them all</a></p><img src="https://greens.example/field.jpg" width="552" height="220" alt="A field of pumpkins">
<img src="https://track.example/o.gif" width="1" height="1"><p>Kale 2.40 · Pie 9.00</p><script>document.title='taken'</script><div style="position:fixed;top:0;left:0;background:#fff">From: your bank</div></td></tr></table></body></html>
--a--
--r
Content-Type: image/png
Content-ID: <logo@greens>
Content-Transfer-Encoding: base64

iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC
--r--
`,
	"arabic": `From: =?utf-8?B?2YTZitmE2Yk=?= <layla@example.com>
To: =?utf-8?B?2LPYp9mF2Yo=?= <sami@example.com>
Date: Wed, 4 Nov 2026 11:00:00 +0300
Subject: =?utf-8?B?2LnYsdi2INin2YTYo9iz2LnYp9ix?=
Content-Type: text/plain; charset=utf-8

مرحبا سامي،

أرسل إليك عرض الأسعار الجديد للمكتب، ونأمل أن يكون مناسبا لك. المجموع 1250 دينارا.

> هل يمكن أن ترسلي العرض اليوم؟

Regards, in two languages
ليلى
`,
	"japanese": "From: =?utf-8?B?5bGx55Sw6Iqx5a2Q?= <hanako@example.jp>\nTo: =?utf-8?B?5L2Q6Jek5YGl?= <ken@example.jp>\nDate: Thu, 5 Nov 2026 10:15:00 +0900\n" +
		"Subject: =?utf-8?B?6KaL56mN5pu444Gu44GU6YCB5LuY?=\nContent-Type: text/plain; charset=utf-8\nContent-Language: ja\n\n" +
		"佐藤様\n\nいつもお世話になっております。見積書をお送りいたしますので、ご確認ください。\n直接のご返信をお待ちしております。\n\n> 納期はいつ頃になりますか。\n\n山田花子\n",
	"encrypted": "From: a@example.com\nSubject: secret\nContent-Type: multipart/encrypted; protocol=\"application/pgp-encrypted\"; boundary=b\n\n--b\nContent-Type: application/pgp-encrypted\n\nVersion: 1\n--b\n" +
		"Content-Type: application/octet-stream; name=encrypted.asc\n\n-----BEGIN PGP MESSAGE-----\n--b--\n",
}

// printEmail makes a PDF of an email, and returns its file and its text.
func printEmail(t *testing.T, a *Account, content string, how Email) (file, text string, doc chrome.PrintedPDF) {
	t.Helper()
	how.Width, how.Height = 8.27, 11.69
	doc, err := a.PrintEmail(t.Context(), spool.FromBytes([]byte(content)), how)
	if err != nil {
		t.Fatal(err)
	}
	file = save(t, doc.Body)
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", file, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	return file, string(out), doc
}

func TestEmails(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	a := start(t, Config{Slots: 1}).For("a")
	for name, want := range map[string]struct{ says, lacks, warns string }{
		"letter":    {"Zoë Keller <zoe@keller.example>|Smith, Jo|2 November 2026|larch without a change|Keller Holzbau", "> Could|-- ", ""},
		"news":      {"Fresh Greens <news@greens.example>|Pumpkins are here|A field of pumpkins|Kale 2.40", "plain words|taken", "resource_failed"},
		"arabic":    {"1250|Regards, in two languages", "", ""},
		"japanese":  {"見積書のご送付|納期はいつ頃", "", ""},
		"encrypted": {"is encrypted (PGP)|encrypted.asc", "BEGIN", "content_unread"},
	} {
		file, text, doc := printEmail(t, a, mails[name], Email{Files: IgnoreFiles})
		if dir := os.Getenv("EMAILS"); dir != "" {
			if err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "70", "-png", file, dir+"/"+name).Run(); err != nil {
				t.Fatal(err)
			}
		}
		for _, words := range strings.Split(want.says, "|") {
			if !strings.Contains(text, words) {
				t.Errorf("%s lacks %q:\n%s", name, words, text)
			}
		}
		for _, words := range strings.FieldsFunc(want.lacks, func(r rune) bool { return r == '|' }) {
			if strings.Contains(text, words) {
				t.Errorf("%s has %q:\n%s", name, words, text)
			}
		}
		var codes []string
		for _, w := range doc.Warnings {
			codes = append(codes, w.Code)
		}
		if strings.Join(codes, " ") != want.warns {
			t.Errorf("%s warns of %v", name, doc.Warnings)
		}
		if doc.Pages != 1 {
			t.Errorf("%s has %d pages", name, doc.Pages)
		}
	}
	var refused *job.Error
	if _, err := (a).PrintEmail(t.Context(), spool.FromBytes([]byte("%PDF-1.7 no email")), Email{}); !errors.As(err, &refused) || refused.Kind != job.NotEmail {
		t.Errorf("a PDF: %v", err)
	}
}

// readMail prints the subject of a mail and the words of what it says, as Python
// reads them, each on its line.
const readMail = `
import email, email.policy, html, re, sys
mail = email.message_from_binary_file(open(sys.argv[1], "rb"), policy=email.policy.default)
print(mail["subject"] or "")
body = mail.get_body(("html", "plain"))
text = "" if body is None else body.get_content()
if body is not None and body.get_content_type() == "text/html":
    text = html.unescape(re.sub(r"(?s)<(style|script|head).*?</\1>|<[^>]*>", " ", text))
for word in text.split():
    print(word)
`

// TestEmailsOfOthers makes PDFs of emails from the wild, and has them say what
// another reader finds in them.
func TestEmailsOfOthers(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	a := start(t, Config{Slots: 1}).For("a")
	same := 0
	for _, path := range pdftest.Mails(t) {
		name := filepath.Base(path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), "python3", "-c", readMail, path).Output()
		known := err == nil
		if !known {
			t.Logf("%s: not even Python reads it: %v", name, err)
		}
		doc, err := a.PrintEmail(t.Context(), spool.FromBytes(content), Email{Width: 8.27, Height: 11.69, Files: EmbedFiles})
		var refused *job.Error
		if errors.As(err, &refused) && refused.Kind == job.NotEmail {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := exec.CommandContext(t.Context(), "pdftotext", save(t, doc.Body), "-").Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		shown := strings.Join(strings.Fields(string(text)), "")
		lacks := slices.DeleteFunc(lines, func(words string) bool {
			return strings.Contains(shown, strings.Join(strings.Fields(words), ""))
		})
		if len(lacks) > 0 {
			t.Logf("%s lacks %q", name, lacks)
		} else if known {
			same++
		}
	}
	if same < 40 {
		t.Errorf("%d emails say what they should, want 40 at least", same)
	}
}

// TestEmailFiles has files embedded, appended and left out.
func TestEmailFiles(t *testing.T) {
	t.Parallel()
	a := start(t, Config{Slots: 1}).For("a")
	bill, err := a.PDF(t.Context(), Source{HTML: "<p>bill one<div style=break-before:page></div><p>bill two"}, PageSettings{}, PDF{})
	if err != nil {
		t.Fatal(err)
	}
	pdf, err := os.ReadFile(save(t, bill.Body))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	if _, err := archive.Create("a.bin"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	part := func(kind, name, content string) string {
		return "\n--b\nContent-Type: " + kind + "\nContent-Disposition: attachment; filename=\"" + name + "\"\nContent-Transfer-Encoding: binary\n\n" + content
	}
	mail := "From: a@example.com\nSubject: files\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nsee below" + part("application/pdf", "bill.pdf", string(pdf)) +
		part("application/zip", "data.zip", packed.String()) + part("text/html", "page.html", "<img src=https://evil.example/x>") +
		part("message/rfc822", "old.eml", "From: b@example.com\nSubject: older\n\nolder words") + "\n--b--\n"
	for _, tt := range []struct {
		files           EmailFiles
		pages, embedded int
		warned          int
	}{{IgnoreFiles, 1, 0, 0}, {EmbedFiles, 1, 4, 0}, {AppendFiles, 4, 2, 2}} {
		file, text, doc := printEmail(t, a, mail, Email{Files: tt.files})
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		result := PDFFile{Content: spool.FromBytes(content)}
		about, err := a.DescribePDF(t.Context(), result)
		if err != nil {
			t.Fatal(err)
		}
		if about.PageCount != tt.pages || about.AttachmentCount != tt.embedded || about.Title != "files" {
			t.Errorf("%s: %d pages, %d attachments, title %q", tt.files, about.PageCount, about.AttachmentCount, about.Title)
		}
		if !strings.Contains(text, "data.zip") || strings.Contains(text, "bill two") != (tt.files == AppendFiles) || strings.Contains(text, "older words") != (tt.files == AppendFiles) {
			t.Errorf("%s says:\n%s", tt.files, text)
		}
		if len(doc.Warnings) != tt.warned {
			t.Errorf("%s warns of %v", tt.files, doc.Warnings)
		}
	}
}
