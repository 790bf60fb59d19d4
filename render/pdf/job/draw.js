// What scripts share that draw on pages: it stands before them. runScript sets args.
var doc = new PDFDocument(args.input);

// has returns an entry of a dictionary, or null.
function has(o, key) { var v = o.get(key); return v && !v.isNull() ? v : null; }

// each passes the keys of a dictionary to f, which may change it.
function each(o, f) {
	var keys = [];
	o.forEach(function (a, b) { keys.push(typeof a === "string" ? a : b); }); // their order differs between versions
	for (var i = 0; i < keys.length; i++) f(keys[i]);
}

// drop takes entries out of a dictionary.
function drop(o, keys) {
	if (o && o.isDictionary()) for (var i = 0; i < keys.length; i++) if (has(o, keys[i])) o.delete(keys[i]);
}

// attribute returns an attribute of a page, or of what it is in.
function attribute(page, key) {
	for (var node = page, depth = 0; node && node.isDictionary() && depth < 64; node = node.get("Parent"), depth++) {
		var value = node.get(key);
		if (value && !value.isNull()) return value;
	}
	return null;
}

// box reads a rectangle, its corners in order.
function box(o) {
	if (!o || !o.isArray() || o.length !== 4) return null;
	var n = [];
	for (var i = 0; i < 4; i++) n.push(o.get(i).asNumber());
	n = [Math.min(n[0], n[2]), Math.min(n[1], n[3]), Math.max(n[0], n[2]), Math.max(n[1], n[3])];
	return n[2] > n[0] && n[3] > n[1] ? n : null;
}

// shown returns the part of a page that is shown, in its own coordinates.
function shown(page) {
	var media = box(attribute(page, "MediaBox")) || [0, 0, 612, 792];
	var crop = box(attribute(page, "CropBox")) || media;
	var both = [Math.max(crop[0], media[0]), Math.max(crop[1], media[1]), Math.min(crop[2], media[2]), Math.min(crop[3], media[3])];
	return both[2] > both[0] && both[3] > both[1] ? both : media;
}

// upright returns the matrix from a page as it is shown, in points from its
// bottom left, to its own coordinates, and its size as it is shown.
function upright(page) {
	var b = shown(page), w = b[2] - b[0], h = b[3] - b[1];
	var turn = attribute(page, "Rotate"), unit = page.get("UserUnit");
	turn = turn && turn.isNumber() ? ((turn.asNumber() % 360) + 360) % 360 : 0;
	unit = unit && unit.isNumber() && unit.asNumber() > 0 ? unit.asNumber() : 1;
	var u = 1 / unit;
	switch (turn) {
	case 90: return { m: [0, u, -u, 0, b[2], b[1]], w: h * unit, h: w * unit };
	case 180: return { m: [-u, 0, 0, -u, b[2], b[3]], w: w * unit, h: h * unit };
	case 270: return { m: [0, -u, u, 0, b[0], b[3]], w: h * unit, h: w * unit };
	}
	return { m: [u, 0, 0, u, b[0], b[1]], w: w * unit, h: h * unit };
}

// times returns the matrix that does a and then b.
function times(a, b) {
	return [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
		a[4] * b[0] + a[5] * b[2] + b[4], a[4] * b[1] + a[5] * b[3] + b[5]];
}

// numbers writes a matrix as PDF takes it.
function numbers(m) {
	var out = [];
	for (var i = 0; i < m.length; i++) out.push(m[i].toFixed(5));
	return out.join(" ");
}

// content returns the streams of a page's content in one.
function content(page) {
	var c = page.get("Contents"), out = new Buffer();
	if (c && c.isArray()) {
		for (var i = 0; i < c.length; i++) {
			if (c.get(i).isStream()) out.writeBuffer(c.get(i).readStream());
			out.writeLine("");
		}
	} else if (c && c.isStream()) out.writeBuffer(c.readStream());
	return out;
}

// rectangle makes an array of a box.
function rectangle(b) {
	var a = doc.newArray();
	for (var i = 0; i < 4; i++) a.push(doc.newReal(b[i]));
	return a;
}

// form makes a form of content.
function form(bounds, resources, data) {
	var d = doc.newDictionary(), group = doc.newDictionary();
	group.put("S", doc.newName("Transparency"));
	d.put("Type", doc.newName("XObject"));
	d.put("Subtype", doc.newName("Form"));
	d.put("BBox", rectangle(bounds));
	d.put("Group", group);
	d.put("Resources", resources);
	return doc.addStream(data, d);
}

// copy returns a dictionary with the entries of another, or an empty one.
function copy(o) {
	var d = doc.newDictionary();
	if (o && o.isDictionary()) each(o, function (key) { d.put(key, o.get(key)); });
	return d;
}

// aside puts the links of a page aside, which qpdf drops where it makes comments part of
// their page; back gives them back. Those that a document has put there itself are none.
function aside(page) {
	var all = page.get("Annots"), links = doc.newArray(), left = doc.newArray();
	if (page.get("KeptAnnots")) page.delete("KeptAnnots");
	if (!all || !all.isArray()) return;
	for (var i = 0; i < all.length; i++) {
		var a = all.get(i);
		if (a && a.isDictionary() && String(a.get("Subtype")) === "/Link") links.push(a);
		else left.push(a);
	}
	page.put("Annots", left);
	if (links.length) page.put("KeptAnnots", links);
}

function back(page) {
	var kept = page.get("KeptAnnots");
	if (!kept || kept.isNull()) return;
	page.put("Annots", kept);
	page.delete("KeptAnnots");
}

var white = byteTable(" \t\r\n\f\0"), ends = byteTable(" \t\r\n\f\0()<>[]{}/%");

// byteTable tells of each byte whether it is one of some letters.
function byteTable(letters) {
	var table = [];
	for (var c = 0; c < 256; c++) table.push(letters.indexOf(String.fromCharCode(c)) >= 0);
	return table;
}

// isWhite and isEnd tell whether a byte is space, and whether one, or no more, ends a word
// of content.
function isWhite(c) { return white[c] === true; }
function isEnd(c) { return ends[c] !== false; }

// eachWord passes the words of content, b, to f: their text, with the slash of names, where
// they begin, and where they end. The data of an image is one with its ID. Texts and
// comments are none.
function eachWord(b, f) {
	for (var i = 0; i < b.length;) {
		var c = b[i], start = i;
		if (c === 40) i = afterText(b, i);
		else if (c === 37) while (i < b.length && b[i] !== 10 && b[i] !== 13) i++;
		else if (c === 60 && b[i + 1] === 60) i += 2;
		else if (c === 60) while (i < b.length && b[i++] !== 62);
		else if (c !== 47 && isEnd(c)) i++;
		else {
			var word = String.fromCharCode(c);
			for (i++; i < b.length && !isEnd(b[i]); i++) word += String.fromCharCode(b[i]);
			if (word === "ID") i = afterImage(b, i);
			f(word, start, i);
		}
	}
}

// afterText returns where a text in parentheses ends that begins at i.
function afterText(b, i) {
	for (var depth = 0; i < b.length; i++) {
		if (b[i] === 92) i++; // a backslash
		else if (b[i] === 40) depth++;
		else if (b[i] === 41 && --depth === 0) return i + 1;
	}
	return i;
}

// afterImage returns where the data of an image in the content end.
function afterImage(b, i) {
	for (; i < b.length; i++) if (isWhite(b[i]) && b[i + 1] === 69 && b[i + 2] === 73 && isEnd(b[i + 3])) return i + 3;
	return i;
}
