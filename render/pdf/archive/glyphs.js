// Prints the numbers of the pages that show text for which its font has no glyph (.notdef),
// visible or not. args.input is the document.

var doc = new Document(args.input), pages = [];
for (var i = 0; i < doc.countPages(); i++) {
	var missing = false;
	// The glyphs of a character that is several in a font's code have -1, and no meaning is U+FFFD.
	var walker = { showGlyph: function (font, matrix, glyph, character) { missing = missing || glyph === 0 && character === 0xFFFD; } };
	var show = function (text) { if (!missing) text.walk(walker); };
	doc.loadPage(i).run({ fillText: show, strokeText: show, clipText: show, clipStrokeText: show, ignoreText: show }, Identity);
	if (missing) pages.push(i + 1);
}
print(JSON.stringify(pages));
