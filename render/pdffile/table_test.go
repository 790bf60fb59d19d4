package pdffile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// tableStream is a document with a table that is a stream.
type tableStream struct {
	generation int
	widths     [3]int
	predictor  int // of PNG, from 10, and of TIFF; 1 is none, 0 without parameters
	bits       int // of a component; 0 is 8
	way        byte
	list       bool // parameters are in a list
	unlisted   bool // the table does not have itself
	size       int  // more than there are
	future     bool // an object is of an unknown kind
	kind       string
}

// write replaces the table of a document.
func (s tableStream) write(t testing.TB, plain []byte) []byte {
	t.Helper()
	f, err := Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	own := f.highest + 1
	at := f.tables[0]
	if s.widths == [3]int{} {
		s.widths = [3]int{1, 4, 2}
	}
	width := s.widths[0] + s.widths[1] + s.widths[2]
	count := own + 1
	if s.unlisted {
		count--
	}
	var rows []byte
	above := make([]byte, width)
	for number := range count {
		values := [3]int{}
		place, there := f.xref[number]
		switch {
		case number == own:
			values = [3]int{1, at, s.generation}
		case there:
			values = [3]int{1, place.offset, place.generation}
		case s.future && number > 0:
			values = [3]int{9, 77, 0}
		}
		var row []byte
		for i, value := range values {
			for shift := s.widths[i] - 1; shift >= 0; shift-- {
				row = append(row, byte(uint64(value)>>(8*shift)))
			}
		}
		rows = append(rows, s.predict(row, above)...)
		above = row
	}
	parameters := ""
	if s.predictor > 0 {
		parameters = fmt.Sprintf("<< /Predictor %d /Columns %d /Colors 1 /BitsPerComponent %d >>", s.predictor, width, cmp.Or(s.bits, 8))
		if s.list {
			parameters = "[" + parameters + "]"
		}
		parameters = "/DecodeParms " + parameters
	}
	if s.kind == "" {
		s.kind = "/XRef"
	}
	content := Deflated(Dict{}, rows).Content
	out := fmt.Appendf(bytes.Clone(plain[:at]), "%d %d obj\n<< /Type %s /Size %d /W [%d %d %d] /Index [0 %d] /Root 1 0 R /Info 4 0 R /Filter [/FlateDecode] %s /Length %d >>\nstream\n",
		own, s.generation, s.kind, own+1+s.size, s.widths[0], s.widths[1], s.widths[2], count, parameters, len(content))
	return fmt.Appendf(append(out, content...), "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", at)
}

// predict predicts a row.
func (s tableStream) predict(row, above []byte) []byte {
	out := slices.Clone(row)
	if s.predictor < 2 {
		return out
	}
	for i := range row {
		var left, corner byte
		if i > 0 {
			left, corner = row[i-1], above[i-1]
		}
		switch {
		case s.predictor == 2:
			out[i] -= left
		case s.way == 1:
			out[i] -= left
		case s.way == 2:
			out[i] -= above[i]
		case s.way == 3:
			out[i] -= byte((int(left) + int(above[i])) / 2)
		case s.way == 4:
			a, b, c := int(left), int(above[i]), int(corner)
			p := a + b - c
			abs := func(n int) int { return max(n, -n) }
			switch {
			case abs(p-a) <= abs(p-b) && abs(p-a) <= abs(p-c):
				out[i] -= left
			case abs(p-b) <= abs(p-c):
				out[i] -= above[i]
			default:
				out[i] -= corner
			}
		}
	}
	if s.predictor == 2 {
		return out
	}
	return append([]byte{s.way}, out...)
}

// shifted adds a number to all offsets in the table of a document.
func shifted(content []byte, by int) []byte {
	f, _ := ReadTable(content)
	at := f.tables[0]
	out := bytes.Clone(content[:at])
	for line := range bytes.Lines(content[at:]) {
		var offset, generation int
		var kind string
		if n, _ := fmt.Sscanf(string(line), "%10d %5d %1s", &offset, &generation, &kind); n == 3 && kind == "n" {
			line = fmt.Appendf(nil, "%010d %05d n \n", offset+by, generation)
		}
		out = append(out, line...)
	}
	return bytes.Replace(out, fmt.Appendf(nil, "startxref\n%d", at), fmt.Appendf(nil, "startxref\n%d", at+by), 1)
}

