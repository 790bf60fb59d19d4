// Gives fonts the meanings back that code.js has put letters for private use in the
// place of. It stands behind fonts.js.

var first = 0xE000;

// decoded is the meaning that a font had.
function decoded(value) { return args.meanings[value - first] || hex(value, 4); }

// chars writes codes with their meanings.
function chars(list) {
	var out = "";
	for (var i = 0; i < list.length; i += 100) {
		var some = list.slice(i, i + 100);
		out += some.length + " beginbfchar\n" + some.join("\n") + "\nendbfchar\n";
	}
	return out;
}

// restore returns a table of codes with the meanings. Ghostscript writes ranges of one
// code each, and of several.
function restore(text) {
	return text.replace(/\d+\s+beginbf(range|char)([^]*?)endbf(range|char)\s*/g, function (all, kind, body) {
		var tokens = body.match(/<[^>]*>/g) || [], list = [], size = kind === "range" ? 3 : 2;
		if (body.indexOf("[") >= 0 || tokens.length % size) return all;
		for (var i = 0; i < tokens.length; i += size) {
			var digits = tokens[i].length - 2, low = parseInt(tokens[i].slice(1), 16), high = parseInt(tokens[i + size - 2].slice(1), 16), means = digitsOf(tokens[i + size - 1]);
			if (!(high - low < 65536) || high < low) return all;
			for (var n = 0; low + n <= high; n++) {
				var last = parseInt(means.slice(-4), 16) + n;
				list.push("<" + hex(low + n, digits) + "> <" + (means.length === 4 ? decoded(last) : means.slice(0, -4) + hex(last, 4)) + ">");
			}
		}
		return chars(list);
	});
}

for (var i = 1; i < doc.countObjects(); i++) {
	var o = doc.newIndirect(i, 0), held = o.resolve(), tells = held && held.isDictionary() && has(held, "Subtype") ? has(held, "ToUnicode") : null;
	if (!tells || !tells.isStream()) continue;
	var b = tells.readStream(), text = "", out = new Buffer();
	for (var k = 0; k < b.length; k++) text += String.fromCharCode(b[k]);
	out.write(restore(text));
	o.put("ToUnicode", doc.addStream(out, doc.newDictionary()));
}
doc.save(args.output, "garbage=compact");
print("true");
