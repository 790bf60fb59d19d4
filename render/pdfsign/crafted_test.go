package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// crafted are documents that were prepared for a change after the signature, and the change.
func crafted() map[string]struct {
	source pdftest.Source
	change func(d *editedFile)
} {
	type attack = struct {
		source pdftest.Source
		change func(d *editedFile)
	}
	page := func(annots string, objects ...string) pdftest.Source {
		return pdftest.Source{Pages: []string{"pay 100"}, Annots: map[int]string{0: annots}, Objects: objects}
	}
	with := func(s pdftest.Source, catalog, resources string) pdftest.Source {
		s.Catalog, s.Resources = catalog, resources
		return s
	}
	const appearance = "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 1 >>\nstream\nq\nendstream"
	contents := func(ref string, objects ...string) pdftest.Source {
		s := page("", objects...)
		s.Page = func(int) string { return "/Thumb 100 0 R /Contents " + ref }
		return s
	}
	return map[string]attack{
		"a field that has its type from a parent outside of the form": {
			with(page("101 0 R", "<< /FT /Sig /T (a) >>", "<< /Type /Annot /Subtype /Widget /T (b) /Parent 100 0 R /Rect [0 0 300 400] /P 10 0 R /AP << /N 102 0 R >> >>", appearance), "/AcroForm << /Fields [101 0 R] >>", ""),
			func(d *editedFile) {
				d.entry("101 0 R", "/V", pdffile.Dict{"/Type": "/Sig"})
				ref := d.Reserve()
				d.Set(ref, textStream("BT (pay 9) Tj ET"))
				entries := d.Value("101 0 R").(pdffile.Dict)
				entries["/AP"] = pdffile.Dict{"/N": ref}
				d.Set("101 0 R", entries)
			},
		},
		"content by a reference to a reference": {
			contents("100 0 R", "101 0 R", "<< /Length 1 >>\nstream\nq\nendstream"),
			func(d *editedFile) { d.Set("101 0 R", textStream("BT (pay 9) Tj ET")) },
		},
		"content of another generation": {
			contents("101 1 R", "<< /Length 1 >>\nstream\nq\nendstream", "<< >>"),
			func(d *editedFile) {
				ref := d.Reserve()
				d.Set("101 0 R", textStream("BT (pay 9) Tj ET "+ref))
			},
		},
		"the text of an element of the structure": {
			with(page("", "<< /Type /StructTreeRoot /K [101 0 R] /ParentTree << /Nums [0 [101 0 R]] >> >>", "<< /S /P /P 100 0 R /Pg 10 0 R /K 0 >>"), "/MarkInfo << /Marked true >> /StructTreeRoot 100 0 R", ""),
			func(d *editedFile) { d.entry("101 0 R", "/ActualText", "u:pay 9") },
		},
		"another element of the structure": {
			with(page("", "<< /Type /StructTreeRoot /K [101 0 R] /ParentTree << /Nums [0 [101 0 R]] >> >>", "<< /S /P /P 100 0 R /Pg 10 0 R /K 0 >>"), "/MarkInfo << /Marked true >> /StructTreeRoot 100 0 R", ""),
			func(d *editedFile) {
				ref := d.Reserve()
				d.Set(ref, pdffile.Dict{"/S": "/P", "/P": "100 0 R", "/Pg": "10 0 R", "/K": 0, "/ActualText": "u:pay 9"})
				d.entry("100 0 R", "/K", []any{"101 0 R", ref})
			},
		},
		"a font that is an annotation": {
			with(page("100 0 R", "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /Rect [0 0 0 0] /DW 500 >>"), "", "/Fonts << /F2 << /Type /Font /Subtype /Type0 /Encoding /Identity-H /BaseFont /A /DescendantFonts [100 0 R] >> >>"),
			func(d *editedFile) { d.entry("100 0 R", "/DW", 9) },
		},
		"the layers of the document that are a field": {
			with(page("100 0 R", "<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (1) /Rect [0 0 0 0] /P 10 0 R /AS [] >>", "<< /Type /OCG /Name (a) >>"),
				"/AcroForm << /Fields [100 0 R] >> /OCProperties << /OCGs [101 0 R] /D 100 0 R >>", ""),
			func(d *editedFile) {
				d.entry("100 0 R", "/AS", []any{pdffile.Dict{"/Event": "/View", "/OCGs": []any{"101 0 R"}, "/Category": []any{"/View"}}})
			},
		},
		"a font for appearances that are made when the document is opened": {
			with(page("100 0 R", "<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (1) /DA (/F9 12 Tf) /Rect [0 0 90 90] /P 10 0 R >>"), "/AcroForm << /Fields [100 0 R] /NeedAppearances true /DR << /Font << >> >> >>", ""),
			func(d *editedFile) {
				form := pdffile.Dict{}
				for key, value := range d.Entry(d.Catalog()["/AcroForm"]) {
					form[key] = value
				}
				form["/DR"] = pdffile.Dict{"/Font": pdffile.Dict{"/F9": "3 0 R"}}
				d.entry(d.Root(), "/AcroForm", form)
			},
		},
	}
}