// opens reports whether qpdf reads a document without a repair.
func opens(t testing.TB, content []byte) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "qpdf", "--check", pdftest.Save(t, content)).CombinedOutput()
	var exit *exec.ExitError
	const warned = 3
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != warned) {
		return false
	}
	return !bytes.Contains(out, []byte("reconstruct"))
}

// TestOrdinaryTables reads tables as many programs write them: other readers have no doubt about the objects.
func TestOrdinaryTables(t *testing.T) {
	t.Parallel()
	plain := pdftest.Linked().Write()
	f, err := Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	size := fmt.Sprintf("/Size %d", f.highest+1)
	replaced := func(from, to string) []byte {
		if strings.Count(string(plain), from) != 1 {
			t.Fatalf("%q is there %d times", from, strings.Count(string(plain), from))
		}
		return []byte(strings.Replace(string(plain), from, to, 1))
	}
	first, rest, _ := strings.Cut(string(plain[f.tables[0]:]), "0000000000 65535 f \n")
	head := string(plain[:f.tables[0]])
	before := "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"
	table := string(plain[f.tables[0]:])
	documents := map[string][]byte{
		"a size too large":               replaced(size, "/Size 5000"),
		"a size too small":               replaced(size, "/Size 5"),
		"no size":                        replaced(size, ""),
		"bytes before the header":        append([]byte(before), plain...),
		"bytes before, and counted":      append([]byte(before), shifted(plain, len(before))...),
		"a mark before the header":       append([]byte("\xEF\xBB\xBF"), plain...),
		"zeros at the end":               append(bytes.Clone(plain), make([]byte, 5000)...),
		"lines at the end":               append(bytes.Clone(plain), strings.Repeat("\r\n", 3000)...),
		"words at the end":               append(bytes.Clone(plain), "<!-- from cache -->\n"...),
		"no end":                         bytes.TrimSuffix(plain, []byte("%%EOF\n")),
		"an offset on the same line":     replaced("startxref\n", "startxref "),
		"an offset without a space":      replaced("startxref\n", "startxref"),
		"an earlier table at the header": replaced("/Info 4 0 R >>\nstartxref", "/Info 4 0 R /Prev 0 >>\nstartxref"),
		"numbers from 1":                 []byte(head + strings.Replace(first, "0 ", "1 ", 1) + "0000000000 65535 f \n" + rest),
		"an object at no place":          []byte(strings.Replace(string(plain), "0000000000 00000 f", "0000000000 00000 n", 1)),
		"a wrong place of no object":     []byte(strings.Replace(string(plain), "0000000000 00000 f", "0000000123 00000 n", 1)),
		"entries of 19 bytes":            []byte(head + strings.ReplaceAll(table, " \n", "\n")),
		"lines that end with CR":         []byte(head + strings.ReplaceAll(strings.ReplaceAll(table, " \n", "\n"), "\n", "\r")),
		"no ends of objects":             bytes.ReplaceAll(plain, []byte("endobj"), []byte("      ")),
	}
	for name, s := range map[string]tableStream{
		"a stream":                      {},
		"a generation":                  {generation: 1},
		"the highest generation":        {generation: 65535, widths: [3]int{1, 3, 2}},
		"no generations":                {widths: [3]int{1, 3, 0}},
		"offsets of eight bytes":        {widths: [3]int{1, 8, 2}},
		"the table without itself":      {unlisted: true},
		"a size of a stream":            {size: 40},
		"an unknown kind":               {future: true},
		"a prediction of nothing":       {predictor: 10},
		"a prediction from the left":    {predictor: 11, way: 1},
		"a prediction from above":       {predictor: 12, way: 2},
		"a prediction from a mean":      {predictor: 13, way: 3},
		"a prediction from the nearest": {predictor: 15, way: 4},
		"a prediction in a list":        {predictor: 12, way: 2, list: true},
		"a prediction of TIFF":          {predictor: 2},
		"no prediction, of bytes":       {predictor: 1},
		"no prediction, of two bytes":   {predictor: 1, bits: 16},
	} {
		documents[name] = s.write(t, plain)
		documents[name+", before which are bytes"] = append([]byte(before), documents[name]...)
	}
	for name, content := range documents {
		got, err := Read(content)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if pages, err := got.Pages(9); err != nil || len(pages) != 3 {
			t.Errorf("%s: %d pages, %v", name, len(pages), err)
		}
		foreign := !slices.Contains([]string{ // qpdf repairs these
			"no ends of objects", "no size", "numbers from 1", "bytes before, and counted", "a wrong place of no object", "an unknown kind",
			"an unknown kind, before which are bytes", "zeros at the end", "lines at the end", "an offset without a space",
		}, name)
		if foreign && !opens(t, content) {
			t.Errorf("%s: qpdf has to repair it", name)
		}
		u := got.NewUpdate()
		added := u.Reserve()
		u.Set(added, Dict{"/A": 1})
		tail, err := u.Append()
		if err != nil {
			t.Fatal(err)
		}
		updated, err := Read(slices.Concat(content, tail))
		if err != nil {
			t.Errorf("%s: after an update: %v", name, err)
			continue
		}
		if updated.Entry(added)["/A"] != 1.0 || !updated.UpdateOf(got) {
			t.Errorf("%s: the update is not one", name)
		}
		if foreign && !opens(t, slices.Concat(content, tail)) {
			t.Errorf("%s: after an update: qpdf has to repair it", name)
		}
	}
}

