package office

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// secretLine is in /etc/passwd of every machine.
const secretLine = "root:x:0:0"

// hostiles are documents that reach out when they are opened: to address, an
// http address, and to a file.
func hostiles(t *testing.T, address, file string) map[string][]byte {
	t.Helper()
	external := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="` + officeRelations + "/" + kind + `" Target="` + target + `" TargetMode="External"/>`
	}
	const picture = `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="900000" cy="900000"/><wp:docPr id="1" name="p"/><a:graphic>` +
		`<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="p"/><pic:cNvPicPr/></pic:nvPicPr>` +
		`<pic:blipFill><a:blip r:link="picture"/></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="900000" cy="900000"/></a:xfrm>` +
		`<a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`
	const macro = `<?xml version="1.0"?><script:module xmlns:script="http://openoffice.org/2000/script" script:name="M" script:language="StarBasic">` +
		`Sub Run
  ThisComponent.Text.setString("MACRO RAN")
End Sub</script:module>`
	const library = `<?xml version="1.0"?><library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="M"/></library:library>`
	const libraries = `<?xml version="1.0"?><library:libraries xmlns:library="http://openoffice.org/2000/library" xmlns:xlink="http://www.w3.org/1999/xlink"><library:library library:name="Standard" library:link="false"/></library:libraries>`
	events := ""
	for _, event := range []string{"dom:load", "office:load-finished", "office:view-created", "office:copy-to", "dom:unload"} {
		events += `<script:event-listener script:language="ooo:script" script:event-name="` + event +
			`" xlink:href="vnd.sun.star.script:Standard.M.Run?language=Basic&amp;location=document" xlink:type="simple"/>`
	}
	events = `<office:scripts><office:event-listeners>` + events + `</office:event-listeners></office:scripts>`
	return map[string][]byte{
		"picture.docx":  docx(t, paragraph("harmless")+picture, external("picture", "image", address+"/docx.png")),
		"template.docx": docx(t, paragraph("harmless"), external("template", "attachedTemplate", address+"/template.dotm")),
		"service.xlsx": xlsx(t, `<row r="1"><c r="A1" t="str"><v>harmless</v></c><c r="B1"><f>_xlfn.WEBSERVICE("`+address+`/service")</f></c>`+
			`<c r="C1"><f>[1]Sheet1!A1</f></c></row>`,
			part{"xl/externalLinks/externalLink1.xml", `<?xml version="1.0"?><externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"` +
				` xmlns:r="` + officeRelations + `"><externalBook r:id="r1"><sheetNames><sheetName val="Sheet1"/></sheetNames></externalBook></externalLink>`},
			part{"xl/externalLinks/_rels/externalLink1.xml.rels", relationshipsOpen + external("r1", "externalLinkPath", address+"/book.xlsx") + `</Relationships>`}),
		"section.odt": opened(t, "text", openedText(`<text:p>harmless</text:p><text:section text:name="s"><text:section-source xlink:href="`+file+
			`" text:filter-name="Text (encoded)"/><text:p/></text:section>`)),
		"picture.odt": opened(t, "text", openedText(`<text:p>harmless<draw:frame svg:width="3cm" svg:height="3cm"><draw:image xlink:href="`+address+
			`/odt.png" xlink:type="simple" xlink:actuate="onLoad"/></draw:frame></text:p>`)),
		"sheet.ods": opened(t, "spreadsheet", `<office:body><office:spreadsheet><table:table table:name="s"><table:table-source xlink:href="`+file+
			`" table:filter-name="Text - txt - csv (StarCalc)" table:filter-options="44,34,76,1"/><table:table-row><table:table-cell office:value-type="string">`+
			`<text:p>harmless</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></office:body>`),
		"macro.odt": opened(t, "text", events+openedText(`<text:p>harmless</text:p>`),
			part{"Basic/script-lc.xml", libraries}, part{"Basic/Standard/script-lb.xml", library}, part{"Basic/Standard/M.xml", macro}),
		"picture.html": []byte(`<p>harmless<img src="` + address + `/picture.png"><link rel=stylesheet href="` + address + `/style.css"><img src="` + file + `"></p>`),
	}
}

// TestDocumentsReachNothing converts documents that reach out. The same documents do reach out of a LibreOffice
// process that permits it.
func TestDocumentsReachNothing(t *testing.T) {
	t.Parallel()
	outside := newCanary(t)
	for name, content := range hostiles(t, outside.URL, "file:///etc/passwd") {
		made, err := convert(t, pool, content, name, "", ToPDF)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := textOf(t, made)
		if !strings.Contains(text, "harmless") || strings.Contains(text, secretLine) || strings.Contains(text, "MACRO RAN") {
			t.Errorf("%s: the result says %q", name, text)
		}
	}
	if got := outside.hits.Load(); got != 0 {
		t.Errorf("%d connections to the canary, want none", got)
	}
}

