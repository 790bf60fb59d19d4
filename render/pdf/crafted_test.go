package pdf

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// crafted is a PDF written object by object: the catalog is 1, the page tree 2, Helvetica 3.
type crafted struct {
	objects map[int]string
	pages   []craftedPage
	catalog string
	tree    string // entries of the page tree's root
	info    string
	trailer string
	behind  string // appended to the file
	pixels  string // of images; empty means secretPixels
}

// craftedPage is a page of 300 × 400 points.
type craftedPage struct {
	content   string
	resources string // in addition to the font; "-" leaves the entry out
	entries   string
}

func craft(contents ...string) *crafted {
	c := &crafted{objects: map[int]string{3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}}
	for _, content := range contents {
		c.pages = append(c.pages, craftedPage{content: content})
	}
	return c
}

// add adds an object and returns its reference.
func (c *crafted) add(object string) string {
	n := 100
	for c.objects[n] != "" {
		n++
	}
	c.objects[n] = object
	return fmt.Sprintf("%d 0 R", n)
}

// stream adds a stream and returns its reference.
func (c *crafted) stream(entries, content string) string {
	return c.add(streamText(entries, content))
}

// form adds a form that is as large as a page.
func (c *crafted) form(content, resources string) string {
	return c.stream("/Type /XObject /Subtype /Form /BBox [0 0 300 400] /Resources << /Font << /F1 3 0 R >> "+resources+" >>", content)
}

// image adds a gray image of 40 × 40 pixels.
func (c *crafted) image(entries string) string {
	return c.stream("/Type /XObject /Subtype /Image /Width 40 /Height 40 /ColorSpace /DeviceGray /BitsPerComponent 8 "+entries, cmp.Or(c.pixels, secretPixels()))
}

// framedPixels are those of secretPixels around a part of one gray.
func framedPixels() string {
	pixels := []byte(secretPixels())
	for i := range pixels {
		if x, y := i%40, i/40; x >= 8 && x < 32 && y >= 8 && y < 32 {
			pixels[i] = 40
		}
	}
	return string(pixels)
}

// secretPixels returns the pixels of a 40 × 40 image that must not remain.
func secretPixels() string {
	pixels := make([]byte, 40*40)
	for i := range pixels {
		x, y := i%40, i/40
		pixels[i] = byte((x*7 + y*y*3 + x*y) % 251)
	}
	return string(pixels)
}

func streamText(entries, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
}

// deflated is a stream with the filter of most.
func deflated(entries, content string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	return streamText("/Filter /FlateDecode "+entries, b.String())
}

// write makes the file.
func (c *crafted) write() []byte {
	objects := maps.Clone(c.objects)
	objects[1] = "<< /Type /Catalog /Pages 2 0 R " + c.catalog + " >>"
	objects[4] = "<< " + c.info + " >>"
	var kids strings.Builder
	for i, p := range c.pages {
		fmt.Fprintf(&kids, "%d 0 R ", 10+2*i)
		resources := "/Resources << /Font << /F1 3 0 R >> " + p.resources + " >>"
		if p.resources == "-" {
			resources = ""
		}
		if strings.HasPrefix(p.resources, "ref ") {
			resources = "/Resources " + strings.TrimPrefix(p.resources, "ref ")
		}
		contents := fmt.Sprintf("/Contents %d 0 R", 11+2*i)
		if strings.Contains(p.entries, "/Contents") {
			contents = ""
		}
		objects[10+2*i] = fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] %s %s %s >>", contents, resources, p.entries)
		objects[11+2*i] = streamText("", p.content)
	}
	objects[2] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d %s >>", kids.String(), len(c.pages), c.tree)
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	offsets := map[int]int{}
	numbers := slices.Sorted(maps.Keys(objects))
	for _, n := range numbers {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, objects[n])
	}
	highest, xref := numbers[len(numbers)-1], b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n", highest+1)
	for n := range highest + 1 {
		if offsets[n] == 0 {
			b.WriteString("0000000000 65535 f \n")
			continue
		}
		fmt.Fprintf(&b, "%010d 00000 n \n", offsets[n])
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", highest+1, c.trailer, xref)
	b.WriteString(c.behind)
	return b.Bytes()
}

// update appends a new version of an object, as an editor that saves in place does.
func updated(t *testing.T, content []byte, number int, object string) []byte {
	t.Helper()
	text := string(content)
	start := strings.LastIndex(text, "startxref")
	before := strings.Fields(text[start:])[1]
	at := len(text) + 1
	body := fmt.Sprintf("\n%d 0 obj\n%s\nendobj\n", number, object)
	size := strings.Fields(text[strings.LastIndex(text, "/Size"):])[1]
	table := fmt.Sprintf("xref\n%d 1\n%010d 00000 n \ntrailer\n<< /Size %s /Root 1 0 R /Info 4 0 R /Prev %s >>\nstartxref\n%d\n%%%%EOF\n", number, at, size, before, len(text)+len(body))
	return []byte(text + body + table)
}
