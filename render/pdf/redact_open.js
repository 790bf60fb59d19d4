// Makes everything of a document visible that a reader could find in it, and takes out
// what is not on its pages. It stands behind draw.js; see redaction for the rest.

var root = doc.getTrailer().get("Root");

// drop takes entries out of a dictionary.
function drop(o, keys) {
	if (o && o.isDictionary()) for (var i = 0; i < keys.length; i++) if (o.get(keys[i]) && !o.get(keys[i]).isNull()) o.delete(keys[i]);
}

// keep sets an entry aside under another name.
function keep(o, key) {
	var value = o.get(key);
	if (value && !value.isNull()) {
		o.put("Kept" + key, value);
		o.delete(key);
	}
}

// links returns the annotations that lead elsewhere. All others have become part of
// their page, or were hidden.
function links(page) {
	var aside = page.get("KeptAnnots"), all = aside && aside.isArray() ? aside : page.get("Annots"), left = doc.newArray();
	drop(page, ["KeptAnnots"]);
	if (all && all.isArray()) for (var i = 0; i < all.length; i++) {
		var a = all.get(i);
		if (a && a.isDictionary() && String(a.get("Subtype")) === "/Link") {
			drop(a, ["AP", "PieceInfo", "AA"]);
			left.push(a);
		}
	}
	return left;
}

var white = " \t\r\n\f\0", ends = white + "()<>[]{}/%";

// isWhite and isEnd tell whether a byte is space, and whether one ends a word.
function isWhite(c) { return white.indexOf(String.fromCharCode(c)) >= 0; }
function isEnd(c) { return c === undefined || ends.indexOf(String.fromCharCode(c)) >= 0; }

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

// anchored gives each block of text a matrix of its own to begin with: MuPDF moves what
// follows a block that it has emptied, where that has none. It returns nothing where
// there are no such blocks.
function anchored(b) {
	var out = new Buffer(), from = 0, any = false;
	function upTo(end) { for (; from < end; from++) out.writeByte(b[from]); }
	for (var i = 0; i < b.length;) {
		var c = b[i];
		if (c === 40) i = afterText(b, i);
		else if (c === 37) while (i < b.length && b[i] !== 10 && b[i] !== 13) i++;
		else if (c === 60 && b[i + 1] !== 60) while (i < b.length && b[i++] !== 62);
		else if (isEnd(c) && c !== 47) i++;
		else {
			var start = i++;
			while (i < b.length && !isEnd(b[i])) i++;
			if (i - start !== 2) continue;
			if (b[start] === 73 && b[start + 1] === 68) i = afterImage(b, i);
			else if (b[start] === 66 && b[start + 1] === 84) {
				upTo(i);
				out.write(" 1 0 0 1 0 0 Tm");
				any = true;
			}
		}
	}
	upTo(b.length);
	return any ? out : null;
}

// open takes the boxes and the turn off a page, and gives it all the room around that
// text may hide in.
function open(page) {
	var b = shown(page), keys = ["Rotate", "UserUnit", "MediaBox", "CropBox"];
	for (var k = 0; k < keys.length; k++) {
		var value = keys[k] === "UserUnit" ? page.get(keys[k]) : attribute(page, keys[k]);
		if (value) page.put(keys[k], value); // what is inherited
		keep(page, keys[k]);
	}
	page.put("Rotate", doc.newInteger(0));
	page.put("MediaBox", rectangle([b[0] - args.room, b[1] - args.room, b[2] + args.room, b[3] + args.room]));
	var left = links(page);
	if (left.length) page.put("Annots", left);
	else drop(page, ["Annots"]);
	var better = anchored(content(page));
	if (better) page.put("Contents", doc.addStream(better, doc.newDictionary()));
	drop(page, ["Thumb", "PieceInfo", "AA", "Metadata", "AF", "B", "Tabs"]);
}

var metadata = root.get("Metadata"), names = root.get("Names");
var files = names && names.isDictionary() && names.get("EmbeddedFiles") && !names.get("EmbeddedFiles").isNull();
var said = metadata && metadata.isStream() ? metadata.readStream() : new Buffer();
said.save(args.metadata);
drop(root, ["Metadata", "AcroForm", "OpenAction", "AA", "AF", "PieceInfo", "Collection", "Legal", "Perms", "DSS", "SpiderInfo", "Requirements", "Threads"]);
drop(root.get("Names"), ["EmbeddedFiles", "JavaScript", "AlternatePresentations", "Renditions", "Templates", "IDS", "URLS"]);
keep(root, "OCProperties");
for (var i = 0; i < doc.countPages(); i++) open(doc.findPage(i));
for (i = 1; i < doc.countObjects(); i++) {
	var form = doc.newIndirect(i, 0), body = form.resolve();
	if (!body || !form.isStream() || String(body.get("Subtype")) !== "/Form") continue;
	var better = anchored(form.readStream());
	if (better) form.writeStream(better);
}
doc.save(args.output, "garbage=2");
print(files ? "true" : "false");
