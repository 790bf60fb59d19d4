// Ghostscript reads neither ranges of codes right that go beyond Latin, nor meanings of more
// than one unit of UTF-16, such as emoji and ligatures: each of these becomes one letter for
// private use, whose meaning decode.js puts back. It stands behind fonts.js.

var first = 0xE000, room = 0xF900 - first, meanings = [], letters = {};

// coded is what a font says instead of a meaning.
function coded(means) {
	if (/^([0-9A-D]...|F[9A-F]..)$/.test(means) || !/^(....)+$/.test(means)) return means;
	if (letters[means] === undefined) {
		if (meanings.length === room) return means;
		letters[means] = meanings.push(means) - 1;
	}
	return hex(first + letters[means], 4);
}

for (var i = 1; i < doc.countObjects(); i++) {
	var o = doc.newIndirect(i, 0), held = o.resolve();
	if (!held || !held.isDictionary() || !has(held, "Subtype") || !has(held, "ToUnicode")) continue;
	var f = fontOf(o);
	if (!f) continue;
	for (var code in f.says) f.says[code] = coded(f.says[code]);
	tell(f);
}
doc.save(args.output, "");
print(JSON.stringify(meanings));
