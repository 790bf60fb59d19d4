package records

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"unicode/utf8"
)

// readCSV reads a table whose first row names the columns. The delimiter is the most frequent one of that row.
func readCSV(in *bufio.Reader, w *writer) error {
	reader := csv.NewReader(in)
	reader.Comma = delimiter(peekText(in))
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	var h header

	for {
		row, err := reader.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &syntax):
			return fault("is not valid CSV at line %d, column %d: %v", syntax.Line, syntax.Column, syntax.Err)
		case err != nil:
			return err
		case !h.exists:
			if err := h.set(row, w.flat); err != nil {
				return err
			}
			continue
		}

		line, _ := reader.FieldPos(0)
		cells := make([]any, len(row))
		for i, text := range row {
			if !utf8.ValidString(text) {
				return fault("must be UTF-8; line %d is not. Save the table as CSV UTF-8", line)
			}
			cells[i] = text
		}

		record, err := h.record(cells, line)
		if err == nil {
			err = w.write(record)
		}
		if err != nil {
			return err
		}
	}
}

// delimiter returns the most frequent delimiter of the first line, outside quotes.
func delimiter(head []byte) rune {
	counts := map[rune]int{}
	quoted := false

	for _, c := range string(head) {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted {
			break
		}
		if !quoted {
			counts[c]++
		}
	}

	best := ','
	for _, c := range ";\t|" {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}
