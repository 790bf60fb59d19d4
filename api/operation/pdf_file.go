package operation

import (
	"context"

	"relaypdf/api/schema"
	"relaypdf/render"
)

// PDFFileInput is the input of the operations that take a PDF and nothing more.
type PDFFileInput struct {
	schema.Common
	PDFSource
}

// Validate checks the rules that the schema cannot express.
func (in *PDFFileInput) Validate() error {
	var faults schema.Faults
	in.validate(&faults)
	return failures(faults)
}

// CompressInput is the input of pdf.compress.
type CompressInput struct {
	PDFFileInput
	Described
}

func runCompress(ctx context.Context, deps *Deps, in *CompressInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("compressed")(deps.Render.CompressPDF(ctx, file))
	})
}

func runInfo(ctx context.Context, deps *Deps, in *PDFFileInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		info, err := deps.Render.DescribePDF(ctx, file)
		return schema.Result{Stem: "info", JSON: info}, err
	})
}

// examplePDF is a source for the examples of the table.
func examplePDF() PDFSource {
	return PDFSource{FileSource: FileSource{File: schema.NewFile([]byte(tinyPDF))}}
}

// exampleFile is examplePDF as one of several files.
func exampleFile(name string) FileItem {
	return FileItem{FileSource: examplePDF().FileSource, Filename: name}
}

// tinyPDF is a document of two empty pages.
const tinyPDF = `%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /MediaBox [0 0 200 100] >>
endobj
3 0 obj
<< /Type /Page /Parent 2 0 R >>
endobj
4 0 obj
<< /Type /Page /Parent 2 0 R >>
endobj
xref
0 5
0000000000 65535 f 
0000000009 00000 n 
0000000058 00000 n 
0000000145 00000 n 
0000000192 00000 n 
trailer
<< /Size 5 /Root 1 0 R >>
startxref
239
%%EOF
`

// exampleScan is a source for the examples of the table: a page with an image.
func exampleScan() PDFSource {
	return PDFSource{FileSource: FileSource{File: schema.NewFile([]byte(scanPDF))}}
}

const scanPDF = `%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 200 100] >>
endobj
3 0 obj
<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>
endobj
4 0 obj
<< /Length 29 >>
stream
q 100 0 0 50 50 25 cm /I Do Q
endstream
endobj
5 0 obj
<< /Type /XObject /Subtype /Image /Width 2 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 2 >>
stream
 z
endstream
endobj
xref
0 6
0000000000 65535 f 
0000000009 00000 n 
0000000058 00000 n 
0000000139 00000 n 
0000000243 00000 n 
0000000322 00000 n 
trailer
<< /Size 6 /Root 1 0 R >>
startxref
467
%%EOF
`

// exampleText is a source for the examples of the table: a page with words.
func exampleText() PDFSource {
	return PDFSource{FileSource: FileSource{File: schema.NewFile([]byte(textPDF))}}
}

const textPDF = `%PDF-1.4
1 0 obj
<< /Type /Catalog /Pages 2 0 R >>
endobj
2 0 obj
<< /Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 250 200] >>
endobj
3 0 obj
<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>
endobj
4 0 obj
<< /Length 440 >>
stream
BT
/F2 16 Tf 1 0 0 1 20 165 Tm (Invoice 2026-17) Tj
/F1 10 Tf 1 0 0 1 20 140 Tm (For Ada Lovelace, due on 1 December 2026.) Tj
/F2 10 Tf 1 0 0 1 20 115 Tm (Item) Tj
/F2 10 Tf 1 0 0 1 150 115 Tm (Amount) Tj
/F1 10 Tf 1 0 0 1 20 100 Tm (Paper) Tj
/F1 10 Tf 1 0 0 1 150 100 Tm (12.50) Tj
/F1 10 Tf 1 0 0 1 20 85 Tm (Ink) Tj
/F1 10 Tf 1 0 0 1 150 85 Tm (30.00) Tj
/F1 10 Tf 1 0 0 1 20 70 Tm (Total) Tj
/F1 10 Tf 1 0 0 1 150 70 Tm (42.50) Tj
ET
endstream
endobj
5 0 obj
<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>
endobj
6 0 obj
<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>
endobj
xref
0 7
0000000000 65535 f 
0000000009 00000 n 
0000000058 00000 n 
0000000139 00000 n 
0000000251 00000 n 
0000000741 00000 n 
0000000811 00000 n 
trailer
<< /Size 7 /Root 1 0 R >>
startxref
886
%%EOF
`
