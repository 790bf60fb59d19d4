// Makes everything of a document visible that a reader could find in it, and takes out
// what is not on its pages. It stands behind draw.js; see redaction for the rest.

var root = doc.getTrailer().get("Root");

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
	back(page);
	var all = page.get("Annots"), left = doc.newArray();
	if (all && all.isArray()) for (var i = 0; i < all.length; i++) {
		var a = all.get(i);
		if (a && a.isDictionary() && String(a.get("Subtype")) === "/Link") {
			drop(a, ["AP", "PieceInfo", "AA"]);
			left.push(a);
		}
	}
	return left;
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
	drop(page, ["Thumb", "AA", "AF", "B", "Tabs"]);
}

// isScript tells an action that runs a script.
function isScript(o) {
	return o.isDictionary() && /^\/(JavaScript|Rendition)$/.test(String(o.get("S")));
}

// isSaid tells what something says of itself, and no picture or form of that name.
function isSaid(o) { return o && o.isStream() && !/^\/(Image|Form)$/.test(String(o.get("Subtype"))); }

// keepSaid adds to what is looked through for what is to go, as far as that can be read.
function keepSaid(stream) {
	if (said.length > 4 << 20) return;
	try {
		said.writeBuffer(stream.readStream());
		said.writeLine("");
	} catch (e) {}
}

// isFile tells the entry of a file's description that has what is in the file.
function isFile(o) {
	var names = ["F", "UF", "DOS", "Mac", "Unix"];
	if (o && o.isDictionary() && !o.isStream()) for (var i = 0; i < names.length; i++) if (o.get(names[i]) && o.get(names[i]).isStream()) return true;
	return false;
}

// strip takes scripts, files, and what programs have noted, off an object and not those
// that it refers to. What it says of itself is kept in said.
function strip(o, depth) {
	if (!o || depth > 100) return;
	if (o.isArray()) {
		var first = o.get(0), last = o.get(o.length - 1); // none for null, as in places of pages that are gone
		if (first && last && first.isNumber() && last.isNumber()) return; // many
		for (var i = o.length - 1; i >= 0; i--) stripMember(o, i, depth);
	} else if (o.isDictionary()) {
		if (isSaid(o.get("Metadata"))) {
			keepSaid(o.get("Metadata"));
			drop(o, ["Metadata"]);
		}
		if (isFile(o.get("EF"))) drop(o, ["EF", "RF"]);
		drop(o, ["PieceInfo"]);
		each(o, function (key) { stripMember(o, key, depth); });
	}
}

function stripMember(o, key, depth) {
	var value = o.get(key);
	if (!value || value.isNull()) return;
	if (isScript(value)) o.delete(key);
	else if (!value.isIndirect()) strip(value, depth + 1);
}

var metadata = root.get("Metadata"), names = root.get("Names");
var files = names && names.isDictionary() && names.get("EmbeddedFiles") && !names.get("EmbeddedFiles").isNull();
var said = metadata && metadata.isStream() ? metadata.readStream() : new Buffer();
drop(root, ["Metadata", "AcroForm", "OpenAction", "AA", "AF", "PieceInfo", "Collection", "Legal", "Perms", "DSS", "SpiderInfo", "Requirements", "Threads"]);
drop(root.get("Names"), ["EmbeddedFiles", "JavaScript", "AlternatePresentations", "Renditions", "Templates", "IDS", "URLS"]);
keep(root, "OCProperties");
for (var i = 0; i < doc.countPages(); i++) open(doc.findPage(i));
for (i = 1; i < doc.countObjects(); i++) strip(doc.newIndirect(i, 0).resolve(), 0);
said.save(args.metadata);
doc.save(args.output, "garbage=2");
print(files ? "true" : "false");
