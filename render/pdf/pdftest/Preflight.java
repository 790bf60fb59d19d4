import java.io.File;
import java.util.TreeSet;
import org.apache.pdfbox.preflight.PreflightDocument;
import org.apache.pdfbox.preflight.ValidationResult;
import org.apache.pdfbox.preflight.exception.SyntaxValidationException;
import org.apache.pdfbox.preflight.parser.PreflightParser;

/** Prints the rules of PDF/A-1b that PDFs break, as "file TAB code TAB message". Arguments: files. */
class Preflight {
	public static void main(String[] args) throws Exception {
		for (String file : args) {
			ValidationResult result;
			PreflightParser parser = new PreflightParser(new File(file));
			try {
				parser.parse();
				try (PreflightDocument document = parser.getPreflightDocument()) {
					document.validate();
					result = document.getResult();
				}
			} catch (SyntaxValidationException e) {
				result = e.getResult();
			}
			TreeSet<String> broken = new TreeSet<>();
			for (ValidationResult.ValidationError e : result.getErrorsList()) broken.add(e.getErrorCode() + "\t" + e.getDetails());
			for (String rule : broken) System.out.println(file + "\t" + rule);
		}
	}
}
