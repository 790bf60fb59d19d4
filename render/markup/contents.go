package markup

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// contentsStyle gives the entries of a table of contents their page numbers. The selector is the one of its links.
func contentsStyle(links string) string {
	return `@media print { ` + links + `::after { content: leader(". ") target-counter(attr(href), page); } }` + "\n"
}

const (
	// maxHeading is the length in bytes after which no more of a heading is read, and maxTables the maximum number of
	// tables of contents of a document.
	maxHeading, maxTables = 1000, 10
)

const contentsStart, contentsEnd = `<nav class="toc" data-relay-toc="`, `"></nav>`

// ContentsMark returns the placeholder of a table of contents with headings of the first levels.
func ContentsMark(levels int) string { return contentsStart + strconv.Itoa(levels) + contentsEnd }

// WithContents replaces the placeholders of a document by its table of contents: links to its headings, with their page
// numbers in print. A single heading of the first level is the title, and is left out. Headings without an ID get one.
func WithContents(doc string) string {
	if !strings.Contains(doc, contentsStart) {
		return doc
	}

	doc, headings := nameHeadings(doc)
	var out strings.Builder
	for tables := 1; ; tables++ {
		before, rest, found := strings.Cut(doc, contentsStart)
		levels, after, complete := strings.Cut(rest, contentsEnd)
		depth, err := strconv.Atoi(levels)

		out.WriteString(before)
		if !found {
			return out.String()
		}
		if doc = rest; !complete || err != nil {
			continue
		}

		doc = after
		var shown []contentsEntry
		for _, h := range headings {
			if h.level <= depth && tables <= maxTables {
				shown = append(shown, h)
			}
		}
		out.WriteString(tableOfContents(shown))
	}
}

// tableOfContents returns a table of contents with its style, which any rule of the document overrides.
func tableOfContents(headings []contentsEntry) string {
	if len(headings) == 0 {
		return `<nav class="toc"></nav>`
	}

	var list bytes.Buffer
	w := bufio.NewWriter(&list)
	writeContents(w, "toc", headings)
	_ = w.Flush() // to memory

	return "<style>:where(.toc ul) { list-style: none; padding-inline-start: 1.2em } " +
		":where(.toc > ul) { padding-inline-start: 0 } " +
		":where(.toc a) { color: inherit; text-decoration: none }\n" +
		contentsStyle(":where(.toc a)") + "</style>" + strings.TrimSpace(list.String())
}

// nameHeadings gives an ID to each heading of the first levels, and lists them without the title.
func nameHeadings(doc string) (string, []contentsEntry) {
	var out strings.Builder
	var entries []contentsEntry
	tokens := html.NewTokenizer(strings.NewReader(doc))
	open := false // in a heading
	tops := 0

	for {
		kind := tokens.Next()
		raw := string(tokens.Raw())
		switch kind {
		case html.ErrorToken:
			out.WriteString(raw)
			for i := range entries {
				entries[i].text = strings.Join(strings.Fields(entries[i].text), " ")
			}
			return out.String(), withoutTitle(entries, tops)
		case html.StartTagToken:
			level, id := heading(tokens)
			if level == 0 {
				break
			}
			if id == "" {
				id = fmt.Sprintf("toc-%d", len(entries)+1)
				raw = raw[:len("<h1")] + ` id="` + id + `"` + raw[len("<h1"):]
			}
			if level == 1 {
				tops++
			}
			entries = append(entries, contentsEntry{level: level, id: id})
			open = true
		case html.EndTagToken:
			if name, _ := tokens.TagName(); headingLevel(name) > 0 {
				open = false
			}
		case html.TextToken:
			if open {
				last := &entries[len(entries)-1]
				if len(last.text) < maxHeading {
					last.text += html.UnescapeString(raw)
				}
			}
		}

		out.WriteString(raw)
	}
}

// withoutTitle leaves out the only heading of the first level.
func withoutTitle(entries []contentsEntry, tops int) []contentsEntry {
	for i, e := range entries {
		if tops == 1 && e.level == 1 {
			return append(entries[:i:i], entries[i+1:]...)
		}
	}
	return entries
}

// heading returns the level and the ID of the heading that the tag begins, or 0.
func heading(tokens *html.Tokenizer) (level int, id string) {
	name, more := tokens.TagName()
	level = headingLevel(name)
	for more && level > 0 {
		var key, value []byte
		if key, value, more = tokens.TagAttr(); string(key) == "id" {
			id = string(value)
		}
	}
	return level, id
}

// headingLevel returns the level of an element's name, or 0.
func headingLevel(name []byte) int {
	if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
		return int(name[1] - '0')
	}
	return 0
}
