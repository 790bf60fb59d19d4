import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Calendar;
import org.apache.pdfbox.pdmodel.PDDocument;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.PDSignature;
import org.apache.pdfbox.pdmodel.interactive.digitalsignature.SignatureOptions;
import org.apache.pdfbox.pdmodel.interactive.form.PDAcroForm;

/** Signs a PDF as PDFBox does, which completes its form. The CMS is by openssl. Arguments: PDF, result, certificate, key. */
class Sign {
	public static void main(String[] args) throws Exception {
		try (PDDocument document = PDDocument.load(new File(args[0])); FileOutputStream out = new FileOutputStream(args[1])) {
			PDAcroForm form = document.getDocumentCatalog().getAcroForm();
			if (form != null) {
				form.getCOSObject().setNeedToBeUpdated(true);
				document.getDocumentCatalog().getCOSObject().setNeedToBeUpdated(true);
			}

			PDSignature signature = new PDSignature();
			signature.setFilter(PDSignature.FILTER_ADOBE_PPKLITE);
			signature.setSubFilter(PDSignature.SUBFILTER_ADBE_PKCS7_DETACHED);
			signature.setName("PDFBox");
			signature.setSignDate(Calendar.getInstance());
			SignatureOptions options = new SignatureOptions();
			options.setPreferredSignatureSize(20000);
			document.addSignature(signature, content -> cms(content, args[1], args[2], args[3]), options);
			document.saveIncremental(out);
		}
	}

	private static byte[] cms(InputStream content, String out, String certificate, String key) {
		Path signed = Path.of(out + ".content"), cms = Path.of(out + ".cms");
		try {
			Files.copy(content, signed, StandardCopyOption.REPLACE_EXISTING);
			Process openssl = new ProcessBuilder("openssl", "cms", "-sign", "-binary", "-md", "sha256", "-in", signed.toString(),
				"-signer", certificate, "-inkey", key, "-outform", "DER", "-out", cms.toString()).inheritIO().start();
			if (openssl.waitFor() != 0) throw new IllegalStateException("openssl failed");
			return Files.readAllBytes(cms);
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}
}