// TestHostileDocumentsAreHostile is the control of TestDocumentsReachNothing.
func TestHostileDocumentsAreHostile(t *testing.T) {
	t.Parallel()
	const careless = `<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">` +
		`<item oor:path="/org.openoffice.Office.Calc/Content/Update"><prop oor:name="Link" oor:op="fuse"><value>0</value></prop></item>` +
		`<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="SecureURL" oor:op="fuse"><value><it>file:///tmp</it></value></prop></item>` +
		`</oor:items>`
	open := startRaw(t, careless)
	outside := newCanary(t)
	const fullUpdate = 3
	for name, filter := range map[string]string{
		"picture.docx": "writer_pdf_Export", "picture.odt": "writer_pdf_Export", "section.odt": "writer_pdf_Export",
		"service.xlsx": "calc_pdf_Export", "picture.html": "writer_web_pdf_Export", "sheet.ods": "calc_pdf_Export",
	} {
		job := rawJob{Load: map[string]any{"UpdateDocMode": fullUpdate}, Store: map[string]any{"FilterName": filter}, Update: true}
		before := outside.hits.Load()
		made := open.make(t, hostiles(t, outside.URL, "file:///etc/passwd")[name], name, job)
		text := textOf(t, made)
		if outside.hits.Load() == before && !strings.Contains(text, secretLine) {
			t.Errorf("%s reaches nothing: its text is %q", name, text)
		}
	}
}

// TestMacrosMayNotRun asks LibreOffice processes whether they would run a document's macros: ours, and one that
// does.
func TestMacrosMayNotRun(t *testing.T) {
	t.Parallel()
	const neverExecute, alwaysExecute = 0, 4
	for _, test := range []struct {
		name, settings string
		mode           int
		want           bool
	}{
		{"careless", "", alwaysExecute, true},
		{"our job", "", neverExecute, false},
		{"our settings", string(settings), alwaysExecute, false},
	} {
		office := startRaw(t, test.settings)
		in := filepath.Join(office.dir, "macro.odt")
		if err := os.WriteFile(in, hostiles(t, "http://127.0.0.1:1", "file:///dev/null")["macro.odt"], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := office.do(rawJob{
			Input: in, Output: in + ".pdf", Load: map[string]any{"MacroExecutionMode": test.mode}, Store: map[string]any{"FilterName": "writer_pdf_Export"},
		})
		if err != nil || got.Macros != test.want {
			t.Errorf("%s: got %+v and %v, want %v", test.name, got, err, test.want)
		}
		office.stop()
	}
}

// TestBombsEnd converts small documents that would take for ever, while another one is
// converted at the same time.
func TestBombsEnd(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := New(Config{Engine: engine.Config{Size: 2}})
	t.Cleanup(func() { _ = p.Close() })
	const times = 3_000_000
	bomb := docx(t, strings.Repeat(paragraph("x"), times), "")
	if len(bomb) > 4<<20 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		file, _, err := p.Convert(ctx, Conversion{
			Content: spool.FromBytes(bomb), Source: Source{KindDocument, FormatOOXML}, To: ToPDF, MaxPages: 2000, MaxBytes: 200 << 20,
		})
		if err == nil {
			err = file.Close()
		}
		ended <- err
	}()
	if made, err := convert(t, p, []byte("calm"), "calm.txt", "", ToPDF); err != nil || textOf(t, made) != "calm" {
		t.Errorf("beside a bomb: %v", err)
	}
	err := <-ended
	var failed *Error
	if !errors.As(err, &failed) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the bomb ended with %v, want an *Error or its deadline", err)
	}
	if made, err := convert(t, p, []byte("calm again"), "calm.txt", "", ToPDF); err != nil || textOf(t, made) != "calm again" {
		t.Errorf("after a bomb: %v", err)
	}
}

// offices returns the LibreOffice processes under this process.
func offices(t *testing.T) (found []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			continue
		}
		name, _ := os.ReadFile("/proc/" + e.Name() + "/comm")
		if strings.TrimSpace(string(name)) == "soffice.bin" && descends(pid, os.Getpid()) {
			found = append(found, pid)
		}
	}
	return found
}

// descends reports whether a process was started under another.
func descends(pid, ancestor int) bool {
	for pid > 1 {
		if pid == ancestor {
			return true
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		var state string
		if _, err := fmt.Sscan(string(text[strings.LastIndexByte(string(text), ')')+1:]), &state, &pid); err != nil {
			return false
		}
	}
	return false
}

// atWork waits for a LibreOffice process that has the input of a job in its folder.
func atWork(t *testing.T, among []int) int {
	t.Helper()
	found := 0
	eventually(t, "an office takes the job", func() bool {
		for _, pid := range among {
			if hasInput(pid) {
				found = pid
			}
		}
		return found != 0
	})
	return found
}

// hasInput reports whether the folder of a LibreOffice process's job holds one's input, or the folder with it.
func hasInput(office int) bool {
	folder := fmt.Sprintf("/proc/%d/root/work/job/", office)
	_, before := os.Stat(folder + inputName)
	_, named := os.Stat(folder + sourceDir)
	return before == nil || named == nil
}

// eventually waits for what nothing signals.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for tick := time.Tick(5 * time.Millisecond); !happened(); {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// long is a document that takes a second or more.
func long() []byte {
	return []byte("<h1>long</h1>" + strings.Repeat("<p>A paragraph of <b>some</b> words that fill a line or two, and more.</p>", 30_000))
}
