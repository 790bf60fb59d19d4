// Gives an archive what the program that drew its pages has left out. It stands behind
// draw.js; see archiveInput for the arguments.

var root = doc.getTrailer().get("Root"), before = new PDFDocument(args.before), source = before.getTrailer().get("Root");
var first = new PDFDocument(args.first), files = [];

// plain copies a value with all that it refers to, and no stream. There is no end to
// some; copying ends all the same.
var room = 100000;
function plain(o, depth) {
	if (!o || o.isNull() || depth > 20 || room-- < 0 || o.isStream()) return null;
	var made, i;
	if (o.isArray()) {
		made = doc.newArray();
		for (i = 0; i < o.length; i++) made.push(plain(o.get(i), depth + 1));
		return made;
	}
	if (o.isDictionary()) {
		made = doc.newDictionary();
		each(o, function (key) { var v = plain(o.get(key), depth + 1); if (v !== null) made.put(key, v); });
		return made;
	}
	if (o.isString()) return doc.newString(o.asString());
	if (o.isName()) return doc.newName(String(o).slice(1));
	if (o.isBoolean()) return doc.newBoolean(o.asBoolean());
	if (!o.isNumber()) return null;
	return o.asNumber() === Math.floor(o.asNumber()) ? doc.newInteger(o.asNumber()) : doc.newReal(o.asNumber());
}

// opened is where the document opens: a place of its pages.
function opened(action) {
	var place = action && action.isDictionary() ? action.get("D") : action;
	if (!place || !place.isArray() || !place.length) return null;
	for (var i = 0; i < before.countPages(); i++) if (String(before.findPage(i)) === String(place.get(0))) {
		var made = doc.newArray();
		made.push(doc.findPage(i));
		for (var k = 1; k < place.length && k < 8; k++) made.push(plain(place.get(k), 0));
		return made;
	}
	return null;
}

// comments copies what people have written beside the page that they have drawn on, and
// makes links ones that are printed. How comments look is part of the page by now.
function comments(number) {
	var page = doc.findPage(number), was = before.findPage(number), links = has(page, "Annots"), all = has(was, "Annots"), left = doc.newArray(), i;
	var here = box(attribute(page, "MediaBox")) || [0, 0], there = box(attribute(was, "MediaBox")) || here, dx = here[0] - there[0], dy = here[1] - there[1];
	if (links && links.isArray()) for (i = 0; i < links.length; i++) {
		var link = links.get(i);
		if (!link || !link.isDictionary() || String(link.get("Subtype")) !== "/Link") continue;
		link.put("F", 4);
		left.push(link);
	}
	if (all && all.isArray()) for (i = 0; i < all.length && i < 10000; i++) {
		var a = all.get(i), kind = a && a.isDictionary() ? String(a.get("Subtype")).slice(1) : "Link";
		var words = kind === "Link" || kind === "Widget" ? null : has(a, "Contents"), place = box(has(a, "Rect"));
		if (!words || !words.isString() || !words.asString() || !place) continue;
		var made = doc.newDictionary(), look = doc.newDictionary();
		var keys = ["Contents", "T", "M", "CreationDate", "Name", "Subj"];
		for (var k = 0; k < keys.length; k++) { var v = plain(has(a, keys[k]), 0); if (v !== null) made.put(keys[k], v); }
		made.put("Type", doc.newName("Annot"));
		made.put("Subtype", doc.newName("Text"));
		made.put("Rect", rectangle([place[0] + dx, place[1] + dy, place[2] + dx, place[3] + dy]));
		made.put("F", 28); // printed, and as large and upright as it is
		look.put("N", nothing);
		made.put("AP", look);
		left.push(doc.addObject(made));
	}
	page.put("Annots", left);
}

