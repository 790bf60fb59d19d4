package pagetext

import (
	"regexp"
	"strings"
	"unicode"
)

// write makes Markdown of blocks.
func write(d *textFacts, blocks []block) string {
	var b strings.Builder
	for i, block := range blocks {
		text := d.blockText(block)
		if text == "" {
			continue
		}

		if b.Len() > 0 {
			b.WriteByte('\n')
			if block.kind != listItem || blocks[i-1].kind != listItem {
				b.WriteByte('\n')
			}
		}
		b.WriteString(text)
	}

	return b.String()
}

func (d *textFacts) blockText(b block) string {
	switch b.kind {
	case tableBlock:
		return d.tableText(b)
	case headingBlock:
		text := strings.ReplaceAll(d.linesText(b, false), "\n", " ")
		if text == "" {
			return ""
		}
		return strings.Repeat("#", b.level) + " " + text
	case listItem:
		indent := strings.Repeat("   ", b.level)
		text := d.linesText(b, true)
		return indent + b.mark + " " + strings.ReplaceAll(text, "\n", "\n"+indent+strings.Repeat(" ", len(b.mark)+1))
	case codeBlock:
		return d.codeText(b)
	case paragraph:
	}

	return guardLines(d.linesText(b, true))
}

// codeText is a block in a font whose letters are all equally wide.
func (d *textFacts) codeText(b block) string {
	left := b.lines[0].Left
	for _, l := range b.lines {
		if len(l.words) > 0 {
			left = min(left, l.Left)
		}
	}

	var text strings.Builder
	fence := "```"
	for _, l := range b.lines {
		column := 0.0 // expected position of the next letter
		width := 1.0

		for i, w := range l.words {
			if i == 0 {
				width = max(1, w.width()/float64(max(1, len([]rune(w.Text)))))
				column = left
			}

			spaces := int((w.Left-column)/width + 0.5)
			if i > 0 && !w.Joined {
				spaces = max(1, spaces)
			}
			text.WriteString(strings.Repeat(" ", min(80, max(0, spaces))) + w.Text)
			column = w.Right
		}
		text.WriteByte('\n')
	}

	for strings.Contains(text.String(), fence) {
		fence += "`"
	}
	return fence + "\n" + text.String() + fence
}

// linesText joins the lines of a block.
func (d *textFacts) linesText(b block, marked bool) string {
	var text strings.Builder
	last := "" // the line that the next may join

	for i, l := range b.lines {
		words := l.words
		if b.rtl {
			words = rightward(words)
		}

		part := d.wordsText(words, l.gaps, marked && !d.bold)
		switch {
		case part == "":
			continue
		case last == "":
		case b.broken[i]:
			text.WriteString(last + "  \n")
		default:
			text.WriteString(d.joinLines(last, part))
		}
		last = part
	}

	return strings.TrimSuffix(strings.TrimSpace(text.String()+last), string(softHyphen))
}

var (
	lastPart  = regexp.MustCompile(`[\p{L}\p{M}]+$`)
	firstPart = regexp.MustCompile(`^[\p{L}\p{M}]+`)
)

// joinLines returns a line of a paragraph in front of the next: with a space, or without its hyphen if a word is
// divided between them, unless the document has the word with its hyphen elsewhere.
func (d *textFacts) joinLines(line, next string) string {
	last := lastRune(line)
	first := firstRune(next)

	if strings.ContainsRune(hyphens, last) {
		head := strings.TrimRight(line, hyphens)
		tail := firstPart.FindString(next[:min(len(next), 100)])
		start := lastPart.FindString(head[max(0, len(head)-100):])

		switch {
		case last == softHyphen:
			return head
		case start == "" || tail == "":
			return line + " "
		case d.known[strings.ToLower(start+tail)]:
			return head
		case !unicode.IsLower(first):
			return line // a compound, such as Jean-Paul
		case d.known[strings.ToLower(start+"-"+tail)]:
			return head + "-"
		}
		return head
	}

	if unspaced(last) && unspaced(first) {
		return line
	}
	return line + " "
}

