import java.io.File;
import java.util.EnumSet;
import java.util.List;
import org.verapdf.features.FeatureFactory;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.metadata.fixer.FixerFactory;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.validation.validators.ValidatorConfig;
import org.verapdf.pdfa.validation.validators.ValidatorConfigBuilder;
import org.verapdf.processor.BatchProcessingHandler;
import org.verapdf.processor.BatchProcessor;
import org.verapdf.processor.FormatOption;
import org.verapdf.processor.ProcessorConfig;
import org.verapdf.processor.ProcessorFactory;
import org.verapdf.processor.TaskType;
import org.verapdf.processor.plugins.PluginsCollectionConfig;
import org.verapdf.processor.reports.BatchSummary;

/**
 * The part of veraPDF's command line that relaypdf uses, on veraPDF's libraries: prints the XML report of a file.
 * Exit codes are veraPDF's: 0 for a file that conforms, 1 for one that does not, 7 without a verdict.
 */
class VeraPDF {
	private static final int DOES_NOT_CONFORM = 1;
	private static final int NO_VERDICT = 7;

	public static void main(String[] args) throws Exception {
		if (args.length != 5 || !args[0].equals("--flavour") || !args[2].equals("--maxfailuresdisplayed")) {
			System.err.println("usage: verapdf --flavour 1b|2b|…|ua1 --maxfailuresdisplayed N FILE");
			System.exit(2);
		}

		VeraGreenfieldFoundryProvider.initialise();
		ValidatorConfig validator = ValidatorConfigBuilder.defaultBuilder()
				.flavour(PDFAFlavour.byFlavourId(args[1]))
				.maxNumberOfDisplayedFailedChecks(Integer.parseInt(args[3]))
				.build();
		ProcessorConfig config = ProcessorFactory.fromValues(validator, FeatureFactory.defaultConfig(),
				PluginsCollectionConfig.defaultConfig(), FixerFactory.defaultConfig(), EnumSet.of(TaskType.VALIDATE));

		BatchSummary summary;
		try (BatchProcessor processor = ProcessorFactory.fileBatchProcessor(config)) {
			// The processor closes the report with its last line.
			BatchProcessingHandler report = ProcessorFactory.getHandler(FormatOption.XML, false, System.out, false);
			summary = processor.process(List.of(new File(args[4])), report);
		}

		if (summary.getValidationSummary().getCompliantPdfaCount() == 1) {
			System.exit(0);
		}
		System.exit(summary.getValidationSummary().getNonCompliantPdfaCount() == 1 ? DOES_NOT_CONFORM : NO_VERDICT);
	}
}
