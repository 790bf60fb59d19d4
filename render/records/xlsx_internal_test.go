package records

import "testing"

// FuzzDateFormat: no format code of a workbook ends the reader.
func FuzzDateFormat(f *testing.F) {
	for _, code := range []string{"[", `"`, `\\`, "[h]:mm", "yyyy-mm-dd", "0.00;[Red]d", "[$-409]d"} {
		f.Add(code)
	}
	f.Fuzz(func(_ *testing.T, code string) { dateFormat(code) })
}
