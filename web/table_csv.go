package web

import (
	"encoding/csv"
	"iter"
	"strconv"
	"strings"

	"relaypdf/store"
	"relaypdf/store/credit"
)

// maxExport bounds the rows of one CSV file.
const maxExport = 50_000

// sendTable responds with a CSV file. An error among the rows ends it.
func (v *pageRequest) sendTable(name string, columns []string, rows iter.Seq2[[]string, error]) error {
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	out := csv.NewWriter(v.w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := out.Write(plainCells(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// exported returns the rows of a list, up to maxExport.
func exported[Item any](read func(store.List) (store.Page[Item], error), row func(Item) []string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		list := store.List{Limit: store.MaxList}
		for range maxExport / store.MaxList {
			page, err := read(list)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(row(item), nil) {
					return
				}
			}
			if list.Cursor = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// plainCells keeps spreadsheets from taking a text for a formula.
func plainCells(cells []string) []string {
	for i, cell := range cells {
		if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "@") || strings.HasPrefix(cell, "\t") || strings.HasPrefix(cell, "-") && !isNumber(cell) {
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
