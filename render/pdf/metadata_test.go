package pdf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// packetOf is an XMP packet with properties as elements and as attributes.
const packetOf = "<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?><x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">" +
	`<rdf:Description rdf:about="" xmlns:a="http://purl.org/dc/elements/1.1/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" xmlns:b="http://ns.adobe.com/xap/1.0/" b:CreatorTool='Pen &amp; "Ink"' pdfaid:part="2" pdfaid:conformance="B">` +
	`<a:title><rdf:Alt><rdf:li xml:lang="x-default">Old</rdf:li></rdf:Alt></a:title><a:rights>Mine</a:rights><pdfuaid:part>1</pdfuaid:part></rdf:Description>` +
	`</rdf:RDF></x:xmpmeta><?xpacket end="w"?>`

func withPacket(info string) []byte {
	s := three()
	s.Info = info
	s.Catalog = "/Metadata 100 0 R"
	s.Objects = []string{fmt.Sprintf("<< /Type /Metadata /Subtype /XML /Length %d >>\nstream\n%s\nendstream", len(packetOf), packetOf)}
	return s.Write()
}

func readMetadata(t *testing.T, content []byte, password string) (m Metadata) {
	t.Helper()
	result, err := runJob(t, MetadataJob.Name, input(password), content)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(result.Body, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func writeMetadata(t *testing.T, args MetadataArgs, content []byte) ([]byte, []string) {
	t.Helper()
	if args.Name == "" {
		args.Input = input("")
	}
	result, err := runJob(t, SetMetadataJob.Name, args, content)
	if err != nil {
		t.Fatal(err)
	}
	var made job.Changed
	if err := json.Unmarshal(result.Body, &made); err != nil {
		t.Fatal(err)
	}
	return read(t, result), made.Changes
}

func TestMetadataIsRead(t *testing.T) {
	m := readMetadata(t, withPacket("/Title (New) /CreationDate (D:20260102030405+01'00') /Project <FEFF30A2>"), "")
	at := time.Date(2026, time.January, 2, 2, 4, 5, 0, time.UTC)
	if m.Title != "New" || m.Creator != `Pen & "Ink"` || !m.CreatedAt.Equal(at) || m.ModifiedAt != nil || m.XMP == nil || *m.XMP != packetOf {
		t.Errorf("got %+v", m)
	}
	if want := []string{"a-2b", "ua-1"}; !reflect.DeepEqual(m.Standards, want) {
		t.Errorf("standards %q, want %q", m.Standards, want)
	}
	if want := []string{"title"}; !reflect.DeepEqual(m.Differences, want) {
		t.Errorf("differences %q, want %q", m.Differences, want)
	}
	if want := map[string]string{"Project": "ア"}; !reflect.DeepEqual(m.Custom, want) {
		t.Errorf("custom %q, want %q", m.Custom, want)
	}
	if m := readMetadata(t, three().Write(), ""); m.XMP != nil || m.Title != "" || len(m.Custom) != 0 {
		t.Errorf("without metadata: %+v", m)
	}
}

func TestMetadataIsWritten(t *testing.T) {
	got, changes := writeMetadata(t, MetadataArgs{
		Set:    map[string]string{"/Title": "A <b> & \u0001ü", "/Author": "Ana", "/Keywords": "x, y", "/ModDate": "2026-05-06T07:08:09+02:00", "/Project": "P1"},
		Remove: []string{"/Subject", "/Old"},
	}, withPacket("/Title (New) /Subject (gone) /Old (gone) /Stays (here)"))
	sound(t, got, "", 3)
	m := readMetadata(t, got, "")
	if m.Title != "A <b> & ü" || m.Author != "Ana" || m.Subject != "" || m.Keywords != "x, y" || m.Creator != `Pen & "Ink"` || formatTime(m.ModifiedAt) != "2026-05-06T07:08:09+02:00" {
		t.Errorf("got %+v", m)
	}
	if want := map[string]string{"Project": "P1", "Stays": "here"}; !reflect.DeepEqual(m.Custom, want) {
		t.Errorf("custom %q, want %q", m.Custom, want)
	}
	if len(m.Differences) != 0 || !reflect.DeepEqual(m.Standards, []string{"a-2b", "ua-1"}) || len(changes) != 0 {
		t.Errorf("differences %q, standards %q, changes %q", m.Differences, m.Standards, changes)
	}
	if xmp := *m.XMP; !strings.Contains(xmp, "<a:rights>Mine</a:rights>") || strings.Contains(xmp, "Old") || strings.Contains(xmp, "b:CreatorTool") {
		t.Errorf("XMP is %s", xmp)
	}
	about := pdftest.Tool(t, "pdfinfo", "-isodates", "-custom", pdftest.Save(t, got))
	for _, want := range []string{"A <b> & ü", "Ana", "2026-05-06T07:08:09+02", "P1"} {
		if !strings.Contains(about, want) {
			t.Errorf("poppler does not find %q:\n%s", want, about)
		}
	}
	packet := pdftest.Tool(t, "pdfinfo", "-meta", pdftest.Save(t, got))
	if !strings.Contains(packet, "A &lt;b&gt; &amp; ü") {
		t.Errorf("XMP, as poppler has it: %s", packet)
	}
}

func TestMetadataIsRemoved(t *testing.T) {
	got, changes := writeMetadata(t, MetadataArgs{RemoveAll: true}, withPacket("/Title (New) /Stays (here) /Trapped /True"))
	m := readMetadata(t, got, "")
	if m.Title != "" || m.Creator != "" || len(m.Custom) != 0 || strings.Contains(*m.XMP, "Mine") || !reflect.DeepEqual(m.Standards, []string{"a-2b"}) {
		t.Errorf("got %+v", m)
	}
	if want := []string{untitledChange}; !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %q, want %q", changes, want)
	}
	plain := string(pdftest.Transform(t, got, "--qdf", "--object-streams=disable"))
	for _, gone := range []string{"(New)", "(here)", "Pen &"} {
		if strings.Contains(plain, gone) {
			t.Errorf("the result still has %q", gone)
		}
	}
}

// TestMetadataOfOthers writes metadata of documents without XMP, with unreadable XMP, and encrypted.
func TestMetadataOfOthers(t *testing.T) {
	title := map[string]string{"/Title": "x"}
	broken := []byte(strings.Replace(string(withPacket("")), "<a:rights>", "<a:broken>", 1))
	for name, test := range map[string]struct {
		content  []byte
		password string
		changes  []string
	}{
		"plain":     {three().Write(), "", []string{}},
		"broken":    {broken, "", []string{unreadableChange}},
		"encrypted": {pdftest.Transform(t, withPacket(""), "--encrypt", "u", "o", "256", "--"), "u", []string{}},
		"packed":    {pdftest.Transform(t, withPacket(""), "--object-streams=generate"), "", []string{}},
	} {
		got, changes := writeMetadata(t, MetadataArgs{Input: input(test.password), Set: title}, test.content)
		sound(t, got, test.password, 3)
		m := readMetadata(t, got, test.password)
		if m.Title != "x" || m.XMP == nil || !strings.Contains(*m.XMP, ">x<") || len(m.Differences) != 0 || !reflect.DeepEqual(changes, test.changes) {
			t.Errorf("%s: got %+v, changes %q", name, m, changes)
		}
	}
}

// TestMetadataKeepsArchives changes the metadata of PDF/A, which stays valid.
func TestMetadataKeepsArchives(t *testing.T) {
	for _, level := range []archive.Level{archive.Level1B, archive.Level2B} {
		result, err := runJob(t, archive.Job.Name, archive.Args{Input: input(""), Level: level}, three().Write())
		if err != nil {
			t.Fatal(err)
		}
		got, changes := writeMetadata(t, MetadataArgs{Set: map[string]string{"/Title": "x", "/Author": "Ana", "/Project": "P"}, Remove: []string{"/Producer"}}, read(t, result))
		if len(changes) > 0 {
			t.Errorf("%v: changes %q", level, changes)
		}
		checked, err := runJob(t, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: level}, got)
		if err != nil {
			t.Errorf("%v: %v: %s", level, err, checked.Body)
		}
	}
}