// TestCraftedDocuments changes documents that were prepared for it.
func TestCraftedDocuments(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	for name, attack := range crafted() {
		for _, certify := range []Permission{NotCertified, NoChanges, FormFilling, Annotations} {
			job := a.job(s, LevelB)
			job.Certify = certify
			signed := mustSign(t, attack.source.Write(), job)
			if ok, reason := accepted(signed, a.trust()); !ok {
				t.Fatalf("%s: the original is not accepted: %s", name, reason)
			}
			if ok, reason := accepted(revised(t, signed, attack.change), a.trust()); ok && (!strings.Contains(name, "appearances") || certify < FormFilling) {
				t.Errorf("certify %d: %s: accepted, %s", certify, name, reason)
			}
		}
	}
}

// TestAddedTimestamps: a timestamp is allowed after each certification, but shows nothing.
func TestAddedTimestamps(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	job := a.job(a.signer("Signer", "P-256"), LevelB)
	job.Certify = NoChanges
	signed := mustSign(t, shadow().Write(), job)
	add := func(change func(d *editedFile, widget pdffile.Dict)) []byte {
		d, err := open(PDF{Content: signed})
		if err != nil {
			t.Fatal(err)
		}
		value := pdffile.Dict{"/Type": "/DocTimeStamp", "/Filter": "/Adobe.PPKLite", "/SubFilter": subFilterTimestamp, "/ByteRange": []any{0, maxOffset, maxOffset, maxOffset}, "/Contents": "b:" + strings.Repeat("00", size(0, true))}
		ref := d.Reserve()
		if err := d.addField(ref, Options{}); err != nil {
			t.Fatal(err)
		}
		d.Set(ref, value)
		number, _, _ := strings.Cut(ref, " ")
		n, _ := strconv.Atoi(number)
		for n++; ; n++ {
			if entries, ok := d.Value(pdffile.Refer(n, 0)).(pdffile.Dict); ok && entries["/FT"] == "/Sig" {
				change(d, entries)
				break
			}
		}
		p, err := d.finish(ref)
		if err != nil {
			t.Fatal(err)
		}
		token, err := stamp(t.Context(), a.network(), p.digest(crypto.SHA256))
		if err != nil {
			t.Fatal(err)
		}
		content, err := p.complete(token)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if ok, reason := accepted(add(func(*editedFile, pdffile.Dict) {}), a.trust()); !ok {
		t.Errorf("an invisible timestamp: %s", reason)
	}
	for name, change := range map[string]func(d *editedFile, widget pdffile.Dict){
		"visible": func(d *editedFile, widget pdffile.Dict) {
			own := d.Reserve()
			d.Set(own, textStream("BT (pay 9) Tj ET"))
			widget["/Rect"], widget["/AP"] = []any{0, 0, 300, 400}, pdffile.Dict{"/N": own}
		},
		"with an action": func(d *editedFile, widget pdffile.Dict) {
			widget["/AA"] = pdffile.Dict{"/PO": pdffile.Dict{"/S": "/JavaScript", "/JS": "u:1"}}
		},
		"with a link": func(d *editedFile, widget pdffile.Dict) {
			widget["/A"] = pdffile.Dict{"/S": "/URI", "/URI": "u:http://example.com"}
		},
		"with the actions of a parent": func(d *editedFile, widget pdffile.Dict) {
			own := d.Reserve()
			d.Set(own, pdffile.Dict{"/AA": pdffile.Dict{}})
			widget["/Parent"] = own
		},
	} {
		if ok, reason := accepted(add(change), a.trust()); ok {
			t.Errorf("a timestamp %s: accepted, %s", name, reason)
		}
	}
}

// tails appends updates to a document that readers read in different ways: each shows something else to some of them.
func tails(t testing.TB, signed []byte) map[string][]byte {
	t.Helper()
	d, err := open(PDF{Content: signed})
	if err != nil {
		t.Fatal(err)
	}
	last, size := d.Tables()[0], 1
	for _, ref := range d.References() {
		number := 0
		fmt.Sscanf(ref, "%d", &number)
		size = max(size, number+1)
	}
	start, _, _ := d.Span("11 0 R")
	pageStart, pageEnd, _ := d.Span("10 0 R")
	page := string(signed[pageStart:pageEnd])
	const evil = "11 0 obj\n<< /Length 34 >>\nstream\nBT /F1 24 Tf 40 300 Td (9) Tj ET  \nendstream\nendobj\n"
	metadata := fmt.Sprintf("%d 0 obj\n<< /A 1 >>\nendobj\n", size)
	trailer := fmt.Sprintf("trailer << /Root 1 0 R /Size %d /Prev %d >>\n", size+1, last)
	update := func(body, table string) []byte {
		at := len(signed) + len(body)
		return fmt.Appendf(bytes.Clone(signed), "%s%sstartxref\n%d\n%%%%EOF\n", body, table, at)
	}
	at := func(offset int) string { return fmt.Sprintf("%010d 00000 n \n", offset) }
	end := len(signed)
	one := func(number, offset int) string { return fmt.Sprintf("%d 1\n%s", number, at(offset)) }
	changed := func(from, to string) []byte {
		if !strings.Contains(page, from) {
			t.Fatalf("the page has no %s: %s", from, page)
		}
		body := strings.Replace(page, from, to, 1) + "\nendobj\n" + metadata
		return update(body, "xref\n"+one(10, end)+one(size, end+len(body)-len(metadata))+trailer)
	}
	clean := update(metadata, "xref\n"+one(size, end)+trailer)
	if ok, reason := accepted(clean, Trust{}); ok || strings.Contains(reason, "changed") || strings.Contains(reason, "bytes") {
		t.Fatalf("an update of nothing: %v, %s", ok, reason)
	}
	hidden := fmt.Sprintf("%d 0 obj\n<< /Type /XRef /Size %d /W [1 4 1] /Index [11 1] /Length 6 >>\nstream\n%s\nendstream\nendobj\n", size, size+1, []byte{1, byte(start >> 24), byte(start >> 16), byte(start >> 8), byte(start), 0})
	return map[string][]byte{
		"an object in no table":             update(evil+metadata, "xref\n"+one(size, end+len(evil))+trailer),
		"an object in a comment":            update("%"+strings.ReplaceAll(evil, "\n", " ")+"\n"+metadata, "xref\n"+one(size, end+len(evil)+1)+trailer),
		"a table with an object twice":      update(evil+metadata, "xref\n"+one(11, start)+one(11, end)+one(size, end+len(evil))+trailer),
		"a table with an earlier object":    update(metadata, "xref\n"+one(12, start)+one(size, end)+trailer),
		"a table with short entries":        update(metadata, "xref\n"+strings.ReplaceAll(one(size, end), " \n", "\n")+trailer),
		"a table with comments":             update(metadata, "xref\n% 11 1\n"+one(size, end)+trailer),
		"a table after a space":             update(metadata, " \nxref\n"+one(size, end)+trailer),
		"a hybrid table":                    update(hidden, "xref\n11 1\n0000000000 00001 f \n"+one(size, end)+strings.Replace(trailer, "/Root", fmt.Sprintf("/XRefStm %d /Root", end), 1)),
		"a key twice":                       changed("/Contents 11 0 R", "/Contents 107 0 R /Contents 11 0 R"),
		"a number with an exponent":         changed(" 400", " 4e2"),
		"a hexadecimal number":              changed(" 400", " 0x190p0"),
		"a comment in an object":            changed("/Contents 11 0 R", "/Contents 11 0 R %"),
		"words between objects":             update(metadata+"pay 9\n", "xref\n"+one(size, end)+trailer),
		"a second value in an object":       update(strings.Replace(metadata, "endobj", "<< /A 2 >>\nendobj", 1), "xref\n"+one(size, end)+trailer),
		"an object without an end":          update(strings.Replace(metadata, "endobj\n", "", 1), "xref\n"+one(size, end)+trailer),
		"a number of an object with a sign": changed("/Contents 11 0 R", "/Contents +11 0 R"),
		"a trailer with a key twice":        update(metadata, "xref\n"+one(size, end)+strings.Replace(trailer, "/Root", "/Root 104 0 R /Root", 1)),
		"words after the trailer":           update(metadata, "xref\n"+one(size, end)+trailer+"trailer << /Root 104 0 R >>\n"),
		"another table first":               fmt.Appendf(bytes.Clone(clean), "startxref\n%d\n%%%%EOF\n", last),
	}
}

// TestTails: each byte after the signature must be a part of an update that all readers read in the same way.
func TestTails(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for _, certify := range []Permission{NotCertified, Annotations} {
		job := a.job(a.signer("Signer", "P-256"), LevelB)
		job.Certify = certify
		for name, content := range tails(t, mustSign(t, shadow().Write(), job)) {
			if ok, reason := accepted(content, a.trust()); ok {
				t.Errorf("%s: accepted, %s", name, reason)
			}
		}
	}
}

// TestMessages changes the CMS of a signature.
func TestMessages(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	signed := mustSign(t, pdftest.Three().Write(), a.job(s, LevelB))
	other := mustSign(t, shadow().Write(), a.job(s, LevelB))
	d, err := open(PDF{Content: signed})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.placeOf(signatureFields(d.File)[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := func() []byte {
		d, err := open(PDF{Content: other})
		if err != nil {
			t.Fatal(err)
		}
		fields := signatureFields(d.File)
		p, err := d.placeOf(fields[len(fields)-1])
		if err != nil {
			t.Fatal(err)
		}
		return der(t, p.contents)
	}()
	edited := func(change func(data *signedData)) []byte {
		data, err := unwrap(p.contents)
		if err != nil {
			t.Fatal(err)
		}
		change(&data)
		raw, err := wrap(data)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	with := func(cms []byte) []byte {
		content := bytes.Clone(signed)
		digits := fmt.Sprintf("%x", cms)
		if len(digits) > p.after-p.start-2 {
			t.Fatal("the CMS is too large")
		}
		copy(content[p.start+1:], digits+strings.Repeat("0", p.after-p.start-2-len(digits)))
		return content
	}
	if ok, reason := accepted(with(edited(func(*signedData) {})), a.trust()); !ok {
		t.Fatal(reason)
	}
	attacker := newAuthority(t).signer("Signer", "P-256")
	attackerCMS, err := attacker.Sign((&Prepared{signed, p.start, p.after}).digest(attacker.Hash))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := unwrap(attackerCMS)
	if err != nil {
		t.Fatal(err)
	}
	attributes := func(data signedData) []byte {
		raw, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: data.Signers[0].Signed.Bytes})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, cms := range map[string][]byte{
		"the signature of another document": foreign,
		"of another signer":                 attackerCMS,
		"two signers":                       edited(func(data *signedData) { data.Signers = append(data.Signers, data.Signers[0]) }),
		"a forged signer first":             edited(func(data *signedData) { data.Signers = slices.Concat(forged.Signers, data.Signers) }),
		"no signer":                         edited(func(data *signedData) { data.Signers = nil }),
		"no signed attributes":              edited(func(data *signedData) { data.Signers[0].Signed = asn1.RawValue{} }),
		"the signed attributes of another":  edited(func(data *signedData) { data.Signers[0].Signed = forged.Signers[0].Signed }),
		"the certificate of the signer only": edited(func(data *signedData) {
			data.Signers[0].ID, data.Certificates = forged.Signers[0].ID, forged.Certificates
		}),
		"SHA-1": edited(func(data *signedData) {
			data.Signers[0].DigestAlgorithm.Algorithm = asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}
		}),
		"SHA-512":                 edited(func(data *signedData) { data.Signers[0].DigestAlgorithm.Algorithm = algorithms()[2].oid }),
		"an algorithm of RSA":     edited(func(data *signedData) { data.Signers[0].SignatureAlgorithm.Algorithm = oidRSA }),
		"its own content":         edited(func(data *signedData) { data.Encapsulated.Content = set(asn1.ClassContextSpecific, 0, []byte{4, 0}) }),
		"another type of content": edited(func(data *signedData) { data.Encapsulated.Type = oidTSTInfo }),
		"the attributes as the content": edited(func(data *signedData) {
			data.Encapsulated.Content = set(asn1.ClassContextSpecific, 0, attributes(*data))
			data.Signers[0].Signed = asn1.RawValue{}
		}),
		"bytes after it":     append(edited(func(*signedData) {}), 0, 1),
		"an empty signature": edited(func(data *signedData) { data.Signers[0].Signature = nil }),
		"an attribute with two values": edited(func(data *signedData) {
			data.Signers[0].Signed.FullBytes = nil
			data.Signers[0].Signed = twoValues(t, data.Signers[0].Signed)
		}),
		"a timestamp that is a signature": edited(func(data *signedData) {
			data.Signers[0].Unsigned = set(asn1.ClassContextSpecific, 1, must(attributeOf(oidToken, attackerCMS)))
		}),
	} {
		ok, reason := accepted(with(cms), a.trust())
		if ok && (!strings.HasPrefix(name, "a timestamp") || !strings.Contains(reason, "its timestamp is invalid")) {
			t.Errorf("%s: accepted, %s", name, reason)
		}
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

// twoValues adds a value to each attribute.
func twoValues(t testing.TB, signed asn1.RawValue) asn1.RawValue {
	t.Helper()
	var all [][]byte
	for raw := signed.Bytes; len(raw) > 0; {
		var item attribute
		var err error
		if raw, err = asn1.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		item.Values = asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: slices.Concat(item.Values.Bytes, []byte{5, 0})}
		encoded, err := asn1.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, encoded)
	}
	return set(asn1.ClassContextSpecific, 0, all...)
}

// TestTimestampOfRevokedAuthority: it proves no time at which the certificate of the signer was valid.
func TestTimestampOfRevokedAuthority(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	id := a.Identity("Signer", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Answered)
	s, err := NewSigner(id.Key, append(a.signer("x", "P-256").Chain[:0:0], id.Certificate, a.Issuer.Certificate))
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []Level{LevelB, LevelT} {
		signed := mustSign(t, pdftest.Three().Write(), a.job(s, level))
		if level == LevelB {
			if signed, err = timestamp(t.Context(), PDF{Content: signed}, a.network()); err != nil {
				t.Fatal(err)
			}
		}
		trust := a.trust()
		trust.At = time.Now().Add(2 * pdftest.Years)
		if ok, reason := accepted(signed, trust); !ok {
			t.Fatalf("%s: %s", level, reason)
		}
		a.Revoke(a.TSA.Certificate, time.Now().Add(-time.Minute))
		list, err := a.network().Fetch(t.Context(), Request{URL: a.URL + "/crl/Issuer"})
		if err != nil {
			t.Fatal(err)
		}
		trust.Evidence.CRLs = [][]byte{list}
		if ok, reason := accepted(signed, trust); ok {
			t.Errorf("%s: accepted, %s", level, reason)
		}
		a.Revoke(a.TSA.Certificate, time.Now().Add(10*pdftest.Years))
	}
}

// TestForgedCertification: the permission of a signature that is not intact does not count.
func TestForgedCertification(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	source := pdftest.Source{
		Pages: []string{"pay 100"}, Annots: map[int]string{0: "100 0 R"}, Catalog: "/AcroForm << /Fields [100 0 R] >>",
		Objects: []string{
			"<< /Type /Annot /Subtype /Widget /FT /Sig /T (a) /Rect [0 0 0 0] /P 10 0 R /V 101 0 R >>",
			"<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /ETSI.CAdES.detached /ByteRange [0 1 2 3] /Contents <00> /Reference [<< /TransformMethod /DocMDP /TransformParams << /P 3 >> >>] >>",
		},
	}
	signed := mustSign(t, source.Write(), a.job(a.signer("Signer", "P-256"), LevelB))
	changed := revised(t, signed, func(d *editedFile) { d.annotated("/FreeText") })
	for _, r := range mustVerify(t, changed, a.trust()) {
		if r.Verdict == Valid {
			t.Errorf("%s: %s", r.Field, r.Reason)
		}
	}
}

// TestMetadataAfterCertification: a certification without changes allows none of the metadata.
func TestMetadataAfterCertification(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for certify, want := range map[Permission]Verdict{NotCertified: Valid, NoChanges: Invalid, FormFilling: Valid} {
		for name, change := range map[string]func(d *editedFile){
			"XMP": func(d *editedFile) {
				ref := d.Reserve()
				d.Set(ref, pdffile.Stream{Entries: pdffile.Dict{"/Type": "/Metadata", "/Subtype": "/XML"}, Content: []byte("<x/>")})
				d.entry(d.Root(), "/Metadata", ref)
			},
			"information": func(d *editedFile) { d.entry("4 0 R", "/Title", "u:pay 9") },
		} {
			job := a.job(a.signer("Signer", "P-256"), LevelB)
			job.Certify = certify
			changed := revised(t, mustSign(t, shadow().Write(), job), change)
			r := mustVerify(t, changed, a.trust())[0]
			if r.Verdict != want || !slices.Contains(r.Changes, Change{ChangeMetadata, "metadata"}) {
				t.Errorf("certify %d: %s: %s %s %v", certify, name, r.Verdict, r.Reason, r.Changes)
			}
		}
	}
}

// TestPurposes: certificates of servers and software do not sign documents.
func TestPurposes(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for name, want := range map[string]struct {
		verdict Verdict
		change  func(c *x509.Certificate)
	}{
		"a server": {Undecided, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		}},
		"software":   {Undecided, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }},
		"encryption": {Undecided, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }},
		"mail":       {Valid, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }},
		"a person":   {Valid, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }},
		"documents": {Valid, func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 36}}
		}},
		"a server, and more": {Valid, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageAny}
		}},
	} {
		id := a.Identity("Signer", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, want.change)
		s := &Signer{Key: id.Key, Chain: []*x509.Certificate{id.Certificate, a.Issuer.Certificate}, Hash: crypto.SHA256}
		r := mustVerify(t, mustSign(t, pdftest.Three().Write(), a.job(s, LevelB)), a.trust())[0]
		if r.Verdict != want.verdict || r.Trusted != (want.verdict == Valid) {
			t.Errorf("%s: %s %s", name, r.Verdict, r.Reason)
		}
	}
}

