// Writes down the letters of a document's pages with their places, a file for each
// page, and, with the first of them, the texts that its objects hold. See readInput for the
// arguments.
var doc = new PDFDocument(args.input), pages = doc.countPages();

function write(name, value) {
	var out = new Buffer();
	out.write(JSON.stringify(value));
	out.save(name);
}

// letters are those of a page: what they say, and the corners of each in hundredths of a
// point.
function letters(number) {
	var text = [], quads = [];
	doc.loadPage(number).toStructuredText("preserve-whitespace,preserve-images").walk({
		onChar: function (c, origin, font, size, quad) {
			text.push(c);
			for (var i = 0; i < 8; i++) quads.push(Math.round(quad[i] * 100));
		},
		endLine: function () {
			text.push("\n");
			quads.push(0, 0, 0, 0, 0, 0, 0, 0);
		}
	});
	return { text: text, quads: quads.join(" ") };
}

var texts = {};

// collect finds the texts of an object, and not of those that it refers to.
function collect(o, depth) {
	if (!o || depth > 100) return;
	if (o.isString()) texts[o.asString()] = true;
	else if (o.isArray()) {
		if (o.length && String(o.get(0)) === "/Indexed") return; // colours
		for (var i = 0; i < o.length; i++) member(o.get(i), depth);
	}
	else if (o.isDictionary()) o.forEach(function (a, b) { member(o.get(typeof a === "string" ? a : b), depth); });
}

function member(o, depth) { if (o && !o.isIndirect()) collect(o, depth + 1); }

function collectAll() {
	for (var n = 1; n < doc.countObjects(); n++) collect(doc.newIndirect(n, 0).resolve(), 0);
	collect(doc.getTrailer().get("Info"), 0);
	var places = doc.getTrailer().get("Root").get("Dests"); // whose names are keys
	if (places && places.isDictionary()) places.forEach(function (a, b) { texts[typeof a === "string" ? a : b] = true; });
	write(args.texts, Object.keys(texts));
}

for (var i = args.first; i < args.end && i < pages; i++) write(args.output + i + ".json", letters(i));
if (args.first === 0) collectAll();
print(pages);
