package pdftag

import (
	"fmt"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// writeContents gives all content new marks, and collects their owners.
func (d *tagger) writeContents() error {
	for _, s := range d.order {
		for _, m := range s.marks {
			s.holds = s.holds || m.owner != nil
		}
		for _, e := range s.events {
			s.holds = s.holds || e.form != nil && e.form.holds
		}
	}

	for _, s := range d.order {
		if s.form && !s.holds && !slices.ContainsFunc(s.events, func(e event) bool { return e.kind == cut }) {
			d.update.Set(s.ref, d.unchanged(s))
			continue
		}

		w := contentWriter{stream: s}
		entries := pdffile.Without(s.entries, "/StructParents", "/DecodeParms")
		out := pdffile.Deflated(entries, w.write())
		if len(s.parents) > 0 {
			s.key = d.nextKey()
			if s.form {
				entries["/StructParents"] = s.key
			}
		}

		d.update.Set(s.ref, out)
		s.plain = nil
	}
	return nil
}

// unchanged is a form whose content stays as it is: part of the marks around it.
func (d *tagger) unchanged(s *stream) pdffile.Stream {
	raw, _ := d.file.Stream(s.ref)
	return pdffile.Stream{Entries: pdffile.Without(raw.Entries, "/StructParents"), Content: raw.Content}
}

// contentWriter writes the content of a stream with new marks.
type contentWriter struct {
	*stream

	out  []byte
	open openMark
}

// openMark is the marked content that is being written: an artifact if kid is nil.
type openMark struct {
	is  bool
	kid *kid // the latest of its kids, if several merged
}

func (w *contentWriter) write() []byte {
	w.out = make([]byte, 0, len(w.plain)+len(w.plain)/16)
	at := 0

	for _, e := range w.events {
		w.out = append(w.out, w.plain[at:max(at, e.start)]...)
		at = max(at, e.start)
		switch e.kind {
		case drawing:
			w.enter(e)
		case border:
			w.close()
		case cut:
			at = max(at, e.end)
		}
	}

	w.out = append(w.out, w.plain[at:]...)
	w.close()
	return w.out
}

// enter opens the mark that drawing needs, unless it is open. Forms that hold marks are drawn outside all others, and
// the forms without stay without.
func (w *contentWriter) enter(e event) {
	if e.form != nil && e.form.holds || w.form && !w.holds {
		w.close()
		return
	}

	m := w.marks[e.mcid]
	if m == nil || m.owner == nil {
		if !w.open.is || w.open.kid != nil {
			w.close()
			w.newLine()
			w.out = append(w.out, "/Artifact BMC\n"...)
			w.open = openMark{is: true}
		}
		return
	}

	if w.open.is && w.open.kid != nil && w.open.kid.continues(m.kid) {
		w.open.kid = m.kid
		return
	}

	w.close()
	w.newLine()
	mcid := len(w.parents)
	w.out = fmt.Appendf(w.out, "%s<</MCID %d>>BDC\n", m.owner.kind, mcid)
	w.parents = append(w.parents, m.owner)
	m.kid.newMCIDs = append(m.kid.newMCIDs, mcid)
	w.open = openMark{is: true, kid: m.kid}
}

// close ends the open mark.
func (w *contentWriter) close() {
	if w.open.is {
		w.newLine()
		w.out = append(w.out, "EMC\n"...)
		w.open = openMark{}
	}
}

// newLine separates an operator from what is before it.
func (w *contentWriter) newLine() {
	if n := len(w.out); n > 0 && w.out[n-1] != '\n' {
		w.out = append(w.out, '\n')
	}
}
