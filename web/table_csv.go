package web

import (
	"encoding/csv"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// sendTable responds with a CSV file, written while its rows are read, so that memory does not grow with their number.
// An error after the first rows were sent cuts the connection, so a partial file cannot pass for a whole one.
func (v *pageRequest) sendTable(name string, columns []string, each func(add func(row []string) error) error) error {
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)

	body := &tableBody{to: v.w}
	out := csv.NewWriter(body)
	err := out.Write(columns)
	if err == nil {
		err = each(func(row []string) error { return out.Write(plainCells(row)) })
	}
	if err == nil {
		out.Flush()
		err = out.Error()
	}

	switch {
	case err == nil:
		return nil
	case !body.started:
		h.Del("Content-Disposition")
		return err
	}
	v.web.log.WarnContext(v.ctx(), "file not exported", "file", name, "error", err)
	panic(http.ErrAbortHandler)
}

// tableBody is the body of a CSV file. Begun is set once a part of it was sent.
type tableBody struct {
	to      io.Writer
	started bool
}

func (b *tableBody) Write(p []byte) (int, error) {
	b.started = true
	return b.to.Write(p)
}

// exported returns the rows of a list, for sendTable.
func exported[Item any](
	read func(store.List) (store.Page[Item], error), row func(Item) []string,
) func(add func([]string) error) error {
	return func(add func([]string) error) error {
		return eachPage(read, func(item Item) error { return add(row(item)) })
	}
}

// plainCells keeps spreadsheets from taking a text for a formula.
func plainCells(cells []string) []string {
	for i, cell := range cells {
		if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "@") ||
			strings.HasPrefix(cell, "\t") || strings.HasPrefix(cell, "-") && !isNumber(cell) {
			cells[i] = "'" + cell
		}
	}
	return cells
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// decimal writes an amount of dollars with all its decimals.
func decimal(a credit.Amount) string {
	return strconv.FormatFloat(float64(a)/1e6, 'f', 6, 64)
}