// file copies a file that was attached, with what it is to the document.
function file(key, spec) {
	var holds = spec && spec.isDictionary() ? has(spec, "EF") : null, content = holds ? has(holds, "UF") || has(holds, "F") : null;
	if (!content || !content.isStream()) return;
	var made = doc.newDictionary(), about = doc.newDictionary(), streams = doc.newDictionary();
	var kind = has(content, "Subtype"), params = has(content, "Params"), relation = has(spec, "AFRelationship"), description = has(spec, "Desc");
	var title = has(spec, "UF") || has(spec, "F"), called = title && title.isString() ? title.asString() : key || "file";
	about.put("Type", doc.newName("EmbeddedFile"));
	about.put("Subtype", doc.newName(kind && kind.isName() ? String(kind).slice(1).replace(/#2F/gi, "/") : "application/octet-stream"));
	about.put("Params", plain(params, 0) || doc.newDictionary());
	if (!has(about.get("Params"), "ModDate")) about.get("Params").put("ModDate", doc.newString(args.info.ModDate));
	var stream = doc.addStream(content.readStream(), about);
	streams.put("F", stream);
	streams.put("UF", stream);
	made.put("Type", doc.newName("Filespec"));
	made.put("F", doc.newString(called));
	made.put("UF", doc.newString(called));
	made.put("AFRelationship", doc.newName(relation && relation.isName() ? String(relation).slice(1) : "Unspecified"));
	if (description && description.isString()) made.put("Desc", doc.newString(description.asString()));
	made.put("EF", streams);
	files.push({ key: key || called, object: doc.addObject(made) });
}

function attached(node, depth) {
	if (!node || !node.isDictionary() || depth > 30) return;
	var list = has(node, "Names"), kids = has(node, "Kids"), i;
	if (list && list.isArray()) for (i = 0; i + 1 < list.length; i += 2) file(list.get(i).isString() ? list.get(i).asString() : "", list.get(i + 1));
	if (kids && kids.isArray()) for (i = 0; i < kids.length; i++) attached(kids.get(i), depth + 1);
}

// attach puts the files of the source into the archive.
function attach() {
	var top = first.getTrailer().get("Root"), names = has(top, "Names"), i;
	if (names && names.isDictionary()) attached(names.get("EmbeddedFiles"), 0);
	for (i = 0; i < first.countPages(); i++) {
		var all = has(first.findPage(i), "Annots");
		if (all && all.isArray()) for (var k = 0; k < all.length; k++) {
			var a = all.get(k);
			if (a && a.isDictionary() && String(a.get("Subtype")) === "/FileAttachment") file("", a.get("FS"));
		}
	}
	if (!files.length) return;
	files.sort(function (a, b) { return a.key < b.key ? -1 : a.key > b.key ? 1 : 0; });
	var tree = doc.newDictionary(), list = doc.newArray(), related = doc.newArray(), last = null;
	for (i = 0; i < files.length; i++) {
		var key = files[i].key === last ? files[i].key + " " + i : files[i].key;
		last = files[i].key;
		list.push(doc.newString(key));
		list.push(files[i].object);
		related.push(files[i].object);
	}
	tree.put("Names", list);
	var all = has(root, "Names") || doc.newDictionary();
	all.put("EmbeddedFiles", tree);
	root.put("Names", all);
	root.put("AF", related);
}

// profiled gives colours in CMYK the profile that those on the pages have got already.
var profile = doc.newArray();
profile.push(doc.newName("ICCBased"));
profile.push(root.get("Ink"));
profile = doc.addObject(profile);
root.delete("Ink");

function inks(o) { return o && o.isName() && String(o) === "/DeviceCMYK"; }
function profiled(o, depth) {
	if (!o || depth > 60) return;
	if (o.isArray()) for (var i = 0; i < o.length && i < 100000; i++) profiledMember(o, i, depth);
	else if (o.isDictionary()) each(o, function (key) { profiledMember(o, key, depth); });
}
function profiledMember(o, key, depth) {
	var v = o.get(key);
	if (!v || v.isIndirect()) return;
	if (inks(v)) o.put(key, profile);
	else profiled(v, depth + 1);
}

var empty = doc.newDictionary();
empty.put("Type", doc.newName("XObject"));
empty.put("Subtype", doc.newName("Form"));
empty.put("BBox", rectangle([0, 0, 1, 1]));
empty.put("Resources", doc.newDictionary());
var nothing = doc.addStream("\n", empty);

var kept = ["PageLabels", "Lang", "ViewerPreferences", "PageMode", "PageLayout"], i;
for (i = 0; i < kept.length; i++) {
	var value = plain(has(source, kept[i]), 0);
	if (value !== null) root.put(kept[i], value);
}
if (String(root.get("PageMode")) === "/UseOC" || String(root.get("PageMode")) === "/UseAttachments" && args.level !== "3b") root.delete("PageMode");
var place = opened(has(source, "OpenAction"));
if (place) root.put("OpenAction", place);
for (i = 0; i < doc.countPages(); i++) comments(i);
if (args.level === "3b") attach();
// renamed gives fonts names in ASCII: names in other encodings than UTF-8 are none for an archive.
function renamed(o) {
	var keys = ["BaseFont", "FontName"];
	for (var i = 0; o && o.isDictionary() && i < keys.length; i++) {
		var name = has(o, keys[i]);
		if (name && name.isName()) name = String(name).slice(1);
		if (typeof name === "string" && /#[89A-F]|[^\x21-\x7e]/i.test(name)) o.put(keys[i], doc.newName(name.replace(/#[0-9A-F]{2}|[^\x21-\x7e]/gi, "_")));
	}
}

// listed adds the glyph of no character to the glyphs that a font lists, which the oldest level wants to be all.
function listed(o) {
	var list = o && o.isDictionary() ? has(o, "CharSet") : null;
	if (list && list.isString() && list.asString().indexOf("/.notdef") < 0) o.put("CharSet", doc.newString(list.asString() + "/.notdef"));
}

for (i = 1; i < doc.countObjects(); i++) {
	var object = doc.newIndirect(i, 0).resolve();
	profiled(object, 0);
	renamed(object);
	if (args.level === "1b") listed(object);
}
// Another dictionary in its place would not be saved.
var info = doc.getTrailer().get("Info"), about = doc.newDictionary();
if (!info || !info.isDictionary()) doc.getTrailer().put("Info", info = doc.addObject(doc.newDictionary()));
each(info, function (key) { info.delete(key); });
for (var key in args.info) if (args.info[key]) info.put(key, doc.newString(args.info[key]));
about.put("Type", doc.newName("Metadata"));
about.put("Subtype", doc.newName("XML"));
root.put("Metadata", doc.addStream(args.xmp, about));
doc.save(args.output, "garbage=compact");
print("true");