// look is the formatting of words.
type look struct {
	bold, italic bool
	url          string
	raised       bool
}

// wordsText is a row of words with their looks.
func (d *textFacts) wordsText(words []Word, gaps map[int]bool, marked bool) string {
	var b strings.Builder
	for from := 0; from < len(words); {
		l := lookOf(words[from], marked)
		to := from + 1
		for to < len(words) && lookOf(words[to], marked) == l && !gaps[to] {
			to++
		}

		if from > 0 {
			if gaps[from] || !words[from].Joined {
				b.WriteByte(' ')
			}
		}

		whole := (from == 0 || !words[from].Joined) && (to == len(words) || !words[to].Joined)
		b.WriteString(dress(wordsOf(words[from:to]), l, whole))
		from = to
	}
	return b.String()
}

func lookOf(w Word, marked bool) look {
	if !marked {
		return look{}
	}
	return look{bold: w.Bold, italic: w.Italic, url: w.url, raised: w.raised}
}

func wordsOf(words []Word) string {
	r := run{words: words}
	text := r.text()
	if end := strings.TrimSuffix(text, string(softHyphen)); end != text {
		return escape(strings.ReplaceAll(end, string(softHyphen), "")) + string(softHyphen)
	}
	return escape(strings.ReplaceAll(text, string(softHyphen), ""))
}

// dress puts the signs of Markdown around words. Within a word they would be read as
// themselves.
func dress(text string, l look, whole bool) string {
	if text == "" {
		return ""
	}
	if l.raised && len(text) < 8 {
		return "<sup>" + text + "</sup>"
	}

	if whole {
		sign := ""
		if l.italic {
			sign = "*"
		}
		if l.bold {
			sign += "**"
		}
		// Next to letters, Markdown has no emphasis that ends with punctuation.
		text = sign + text + sign
	}

	if l.url != "" {
		return "[" + text + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "", "\\", "%5C").Replace(l.url) + ">)"
	}
	return text
}

var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`, "|", `\|`)

// escape escapes text in Markdown.
func escape(text string) string {
	text = special.Replace(text)
	if strings.Contains(text, "_") {
		var b strings.Builder
		letters := []rune(text)

		for i, r := range letters {
			within := i > 0 && i+1 < len(letters) && wordRune(letters[i-1]) && wordRune(letters[i+1])
			if r == '_' && !within {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		text = b.String()
	}

	if strings.Contains(text, "&") {
		text = entity.ReplaceAllString(text, `\$0`)
	}
	if strings.Contains(text, "~~") {
		text = strings.ReplaceAll(text, "~~", `\~\~`)
	}
	return text
}

var entity = regexp.MustCompile(`&(?:#?[A-Za-z0-9]+;)`)

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

var lineStart = regexp.MustCompile(`^(?:#{1,6}(?:\s|$)|[-+](?:\s|$)|>|=+\s*$|-+\s*$|~~~|\d{1,9}[.)](?:\s|$))`)

// guardLines escapes text that would make another block of a line.
func guardLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if found := lineStart.FindString(l); found != "" {
			at := 0
			for at < len(l) && l[at] >= '0' && l[at] <= '9' {
				at++
			}
			lines[i] = l[:at] + `\` + l[at:]
		}
	}
	return strings.Join(lines, "\n")
}

// tableText is a table of GitHub's Markdown.
func (d *textFacts) tableText(b block) string {
	var text strings.Builder
	for i, row := range b.table.rows {
		text.WriteByte('|')
		for n := range row {
			c := row[n]
			if b.rtl {
				c = row[len(row)-1-n]
			}
			text.WriteString(" " + d.cellText(c) + " |")
		}
		text.WriteByte('\n')

		if i == 0 {
			text.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}

	return strings.TrimSuffix(text.String(), "\n")
}

// cellText returns the content of a cell on one line.
func (d *textFacts) cellText(c cell) string {
	var lines []line
	for _, row := range rowsOf(c, runBox) {
		lines = append(lines, newLine(row))
	}
	b := block{lines: lines}
	b.settle()
	return strings.ReplaceAll(d.linesText(b, false), "\n", "<br>")
}
