package pdffile

import (
	"fmt"
)

// Plain returns the whole document after the update as a new file of PDF 1.4, with nothing that is newer: no object
// streams, and a table in words. It has only objects that are reachable from the catalog or the information. The error
// is ErrUnread if an object on the way cannot be read.
func (u *Update) Plain() ([]byte, error) {
	w := &compactor{update: u, numbers: map[string]int{}}
	info := u.info
	if info == "" {
		info = Reference(u.file.trailer["/Info"])
	}

	root := u.file.Root()
	var values []any
	for next := []string{root, info}; len(next) > 0; {
		ref := next[0]
		next = next[1:]
		if _, seen := w.numbers[ref]; seen || ref == "" {
			continue
		}
		value, err := u.compactValue(ref)
		if err != nil {
			return nil, err
		}
		if w.numbers[ref] = 0; value != nil {
			values = append(values, value)
			w.numbers[ref] = len(values)
			next = orderedReferences(value, next)
		}
	}

	out := []byte("%PDF-1.4\n%\xE2\xE3\xCF\xD3\n")
	table := fmt.Appendf(nil, "xref\n0 %d\n0000000000 65535 f \n", len(values)+1)
	for i, value := range values {
		table = fmt.Appendf(table, "%010d 00000 n \n", len(out))
		out = fmt.Appendf(out, "%d 0 obj\n", i+1)
		if s, ok := value.(Stream); ok {
			entries := Without(s.Entries)
			entries["/Length"] = len(s.Content)
			out = append(w.value(out, entries), "\nstream\n"...)
			out = append(append(out, s.Content...), "\nendstream\nendobj\n"...)
			continue
		}
		out = append(w.value(out, value), "\nendobj\n"...)
	}

	trailer := Dict{"/Root": root, "/ID": u.identity(), "/Size": len(values) + 1}
	if info != "" {
		trailer["/Info"] = info
	}

	start := len(out)
	out = append(append(out, table...), "trailer\n"...)
	return fmt.Appendf(w.value(out, trailer), "\nstartxref\n%d\n%%%%EOF\n", start), nil
}

// Entries returns an object's dictionary after the update, or that of its stream; nil if it is something else.
func (u *Update) Entries(ref string) Dict {
	switch v := u.changed[ref].(type) {
	case Dict:
		return v
	case Stream:
		return v.Entries
	case nil:
		return u.file.Dict(ref)
	}
	return nil
}

// SetEntries gives an object other entries. A stream keeps its content.
func (u *Update) SetEntries(ref string, entries Dict) {
	content, isStream := u.changed[ref].(Stream)
	if u.changed[ref] == nil {
		content, isStream = u.file.Stream(ref)
	}
	if isStream {
		u.changed[ref] = Stream{entries, content.Content}
		return
	}
	u.changed[ref] = entries
}