// TestDamagedTables: other readers have to guess.
func TestDamagedTables(t *testing.T) {
	t.Parallel()
	plain := pdftest.Linked().Write()
	f, err := Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	catalog := fmt.Sprintf("%010d 00000 n", f.xref[1].offset)
	prev := fmt.Sprintf("/Info 4 0 R /Prev %d >>\nstartxref", f.tables[0])
	for name, content := range map[string][]byte{
		"a header after a kilobyte":      append(bytes.Repeat([]byte("x"), 1030), plain...),
		"a wrong place":                  bytes.Replace(plain, []byte(catalog), []byte("0000000077 00000 n"), 1),
		"a loop":                         bytes.Replace(plain, []byte("/Info 4 0 R >>\nstartxref"), []byte(prev), 1),
		"no table":                       plain[:f.tables[0]],
		"words of more than a kilobyte":  append(bytes.Clone(plain), strings.Repeat("pay 9 ", 300)...),
		"offsets above six bytes":        bytes.Replace(tableStream{widths: [3]int{1, 8, 2}}.write(t, plain), []byte("/Root 1 0 R"), []byte("/Root 9 0 R"), 1),
		"a stream of another kind":       tableStream{kind: "/ObjStm"}.write(t, plain),
		"a prediction of another kind":   tableStream{predictor: 3}.write(t, plain),
		"a prediction in an unknown way": tableStream{predictor: 12, way: 5}.write(t, plain),
	} {
		if got, err := Read(content); err == nil {
			t.Errorf("%s: read with %d objects", name, len(got.xref))
		}
	}
}

// TestNumbersOfNewObjects: no reference of a document leads to an object that an update adds.
func TestNumbersOfNewObjects(t *testing.T) {
	t.Parallel()
	plain := pdftest.Three().Write()
	f, err := Read(plain)
	if err != nil {
		t.Fatal(err)
	}
	size := fmt.Appendf(nil, "/Size %d", f.highest+1)
	for to, want := range map[string]int{"/Size 3": f.highest + 1, "/Size 600": 600, "/Size 99999999": f.highest + 1} {
		got, err := Read(bytes.Replace(plain, size, []byte(to), 1))
		if err != nil {
			t.Fatal(err)
		}
		if ref := got.NewUpdate().Reserve(); ref != Refer(want, 0) {
			t.Errorf("%s: the new object is %s, want %d", to, ref, want)
		}
	}
}