// TestPartialLists: a list without a certificate is evidence only if it is about it.
func TestPartialLists(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	id := a.Identity("Signer", pdftest.NewKey(t, "P-256"), &a.Issuer, pdftest.Years, a.Listed)
	scope := func(values ...byte) pkix.Extension {
		return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 28}, Critical: true, Value: append([]byte{0x30, byte(len(values))}, values...)}
	}
	point := func(url string) pkix.Extension {
		name := append([]byte{0x86, byte(len(url))}, url...)
		full := append([]byte{0xa0, byte(len(name))}, name...)
		return scope(append([]byte{0xa0, byte(len(full))}, full...)...)
	}
	for name, want := range map[string]struct {
		state      State
		extensions []pkix.Extension
	}{
		"all":              {Good, nil},
		"its list":         {Good, []pkix.Extension{point(id.Certificate.CRLDistributionPoints[0])}},
		"users":            {Good, []pkix.Extension{scope(0x81, 1, 0xff)}},
		"another list":     {Unknown, []pkix.Extension{point("http://example.com/2.crl")}},
		"issuers":          {Unknown, []pkix.Extension{scope(0x82, 1, 0xff)}},
		"some reasons":     {Unknown, []pkix.Extension{scope(0x83, 2, 6, 0x40)}},
		"attributes":       {Unknown, []pkix.Extension{scope(0x85, 1, 0xff)}},
		"the last changes": {Unknown, []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}}},
	} {
		list := &x509.RevocationList{Number: big.NewInt(2), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour), ExtraExtensions: want.extensions}
		raw, err := x509.CreateRevocationList(rand.Reader, list, a.Issuer.Certificate, a.Issuer.Key)
		if err != nil {
			t.Fatal(err)
		}
		e := ValidationData{CRLs: [][]byte{raw}}
		if got := e.state(id.Certificate, a.Issuer.Certificate, time.Now()); got != want.state {
			t.Errorf("%s: %s, want %s", name, got, want.state)
		}
	}
}

// TestAttributesWithSeveralValues: readers would use different ones.
func TestAttributesWithSeveralValues(t *testing.T) {
	t.Parallel()
	one := must(asn1.Marshal(attribute{oidDigest, set(asn1.ClassUniversal, asn1.TagSet, []byte{4, 1, 1})}))
	two := must(asn1.Marshal(attribute{oidDigest, set(asn1.ClassUniversal, asn1.TagSet, []byte{4, 1, 1}, []byte{4, 1, 2})}))
	for name, raw := range map[string][]byte{"two values": two, "twice": append(one, one...)} {
		read, err := readAttributes(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read.one(oidDigest); err == nil {
			t.Errorf("%s: a value is accepted", name)
		}
	}
}
