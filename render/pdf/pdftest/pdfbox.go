package pdftest

import (
	_ "embed"
	"path/filepath"
)

//go:embed Sign.java
var signer []byte

// SignWithPDFBox returns a document with another signature as PDFBox adds it.
func (a *Authority) SignWithPDFBox(content []byte, id Identity) []byte {
	a.T.Helper()
	a.Save("pdfbox", id)
	out := filepath.Join(a.T.TempDir(), "signed.pdf")
	path := []string{"/usr/share/java/pdfbox2.jar", "/usr/share/java/fontbox2.jar", "/usr/share/java/commons-logging.jar"}
	java(a.T, path, "Sign.java", signer, Save(a.T, content), out, a.Path("pdfbox.pem"), a.Path("pdfbox.key"))
	return Load(a.T, out)
}
