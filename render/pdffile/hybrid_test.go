package pdffile

import (
	"bytes"
	"fmt"
	"testing"
)

// hybrid is a file whose catalog refers to an object that is in an object stream, which only the second table has.
func hybrid() []byte {
	var out bytes.Buffer
	offsets := map[int]int{}
	object := func(number int, text string) {
		offsets[number] = out.Len()
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", number, text)
	}
	out.WriteString("%PDF-1.5\n")
	object(1, "<</Type /Catalog /Pages 2 0 R /Packed 4 0 R>>")
	object(2, "<</Type /Pages /Kids [] /Count 0>>")
	object(3, "<</Type /ObjStm /N 1 /First 4 /Length 20>>\nstream\n4 0 <</Hidden true>>\nendstream")
	rows := []byte{2, 0, 3, 0}
	offsets[5] = out.Len()
	fmt.Fprintf(&out, "5 0 obj\n<</Type /XRef /Size 6 /W [1 2 1] /Index [4 1] /Length %d>>\nstream\n%s\nendstream\nendobj\n", len(rows), rows)
	start := out.Len()
	out.WriteString("xref\n0 6\n0000000000 65535 f \n")
	for number := 1; number < 6; number++ {
		if offsets[number] == 0 {
			out.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&out, "%010d 00000 n \n", offsets[number])
	}
	fmt.Fprintf(&out, "trailer <</Size 6 /Root 1 0 R /XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", offsets[5], start)
	return out.Bytes()
}

// TestHybrid reads both tables of a hybrid file, and appends a table of words to it.
func TestHybrid(t *testing.T) {
	content := hybrid()
	f, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	if packed := f.Entry(f.Catalog()["/Packed"]); packed["/Hidden"] != true {
		t.Errorf("the packed object is %v", packed)
	}
	u := f.NewUpdate()
	u.Set("4 0 R", Dict{"/Hidden": false})
	tail, err := u.Append()
	if err != nil {
		t.Fatal(err)
	}
	changed, err := Read(append(content, tail...))
	if err != nil {
		t.Fatal(err)
	}
	if packed := changed.Entry(changed.Catalog()["/Packed"]); packed["/Hidden"] != false {
		t.Errorf("the changed object is %v", packed)
	}
	if tables := changed.Tables(); len(tables) != 2 || tables[1] != f.Tables()[0] {
		t.Errorf("the tables are at %v, before at %v", tables, f.Tables())
	}
	if _, err := ReadTable(bytes.Replace(content, []byte("/XRefStm "), []byte("/XRefStm 9"), 1)); err == nil {
		t.Error("a table outside of the file was read")
	}
}

// TestAppendToStreams appends a table that is a stream to a file with one, and finds the place of the new object.
func TestAppendToStreams(t *testing.T) {
	u, root := NewDocument()
	pages := u.Reserve()
	u.Set(root, Dict{"/Type": "/Catalog", "/Pages": pages})
	u.Set(pages, Dict{"/Type": "/Pages", "/Kids": []any{}, "/Count": 0})
	plain, err := Read(u.Document(root))
	if err != nil {
		t.Fatal(err)
	}
	content, err := plain.NewUpdate().Compact()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		f, err := Read(content)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		update := f.NewUpdate()
		added := update.Reserve()
		update.Set(added, Dict{"/Number": i})
		tail, err := update.Append()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(tail, []byte("trailer")) {
			t.Errorf("%d: the table is in words", i)
		}
		content = append(content, tail...)
		changed, err := Read(content)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		start, end, ok := changed.Span(added)
		if want := fmt.Sprintf("%s obj\n<</Number %d >>", added[:len(added)-2], i); !ok || string(content[start:end]) != want {
			t.Errorf("%d: the object is %q, want %q", i, content[start:end], want)
		}
	}
}
