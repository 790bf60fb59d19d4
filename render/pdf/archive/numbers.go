package archive

import (
	"math"
	"strconv"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// maxReal is the largest number with a fraction that PDF/A-1 allows.
const maxReal = 32767

// limitNumbers brings the corners of rectangles within the numbers that PDF/A-1 allows: Ghostscript writes those far
// beside a page as they are. Nothing on a page changes by that.
func (a *archiver) limitNumbers(name string) error {
	if a.args.Level != Level1B {
		return nil
	}

	d := &job.Document{Work: a.Work, Name: name}
	f, err := d.ReadSelf()
	if err != nil {
		return a.Fail(job.Damaged, err)
	}
	refs, err := redact.ContentStreams(f)
	if err != nil {
		return a.Fail(job.Damaged, err)
	}

	update := f.NewUpdate()
	for _, ref := range refs {
		stream, ok := f.Stream(ref)
		plain, rest, err := redact.PlainStream(f, stream)
		if !ok || err != nil || rest != "" {
			continue // the check of the result finds it
		}
		if limited, changed := limitedContent(plain); changed {
			update.Set(ref, pdffile.Deflated(pdffile.Without(stream.Entries, "/Filter", "/DecodeParms", "/Length"), limited))
		}
	}

	return d.Change(update)
}

// limitedContent returns content with the corners of its rectangles within the limit, and whether one was not.
func limitedContent(content []byte) (limited []byte, changed bool) {
	pdffile.ReadContent(content, func(op pdffile.Operation) {
		v := job.NumbersOf(op.Operands)
		if op.Operator == "re" && len(v) == 4 && len(op.Operands) == 4 {
			left := v[0]
			bottom := v[1]
			right := v[0] + v[2]
			top := v[1] + v[3]

			if max(math.Abs(left), math.Abs(bottom), math.Abs(right), math.Abs(top), math.Abs(v[2]), math.Abs(v[3])) > maxReal {
				const maximum = maxReal / 2. // so that widths are within the limit, too
				clamp := func(n float64) float64 { return max(-maximum, min(maximum, n)) }
				left, bottom, right, top = clamp(left), clamp(bottom), clamp(right), clamp(top)
				for i, n := range []float64{left, bottom, right - left, top - bottom} {
					op.Operands[i] = pdffile.Number(strconv.FormatFloat(n, 'f', -1, 64))
				}
				changed = true
			}
		}

		limited = pdffile.AppendOperation(limited, op)
	})
	return limited, changed
}
