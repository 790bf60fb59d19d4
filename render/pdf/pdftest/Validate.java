import java.io.FileInputStream;
import java.io.InputStream;
import java.util.TreeSet;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.pdfa.Foundries;
import org.verapdf.pdfa.PDFAParser;
import org.verapdf.pdfa.PDFAValidator;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.results.TestAssertion;

/** Prints the rules of a standard that PDFs break, as "file TAB clause TAB message". Arguments: 2b, ua1, …, and files. */
class Validate {
	public static void main(String[] args) throws Exception {
		VeraGreenfieldFoundryProvider.initialise();
		PDFAFlavour standard = PDFAFlavour.byFlavourId(args[0]);
		for (int i = 1; i < args.length; i++) {
			TreeSet<String> broken = new TreeSet<>();
			try (InputStream in = new FileInputStream(args[i]);
					PDFAParser parser = Foundries.defaultInstance().createParser(in, standard);
					PDFAValidator validator = Foundries.defaultInstance().createValidator(standard, false)) {
				for (TestAssertion a : validator.validate(parser).getTestAssertions())
					if (a.getStatus() == TestAssertion.Status.FAILED)
						broken.add(a.getRuleId().getClause() + "-" + a.getRuleId().getTestNumber() + "\t" + a.getMessage());
			} catch (Exception e) {
				broken.add("unreadable\t" + e);
			}
			for (String rule : broken) System.out.println(args[i] + "\t" + rule);
		}
	}
}
